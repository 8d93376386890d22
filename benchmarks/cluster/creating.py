"""Time to create Workloads and groups with the shipped webhooks, relative to ``kube-system``, whose objects are not sent to them.

Objects are created one after the other, in rounds that alternate between the namespaces, through one connection to one API server.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import measure
from benchmarks.cluster.rates import Testbed
from benchmarks.clusters import Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import composite_group, installed, pod_group

LIMIT = 1.5
OBJECTS_OF_A_ROUND = 50
WITH, WITHOUT = "default", "kube-system"
COLUMNS = ("objects", "of each", "with webhooks, ms", "without, ms", "ratio", "limit")


def _workload(name: str, namespace: str) -> Json:
    template = {"name": "worker", "schedulingPolicy": {"gang": {"minCount": 2}}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": metadata, "spec": {"podGroupTemplates": [template]}}


KINDS: dict[str, Callable[[str, str], Json]] = {"Workload": _workload, "PodGroup": pod_group, "CompositePodGroup": composite_group}


def table(testbed: Testbed, rounds: int) -> None:
    """Measure *rounds* rounds of each kind in each namespace, and print."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name, installed(testbed.plane, Path(name)):
        rows = [_row(testbed.plane, kind, rounds) for kind in KINDS]
    measure.table("Creation of an object with the shipped webhooks", COLUMNS, rows)


def _row(plane: ControlPlane, kind: str, rounds: int) -> list[str]:
    numbers = itertools.count()
    runs = {each: functools.partial(_milliseconds, plane, kind, each, numbers) for each in (WITH, WITHOUT)}
    measured = measure.in_turns(runs, rounds)
    ratio = measured.ratio(WITH, WITHOUT)
    figures = (f"{measured.median(each):.2f}" for each in (WITH, WITHOUT))
    verdict = f"{LIMIT:g}: {measure.verdict(ratio, LIMIT, at_least=False)}"
    return [kind, f"{rounds * OBJECTS_OF_A_ROUND:,}", *figures, f"{ratio:.2f}", verdict]


def _milliseconds(plane: ControlPlane, kind: str, namespace: str, numbers: itertools.count[int]) -> float:
    """Return the median time to create an object, without the first one, which may open a connection."""
    times = []
    for _ in range(OBJECTS_OF_A_ROUND + 1):
        content = KINDS[kind](f"created-{next(numbers):05d}", namespace)
        started = time.perf_counter()
        plane.api.create(content)
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times[1:])
