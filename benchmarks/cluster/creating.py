"""Time to create Workloads and groups with the shipped webhooks, relative to ``kube-system``, whose objects are not sent to them.

The floor is one webhook that allows everything, of a minimal Flask application in the same server; it is asked about the objects of
``muster-system``, which are not sent to the shipped ones.  Objects are created one after the other, in rounds that alternate between the
namespaces, through one connection to one API server.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import load, measure
from benchmarks.cluster.joining import configuration
from benchmarks.cluster.rates import Testbed
from benchmarks.clusters import Json
from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import composite_group, installed, pod_group
from tests.cluster.waiting import until

LIMIT = 1.5
OBJECTS_OF_A_ROUND = 50
WITH, FLOOR, WITHOUT = "default", "muster-system", "kube-system"
COLUMNS = ("objects", "of each", "with webhooks, ms", "a constant webhook, ms", "without, ms", "ratio", "constant / without", "limit")
RULE = {
    "apiGroups": ["scheduling.k8s.io"],
    "apiVersions": ["*"],
    "operations": ["CREATE"],
    "resources": ["workloads", "podgroups", "compositepodgroups"],
}


def _workload(name: str, namespace: str) -> Json:
    template = {"name": "worker", "schedulingPolicy": {"gang": {"minCount": 2}}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": metadata, "spec": {"podGroupTemplates": [template]}}


KINDS: dict[str, Callable[[str, str], Json]] = {"Workload": _workload, "PodGroup": pod_group, "CompositePodGroup": composite_group}


def table(testbed: Testbed, rounds: int) -> None:
    """Measure *rounds* rounds of each kind in each namespace, and print."""
    plane = testbed.plane
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        (directory / "installed").mkdir()
        stack.enter_context(installed(plane, directory / "installed"))
        load.certificate(directory)
        floor = stack.enter_context(load.serving("allowing", directory))
        stack.callback(plane.api.delete, "ValidatingWebhookConfiguration", FLOOR)
        # It is asked from the moment when a path that it does not have makes the API server refuse.
        there = plane.api.create(configuration("ValidatingWebhookConfiguration", FLOOR, floor, "/absent", RULE))
        until(lambda: not _is_created(plane))
        answering = configuration("ValidatingWebhookConfiguration", FLOOR, floor, "/validate", RULE)
        plane.api.replace({**there, "webhooks": answering["webhooks"]})
        until(lambda: _is_created(plane))
        rows = [_row(plane, kind, rounds) for kind in KINDS]
    measure.table("Creation of an object with the shipped webhooks", COLUMNS, rows)


def _is_created(plane: ControlPlane) -> bool:
    try:
        plane.api.create(pod_group("probe", FLOOR), dryRun="All")
    except ApiError:
        return False
    return True


def _row(plane: ControlPlane, kind: str, rounds: int) -> list[str]:
    numbers = itertools.count()
    runs = {each: functools.partial(_milliseconds, plane, kind, each, numbers) for each in (WITH, FLOOR, WITHOUT)}
    measured = measure.in_turns(runs, rounds)
    ratio = measured.ratio(WITH, WITHOUT)
    figures = (f"{measured.median(each):.2f}" for each in (WITH, FLOOR, WITHOUT))
    verdict = f"{LIMIT:g}: {measure.verdict(ratio, LIMIT, at_least=False)}"
    return [kind, f"{rounds * OBJECTS_OF_A_ROUND:,}", *figures, f"{ratio:.2f}", f"{measured.ratio(FLOOR, WITHOUT):.2f}", verdict]


def _milliseconds(plane: ControlPlane, kind: str, namespace: str, numbers: itertools.count[int]) -> float:
    """Return the median time to create an object, without the first one, which may open a connection."""
    times = []
    for _ in range(OBJECTS_OF_A_ROUND + 1):
        content = KINDS[kind](f"created-{next(numbers):05d}", namespace)
        started = time.perf_counter()
        plane.api.create(content)
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times[1:])
