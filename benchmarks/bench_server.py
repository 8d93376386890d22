"""Reviews per second of the whole server, compared with two servers that neither decode nor validate.

``same app`` is the same server and Flask application with its request checks, metrics and log line, but a constant answer; the
limits refer to it.  ``bare app`` is the same server with a minimal Flask application.  Each server has one worker, TLS and
keep-alive connections.  All servers run at the same time and are loaded alternately.

A second table compares the whole server with the alternatives: gunicorn's own ASGI worker (``muster serve --server
gunicorn``), and the same Flask application in two stock WSGI servers.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path

from benchmarks import http_servers, load, measure, workloads

ROUNDS = 7
SECONDS = 1.5
CONNECTIONS = 4
SMALL_LIMIT, LARGE_LIMIT = 0.8, 0.12
COMPARED = ("judging", "gunicorn", *http_servers.STOCK)


def main() -> None:
    """Measure and print."""
    cases = (("usual Workload", workloads.usual(), SMALL_LIMIT), ("largest legal Workload", workloads.full(workloads.DEEPEST), LARGE_LIMIT))
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        directory = Path(name)
        load.certificate(directory)
        with contextlib.ExitStack() as stack:
            servers = {what: stack.enter_context(load.serving(what, directory)) for what in ("judging", "unjudged", "constant")}
            rows = [_row(what, workloads.review(workload), limit, servers) for what, workload, limit in cases]
        with contextlib.ExitStack() as stack:
            servers = {what: stack.enter_context(http_servers.running(what, directory)) for what in COMPARED}
            compared = [_compared(what, workloads.review(workload), servers) for what, workload, _ in cases]
    columns = ("review", "size", "bare app", "same app", "Muster", "Muster / bare app", "Muster / same app", "by processor time", "limit")
    measure.table("Server: reviews per second, one worker, TLS, keep-alive", columns, rows)
    columns = ("review", "uvicorn (default)", "gunicorn", "gunicorn gthread", "granian WSGI", "uvicorn / gthread", "uvicorn / granian")
    measure.table("Server: reviews per second with each library, the same application", columns, compared)


def _compared(what: str, body: bytes, servers: dict[str, load.Server]) -> list[str]:
    def press(name: str) -> float:
        return load.press(servers[name], body, connections=CONNECTIONS, seconds=SECONDS).rate

    rounds = measure.in_turns({name: functools.partial(press, name) for name in servers}, ROUNDS)
    ratios = (f"{rounds.ratio('judging', name):.2f}" for name in http_servers.STOCK)
    return [what, *(f"{rounds.median(name):,.0f}" for name in servers), *ratios]


def _row(what: str, body: bytes, limit: float, servers: dict[str, load.Server]) -> list[str]:
    loads: dict[str, list[load.Load]] = {name: [] for name in servers}

    def press(name: str) -> float:
        loads[name].append(load.press(servers[name], body, connections=CONNECTIONS, seconds=SECONDS))
        return loads[name][-1].rate

    rounds = measure.in_turns({name: functools.partial(press, name) for name in servers}, ROUNDS)
    # The first round is a warm-up.
    by_processor = measure.Rounds({name: [each.processor_rate for each in measured[1:]] for name, measured in loads.items()})
    ratio = rounds.ratio("judging", "unjudged")
    size = f"{len(body) / 1000:.1f} KB" if len(body) < 10_000 else f"{len(body) / 1000:.0f} KB"
    return [
        *(what, size, *(f"{rounds.median(name):,.0f}" for name in ("constant", "unjudged", "judging"))),
        *(f"{rounds.ratio('judging', 'constant'):.2f}", f"{ratio:.2f}"),
        *(f"{by_processor.ratio('judging', 'unjudged'):.2f}", f"{limit:g}: {measure.verdict(ratio, limit, at_least=True)}"),
    ]


if __name__ == "__main__":
    main()
