"""Time from a JobSet to its bound pods: with groups that mode build makes, compared with groups that were written by hand.

The controllers of JobSets and Jobs are the real ones; the pods are bound by the sidecar in both.  Only the pods of one namespace are sent to
the webhook by which they join their group.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
import time
from pathlib import Path

from benchmarks import measure
from benchmarks.cluster.bound import Bound
from benchmarks.cluster.objects import NAMESPACE
from benchmarks.cluster.rates import Testbed
from benchmarks.clusters import Json
from tests.cluster import controllers
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import installed
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

LIMIT = 1.1
BUILT = "built"
MOST_SECONDS = 120.0
MODES = ("--mode", "build,validate,place,protect", "--lease", "none")
NODES = 200
COLUMNS = ("pods of the JobSet", "rounds", "built, s", "by hand, s", "built / by hand", "limit")
LABEL = "scheduling.muster.dev/pod-group"


def table(testbed: Testbed, pods: int, rounds: int) -> None:
    """Measure *rounds* JobSets of each kind, and print."""
    plane = testbed.plane
    testbed.grow(NODES)
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": BUILT, "labels": {"muster.dev/groups": "build"}}})
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        for each in (
            controllers.running(plane, "jobset"),
            installed(plane, directory, overlay="join", options=("--placed-by=scheduler",)),
            sidecar(plane, directory, *MODES),
        ):
            stack.enter_context(each)
        numbers = itertools.count()
        measured = measure.in_turns({each: functools.partial(_seconds, plane, each, pods, numbers) for each in (BUILT, NAMESPACE)}, rounds)
    ratio = measured.ratio(BUILT, NAMESPACE)
    row = [f"{pods:,}", str(rounds), *(f"{measured.median(each):.2f}" for each in (BUILT, NAMESPACE)), f"{ratio:.2f}"]
    measure.table("JobSet from creation to bound pods", COLUMNS, [[*row, f"{LIMIT:g}: {measure.verdict(ratio, LIMIT, at_least=False)}"]])


def _seconds(plane: ControlPlane, namespace: str, pods: int, numbers: itertools.count[int]) -> float:
    """Return the time until all pods of a new JobSet are bound, and delete everything."""
    name = f"train-{next(numbers)}"
    with Bound(plane.kubeconfig, plane.api.listed("Pod", namespace, limit=1)[1], namespace) as bound:
        started = time.perf_counter()
        if namespace != BUILT:
            plane.api.create(_group(name, pods))
        plane.api.create(_jobset(name, namespace, pods))
        if not bound.wait(pods, MOST_SECONDS):
            raise SystemExit(f"only {len(bound.times)} of {pods} pods are bound, so the figure is not valid")
        ended = bound.times[-1]
    for kind in ("JobSet", "Job", "Pod", "Workload", "CompositePodGroup", "PodGroup"):
        plane.api.delete_all(kind, namespace, gracePeriodSeconds=0)
    until(lambda: not plane.api.objects("Pod", namespace, limit=1))
    return ended - started


def _group(name: str, pods: int) -> Json:
    spec = {"schedulingPolicy": {"gang": {"minCount": pods}}}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def _jobset(name: str, namespace: str, pods: int) -> Json:
    """Return a JobSet of one Job; written by hand, its pods name their group and the scheduler."""
    template: Json = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]}}
    if namespace != BUILT:
        template["metadata"] = {"labels": {LABEL: name}}
        template["spec"]["schedulerName"] = "muster"
    job = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template}
    spec = {"replicatedJobs": [{"name": "workers", "template": {"spec": job}}]}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
