"""The whole process beside a scripted API server: which kinds it lists, by mode and by the objects that are there."""

from __future__ import annotations

import threading

import pytest

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.sidecar.settings import Mode
from tests.apiserver.fake import serving
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar import test_process
from tests.scheduler_core.sidecar.test_optional_watches import LABELS, selecting
from tests.scheduler_core.sidecar.test_process import PATIENCE, SERVED, Cluster, Process, stop, watching
from tests.webhooks.running import until

quick = test_process.quick
"""The fixture, used here too."""
ALWAYS = {"nodes", "pods", "podgroups", "compositepodgroups"}
VALIDATED = {"workloads", "priorityclasses"}
PLACED = {*VALIDATED, "services", "namespaces"}
RESOLVED = {"priority": 0, "preemptionPolicy": "Never"}
WORKLOAD = {"workloadRef": {"workloadName": "w", "templateName": "t"}}


def cluster(*, needing, gated):
    """Return a cluster with a pod that waits, and a group; those that are *needing* need other objects, and the group has a pod too."""
    spec = {"schedulingGates": [{"name": PLACEMENT_GATE}]} if gated else {"schedulerName": "muster"}
    spec |= {"affinity": selecting(team="a"), "labels": LABELS} if needing else RESOLVED
    found = Cluster()
    waiting, member, group = pod("a", **spec), pod("b", "g", **spec), leaf("g", **(WORKLOAD if needing else RESOLVED))
    for each in (waiting, member, group):
        each["metadata"]["uid"] = f"uid-{each['metadata']['name']}"
    groups = "/apis/scheduling.k8s.io/v1beta1/podgroups"
    found.objects = {"/api/v1/nodes": [node("n1")], "/api/v1/pods": [waiting, member] if needing else [waiting], groups: [group]}
    return found


def listed(server):
    """Return the resources that were listed."""
    known = {each for resources in SERVED.values() for each in resources}
    paths = (path for method, path, _, _ in [*server.requests] if method == "GET" and "watch=true" not in path)
    return {path.partition("?")[0].rpartition("/")[2] for path in paths} & known


def begun(server, place):
    """Return whether the writes of the pod have begun, if it is to be *place*d."""
    return not place or any("/pods/a" in path for _, path, _, _ in [*server.requests])


@pytest.mark.parametrize("needing", [False, True], ids=["no object needs another", "objects need others"])
@pytest.mark.parametrize(
    ("modes", "want"),
    [
        pytest.param({Mode.VALIDATE}, VALIDATED, id="validate"),
        pytest.param({Mode.PROTECT}, set(), id="protect"),
        pytest.param({Mode.PLACE}, PLACED, id="place"),
        pytest.param({Mode.UNGATE}, PLACED, id="ungate"),
        pytest.param(set(Mode) - {Mode.UNGATE, Mode.BUILD}, {*PLACED, "poddisruptionbudgets"}, id="all"),
    ],
)
def test_only_the_kinds_are_listed_that_an_object_needs(modes, want, needing):
    place = bool(modes & {Mode.PLACE, Mode.UNGATE})
    scripted = cluster(needing=needing, gated=Mode.UNGATE in modes)
    # Claims are listed once, to find those that an earlier process has left annotated.
    wanted = ALWAYS | (want if needing else set()) | ({"persistentvolumeclaims"} if Mode.PLACE in modes else set())
    seen = []

    def look():
        seen.append(until(lambda: process.answer("/readyz") == (200, "ok\n") and wanted <= listed(server) and begun(server, place)))
        scripted.over.set()
        stop()

    with serving(scripted) as (server, api):
        process = Process(api.host, modes=frozenset(modes), lease=None)
        thread = threading.Thread(target=look)
        process.on["connected"] = thread.start
        process.run()
        thread.join(PATIENCE)
        assert until(lambda: not watching())

    assert (wanted, [True]) == (listed(server), seen)
