"""HTTP endpoints of the sidecar: probes, metrics, /explain.

Edge: flask, on uvicorn; plain HTTP, for use inside the cluster only.  Decisions name pods and nodes of all namespaces, so /explain
demands a token of clients on other machines.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hmac
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import flask
import uvicorn
from a2wsgi import WSGIMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from apiserver import regular_files
from scheduler_core.sidecar.process.metrics import CONTENT_TYPE
from scheduler_core.sidecar.settings import EXPLAIN_TOKEN_HEADER

MAX_NAME_LENGTH = 253
THREADS = 4
IDLE_TIMEOUT_SECONDS = 10
"""Time after which a connection without a request is closed."""
MAX_LOOKUPS = 4
"""Maximum number of concurrent /explain requests: the loop's thread answers them, and any client in the cluster can send them."""


LOCAL = frozenset({"127.0.0.1", "::1"})
"""Addresses of clients on this machine.  A proxy in the pod must not use them for requests of others; Istio's uses 127.0.0.6."""
LONGEST_TOKEN = 4096


@dataclasses.dataclass(slots=True)
class Answers:
    """Data that the endpoints need from the sidecar.

    Attributes:
        dead: reasons why the process must be restarted; empty if it works.
        unready: reasons why the process is not ready; empty if it is.
        explain: the last decision on a root, by namespace and name, as JSON; None if there is none.  Raises TimeoutError, and
            LookupError with the reason if this process makes no decisions.
        metrics: all metrics as text.

    """

    dead: Callable[[], Sequence[str]]
    unready: Callable[[], Sequence[str]]
    explain: Callable[[str, str], Any]
    metrics: Callable[[], bytes]

    def switch_to(self, other: Answers) -> None:
        """Use the functions of *other* from now on."""
        self.dead, self.unready, self.explain, self.metrics = other.dead, other.unready, other.explain, other.metrics


def unreached_answers(host: str) -> Answers:
    """Return the answers of a process that waits for the API server: it is not ready, but a restart would not help."""
    why = f"the API server at {host} has not been reached yet"

    def explain(_namespace: str, _name: str) -> NoReturn:
        raise LookupError(why)

    return Answers(tuple, lambda: (why,), explain, bytes)


def create_app(answers: Answers, token_file: str | None = None) -> flask.Flask:
    """Return the Flask application; *token_file* has the token for /explain."""
    app = flask.Flask("muster-sidecar", static_folder=None)
    lookups = threading.BoundedSemaphore(MAX_LOOKUPS)

    @app.get("/healthz")
    def healthz() -> flask.Response:
        return _probe(answers.dead())

    @app.get("/readyz")
    def readyz() -> flask.Response:
        return _probe([*answers.dead(), *answers.unready()])

    @app.get("/metrics")
    def metrics() -> flask.Response:
        return flask.Response(answers.metrics(), content_type=CONTENT_TYPE)

    @app.get("/explain/<namespace>/<name>")
    def explain(namespace: str, name: str) -> flask.Response:
        if refusal := _refusal(flask.request, token_file):
            return refusal
        if not lookups.acquire(blocking=False):
            return _error(503, f"{MAX_LOOKUPS} requests are in progress, which is the limit: retry in a second")
        try:
            decision = answers.explain(namespace[:MAX_NAME_LENGTH], name[:MAX_NAME_LENGTH])
        except LookupError as error:
            return _error(404, str(error))
        except TimeoutError:
            return _error(503, "the scheduler is busy and did not answer in time: retry in a second")
        finally:
            lookups.release()
        if decision is None:
            return _error(404, f"no decision on {namespace[:MAX_NAME_LENGTH]}/{name[:MAX_NAME_LENGTH]}: no root of that name was attempted")
        return flask.jsonify(decision)

    return app


def _refusal(request: flask.Request, token_file: str | None) -> flask.Response | None:
    """Return the answer to a client that must not read decisions; None if it is on this machine, or has sent the token."""
    if request.remote_addr in LOCAL:
        return None
    wanted = _token(token_file)
    if not wanted:
        return _error(
            403, "clients on other machines need a token, and this sidecar has none: use kubectl port-forward, or --explain-token-file"
        )
    bearer = request.authorization.token if request.authorization and request.authorization.type == "bearer" else None
    sent = (request.headers.get(EXPLAIN_TOKEN_HEADER) or bearer or "").encode()
    return None if hmac.compare_digest(sent, wanted) else _error(401, f"the token is missing or wrong: send it in {EXPLAIN_TOKEN_HEADER}")


def _token(file: str | None) -> bytes:
    """Return the token; empty if there is none, as long as the optional Secret of the manifests does not exist."""
    if file is None:
        return b""
    try:
        return regular_files.read(file, LONGEST_TOKEN)[:LONGEST_TOKEN].strip()
    except OSError:
        return b""


def _error(status: int, text: str) -> flask.Response:
    body = flask.jsonify(error=text)
    body.status_code = status
    return body


def _probe(reasons: Sequence[str]) -> flask.Response:
    if not reasons:
        return flask.Response("ok\n", content_type="text/plain; charset=utf-8")
    return flask.Response("".join(f"{each}\n" for each in reasons), status=503, content_type="text/plain; charset=utf-8")


class Server:
    """HTTP server of *app* in its own thread, until stopped.

    Raises:
        OSError: the server cannot listen on the address.

    """

    def __init__(self, app: flask.Flask, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Bound here because uvicorn ends the process if the address is in use.
        listener = socket.create_server((host, port), family=family, backlog=128)
        self._address = listener.getsockname()[:2]
        wsgi: Any = app
        config = uvicorn.Config(
            WSGIMiddleware(wsgi, workers=THREADS),
            http=_Connection,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_TIMEOUT_SECONDS,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), name="http", daemon=True)

    @property
    def address(self) -> str:
        """``host:port``, with the actual port."""
        host, port = self._address
        return f"{host!s}:{port}"

    def start(self) -> None:
        """Start the server."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join()


class _Connection(H11Protocol):
    """Connection that is closed if no first request arrives; uvicorn alone has no timeout for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(IDLE_TIMEOUT_SECONDS, self.timeout_keep_alive_handler)
