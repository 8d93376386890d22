"""Stand-in for a Service, whose network a control plane alone does not have.

It forwards connections to the replicas that are ready, as kube-proxy does with the pods that the endpoints list.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from typing import Self

from tests.cluster.process import free_port
from tests.cluster.waiting import WAIT_SECONDS


class Service:
    """Loopback port that forwards each connection to the next of ``backends``, a list of ports."""

    def __init__(self) -> None:
        self.port, self.backends = free_port(), list[int]()
        self._number = itertools.count()
        self._listening, self._end = threading.Event(), lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(WAIT_SECONDS), "the Service does not listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._thread.join(WAIT_SECONDS)

    async def _serve(self) -> None:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        self._end = lambda: loop.call_soon_threadsafe(ended.set)
        server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self._listening.set()
        await ended.wait()
        server.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, IndexError):
            # The endpoints can change while this runs.
            backends = list(self.backends)
            port = backends[next(self._number) % len(backends)] if backends else 0
            there, back = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.closing(back):
                await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    writer.close()
