"""Differences between the versions of kube-scheduler that the recorded answers do not reach: one small cluster or call for each."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kubeapi.field_path import FieldPath
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, KUBERNETES_1_38, SchedulerBehavior, behavior_of
from scheduler_core.causes.attempts import PreemptionResult
from scheduler_core.causes.groups import NoDomain
from scheduler_core.causes.searches import PlacementsSampled
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.loading.configuration.plugin_sets import expand, without_defaults
from scheduler_core.loading.configuration.scheduler_configuration import read_configuration
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.wording.changes import remedy_text
from scheduler_core.wording.conditions import scheduler_message
from scheduler_core.wording.decision_words import message, pending
from tests.builders import Manifest, composite_pod_group, manifest, node, pod, pod_group, volume_claim
from tests.scheduler_core.builders import reasons_of
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)
from tests.scheduler_core.whatif.cluster import COMPLETE, remedies
from validators.gates import COMPOSITE, PREEMPTION_POLICY, TOPOLOGY, Gates

BOTH = (KUBERNETES_1_37, KUBERNETES_1_38)


def decided(objects: list[Manifest], behavior: SchedulerBehavior, gates: Gates | None = None) -> Decision:
    """Return the last decision of kube-scheduler."""
    options = CycleOptions(strategy="greedy", gates=gates or Gates())
    return run_cycle(load(objects, behavior=behavior), options).decisions[-1]


def both(objects: list[Manifest]) -> tuple[Decision, Decision]:
    older, newer = (decided(objects, behavior) for behavior in BOTH)
    return older, newer


def racks(**nodes: str) -> list[Manifest]:
    return [node(name, labels={"rack": rack}) for name, rack in nodes.items()]


def placed(decision: Decision) -> dict[str, str]:
    return {each.rpartition("/")[2]: on for each, on in decision.assignments.items()}


def test_the_placement_of_the_nominated_node_is_evaluated_first():
    nominated = pod("p", "g", status={"nominatedNodeName": "b1"})
    running = pod("r", cpu="2", on="a1")
    older, newer = both([*racks(a1="a", b1="b"), pod_group("g", 1, "rack"), running, nominated])
    assert ({"p": "a1"}, {"p": "b1"}) == (placed(older), placed(newer))


def test_a_note_says_that_a_part_of_the_feasible_placements_is_compared():
    objects = [*racks(**{f"n{number}": f"r{number % 2}" for number in range(60)}), pod_group("g", 1, "rack"), pod("p", "g")]
    assert [0, 1] == [sum(isinstance(cause, PlacementsSampled) for cause in each.causes) for each in both(objects)]


FIT_ALONE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}}}],
}
"""NodeResourcesFit decides alone on which node a pod goes."""


def with_own_requests(name: str, cpu: str) -> Manifest:
    found = pod(name, "g", cpu="")
    found["spec"]["resources"] = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return found


def test_pod_level_requests_count_in_the_score_of_a_node():
    nodes = [node(name, cpu, "64Gi") for name, cpu in (("a", "16"), ("b", "40"), ("c", "24"))]
    running = [pod("old-b", cpu="8", on="b"), pod("old-c", cpu="2", memory="", on="c")]
    members = [with_own_requests(f"p{number}", "3") for number in range(6)]
    older, newer = both([FIT_ALONE, *nodes, *running, pod_group("g", 6), *members])
    assert ["acabcb", "acbcba"] == ["".join(placed(each)[f"p{number}"] for number in range(6)) for each in (older, newer)]


@pytest.mark.parametrize("minimum", [1, 2])
def test_pod_level_requests_count_in_the_score_of_a_placement(minimum):
    nodes = [node("a", "8", "64Gi", labels={"rack": "r1"}), node("b", "32", "64Gi", labels={"rack": "r2"})]
    members = [with_own_requests(f"p{number}", str(6 // minimum)) for number in range(minimum)]
    older, newer = both([*nodes, pod("old", cpu="16", on="b"), pod_group("g", minimum, "rack"), *members])
    assert [{"b"}, {"a"}] == [{*placed(each).values()} for each in (older, newer)]


def provisioned(capacity: str, size: str) -> list[Manifest]:
    """A pod with a claim of *size*, whose volume is provisioned where there is *capacity*."""
    driver = manifest("storage.k8s.io/v1", "CSIDriver", "d", {"storageCapacity": True}, namespace="")
    storage_class = manifest("storage.k8s.io/v1", "StorageClass", "c", namespace="")
    storage_class |= {"provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer"}
    offered = manifest("storage.k8s.io/v1", "CSIStorageCapacity", "s")
    offered |= {"storageClassName": "c", "capacity": capacity, "nodeTopology": {}}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}
    return [node("n"), driver, storage_class, offered, volume_claim("claim", size, "c"), pod("p", volumes=[volume])]


def test_capacities_of_storage_are_compared_exactly():
    assert [{"p": "n"}, {}] == [placed(each) for each in both(provisioned("1500m", "2"))]
    assert [{"p": "n"}, {"p": "n"}] == [placed(each) for each in both(provisioned("2", "2"))]


def test_all_devices_of_an_incomplete_pool_exclude_its_nodes_only():
    everything = template("all", request(allocationMode="All"))
    claim = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "all"}]}
    slices = [device_slice("n1", "a", count=2), device_slice("n2", "b")]
    older, newer = both([node("n1"), node("n2"), device_class(), *slices, everything, pod("p", **claim)])
    assert ({}, {"p": "n2"}) == (placed(older), placed(newer))


def low(name: str, uid: str, on: str, cpu: str = "4") -> Manifest:
    return pod(name, cpu=cpu, on=on, priority=0, metadata={"uid": uid}, status={"startTime": "2026-01-01T00:00:00Z"})


def test_of_equal_victims_the_one_with_the_lower_uid_stays():
    group = pod_group("g", 1, priority=10)
    members = [group, pod("p", "g", cpu="4", priority=10)]
    for uids, want in ((("1", "2"), "b"), (("2", "1"), "a")):
        running = [low("a", uids[0], "n"), low("b", uids[1], "n")]
        newer = decided([node("n", cpu="8"), *running, *members], KUBERNETES_1_38)
        assert [want] == [each.rpartition("/")[2] for each in newer.victims]


def test_victims_are_evicted_for_the_groups_that_succeed_only():
    """The second group has nodes for two of its three pods, so it fails and the root does not need it."""
    root = composite_pod_group("root", 1, priority=10)
    first = pod_group("a", 1, parent="root", priority=10)
    second = pod_group("b", 3, parent="root", priority=10)
    pods = [pod("a-0", "a", cpu="4", priority=10), *(pod(f"b-{number}", "b", cpu="4", priority=10) for number in range(3))]
    nodes = [node(f"n{number}") for number in range(3)]
    running = [low(f"low-{number}", str(number), f"n{number}") for number in range(3)]
    older, newer = both([*nodes, *running, root, first, second, *pods])
    assert (3, 1) == (len(older.victims), len(newer.victims))


def test_a_group_that_never_preempts_waits_for_victims_of_an_earlier_preemption():
    leaving = low("low", "1", "n")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    leaving["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    group = pod_group("g", 1, priority=10, preemptionPolicy="Never")
    waiting = pod("p", "g", cpu="4", priority=10, status={"nominatedNodeName": "n"}, preemptionPolicy="Never")
    older, newer = both([node("n"), leaving, group, waiting])
    assert (PreemptionResult.NEVER, PreemptionResult.ONGOING) == (older.post_filter, newer.post_filter)


def test_the_gate_of_preemption_policies_is_read_by_versions_that_have_it():
    group = pod_group("g", 1, priority=10, preemptionPolicy="Never")
    objects = [node("n"), low("low", "1", "n"), group, pod("p", "g", cpu="4", priority=10)]
    older, newer = (decided(objects, behavior, Gates(frozenset({PREEMPTION_POLICY}))) for behavior in BOTH)
    assert (["default/low"], []) == ([*older.victims], [*newer.victims])


def test_without_topologies_no_message_is_about_placements():
    objects = [node("a"), node("b"), pod_group("g", 3), *(pod(f"p{number}", "g", cpu="3") for number in range(3))]
    found = [decided(objects, behavior, Gates(frozenset({TOPOLOGY, COMPOSITE}))) for behavior in BOTH]
    assert [
        "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
        "scheduling policy's minimum threshold (3) cannot be satisfied: 2 scheduled, 1 unschedulable, 0 not-evaluated",
    ] == [scheduler_message(each, each.groups[0]).partition(", pod group preemption")[0] for each in found]


@pytest.mark.parametrize("key", ["", "rack"])
def test_a_nominated_placement_without_a_new_pod_is_stated(key):
    nominated = pod("p", "g", cpu="3", status={"nominatedNodeName": "a"})
    older, newer = both([*racks(a="r1"), pod_group("g", 1, key), pod("r", "g", cpu="3", on="a"), nominated])
    stated = "0/1 placements are available, first placement status: nominated placement is feasible but no pending pod was scheduled"
    assert stated == scheduler_message(newer, newer.groups[0]).partition(", pod group preemption")[0]
    assert older.causes == newer.causes


def configured(behavior: SchedulerBehavior, **profile: Any) -> list[str]:
    """Return the fields with errors of a scheduler configuration with one profile."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return [str(each.path) for each in read_configuration({**head, "profiles": [profile]}, behavior).errors]


