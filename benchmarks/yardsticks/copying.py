"""``python -m benchmarks.yardsticks.copying DIRECTORY``: a bare copy in Trio, to a file and from it.

A connection says ``u`` or ``d`` and a size in eight bytes.  What comes up is written to a file of its own as
it comes, synced, and answered with a byte; what goes down is read from the file of before.
"""

from __future__ import annotations

import os
import sys
from itertools import count

import trio

PIECE = 256 * 1024


async def main(directory: str) -> None:
    """Copy until the process is ended."""
    numbers = count()
    path = ""

    async def serve(stream: trio.SocketStream) -> None:
        nonlocal path
        head = b""
        while len(head) < 9:
            head += await stream.receive_some(9 - len(head))
        size = int.from_bytes(head[1:])
        if head[:1] == b"u":
            path = f"{directory}/copied-{next(numbers)}"
        async with await trio.open_file(path, "wb" if head[:1] == b"u" else "rb", buffering=0) as file:
            if head[:1] == b"u":
                while size:
                    data = await stream.receive_some(min(size, PIECE))
                    await file.write(data)
                    size -= len(data)
                await trio.to_thread.run_sync(os.fdatasync, file.wrapped.fileno())
                await stream.send_all(b"k")
            else:
                while piece := await file.read(PIECE):
                    await stream.send_all(piece)

    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    print(listener.socket.getsockname()[1], flush=True)
    await trio.serve_listeners(serve, [listener])


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
