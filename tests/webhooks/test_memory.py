"""Memory of large requests: the lock among processes, when free memory is returned, and what an unread connection holds."""

import asyncio
import fcntl
import gc
import os
import signal
import socket
import ssl
import struct
import types
import weakref

import pytest
import uvicorn
from uvicorn.server import ServerState

from certs import store
from tests.webhooks.running import new_pair
from validators.object_lookup import NOTHING
from webhooks.server import memory, tls
from webhooks.server.connection import Loop, limited
from webhooks.server.worker import Worker
from webhooks.settings import Settings


def test_one_process_at_a_time_has_the_lock_and_its_end_releases_it():
    alone = memory.Alone()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with alone:
            os.write(writing, b"x")
            signal.pause()
    os.read(reading, 1)
    try:
        with pytest.raises(OSError, match="unavailable"):
            fcntl.lockf(alone._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with alone:
        pass
    for each in (reading, writing):
        os.close(each)
    alone._file.close()


def test_memory_is_trimmed_once_when_the_last_large_request_has_ended():
    trim, calls = memory.Trim(), []
    trim._trim = calls.append
    counts = []
    for used in (0, 5, 7, 0, 0, 3, 0):
        trim.tick(used)
        counts.append(len(calls))

    assert [0, 0, 0, 1, 1, 1, 2] == counts


def test_a_worker_returns_memory_at_the_tick_after_the_last_large_request():
    pair = types.SimpleNamespace(leaf_validity=tls.Validity(0.0, 1e12), ca_validity=None, client_ca_validity=None)
    live = types.SimpleNamespace(pair=pair, refresh=lambda _now: "")
    source = types.SimpleNamespace(start=lambda: NOTHING)
    worker = Worker(Settings.from_environ({}), live, source, lambda *_: None, parent=os.getppid(), draining=lambda: False)
    calls, counts = [], []
    worker._trim._trim = calls.append
    for used in (0, 5, 0, 0):
        worker.application.bodies.large._used = used
        worker.tick()
        counts.append(len(calls))

    assert [0, 0, 1, 1] == counts


def test_tls_holds_little_of_a_connection_that_is_not_read():
    limits = []

    class Transport(asyncio.Transport):
        def set_read_buffer_limits(self, high):
            limits.append(high)

    async def run():
        settings = Settings.from_environ({})
        config = uvicorn.Config(lambda: None, http=limited(settings, lambda _code: None))
        config.load()
        protocol = config.http_protocol_class(config=config, server_state=ServerState(), app_state={})
        protocol.connection_made(Transport())
        protocol.timeout_keep_alive_task.cancel()

    asyncio.run(run())

    assert [32 * 1024] == limits


@pytest.mark.parametrize("ends", ["orderly", "suddenly"])
def test_a_connection_is_freed_when_the_client_ends_it(ends, tmp_path):
    """Not when its keep-alive time ends, nor by a collector that waits for 20,000 objects: TLS buffers take 30 KB."""
    store.write(tmp_path, new_pair())
    served = []

    async def application(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def ask(port):
        client = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        with client.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert sock.recv(65536).startswith(b"HTTP/1.1 200")
            if ends == "suddenly":
                # With a reset, as that of a client that does not read what it has got.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def run():
        config = uvicorn.Config(application, http=limited(Settings.from_environ({}), lambda _code: None), timeout_keep_alive=3600)
        config.load()
        state = ServerState()

        def connection():
            made = config.http_protocol_class(config=config, server_state=state, app_state={}, _loop=asyncio.get_running_loop())
            served.append(weakref.ref(made))
            return made

        context = tls.load(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")).context
        server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0, ssl=context)
        for _ in range(5):
            await asyncio.to_thread(ask, server.sockets[0].getsockname()[1])
        for _ in range(500):
            if not any(each() for each in served):
                break
            await asyncio.sleep(0.01)
        server.close()

    gc.disable()
    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(run())
            assert [None] * 5 == [each() for each in served]
    finally:
        gc.enable()