@pytest.mark.parametrize(
    ("profile", "errors"),
    [
        ({"percentageOfPlacementsToScore": 50}, ["profiles[0].percentageOfPlacementsToScore"]),
        ({"plugins": {"placementFeasible": {}}}, ["profiles[0].plugins.placementFeasible"]),
        (
            {"plugins": {"placementGenerate": {"enabled": [{"name": "other"}]}}},
            ["profiles[0].plugins.placementGenerate"],
        ),
    ],
    ids=["percentage", "point", "generators"],
)
def test_fields_of_later_versions_are_errors_before(profile, errors):
    older, newer = (configured(behavior, **profile) for behavior in BOTH)
    assert errors == [each for each in older if each not in newer]


def test_plugins_have_the_extension_points_of_the_version():
    older, newer = (dict(expand({}, FieldPath(), behavior, [], []).at) for behavior in BOTH)
    assert ("GangScheduling" in older["permit"], "placementFeasible" in older) == (True, False)
    assert ("GangScheduling" in newer["permit"], "GangScheduling" in newer["placementFeasible"]) == (False, True)
    assert [False, True] == ["DefaultPreemption" in each["reserve"] for each in (older, newer)]


def test_plugins_of_the_last_point_alone_have_default_arguments_in_later_versions():
    sets = {"multiPoint": {"disabled": [{"name": "*"}]}, "podGroupPostFilter": {"enabled": [{"name": "DefaultPreemption"}]}}
    assert [["DefaultPreemption"], []] == [without_defaults(sets, behavior) for behavior in BOTH]


