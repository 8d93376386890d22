"""``muster fit`` plays updates as the real controllers make them: finished, or hanging with the same pods."""

from __future__ import annotations

import collections
import contextlib
import time

import pytest

from tests.cluster import controllers, go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kubelet import Kubelet
from tests.cluster.options import Options
from tests.cluster.random_leader_worker_sets import LeaderWorkerSetDrawing
from tests.cluster.random_rollouts import RolloutDrawing
from tests.cluster.rollout_agreement import Result, fitted, is_finished, is_running, observed, other_results, own_pods, snapshot
from tests.cluster.waiting import until
from tests.sampling import every

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "resourcequota-controller",
)
FAST = {"clientConnection": {"qps": 500, "burst": 1000}, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
"""Of kube-scheduler: pods that wait are tried again soon."""
AT_ONCE, GROUPS_AT_ONCE = 20, 8
"""Updates that are made at the same time, in one cluster; of LeaderWorkerSets, too."""
FIRST_GROUPS = 48
"""The first seed of LeaderWorkerSets: of its updates, about as many are finished as hang."""
SETTLED_SECONDS = 4.0
"""Where nothing changes for so long nothing ever does: no pause between two attempts of kube-scheduler or a controller is longer."""


@contextlib.contextmanager
def scheduled(started):
    """Run kube-scheduler and kubelets on a control plane."""
    started.start_scheduler(FAST)
    with Kubelet(started.api):
        yield started


@pytest.fixture
def plane(programs):
    """One for each test: its controllers act on the whole cluster."""
    with ControlPlane(Options(), programs) as started:
        started.start_controllers(CONTROLLERS, controllers.FAST)
        with scheduled(started):
            yield started


@pytest.fixture
def plane_of_groups(programs):
    """One with the controller of LeaderWorkerSets."""
    available(lambda: go_tools.find("lws"))
    with ControlPlane(Options(), programs) as started, controllers.running(started, "lws"), scheduled(started):
        yield started


def pods_by_namespace(api):
    found = collections.defaultdict(list)
    for each in api.objects("Pod"):
        found[each["metadata"]["namespace"]].append(each)
    return found


def settled(api, rollouts):
    """Wait until no pod changes any more; return the pods by namespace."""
    before, since = None, time.monotonic()
    while time.monotonic() < since + SETTLED_SECONDS:
        nudge(api, rollouts)
        found = pods_by_namespace(api)
        state = [(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for pods in found.values() for each in pods]
        if state != before:
            before, since = state, time.monotonic()
        time.sleep(0.5)
    return found


def nudge(api, rollouts):
    """Let controllers try again at once whose pods a quota may have refused: their own pauses double each time, up to a quarter of an hour."""
    for each in rollouts:
        kind = "ReplicaSet" if each.kind == "Deployment" else each.kind
        for found in api.objects(kind, each.name) if each.quota is not None else ():
            body = {"metadata": {"annotations": {"example.com/nudged": str(time.monotonic())}}}
            api.patch(kind, found["metadata"]["name"], each.name, body=body)


def change(api, manifest):
    """Replace the spec of an object."""
    name = manifest["metadata"]["name"]
    api.patch(manifest["kind"], name, name, body=[{"op": "replace", "path": "/spec", "value": manifest["spec"]}], how="json")


def begin(api, rollouts):
    """Create the objects, and wait until they run; begin the earlier updates, fill the nodes, and create the quotas."""
    api.create_all({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each.name}} for each in rollouts)
    api.create_all(node for each in rollouts for node in each.nodes)
    api.create_all(each.old for each in rollouts)

    def missing():
        pods = pods_by_namespace(api)
        return [each.name for each in rollouts if sum(map(is_running, own_pods(each, pods[each.name]))) != each.number(each.old)]

    until(lambda: not missing(), told=lambda: f"not all pods run: {missing()}")
    for each in rollouts:
        if each.begun is not None:
            change(api, each.begun)
    pods = settled(api, ())
    api.create_all(filler for each in rollouts for filler in each.fillers(pods[each.name]))
    pods = settled(api, ())
    api.create_all(quota for each in rollouts for quota in each.quotas(pods[each.name]))
    until(lambda: all((each.get("status") or {}).get("used") for each in api.objects("ResourceQuota")))


def real_results(plane, rollouts):
    """Begin the updates; return their results once nothing changes any more."""
    for each in rollouts:
        change(plane.api, each.new)
    pods = settled(plane.api, rollouts)
    return {each.name: Result(is_finished(plane, each, pods[each.name]), observed(each, pods[each.name])) for each in rollouts}


def difference(objects, rollout, said, real, folder):
    """Return how the results differ, with each of some lots; empty if they agree."""
    if said.same(real) or any(each.same(real) for each in other_results(objects, rollout, folder)):
        return ""
    return f"{rollout.name}, {rollout.kind}, {rollout.number(rollout.old)} pods, {rollout.new['spec']}: fit {said}, controllers {real}"


def compare(plane, rollouts, folder, record_property):
    """Make the updates, and compare their ends with what `fit` says; some of them are finished, and some hang."""
    begin(plane.api, rollouts)
    objects = snapshot(plane)
    said = {each.name: fitted(objects, each, folder) for each in rollouts}

    real = real_results(plane, rollouts)

    ends = collections.Counter(each.finished for each in real.values())
    record_property("finished", ends[True])
    record_property("other lots", sum(not said[name].same(real[name]) for name in real))
    differences = [difference(objects, each, said[each.name], real[each.name], folder) for each in rollouts]
    assert [] == [each for each in differences if each]
    assert min(ends[True], ends[False]) >= len(rollouts) // 8


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", every(10, range(0, 10 * AT_ONCE, AT_ONCE)))
def test_updates_end_as_fit_says(plane, first, tmp_path, record_property):
    rollouts = [RolloutDrawing(seed).rollout() for seed in range(first, first + AT_ONCE)]
    compare(plane, rollouts, tmp_path, record_property)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", every(5, range(FIRST_GROUPS, FIRST_GROUPS + 5 * GROUPS_AT_ONCE, GROUPS_AT_ONCE)))
def test_updates_of_groups_end_as_fit_says(plane_of_groups, first, tmp_path, record_property):
    rollouts = [LeaderWorkerSetDrawing(seed).rollout() for seed in range(first, first + GROUPS_AT_ONCE)]
    compare(plane_of_groups, rollouts, tmp_path, record_property)
