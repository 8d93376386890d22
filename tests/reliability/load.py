"""Pods that 64 writers create through a real API server and the webhooks, beside a webhook that allows everything.

A round measures the capacity of both in turns, sends half of it for the rest of its time, and floods the webhooks with large bodies.
The other campaign sends half of the capacity to the same processes for an hour.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import re
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import flood, load
from benchmarks.cluster.wire import RefusedError, Request, Wire
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import Installed, eventually, installed
from tests.reliability.campaign import Campaign, Round
from tests.reliability.reviews_tls import resident

Json = dict[str, Any]
WRITERS = 64
TURNS, PODS = 4, 200
"""Turns of each webhook, and pods of a turn."""
BATCH = 300
"""Pods after which all are deleted."""
HALF_SECONDS, HOUR_SECONDS = 60.0, 3600.0
"""At half capacity: in each round, and without an end between."""
GROWTH_BYTES = 24 * 1024 * 1024
"""Growth of all processes of the server at half capacity, after pods are deleted."""
FLOOD = 160
"""Connections that send a large body at once: more than may wait."""
CONNECT_SECONDS = 60.0
DEADLINE_SECONDS = 5.0
"""Deadlines of head and body together (MUSTER_REQUEST_SECONDS); clients that share the processors send slowly."""
RECOVERY_SECONDS = 1.0
REFUSALS = frozenset({408, 429, 503})
JUDGED, CONSTANT = "judged", "constant"
WEBHOOK, CONSTANT_WEBHOOK = "pods.muster.dev", "pods.constant.dev"


class WebhookFailures(NamedTuple):
    """Counters of the API server about calls of webhooks that failed."""

    failed_open: float
    failed: float


class Attacked(NamedTuple):
    """What a round attacks, and the writers that do it."""

    plane: ControlPlane
    server: Installed
    writers: _Writers


@contextlib.contextmanager
def _attacked(seed: int, failures: list[str]) -> Iterator[Attacked]:
    """Run an API server that calls the webhooks for the pods of one namespace, and the constant one for those of another.

    Calls that failed until the end are added to *failures*.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-load-")))
        plane = stack.enter_context(ControlPlane())
        server = stack.enter_context(installed(plane, folder, overlay="pods"))
        load.certificate(folder)
        constant = stack.enter_context(load.serving("allowing", folder, workers=2))
        labels = {JUDGED: {"muster.dev/enforce": "true"}, CONSTANT: {"constant": "true"}}
        for name in (JUDGED, CONSTANT):
            plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels[name]}})
        _copy_configurations(plane, constant)
        if not eventually(lambda: _calls_both(plane)):
            failures.append("the API server does not call both webhooks")
        writers = _Writers(plane, seed, failures)
        stack.callback(writers.close)
        before = _counted(plane)
        yield Attacked(plane, server, writers)
        failures += unanswered(before, _counted(plane))


def run(seed: int) -> Round:
    """Run a round; of its seed only the names depend."""
    failures: list[str] = []
    with _attacked(seed, failures) as (_, server, writers):
        judged, other = _capacities(writers)
        if failures:
            return Round(writers.created, tuple(failures))
        grown = _at_half(writers, server, judged / 2, HALF_SECONDS, failures)
        refused, slowest, recovered = _flooded(server, writers, failures)
    figures = {
        "pods/s": judged,
        "pods/s relative to the constant webhook": judged / other,
        "MB grown at half capacity": grown,
        "s at half capacity": HALF_SECONDS,
        f"of {FLOOD} large bodies refused": refused,
        "s until the last refusal": slowest,
        "s until a pod is created after it": recovered,
    }
    return Round(writers.created, tuple(failures), figures)


def run_hour(seed: int) -> Round:
    """Send half of the capacity for an hour; of the seed only the names depend."""
    failures: list[str] = []
    with _attacked(seed, failures) as (_, server, writers):
        capacity, _ = _capacities(writers)
        if failures:
            return Round(0, tuple(failures))
        before = writers.created
        grown = _at_half(writers, server, capacity / 2, HOUR_SECONDS, failures)
    return Round(1, tuple(failures), {"pods": writers.created - before, "MB grown": grown})