@pytest.mark.parametrize(("behavior", "label", "kinds"), [(KUBERNETES_1_37, "type", False), (KUBERNETES_1_38, "entity", True)])
def test_metrics_have_the_labels_of_the_version(behavior, label, kinds):
    metrics = SidecarMetrics("s", "one", behavior=behavior)
    (queued,) = (each for each in metrics.registry.collect() if each.name.endswith("queued_entities"))
    assert ("'compositepodgroup'" in queued.documentation) is kinds
    assert label in metrics.queued._labelnames


def test_every_difference_is_a_difference():
    facts = [each.name for each in dataclasses.fields(SchedulerBehavior) if each.name != "tries_placements"]
    assert [] == [name for name in facts if getattr(KUBERNETES_1_37, name) == getattr(KUBERNETES_1_38, name)]
    assert [KUBERNETES_1_37, KUBERNETES_1_37, KUBERNETES_1_38, KUBERNETES_1_38] == [behavior_of(minor) for minor in (36, 37, 38, 39)]


@pytest.mark.parametrize(("labels", "empty"), [({"rack": ""}, 1), ({}, 0), ({"rak": "r1"}, 0)], ids=["empty", "missing", "misspelt"])
def test_a_group_without_a_domain_states_how_many_nodes_have_an_empty_value(labels: dict[str, str], empty: int) -> None:
    cluster = load([node("n1", labels=labels), node("n2"), pod_group("g", 1, key="rack"), pod("p", "g")], behavior=KUBERNETES_1_38)

    (cause,) = run_cycle(cluster, CycleOptions(strategy="greedy")).decisions[-1].causes

    assert isinstance(cause, NoDomain)
    assert empty == cause.empty_values
    assert ("rak" in labels) == bool(cluster.problems)


