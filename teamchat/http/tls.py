"""The certificate the server presents (``server.tls``), or a clear sentence about why it can't.

TLS 1.2 is the minimum. Whether HTTP/1.1 or, if offered, HTTP/2 is spoken on top is negotiated in the
handshake (ALPN). An error names the key and never the contents of the file.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

from teamchat.errors import SettingsError
from teamchat.settings import TlsSettings


def context(tls: TlsSettings) -> ssl.SSLContext:
    """Return what the server's side of TLS needs. Raises `SettingsError` naming the key."""
    for key, path in (("server.tls.certificate", tls.certificate), ("server.tls.key", tls.key)):
        _check_readable(key, path)
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    made.set_alpn_protocols(["h2", "http/1.1"] if tls.http2 else ["http/1.1"])
    try:
        # A key under a password would be asked for on the terminal, were none given.
        made.load_cert_chain(tls.certificate, tls.key, password=lambda: b"")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise _explain(tls) from error
    return made


def _check_readable(key: str, path: str) -> None:
    try:
        Path(path).read_bytes()
    except FileNotFoundError:
        raise SettingsError(f"{key}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise SettingsError(f"{key}: the file can't be read ({reason}).") from None


def _explain(tls: TlsSettings) -> SettingsError:
    """Tell which of the two files is wrong; both may be right and not belong together."""
    probe = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        probe.load_verify_locations(tls.certificate)
    except (ssl.SSLError, OSError):
        return SettingsError("server.tls.certificate: the file holds no certificate in PEM.")
    if not _is_key(tls.key):
        return SettingsError("server.tls.key: the file holds no private key in PEM without a password.")
    return SettingsError("server.tls.key: the private key does not belong to server.tls.certificate.")


def _is_key(path: str) -> bool:
    text = ""
    with suppress(OSError):
        text = Path(path).read_text("latin-1")
    return "PRIVATE KEY-----" in text and "ENCRYPTED" not in text