def _capacities(writers: _Writers) -> tuple[float, float]:
    """Return how many pods are created in a second, through the webhooks and through the constant one."""
    capacity: dict[str, list[float]] = {JUDGED: [], CONSTANT: []}
    for _, name in itertools.product(range(TURNS), capacity):
        capacity[name].append(PODS / writers.create(name, PODS))
        writers.delete(name)
    return statistics.median(capacity[JUDGED]), statistics.median(capacity[CONSTANT])


class _Writers:
    """Connections of 64 writers, and what they created."""

    def __init__(self, plane: ControlPlane, seed: int, failures: list[str]) -> None:
        self._plane, self._seed, self._failures = plane, seed, failures
        self._wire, self._numbers = Wire(plane.kubeconfig), itertools.count()
        self.created = 0

    def create(self, namespace: str, count: int, rate: float = 0.0) -> float:
        """Create pods, *rate* of them in a second, or as many as possible; return the seconds that takes."""
        try:
            seconds = self._wire.press(self._paced(namespace, count, rate), WRITERS if count >= WRITERS else 1)
        except RefusedError as error:
            self._failures.append(f"a pod is refused: {error}")
            return float("inf")
        self.created += count
        return seconds

    def _paced(self, namespace: str, count: int, rate: float) -> Iterator[Request]:
        began = time.monotonic()
        for number in range(count):
            if rate:
                time.sleep(max(0.0, began + number / rate - time.monotonic()))
            content = _pod(f"p-{self._seed}-{next(self._numbers)}", namespace)
            yield "POST", f"/api/v1/namespaces/{namespace}/pods", json.dumps(content).encode()

    def delete(self, namespace: str) -> None:
        """Delete all pods."""
        self._plane.api.delete_all("Pod", namespace, gracePeriodSeconds=0)

    def close(self) -> None:
        """Close all connections."""
        self._wire.close()


def _pod(name: str, namespace: str) -> Json:
    container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "train"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], "schedulerName": "nobody"}}


def _copy_configurations(plane: ControlPlane, constant: load.Server) -> None:
    """Have the constant webhook called for pods of its namespace as often as Muster's is for those of the other: /mutate and /validate."""
    bundle = base64.b64encode(constant.ca.read_bytes()).decode()
    for kind, path in (("MutatingWebhookConfiguration", "/mutate"), ("ValidatingWebhookConfiguration", "/validate")):
        shipped = plane.api.get(kind, "muster-pods")
        webhook = next(each for each in shipped["webhooks"] if each["name"] == WEBHOOK)
        client = {"url": f"https://{load.HOST}:{constant.port}{path}", "caBundle": bundle}
        webhook |= {"name": CONSTANT_WEBHOOK, "clientConfig": client, "namespaceSelector": {"matchLabels": {"constant": "true"}}}
        plane.api.create({"apiVersion": shipped["apiVersion"], "kind": kind, "metadata": {"name": CONSTANT}, "webhooks": [webhook]})


def _calls_both(plane: ControlPlane) -> bool:
    """Create a pod in each namespace without writing it; return whether all four webhooks have been called."""
    for name in (JUDGED, CONSTANT):
        plane.api.create(_pod("probe", name), dryRun="All")
    told = plane.kubectl("get", "--raw", "/metrics", check=True).stdout
    called = re.findall(r'^apiserver_admission_webhook_request_total\{code="200",name="([\w.]+)",.*type="(\w+)"\} ', told, re.MULTILINE)
    return set(itertools.product((WEBHOOK, CONSTANT_WEBHOOK), ("admit", "validating"))) <= set(called)


def _counted(plane: ControlPlane) -> WebhookFailures:
    lines = plane.kubectl("get", "--raw", "/metrics", check=True).stdout.splitlines()

    def total(name: str, part: str = "") -> float:
        return sum(float(each.rpartition(" ")[2]) for each in lines if each.startswith(f"{name}{{") and part in each)

    return WebhookFailures(
        total("apiserver_admission_webhook_fail_open_count"),
        total("apiserver_admission_webhook_rejection_count", 'error_type="calling_webhook_error"'),
    )