OWN = f"{DRIVER}/memory"


def with_capacity(published: str, *requested: str, shared: bool, members: int = 1) -> list[Manifest]:
    """Pods that request 30Gi each of a device of 80Gi, whose capacity is called *published* by the driver and *requested* by the claims."""
    parts = {"allowMultipleAllocations": True} if shared else {}
    devices = [device("d", capacity={published: {"value": "80Gi"}}, **parts)]
    claims = template("t", request(capacity={"requests": dict.fromkeys(requested, "30Gi")}))
    pods = [wanting(f"p{number}", "g:t", group="g") for number in range(members)]
    return [node("n1", "8", "64Gi"), device_class(), device_slice("n1", *devices), claims, pod_group("g", members), *pods]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("published", "requested"), [("memory", OWN), (OWN, "memory")])
def test_a_capacity_without_a_domain_has_that_of_the_driver(published, requested, shared):
    older, newer = both(with_capacity(published, requested, shared=shared))
    assert [{}, {"p0": "n1"}] == [placed(older), placed(newer)]


def test_amounts_of_a_capacity_with_two_names_are_added():
    assert [True, False] == [bool(placed(both(with_capacity("memory", OWN, shared=True, members=count))[1])) for count in (2, 3)]


def test_a_capacity_of_another_domain_is_another():
    assert [{}, {}] == [placed(each) for each in both(with_capacity("memory", "other.example/memory", shared=True))]


def test_a_capacity_that_is_requested_by_both_names_is_an_error():
    _, newer = both(with_capacity("memory", "memory", OWN, shared=True))
    assert newer.status is Status.ERROR
    assert f'capacity "memory" requested both as "memory" and as "{OWN}"' in reasons_of(newer)["default/p0"]


def test_less_than_no_capacity_is_an_error():
    policy = {"requestPolicy": {"validRange": {"min": "10Gi"}, "default": "10Gi"}}
    devices = device("d", capacity={"memory": {"value": "80Gi", **policy}}, allowMultipleAllocations=True)
    claims = template("t", request(capacity={"requests": {"memory": "-1"}}))
    objects = [
        node("n1", "8", "64Gi"),
        device_class(),
        device_slice("n1", devices),
        claims,
        pod_group("g", 1),
        wanting("p", "g:t", group="g"),
    ]
    older, newer = both(objects)
    assert ({"p": "n1"}, Status.ERROR) == (placed(older), newer.status)
    assert f'capacity "{OWN}": capacity value is negative: request -1' in reasons_of(newer)["default/p"]


def versioned(*versions: str) -> list[Manifest]:
    """A slice with a device for each of *versions*."""
    devices = [device(f"d{number}", attributes={}) | {"attributes": {"v": {"version": each}}} for number, each in enumerate(versions)]
    return [node("n1", "8", "64Gi"), device_class(), device_slice("n1", *devices)]


def constrained(kind: str, *versions: str) -> list[Manifest]:
    claims = template("t", request(count=len(versions)), constraints=[{kind: f"{DRIVER}/v"}])
    return [*versioned(*versions), claims, pod_group("g", 1), wanting("p", "g:t", group="g")]


@pytest.mark.parametrize(
    ("versions", "equal"),
    [
        (("1.2.3+a", "1.2.3+b"), [False, True]),
        (("1.2.3-rc.1+a", "1.2.3-rc.1"), [False, True]),
        (("1.2.3-rc.1", "1.2.3-rc.2"), [False, False]),
        (("1.2.3", "1.2.3"), [True, True]),
    ],
)
def test_versions_of_devices_are_compared_without_their_builds(versions, equal):
    alike, different = (
        [bool(placed(each)) for each in both(constrained(kind, *versions))] for kind in ("matchAttribute", "distinctAttribute")
    )
    assert (equal, [not each for each in equal]) == (alike, different)


def test_a_version_with_too_large_a_number_ends_the_attempt():
    large = f"1.2.{10**20}"
    older, newer = both(constrained("distinctAttribute", "1.2.3", large))
    assert {"p": "n1"} == placed(older)
    assert newer.status is Status.ERROR
    stated = f"request gpu: device {DRIVER}/n1/d1: unsupported attribute value for {DRIVER}/v"
    assert stated in reasons_of(newer)["default/p"]


