"""A gunicorn worker for many connections and short requests: one loop for all sockets, threads for judging.

Gunicorn's own threaded worker gives a thread to a connection while its client is still talking, without a deadline:
as many slow clients as threads stop it.  Here the loop does handshakes, reads and writes, none of which blocks, and
a thread sees only whole requests.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import os
import selectors
import signal
import socket
import time
from concurrent import futures
from typing import Any, cast

from gunicorn.http import wsgi
from gunicorn.workers import base

from webhooks import journal
from webhooks.answer import Answer, Sink
from webhooks.app import PLAIN
from webhooks.connection import Connection, Limits, Stage, Wants, closing_answer

TICK_SECONDS = 0.25
"""How often deadlines, key pair and heartbeat are looked after."""
LAST_CALL_SECONDS = 2.0
"""How long a stopping worker keeps idle connections: a request may be on its way already."""


_EVENTS = {Wants.READ: selectors.EVENT_READ, Wants.WRITE: selectors.EVENT_WRITE}


class WebhookWorker(base.Worker):  # type: ignore[misc] # gunicorn ships no types
    """See the module.  ``self.app`` is a webhooks.server.Server."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        settings = self.app.settings
        self.limits = Limits(settings.body_bytes, settings.request_seconds, settings.keepalive_seconds)
        self.connections: set[Connection] = set()
        self.judging: dict[Connection, float] = {}
        """Requests at the threads, the oldest first, with the monotonic time at which they had arrived."""
        self.turns: set[Connection] = set()
        self.finished: collections.deque[tuple[Connection, futures.Future[tuple[bytes, bool] | None]]]
        self.finished = collections.deque()
        self.accepting = False
        self.alive: bool = True
        self.ticked = 0.0

    def init_process(self) -> None:
        """Begin, in the forked process."""
        self.pool = futures.ThreadPoolExecutor(self.cfg.threads, "judge")
        self.poller = selectors.DefaultSelector()
        super().init_process()

    def init_signals(self) -> None:
        """Leave an interrupt from the terminal to the master, which stops workers gracefully."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        """Serve until told to stop; then answer what is in flight."""
        # Gunicorn has its wakeup descriptor written to on signals; threads write to it too.
        self.poller.register(self.PIPE[0], selectors.EVENT_READ, self.wake_up)
        self.tick(time.monotonic())
        while self.alive:
            self.turn(1.0)
            if os.getppid() != self.ppid:
                journal.write("error", "stopping", {"reason": "the master process is gone"})
                break
        self.stop()

    def turn(self, seconds: float) -> None:
        """Wait at most *seconds* for something to happen, and do what can be done then."""
        for key, _ in self.poller.select(0 if self.turns else seconds):
            key.data()
        for connection in tuple(self.turns):
            self.turns.discard(connection)
            self.advance(connection)
        while self.finished:
            self.finish(*self.finished.popleft())
        self.app.lines.flush()
        now = time.monotonic()
        if now - self.ticked >= TICK_SECONDS:
            self.tick(now)

    def tick(self, now: float) -> None:
        """Look after deadlines, the key pair, the heartbeat, and whether there is room for more connections."""
        self.ticked = now
        self.notify()
        told = self.app.live.refresh(now)
        if told:
            self.app.tell_pair(told)
        for connection in [each for each in self.connections if each.stage is not Stage.JUDGING]:
            if connection.deadline <= now:
                self.follow(connection, connection.expire(now))
        oldest = next(iter(self.judging.values()), now)
        if now - oldest > self.cfg.timeout and self.alive:
            journal.write("critical", "stuck", {"seconds": round(now - oldest, 1), "pid": self.pid})
            self.alive = False
        self.listen(on=self.alive and (not self.full() or self.longest_idle() is not None))

    def listen(self, *, on: bool) -> None:
        """Begin or cease to take connections."""
        if on == self.accepting:
            return
        self.accepting = on
        for number, listener in enumerate(self.sockets):
            if on:
                listener.settimeout(0)
                self.poller.register(listener, selectors.EVENT_READ, functools.partial(self.accept, number, listener))
            else:
                self.poller.unregister(listener)

    def accept(self, number: int, listener: socket.socket) -> bool:
        """Take one connection, which leaves some to the other workers.  False if there is none, or no room."""
        if self.full():
            idle = self.longest_idle()
            if idle is None:
                self.listen(on=False)
                return False
            self.follow(idle, Wants.CLOSE)
        try:
            sock, peer = listener.accept()
        except OSError:
            # Another worker was faster, the client is gone already, or descriptors ran out: next time.
            return False
        # The first listener speaks TLS; the second is for probes.
        context = self.app.live.pair.context if number == 0 else None
        try:
            connection = Connection(
                sock,
                peer[:2],
                listener.getsockname()[:2],
                context=context,
                config=self.cfg,
                limits=self.limits,
                now=time.monotonic(),
            )
        except (OSError, ValueError):
            sock.close()
            return True
        self.connections.add(connection)
        self.advance(connection)
        return True

    def full(self) -> bool:
        """Whether there is no room for another connection."""
        return len(self.connections) >= int(self.cfg.worker_connections)

    def longest_idle(self) -> Connection | None:
        """The connection that has waited longest for a request, if one waits."""
        waiting = (each for each in self.connections if each.stage is Stage.WAITING)
        return min(waiting, key=lambda each: each.deadline, default=None)

    def advance(self, connection: Connection) -> None:
        """Let a connection go on."""
        self.follow(connection, connection.advance(time.monotonic()))

    def follow(self, connection: Connection, wants: Wants) -> None:
        """Give a connection what it needs next."""
        if connection.refused:
            self.app.telemetry.refused("connection", connection.refused)
            connection.refused = 0
        if wants in _EVENTS:
            self.watch(connection, _EVENTS[wants])
            return
        self.watch(connection, 0)
        if wants is Wants.TURN:
            self.turns.add(connection)
        elif wants is Wants.JUDGE:
            self.submit(connection)
        else:
            self.turns.discard(connection)
            self.connections.discard(connection)
            connection.close()

    def watch(self, connection: Connection, events: int) -> None:
        """Have the poller tell *events* of a connection, and no others."""
        try:
            key = self.poller.get_key(connection.sock)
        except (KeyError, ValueError):
            if events:
                self.poller.register(connection.sock, events, functools.partial(self.advance, connection))
            return
        if not events:
            self.poller.unregister(connection.sock)
        elif key.events != events:
            self.poller.modify(connection.sock, events, key.data)

    def submit(self, connection: Connection) -> None:
        """Hand a whole request to the threads."""
        arrived = time.monotonic()
        self.judging[connection] = arrived
        future = self.pool.submit(self.judge, connection, arrived)
        future.add_done_callback(functools.partial(self.hand_back, connection))

    def hand_back(self, connection: Connection, future: futures.Future[tuple[bytes, bool] | None]) -> None:
        """Give an answer to the loop; called in a thread."""
        self.finished.append((connection, future))
        # A full pipe means that the loop is being woken anyway.
        with contextlib.suppress(OSError):
            os.write(self.PIPE[1], b"\0")

    def wake_up(self) -> None:
        """Empty the wakeup pipe."""
        with contextlib.suppress(OSError):
            os.read(self.PIPE[0], 4096)

    def finish(self, connection: Connection, future: futures.Future[tuple[bytes, bool] | None]) -> None:
        """Send what a thread has made of a request."""
        self.judging.pop(connection, None)
        now = time.monotonic()
        error = future.exception()
        if error is not None:
            # Flask answers errors of the application itself: this is one of the server.
            self.log.error("no answer was made", exc_info=error)
            self.follow(connection, connection.answer(closing_answer(500, "internal error"), now, keep=False))
            return
        made = future.result()
        if made is None:
            self.app.telemetry.refused("late", 0)
            self.follow(connection, Wants.CLOSE)
            return
        self.follow(connection, connection.answer(made[0], now, keep=made[1]))

    def judge(self, connection: Connection, arrived: float) -> tuple[bytes, bool] | None:
        """Run the application on a request; called in a thread.

        Returns the HTTP answer and whether the connection may be kept, or None where the client has given up waiting.
        """
        if time.monotonic() - arrived > self.limits.request_seconds:
            return None
        sink = Sink()
        response, environ = wsgi.create(connection.request, sink, connection.peer, connection.server, self.cfg, response_class=Answer)
        content = connection.body.content if connection.body is not None else b""
        environ["wsgi.input"] = io.BytesIO(content)
        environ["CONTENT_LENGTH"] = str(len(content))
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        environ["wsgi.multithread"] = True
        environ["wsgi.url_scheme"] = "http" if connection.plain else "https"
        if connection.plain:
            environ[PLAIN] = True
        if not self.alive or self.app.board.draining:
            response.force_close()
        pieces = self.wsgi(environ, response.start_response)
        try:
            for piece in pieces:
                response.write(piece)
            response.close()
        finally:
            if hasattr(pieces, "close"):
                pieces.close()
        return bytes(sink.content), not cast("bool", response.should_close())

    def stop(self) -> None:
        """Cease to take connections, answer what is in flight, and close the rest."""
        self.alive = False
        self.listen(on=False)
        for number, listener in enumerate(self.sockets):
            # What the kernel has accepted for us would be reset when the listener closes.
            while self.accept(number, listener):
                pass
            listener.close()
        now = time.monotonic()
        limit = now + self.app.settings.stop_seconds
        while self.connections and time.monotonic() < limit:
            for connection in self.connections:
                if connection.stage is Stage.WAITING:
                    connection.deadline = min(connection.deadline, now + LAST_CALL_SECONDS)
            self.turn(TICK_SECONDS)
        for connection in tuple(self.connections):
            self.follow(connection, Wants.CLOSE)
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.app.lines.flush()
        self.poller.close()
