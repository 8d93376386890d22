"""Score of PodTopologySpread, and default constraints."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kubeapi.pods import TopologySpreadConstraint
from scheduler_core.cluster.load import load
from scheduler_core.model.names import HOSTNAME
from scheduler_core.plugins.pod_topology_spread import SPREAD, PodTopologySpread
from scheduler_core.plugins.spread_constraints import SYSTEM_DEFAULTS, SpreadDefaults
from scheduler_core.plugins.spread_score import IGNORED, normalise, weight_of
from scheduler_core.plugins.stateful_plugins import StatefulPlugins
from tests.scheduler_core.builders import decided, leaf, node, placed, pod

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("size", "want"),
    [(1, "3ff193ea7aad030a"), (3, "3ff9c041f7ed8d33"), (12, "40051cca16d7bba8"), (46, "400ef8383c50bb74"), (5000, "40210901f6dc84b9")],
)
def test_weights_have_the_bits_of_the_scheduler(size, want):
    """The values are those of Go on amd64; for 1, 12, 46 the C library has another last bit."""
    assert want == struct.pack(">d", weight_of(size)).hex()


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param([0, 0], [100, 100], id="nothing there"),
        pytest.param([2, 4], [100, 50], id="the smallest is the best"),
        pytest.param([3, 7, IGNORED], [100, 42, 0], id="rounded down, and one that is ignored"),
        pytest.param([IGNORED, IGNORED], [0, 0], id="all ignored"),
        pytest.param([IGNORED, 0], [0, 100], id="one that is ignored counts for no bound"),
    ],
)
def test_normalised_scores(raw, want):
    assert want == normalise(np.array(raw, dtype=np.int64)).tolist()


def service(name: str, selector, namespace: str = "default"):
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": selector}}


def controller(kind: str, selector, api_version: str = "apps/v1"):
    metadata = {"name": "owner", "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}}


def labelled(name: str, labels, owner=None, **more):
    made = pod(name, **more)
    made["metadata"]["labels"] = labels
    if owner:
        made["metadata"]["ownerReferences"] = [{"apiVersion": owner[0], "kind": owner[1], "name": "owner", "controller": owner[2]}]
    return made


APPS = {"matchLabels": {"app": "a"}}


def test_pods_that_a_constraint_counts_and_others_are_of_different_kinds():
    """All have the constraint; that its selector distinguishes them is known only once it is counted."""
    soft = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "a"}}}
    objects = [labelled(name, {"app": app}, topologySpreadConstraints=[soft]) for name, app in (("one", "a"), ("two", "a"), ("other", "b"))]
    snapshot = load([node("n"), *objects])
    kinds = {pod.name: kind for pod, kind in StatefulPlugins(snapshot).spread_kinds(list(snapshot.pods)).items()}

    assert kinds["one"] is kinds["two"] is not kinds["other"]


@pytest.mark.parametrize(
    ("owner", "others", "want"),
    [
        pytest.param(None, [], False, id="nothing selects it"),
        pytest.param(None, [service("s", {"app": "a"})], True, id="a Service"),
        pytest.param(None, [service("s", {"app": "b"})], False, id="a Service of other pods"),
        pytest.param(None, [service("s", {"app": "a"}, "other")], False, id="a Service of another namespace"),
        pytest.param(None, [service("s", {}), service("t", None)], False, id="Services without a selector"),
        pytest.param(("apps/v1", "ReplicaSet", True), [controller("ReplicaSet", APPS)], True, id="a ReplicaSet"),
        pytest.param(("apps/v1", "ReplicaSet", False), [controller("ReplicaSet", APPS)], False, id="an owner that is no controller"),
        pytest.param(("apps/v1", "ReplicaSet", True), [], False, id="a ReplicaSet that does not exist"),
        pytest.param(("apps/v1beta2", "ReplicaSet", True), [controller("ReplicaSet", APPS)], False, id="another version"),
        pytest.param(("apps/v1", "ReplicaSet", True), [controller("ReplicaSet", None)], False, id="a ReplicaSet without a selector"),
        pytest.param(("apps/v1", "StatefulSet", True), [controller("StatefulSet", APPS)], True, id="a StatefulSet"),
        pytest.param(("batch/v1", "Job", True), [controller("Job", APPS, "batch/v1")], False, id="a Job"),
        pytest.param(
            ("v1", "ReplicationController", True), [controller("ReplicationController", {"app": "a"}, "v1")], True, id="a controller"
        ),
    ],
)
def test_default_constraints_need_something_that_selects_the_pod(owner, others, want):
    snapshot = load([node("n"), labelled("p", {"app": "a"}, owner), *others])
    assert want == StatefulPlugins(snapshot).scores(snapshot.pods[0])


def test_a_pod_with_its_own_constraints_has_no_default():
    own = [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]
    snapshot = load([node("n"), labelled("p", {"app": "a"}, topologySpreadConstraints=own), service("s", {"app": "a"})])
    assert not StatefulPlugins(snapshot).scores(snapshot.pods[0])


def test_pods_count_that_all_selectors_select():
    there = [labelled("x", {"app": "a"}, on="n0"), labelled("y", {"app": "a", "job": "j"}, on="n1")]
    objects = [
        node("n0"),
        node("n1"),
        *there,
        labelled("p", {"app": "a", "job": "j"}),
        service("s", {"app": "a"}),
        service("t", {"job": "j"}),
    ]
    snapshot = load(objects)
    (plugin,) = (each for each in StatefulPlugins(snapshot).plugins if isinstance(each, PodTopologySpread))

    # ln(4) * 1 + 2 against 2; n0 and n1 are in the same zone, the empty one, which scores nothing.
    assert [2, 3] == plugin.score(snapshot.pods[0], snapshot.nodes.everything).tolist()


def test_other_default_constraints():
    hard = TopologySpreadConstraint(max_skew=1, topology_key=HOSTNAME, when_unsatisfiable="DoNotSchedule")
    soft = TopologySpreadConstraint(max_skew=2, topology_key="rack", when_unsatisfiable="ScheduleAnyway")
    there = labelled("x", {"app": "a"}, on="n0")
    snapshot = load(
        [node("n0", rack="r1"), node("n1", rack="r1"), node("n2"), there, labelled("p", {"app": "a"}), service("s", {"app": "a"})]
    )
    comer, everything = snapshot.pods[0], snapshot.nodes.everything

    known = StatefulPlugins(snapshot, defaults=SpreadDefaults((hard, soft)))
    assert known.touches(comer)
    assert [False, True, True] == dict(known.filter(comer, everything))[SPREAD].tolist()
    # Unlike the system's defaults, they do not score nodes without a topology key.
    assert [100, 100, 0] == [each // 2 for each in known.score(comer, everything).tolist()]
    assert not StatefulPlugins(snapshot, defaults=SpreadDefaults()).scores(comer)
    assert SYSTEM_DEFAULTS.system


def test_zones_are_spread_before_nodes_are_compared():
    nodes = [node(f"n{number}", **{ZONE: zone}) for number, zone in enumerate("aab")]
    objects = [*nodes, leaf("g", 3), *(labelled(f"g-{number}", {"app": "a"}, group="g") for number in range(3)), service("s", {"app": "a"})]

    assert {"g-0": "n0", "g-1": "n2", "g-2": "n1"} == placed(decided(objects, strategy="greedy"))


def test_complete_places_a_pod_with_soft_constraints():
    soft = [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]
    objects = [node("n0", cpu="2"), node("n1", cpu="3"), leaf("g", 2)]
    objects += [pod("g-0", "g", cpu="2", topologySpreadConstraints=soft), pod("g-1", "g", cpu="3", topologySpreadConstraints=soft)]

    assert {"g-0": "n0", "g-1": "n1"} == placed(decided(objects, strategy="complete"))