@pytest.mark.parametrize(
    ("expression", "want"), [("device.driver != ''", {"p": "n1"}), (f"device.attributes['{DRIVER}'].v.minor() == 2", {})]
)
def test_a_version_that_cannot_be_read_matters_to_selectors_that_use_it(expression, want):
    claims = template("t", request(selectors=[{"cel": {"expression": expression}}]))
    older, newer = both([*versioned(f"1.2.{10**20}"), claims, pod_group("g", 1), wanting("p", "g:t", group="g")])
    assert (Status.ERROR, want) == (older.status, placed(newer))
    assert "parse semantic version" in reasons_of(older)["default/p"]
    if not want:
        assert "no such key: v" in reasons_of(newer)["default/p"]


@pytest.mark.parametrize(("value", "want"), [("full", {"p": "n1"}), ("plain", {})])
def test_of_an_attribute_with_two_names_selectors_read_that_with_the_domain(value, want):
    attributes = {f"{DRIVER}/model": {"string": "full"}, "model": {"string": "plain"}}
    selector = {"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{value}'"}}
    devices = device_slice("n1", device("d") | {"attributes": attributes})
    _, newer = both([node("n1", "8", "64Gi"), device_class(), devices, template("t", request(selectors=[selector])), wanting("p", "g:t")])
    assert want == placed(newer)


def given_share(consumed: dict[str, str], **parts: Any) -> list[Manifest]:
    """A claim of a running pod with a share of the only device, and a pod that wants the device, or 30Gi of its capacity."""
    parts = {"capacity": {"memory": {"value": "80Gi"}}, **parts}
    share = {"shareID": "11111111-1111-1111-1111-111111111111", "consumedCapacity": consumed}
    held = resource_claim("held", devices=["gpu=n1/d"], users=["old"], results=share)
    amounts = {"capacity": {"requests": dict.fromkeys(parts["capacity"], "30Gi")}} if parts.get("allowMultipleAllocations") else {}
    old = wanting("old", "g=held", on="n1")
    slices = [device_slice("n1", device("d", **parts))]
    return [node("n1", "8", "64Gi"), device_class(), *slices, held, old, template("t", request(**amounts)), pod("p", **claim_of("t"))]


def claim_of(name: str) -> dict[str, Any]:
    return {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": name}]}


def test_a_device_with_shares_is_not_given_to_one_claim_alone():
    older, newer = both(given_share({}, capacity={}))
    assert [{"p": "n1"}, {}] == [placed(older), placed(newer)]


@pytest.mark.parametrize("names", [("memory", OWN), (OWN, "memory")])
def test_consumed_amounts_have_the_domain_of_the_driver(names):
    """1.37 does not see 60 of 80Gi that are consumed."""
    published, stated = names
    capacity = {published: {"value": "80Gi"}}
    older, newer = both(given_share({stated: "60Gi"}, capacity=capacity, allowMultipleAllocations=True))
    assert [{"p": "n1"}, {}] == [placed(older), placed(newer)]


def test_of_a_consumed_amount_with_two_names_that_with_the_domain_counts():
    stated = {"memory": "60Gi", OWN: "50Gi"}
    capacity = {OWN: {"value": "80Gi"}}
    assert [{"p": "n1"}] * 2 == [placed(each) for each in both(given_share(stated, capacity=capacity, allowMultipleAllocations=True))]


@pytest.mark.parametrize(("own", "domain", "want"), [("80Gi", "20Gi", [True, False]), ("20Gi", "80Gi", [False, True])])
def test_of_a_capacity_that_a_device_offers_by_two_names_that_with_the_domain_counts(own, domain, want):
    """A request of 30Gi by the name without a domain; 1.37 consumes all of the other."""
    devices = [device("d", capacity={"memory": {"value": own}, OWN: {"value": domain}}, allowMultipleAllocations=True)]
    claims = template("t", request(capacity={"requests": {"memory": "30Gi"}}))
    objects = [node("n1"), device_class(), device_slice("n1", *devices), claims, pod("p", **claim_of("t"))]
    assert want == [bool(placed(each)) for each in both(objects)]


WITHOUT_DEVICES = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}}],
}


NO_POD_TRIED = "scheduling policy's minimum threshold (3) cannot be satisfied: 0 scheduled, 0 unschedulable, 2 not-evaluated"


