"""Mutated AdmissionReviews over TLS, asked of a real ``muster serve``: framed rightly and wrongly, slow, cut, kept alive or not."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.reliability import reviews
from tests.reliability.campaign import Campaign, Round
from tests.reliability.fuzzing import MOST_FAILURES, DoesNotHoldError
from tests.reliability.reviews import Question, Reply
from tests.webhooks.running import BODY, Running, running

EXAMPLES, THREADS = 4_000, 6
SECONDS = 10.0
"""Limit of an exchange: deadlines of head and body together, and the wait for a thread, on a machine that does more."""
GROWTH_BYTES = 100 * 1024 * 1024
"""Growth of all processes of the server after the first tenth of a round."""
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Line:
    """Connection of a client that is opened when it is needed."""

    def __init__(self, server: Running, context: ssl.SSLContext) -> None:
        self._server, self._context = server, context
        self._socket: ssl.SSLSocket | None = None

    def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Send *pieces*; on a new connection if there is none, or if the server has closed the old one."""
        if self._socket is not None and _is_closed(self._socket):
            self.close()
        if self._socket is None:
            plain = socket.create_connection(("127.0.0.1", self._server.port), timeout=SECONDS)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = self._context.wrap_socket(plain, server_hostname="localhost")
        for number, piece in enumerate(pieces):
            if number and pause:
                time.sleep(pause)
            # A server may refuse before it has read all; its answer is read all the same.
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                self._socket.sendall(piece)

    def receive(self) -> Reply | None:
        """Return one answer; None if the connection is closed without one."""
        received = b""
        while True:
            head, end, content = received.partition(b"\r\n\r\n")
            if end and (length := LENGTH.search(head)) is not None and len(content) >= int(length[1]):
                if b"connection: close" in head.lower():
                    self.close()
                return Reply(int(head.split(b" ", 2)[1]), content[: int(length[1])])
            try:
                piece = self._socket.recv(65536) if self._socket is not None else b""
            except (ConnectionError, ssl.SSLError):
                piece = b""
            if not piece:
                self.close()
                if received:
                    raise DoesNotHoldError(f"an answer was cut after {len(received)} bytes: {received[:80]!r}")
                return None
            received += piece

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _is_closed(sock: ssl.SSLSocket) -> bool:
    """Return True if the server has closed a connection on which no answer is due."""
    sock.settimeout(0.0)
    try:
        sock.recv(1)
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True
    finally:
        sock.settimeout(SECONDS)
    return True


def _head(question: Question, length: int | None, *, close: bool = False) -> bytes:
    framing = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    ending = b"Connection: close\r\n" if close else b""
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n%s\r\n" % (
        question.path.encode(),
        framing,
        ending,
    )


def whole(line: Line, question: Question, chance: random.Random) -> None:
    """Send a request as clients do; one in five closes the connection."""
    line.send(_head(question, len(question.body), close=chance.random() < 0.2) + question.body)
    _answered(line, question)


def slow(line: Line, question: Question, chance: random.Random) -> None:
    """Send a request in parts, with a pause before each."""
    sent = _head(question, len(question.body)) + question.body
    places = sorted(chance.randint(0, len(sent)) for _ in range(chance.randint(1, 3)))
    line.send(*(sent[start:end] for start, end in zip((0, *places), (*places, len(sent)), strict=True)), pause=chance.choice((0.001, 0.01)))
    _answered(line, question)


def chunked(line: Line, question: Question, chance: random.Random) -> None:
    """Send the body in chunks."""
    size = chance.choice((1000, 4096, 70_000))
    parts = [question.body[start : start + size] for start in range(0, len(question.body), size)]
    line.send(_head(question, None) + b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in parts) + b"0\r\n\r\n")
    _answered(line, question)


def cut(line: Line, question: Question, chance: random.Random) -> None:
    """Close the connection in the middle of the request."""
    sent = _head(question, len(question.body)) + question.body
    line.send(sent[: chance.randint(1, len(sent) - 1)])
    line.close()


def too_short(line: Line, question: Question, chance: random.Random) -> None:
    """Announce fewer bytes than are sent: the rest is a request that is malformed, for which the connection may be closed at once."""
    length = chance.randint(0, max(0, len(question.body) - 1))
    line.send(_head(question, length) + question.body)
    reply = line.receive()
    line.close()
    if reply is not None and reply.content[:1] == b"{":
        reviews.verify(question._replace(body=question.body[:length]), reply)
    elif reply is not None and reply.code >= 500:
        raise DoesNotHoldError(f"answer {reply.code}")