def unanswered(before: WebhookFailures, after: WebhookFailures) -> Iterator[str]:
    """Yield what does not hold if a webhook was not called, or its call failed."""
    if after != before:
        yield f"failurePolicy answered instead of a webhook: {before} became {after}"


def _at_half(writers: _Writers, server: Installed, rate: float, seconds: float, failures: list[str]) -> float:
    """Create pods at *rate*, and delete them again and again; return how many MB the server has grown since the first batch."""
    end, sent, first = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        count = max(WRITERS, min(BATCH, int(rate * (end - time.monotonic()))))
        writers.create(JUDGED, count, rate)
        writers.delete(JUDGED)
        sent += count
        first = first or resident(server.server.pid)
    grown = resident(server.server.pid) - first
    if grown > GROWTH_BYTES:
        failures.append(f"memory grew by {grown >> 20} MB at half capacity, over {sent} pods")
    return grown / 2**20


def _flooded(server: Installed, writers: _Writers, failures: list[str]) -> tuple[int, float, float]:
    """Send large bodies by many connections at once; return how many are refused, the time of the last refusal, and until a pod is created."""
    content, answers = flood.request(), []  # type: bytes, list[tuple[int, float]]
    ready = threading.Barrier(FLOOD, timeout=CONNECT_SECONDS)

    def one() -> None:
        # A connection that fails has no answer, and the others do not wait for it forever.
        with (
            contextlib.suppress(OSError, threading.BrokenBarrierError),
            load.connection(server.port, server.certificates / "ca.crt") as sock,
        ):
            sock.settimeout(60.0)
            ready.wait()
            began = time.monotonic()
            with contextlib.suppress(OSError):
                sock.sendall(content)
            with contextlib.suppress(OSError):
                told = sock.recv(65536)
                answers.append((int(told.split(b" ", 2)[1]) if told else 0, time.monotonic() - began))

    threads = [threading.Thread(target=one) for _ in range(FLOOD)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    began = time.monotonic()
    writers.create(JUDGED, 1)
    recovered = time.monotonic() - began
    failures += troubles(answers, recovered)
    refused = [seconds for code, seconds in answers if code in REFUSALS]
    return len(refused), max(refused, default=0.0), recovered


def troubles(answers: Sequence[tuple[int, float]], recovered: float) -> Iterator[str]:
    """Yield what does not hold of a flood: *answers* are codes, 0 for a closed connection, and seconds; *recovered*: seconds until a pod."""
    if recovered > RECOVERY_SECONDS:
        yield f"a pod is created {recovered:.1f} s after the flood"
    refused = [seconds for code, seconds in answers if code in REFUSALS]
    if len(answers) < FLOOD or {code for code, _ in answers} - {200, *REFUSALS}:
        yield f"{len(answers)} of {FLOOD} large bodies are answered, and these with {dict(Counter(code for code, _ in answers))}"
    elif not refused:
        yield "no large body is refused, so that this was no flood"
    elif max(refused) > DEADLINE_SECONDS:
        yield f"a large body is refused after {max(refused):.1f} s"


CAMPAIGNS = (
    Campaign(
        "load",
        f"pods created by {WRITERS} writers through API server and webhooks, beside a constant webhook; half of the capacity; a flood of large bodies",
        f"no create fails or is answered by failurePolicy, memory is flat at half capacity, a flood is refused within {DEADLINE_SECONDS:g} s, and a pod "
        f"is created within {RECOVERY_SECONDS:g} s after it",
        200_000,
        run,
    ),
    Campaign(
        "load-hour",
        f"pods created by {WRITERS} writers at half of the capacity, for an hour without an end between",
        "no create fails or is answered by failurePolicy, memory is flat",
        1,
        run_hour,
        only_named=True,
    ),
)