@pytest.mark.parametrize(
    ("off", "messages"),
    [
        ({TOPOLOGY, COMPOSITE}, ["pod group is unschedulable, minCount (3) cannot be satisfied: 0 scheduled, 2 remaining", NO_POD_TRIED]),
        (
            {COMPOSITE},
            [
                "pod group is unschedulable, 0/1 placements are available, first placement status: pod group is unschedulable",
                f"0/1 placements are available, first placement status: {NO_POD_TRIED}",
            ],
        ),
    ],
    ids=["without topologies", "with topologies"],
)
def test_a_message_says_otherwise_that_no_pod_was_tried(off, messages):
    """One of three members is being deleted, so the other two are not enough."""
    leaving = pod("p2", "g", metadata={"deletionTimestamp": "2026-01-02T00:00:00Z"})
    objects = [WITHOUT_DEVICES, node("a"), pod_group("g", 3), pod("p0", "g"), pod("p1", "g"), leaving]
    found = [decided(objects, behavior, Gates(frozenset(off))) for behavior in BOTH]
    assert messages == [scheduler_message(each, each.groups[0]).partition(", pod group preemption")[0] for each in found]


def test_requests_that_exceed_64_bits_together_leave_nothing():
    """As in 1.38; in 1.37 the sum is negative, so that kube-scheduler places the pod."""
    running = [pod(f"old{number}", cpu="1", memory="5Ei", on="n") for number in range(2)]
    assert [{}, {}] == [placed(each) for each in both([node("n", "8", "64Gi"), *running, pod("p", cpu="1", memory="1Gi")])]


@pytest.mark.parametrize(
    ("groups", "older", "newer"),
    [
        pytest.param(
            [pod_group("g", 2)],
            "waiting for minCount pods from a gang to appear in scheduling queue",
            "waiting for podgroup/default/g to meet its quorum",
            id="a PodGroup",
        ),
        pytest.param(
            [composite_pod_group("c", 2), pod_group("g", 1, parent="c")],
            'waiting for composite pod group "c" tree to meet quorum',
            "waiting for compositepodgroup/default/c to meet its quorum",
            id="a tree",
        ),
        pytest.param(
            [composite_pod_group("c"), pod_group("g", 2, parent="c")],
            'waiting for composite pod group "c" tree to meet quorum',
            "waiting for compositepodgroup/default/c tree to have at least one ready child group",
            id="a basic tree",
        ),
        pytest.param(
            [pod_group("g", 1, parent="c")],
            'waiting for CompositePodGroup "c", the parent of PodGroup "g", to appear in scheduling queue',
            'pod group "g" or one of its composite pod group ancestors has not been created yet: CompositePodGroup "c" does not exist',
            id="a missing parent",
        ),
        pytest.param(
            [composite_pod_group("c", parent="d"), pod_group("g", 1, parent="c")],
            'waiting for CompositePodGroup "d", the parent of CompositePodGroup "c", to appear in scheduling queue',
            'composite pod group "c" or one of its composite pod group ancestors has not been created yet:'
            ' CompositePodGroup "d" does not exist',
            id="a missing ancestor",
        ),
    ],
)
def test_the_words_of_a_root_that_waits(groups, older, newer):
    first, second = map(message, both([node("n"), *groups, pod("p", "g")]))
    assert first.startswith(older)
    assert second.startswith(newer)


def test_the_words_of_a_pod_without_its_group():
    snapshots = (load([node("n"), pod("p", "g")], behavior=behavior) for behavior in BOTH)
    assert [
        {"default/p": 'waiting for pods\'s pod group "g" to appear in scheduling queue'},
        {"default/p": 'pod group "g" or one of its composite pod group ancestors has not been created yet'},
    ] == [pending(dict(run_cycle(each, CycleOptions(strategy="greedy")).pending)) for each in snapshots]


def test_a_device_with_shares_is_not_free_for_remedies():
    objects = given_share({}, capacity={})
    snapshot = load(objects, behavior=KUBERNETES_1_38)
    (decision,) = run_cycle(snapshot, COMPLETE).decisions
    assert "1 more device of class gpu, on n1" in [remedy_text(each) for each in remedies(objects, snapshot, decision, COMPLETE)]