def wrong_length(line: Line, question: Question, chance: random.Random) -> None:
    """Announce a length that is no number, negative, too large, or two of them."""
    wrong = chance.choice((b"-1", b"x", b"1e3", b"99999999999", b"0x10", b"5\r\nContent-Length: 6", b"+7", b"", b"1" * 5000))
    line.send(_head(question, 0).replace(b"Content-Length: 0", b"Content-Length: " + wrong) + question.body)
    reply = line.receive()
    line.close()
    if reply is not None and reply.code < 400:
        raise DoesNotHoldError(f"answer {reply.code} to a Content-Length of {wrong[:40]!r}")
    if reply is not None and reply.code >= 500:
        raise DoesNotHoldError(f"answer {reply.code}")


def damaged_head(line: Line, question: Question, chance: random.Random) -> None:
    """Damage the request line or a header field."""
    head = bytearray(_head(question, len(question.body)))
    for _ in range(chance.randint(1, 3)):
        head[chance.randrange(len(head) - 4)] = chance.randrange(256)
    line.send(bytes(head) + b"\r\n" + question.body)
    with contextlib.suppress(TimeoutError):
        reply = line.receive()
        if reply is not None and reply.code >= 500:
            raise DoesNotHoldError(f"answer {reply.code} to the head {bytes(head)!r}")
    line.close()


def _answered(line: Line, question: Question) -> None:
    reply = line.receive()
    if reply is None:
        raise DoesNotHoldError("the connection was closed without an answer")
    reviews.verify(question, reply)


SHAPES: tuple[Callable[[Line, Question, random.Random], None], ...] = (
    *(whole,) * 12, *(slow,) * 2, *(chunked,) * 2, cut, too_short, wrong_length, damaged_head,
)  # fmt: skip


class _Clients:
    """Threads that share the questions of a round."""

    def __init__(self, server: Running, seed: int, count: int) -> None:
        self._server, self._seed = server, seed
        self._questions = iter(reviews.questions(seed, count))
        self._lock = threading.Lock()
        self.tried, self.failures = 0, []  # type: int, list[str]

    def run(self) -> None:
        """Ask all questions."""
        threads = [threading.Thread(target=self._one, args=(number,)) for number in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _next(self) -> Question | None:
        with self._lock:
            self.tried += (question := next(self._questions, None)) is not None
            return question

    def _one(self, number: int) -> None:
        chance, line = random.Random(self._seed * THREADS + number), Line(self._server, self._server.context())
        while (question := self._next()) is not None:
            shape = chance.choice(SHAPES)
            began = time.monotonic()
            try:
                shape(line, question._replace(content_type=b"application/json"), chance)
                if time.monotonic() - began > SECONDS:
                    raise DoesNotHoldError(f"{time.monotonic() - began:.1f} s")  # noqa: TRY301 - reported like all others
            except Exception as error:  # noqa: BLE001 - each is a failure
                line.close()
                with self._lock:
                    if len(self.failures) < MOST_FAILURES:
                        self.failures.append(f"{shape.__name__}: {type(error).__name__}: {error}; {question!r}")
        line.close()


def run(seed: int, count: int = EXAMPLES, before: str = "") -> Round:
    """Start a server, in a process that runs the code *before* first, and ask *count* questions by several connections at once."""
    with tempfile.TemporaryDirectory(prefix="muster-fuzz-") as folder, running(Path(folder), before=before) as server:
        tried, failures = 0, []
        parts = (count // 10, count - count // 10)
        grown = 0
        for number, part in enumerate(parts):
            clients = _Clients(server, seed * len(parts) + number, part)
            clients.run()
            tried, failures = tried + clients.tried, [*failures, *clients.failures]
            grown = resident(server.process.pid) - grown
        failures += _state(server, grown)
    return Round(tried, tuple(failures))


def _state(server: Running, grown: int) -> Iterator[str]:
    """Yield what does not hold of the server after a round."""
    if grown > GROWTH_BYTES:
        yield f"memory grew by {grown >> 20} MB"
    if faults := server.figure("muster_faults_total"):
        yield f"{faults:.0f} faults are counted"
    status, answer = server.post()
    if status != 200 or answer["response"]["uid"] != json.loads(BODY)["request"]["uid"]:
        yield f"a review is answered with {status} at the end"
    if noise := [each for each in server.lines if each.get("event") == "noise" or each.get("level") == "error"]:
        yield f"{len(noise)} errors in the log: {noise[0]}"


def resident(pid: int) -> int:
    """Return the resident memory of a process and its children, in bytes."""
    return sum(_resident(each) for each in (pid, *_children(pid)))


def _children(pid: int) -> Iterable[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())


def _resident(pid: int) -> int:
    kilobytes = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(kilobytes[1]) * 1024 if kilobytes else 0


CAMPAIGN = Campaign(
    "reviews-tls",
    "mutated AdmissionReviews over TLS: cut, slow, with wrong lengths, on new and old connections",
    "no 5xx, no traceback, the same uid, an answer to each whole request, memory does not grow",
    100_000,
    run,
)
