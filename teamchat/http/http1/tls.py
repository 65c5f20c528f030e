"""A client's socket under TLS: OpenSSL reads and writes the socket itself, with nothing in between.

What is true of every transport is true here: nothing is read ahead, every write has a deadline, and bytes go
out in the given order. An answer that was cut short is not followed by TLS's close_notify, so that a client
can tell it from a complete one (RFC 8446, section 6.1).
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

import trio

from teamchat.http.http1.transport import Bytes, Transport

RECORD_BYTES = 16 * 1024
"""The most that one record of TLS holds (RFC 8446, section 5.1). A read must ask for as much: what OpenSSL
has decrypted and nobody took would not make the socket readable."""


class TlsTransport(Transport):
    """The connection's bytes, encrypted once `begin` has returned."""

    __slots__ = ("_context", "_held")

    def __init__(self, raw: socket.socket, context: ssl.SSLContext) -> None:
        super().__init__(raw)
        self._context = context
        self._held: Bytes = b""  # a record that OpenSSL must be given again, for the kernel took it in part

    async def begin(self) -> str | None:
        """Shake hands, and return the protocol that was agreed upon (ALPN), if any.

        Raises `OSError` for a client that does not speak TLS, or has gone.
        """
        await trio.lowlevel.wait_readable(self._fd)  # Who sends nothing costs no memory of OpenSSL's.
        secured = self._context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
        self._socket = secured
        while True:
            try:
                secured.do_handshake()
            except ssl.SSLWantReadError:
                await trio.lowlevel.wait_readable(self._fd)
            except ssl.SSLWantWriteError:
                await trio.lowlevel.wait_writable(self._fd)
            else:
                return secured.selected_alpn_protocol()

    def _send(self, data: Bytes) -> int:
        """Hand over what is taken of `data`, and return how much. Raises `OSError`.

        A record is encrypted as a whole, and one that the kernel took in part can't be taken back.  It counts
        as taken but for its last byte: whoever writes has that byte left, comes back with it once the socket
        is writable, and sends nothing else before.
        """
        sent = 0
        if self._held:
            if not self._write_record(self._held):
                return 0
            sent = 1
        rest = data if len(data) <= RECORD_BYTES else memoryview(data)
        while sent < len(data):
            record = rest[sent : sent + RECORD_BYTES]
            sent += len(record)
            if not self._write_record(record):
                return sent - 1
        return sent

    def _write_record(self, record: Bytes) -> bool:
        """Write all of it, and return True; what the kernel does not take now is held."""
        try:
            while (taken := self._socket.send(record)) < len(record):
                record = record[taken:]  # The client asked for smaller ones (RFC 6066, section 4).
        except ssl.SSLWantWriteError:
            self._held = record
            return False
        self._held = b""
        return True

    def farewell(self) -> None:
        if self.is_closed or self._is_torn or self._held or not isinstance(self._socket, ssl.SSLSocket):
            return
        self._is_torn = True  # Nothing may follow.
        with suppress(OSError):  # The client's own farewell is not waited for.
            self._socket.unwrap()

    def end_writing(self) -> bool:
        """Tell the client that nothing more comes. What is read afterwards is not decrypted any more."""
        self.farewell()
        self._is_torn = True  # The standard library would now write what it is given as it is.
        return super().end_writing()
