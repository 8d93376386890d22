"""DynamicResources: which devices a pod gets, which nodes its claims exclude, and claims that pods share."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.diagnosis import node_refusals
from scheduler_core.model.decision import Decision
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.plugins import dynamic_resources
from scheduler_core.plugins.devices import allocator
from scheduler_core.wording.kube_scheduler import fit_error
from tests.scheduler_core.builders import (
    Json,
    composite,
    decided,
    entities,
    leaf,
    message_of,
    node,
    placed,
    pod,
    racks,
    reasons_of,
    run,
    state,
)
from tests.scheduler_core.plugins.device_objects import (
    API,
    CLASS,
    DRIVER,
    device,
    device_class,
    device_slice,
    only_on,
    request,
    resource_claim,
    template,
    wanting,
)
from tests.scheduler_core.worded_problems import worded
from validators.gates import Gates

NODES = [node("n1"), node("n2")]
BASE = [node("n1"), device_class(), template()]
NO_SOLUTION = "cannot allocate all claims"
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


def given(decision: Decision) -> dict[str, list[str]]:
    """Return the devices of each claim."""
    return {claim.label: [str(each) for each in allocation.devices] for claim, allocation in decision.devices.items()}


def greedy(objects: list[Json], **options: Any) -> Decision:
    return decided(objects, strategy="greedy", **options)


def of_pod(objects: list[Json], claim: str = "pod/p/g") -> list[str]:
    """Return the devices that the only pod gets; empty if it is not placed."""
    return given(greedy(objects)).get(claim, [])


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([device_slice("n1", "b", "a")], "n1/b", id="in the order of the slice"),
        pytest.param([device_slice("n1", "a", pool="z"), device_slice("n1", "b", pool="y", name="t")], "y/b", id="pools by name"),
        pytest.param([device_slice("n1", "a", name="t", count=2), device_slice("n1", "b", name="s", count=2)], "n1/b", id="slices by name"),
        pytest.param([device_slice("n1", "a"), device_slice("n1", "b", pool="z", name="t", driver="a")], "z/b", id="drivers by name"),
        pytest.param(
            [device_slice("n1", device("a", bindingConditions=["x"]), pool="a"), device_slice("n1", "b", pool="z", name="t")],
            "z/b",
            id="pools with binding conditions last",
        ),
        pytest.param(
            [device_slice("n1", "a", count=2), device_slice("n1", "b", name="t", generation=2)], "n1/b", id="the newest generation"
        ),
        pytest.param([device_slice("n1", "a", count=2)], "", id="an incomplete pool"),
        pytest.param([device_slice("n1", "a", "a")], "", id="two devices of one name"),
        pytest.param([device_slice(None, "a", pool="x", allNodes=True)], "x/a", id="all nodes"),
        pytest.param([device_slice(None, "a", pool="x", nodeSelector=only_on("n1"))], "x/a", id="a node selector"),
        pytest.param([device_slice(None, "a", pool="x", nodeSelector=only_on("n2"))], "", id="a node selector for another node"),
        pytest.param(
            [
                device_slice(
                    None,
                    device("a", nodeName="n2"),
                    device("b", nodeSelector=only_on("n2")),
                    device("c", allNodes=True),
                    pool="x",
                    perDeviceNodeSelection=True,
                )
            ],
            "x/c",
            id="each device says which nodes reach it",
        ),
        pytest.param([device_slice("n1", device("a", taints=[TAINT]), "b")], "n1/b", id="a device with a taint"),
        pytest.param([device_slice("n1", device("a", taints=[{**TAINT, "effect": "None"}]))], "n1/a", id="a taint without effect"),
        pytest.param([device_slice("n2", "a")], "", id="on another node"),
        pytest.param([], "", id="no slice"),
    ],
)
def test_the_first_device_in_kube_schedulers_order_is_taken(slices, expected):
    assert [f"gpu={expected}"] * bool(expected) == of_pod([*BASE, *slices, wanting()])


def test_a_newer_generation_elsewhere_hides_the_pool_only_if_slices_are_missing():
    newer = device_slice("n2", "b", pool="x", generation=2, name="t")
    complete, missing = device_slice("n1", "a", pool="x"), device_slice("n1", "a", pool="x", count=2)
    assert ["gpu=x/a"] == of_pod([*BASE, complete, newer, wanting()])
    assert [] == of_pod([*BASE, missing, newer, wanting()])


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param([request(count=2)], ["gpu=n1/a", "gpu=n1/b"], id="two devices"),
        pytest.param([request(count=4)], [], id="too many"),
        pytest.param([request(allocationMode="All")], ["gpu=n1/a", "gpu=n1/b", "gpu=n1/c"], id="all devices"),
        pytest.param([request("x"), request("y")], ["x=n1/a", "y=n1/b"], id="two requests"),
        pytest.param([request(adminAccess=True), request("y", count=3)], [], id="a claim needs a device twice"),
        pytest.param(
            [
                {
                    "name": "r",
                    "firstAvailable": [{"name": "big", "deviceClassName": CLASS, "count": 4}, {"name": "s", "deviceClassName": CLASS}],
                }
            ],
            ["r/s=n1/a"],
            id="the second alternative",
        ),
    ],
)
def test_requests(requests, expected):
    assert expected == of_pod([*BASE, device_slice("n1", "a", "b", "c"), template("t", *requests), wanting("p", "g:t")])


def test_devices_of_other_claims_are_in_use_except_with_admin_access():
    used = resource_claim("used", devices=["gpu=n1/a"])
    objects = [*BASE, device_slice("n1", "a", "b"), used]
    assert ["gpu=n1/b"] == of_pod([*objects, wanting()])
    assert ["gpu=n1/a"] == of_pod([*objects, template("t", request(adminAccess=True)), wanting("p", "g:t")])
    assert [] == of_pod([*objects, template("t", request(allocationMode="All")), wanting("p", "g:t")])
    admin = resource_claim("used", devices=["gpu=n1/a"], results={"adminAccess": True})
    assert ["gpu=n1/a"] == of_pod([*BASE, device_slice("n1", "a", "b"), admin, wanting()])


NUMA = f"{DRIVER}/numa"


@pytest.mark.parametrize(
    ("constraint", "devices", "expected"),
    [
        pytest.param({"matchAttribute": NUMA}, [{"numa": 0}, {"numa": 1}, {"numa": 1}], ["b", "c"], id="equal values"),
        pytest.param({"matchAttribute": NUMA}, [{NUMA: 0}, {"numa": 0}, {}], ["a", "b"], id="with and without domain"),
        pytest.param({"matchAttribute": NUMA}, [{"numa": 0}, {"numa": "0"}, {}], [], id="values of different types"),
        pytest.param({"matchAttribute": "other/numa"}, [{"numa": 0}, {"numa": 0}, {}], [], id="another domain"),
        pytest.param({"distinctAttribute": NUMA}, [{"numa": 0}, {"numa": 0}, {"numa": 1}], ["a", "c"], id="different values"),
        pytest.param({"distinctAttribute": NUMA}, [{"numa": 0}, {}, {"numa": 0}], [], id="no different values"),
        pytest.param({"matchAttribute": NUMA, "requests": ["none"]}, [{}, {}, {}], ["a", "b"], id="of another request"),
        pytest.param({"matchAttribute": NUMA, "requests": ["gpu"]}, [{}, {"numa": 1}, {"numa": 1}], ["b", "c"], id="of the request"),
    ],
)
def test_constraints(constraint, devices, expected):
    published = device_slice("n1", *(device(name, attributes) for name, attributes in zip("abc", devices, strict=True)))
    constrained = template("t", request(count=2), constraints=[constraint])
    assert [f"gpu=n1/{each}" for each in expected] == of_pod([*BASE, published, constrained, wanting("p", "g:t")])


def test_a_request_takes_devices_of_several_pools():
    published = [device_slice("n1", device("a", {"numa": 0}), pool=f"p{number}", name=f"s{number}") for number in range(3)]
    constrained = template("t", request(count=3), constraints=[{"matchAttribute": NUMA}])
    assert ["gpu=p0/a", "gpu=p1/a", "gpu=p2/a"] == of_pod([*BASE, *published, constrained, wanting("p", "g:t")])


def test_a_request_for_all_devices_that_a_constraint_divides_is_an_error():
    published = device_slice("n1", device("a", {"numa": 0}), device("b", {"numa": 1}))
    constrained = template("t", request(allocationMode="All"), constraints=[{"matchAttribute": NUMA}])
    decision = greedy([*BASE, published, constrained, wanting("p", "g:t")])
    assert decision.status is Status.ERROR
    assert "because a claim constraint would not be satisfied" in message_of(decision)


@pytest.mark.parametrize("on", ["n1", "n2"])
def test_an_error_on_a_node_ends_the_attempt_only_if_other_filters_pass(on):
    broken = device_slice("n1", "a", pool="x", count=2)
    every = template("t", request(allocationMode="All"))
    pending = wanting("p", "g:t", nodeSelector={"kubernetes.io/hostname": on})
    decision = greedy([*NODES, device_class(), broken, device_slice("n2", "b"), every, pending])
    assert (Status.ERROR if on == "n1" else Status.SUCCESS) is decision.status
    assert ("but resource pool gpu.example/x is currently being updated" in message_of(decision)) == (on == "n1")


def searching_long(*requests: Json) -> list[Json]:
    """Return a node with devices that a selector tells apart, a device in use that *requests* can need, and a pod with them."""
    distinct = (device(f"d{number}", {"number": str(number)}) for number in range(40))
    published = device_slice("n1", *distinct, device("n", {"kind": "nic"}))
    of_kind = {"cel": {"expression": f"device.attributes['{DRIVER}'].?kind.orValue('') == 'nic'"}}
    objects = [*BASE, published, device_class("nic", selectors=[of_kind]), resource_claim("used", devices=["gpu=n1/n"])]
    return [*objects, template("t", *requests), wanting("p", "g:t")]


NUMBERED = {"cel": {"expression": f"device.attributes['{DRIVER}'].?number.orValue('') != 'x'"}}
NIC = {"name": "nic", "firstAvailable": [{"name": "only", "deviceClassName": "nic"}]}
LONG = searching_long(request(count=8, selectors=[NUMBERED]), NIC)
DEEP = [
    *BASE,
    device_slice("n1", *(device(f"d{number}", {"number": str(number)}) for number in range(1600))),
    template("t", request(count=32, selectors=[NUMBERED])),
    wanting("p", *(f"c{number}:t" for number in range(50))),
]
UNFINISHED = [
    pytest.param(LONG, "timed out trying to allocate devices: 1000 were tried; request fewer devices in one claim", id="too long"),
    pytest.param(DEEP, "the pod requests too many devices to search for; request fewer", id="too deep"),
]


@pytest.mark.parametrize(("objects", "words"), UNFINISHED)
def test_a_search_that_does_not_finish_is_an_error(objects, words, monkeypatch):
    monkeypatch.setattr(allocator, "_MOST_TRIED", 1000 if objects is LONG else allocator._MOST_TRIED)
    decision = greedy(objects)
    assert decision.status is Status.ERROR
    assert f'running "DynamicResources" filter plugin: {words}' == reasons_of(decision)["default/p"]
    assert f'running "DynamicResources" filter plugin: {words}. kube-scheduler ends the attempt ' in message_of(decision)


def test_a_search_with_fewer_requests_finishes(monkeypatch):
    monkeypatch.setattr(allocator, "_MOST_TRIED", 1000)
    assert {"p": "n1"} == placed(greedy(searching_long(request(count=8, selectors=[NUMBERED]))))


@pytest.mark.parametrize("sparing", [False, True])
@pytest.mark.parametrize(("objects", "words"), UNFINISHED)
def test_a_search_that_does_not_finish_is_the_reason_of_a_node(objects, words, sparing, monkeypatch):
    monkeypatch.setattr(allocator, "_MOST_TRIED", 1000 if objects is LONG else allocator._MOST_TRIED)
    here = state(objects, PlacingOptions(sparing=sparing))
    (waiting,) = entities(objects)["p"].waiting
    refusals = node_refusals.examine_nodes(here, waiting, here.nodes.everything)
    assert f"0/1 nodes are available: 1 {words}." == fit_error(node_refusals.fit_error(here, refusals))


def test_a_negative_count_cannot_be_used():
    decision = greedy([*BASE, device_slice("n1", "a"), template("t", request(count=-1)), wanting("p", "g:t")])
    assert decision.status is Status.UNSCHEDULABLE
    assert "claim of template default/t, request gpu: count must be greater than zero, not -1" in reasons_of(decision)["default/p"]


def test_errors_name_the_claim_of_the_pod():
    missing = request(selectors=[{"cel": {"expression": "device.attributes['gpu.example'].model == 'x'"}}])
    for wrong in (missing, request(count=33)):
        objects = [*BASE, device_slice("n1", "a"), template("t", wrong), wanting("p", "x:t"), wanting("q", "y:t")]
        assert [f"claim pod/{pod}" in message_of(each) for pod, each in zip(("p/x", "q/y"), run(objects).decisions, strict=True)] == [
            True,
            True,
        ]


def test_tolerations_of_the_request():
    tolerating = template("t", request(tolerations=[{"key": "broken", "operator": "Exists"}]))
    equal = template("u", request(tolerations=[{"key": "broken", "value": "no"}]))
    objects = [*BASE, device_slice("n1", device("a", taints=[TAINT])), tolerating, equal]
    assert ["gpu=n1/a"] == of_pod([*objects, wanting("p", "g:t")])
    assert [] == of_pod([*objects, wanting("p", "g:u")])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"driver": DRIVER}, []),
        ({"pool": "n1", "device": "a"}, ["gpu=n1/b"]),
        ({"pool": "n2"}, ["gpu=n1/a"]),
        ({}, []),
        (None, ["gpu=n1/a"]),
    ],
)
def test_taint_rules(selector, expected):
    spec = {"taint": TAINT, **({} if selector is None else {"deviceSelector": selector})}
    rule = {"apiVersion": API, "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": spec}
    assert expected == of_pod([*BASE, device_slice("n1", "a", "b"), rule, wanting()])


def test_a_node_with_an_earlier_alternative_scores_more():
    choices = [{"name": "two", "deviceClassName": CLASS, "count": 2}, {"name": "one", "deviceClassName": CLASS}]
    objects = [
        *NODES,
        device_class(),
        device_slice("n1", "a"),
        device_slice("n2", "b", "c"),
        template("t", {"name": "r", "firstAvailable": choices}),
    ]
    decision = greedy([*objects, wanting("p", "g:t")])
    assert {"pod/p/g": ["r/two=n2/b", "r/two=n2/c"]} == given(decision)


def test_the_weight_is_that_of_the_default_profile():
    """pkg/scheduler/apis/config/v1, default_plugins.go."""
    assert 2 == dynamic_resources.WEIGHT


def test_a_missing_class_excludes_all_nodes():
    choices = [{"name": "good", "deviceClassName": "gone"}, {"name": "fine", "deviceClassName": CLASS}]
    decision = greedy([*BASE, device_slice("n1", "a"), template("t", {"name": "r", "firstAvailable": choices}), wanting("p", "g:t")])
    assert "request r/good: device class gone does not exist" in reasons_of(decision)["default/p"]


def test_claims_of_a_gang_get_different_devices():
    decision = greedy([*BASE, device_slice("n1", "a", "b"), leaf("g", 2), wanting("p0", group="g"), wanting("p1", group="g")])
    assert {"pod/p0/g": ["gpu=n1/a"], "pod/p1/g": ["gpu=n1/b"]} == given(decision)
    failed = greedy([*BASE, device_slice("n1", "a"), leaf("g", 2), wanting("p0", group="g"), wanting("p1", group="g")])
    assert failed.status is Status.UNSCHEDULABLE
    assert NO_SOLUTION in reasons_of(failed)["default/p1"]


def test_members_share_a_claim_on_the_node_of_its_device():
    objects = [*NODES, device_class(), device_slice("n1", "a"), device_slice("n2", "b"), resource_claim("c"), leaf("g", 2)]
    small = greedy([*objects, wanting("p0", "x=c", group="g"), wanting("p1", "x=c", group="g")])
    assert 1 == len(set(placed(small).values()))
    assert ["default/c"] == [claim.label for claim in small.devices]
    wide = [wanting(name, "x=c", group="g", cpu="3") for name in ("p0", "p1")]
    assert greedy([*objects, *wide]).status is Status.UNSCHEDULABLE


def test_roots_share_a_claim_one_after_the_other():
    objects = [*NODES, device_class(), device_slice("n1", "a"), device_slice("n2", "b"), resource_claim("c")]
    result = run([*objects, wanting("p0", "x=c"), wanting("p1", "x=c")], strategy="greedy")
    (first,), (second,) = (placed(each).values() for each in result.decisions)
    assert first == second


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_only_kube_scheduler_keeps_a_claim_from_the_other_groups_of_a_tree(strategy):
    objects = [*BASE, device_slice("n1", "a"), resource_claim("c"), composite("t", 2), leaf("g1", 1, parent="t"), leaf("g2", 1, parent="t")]
    decision = decided([*objects, wanting("p0", "x=c", group="g1"), wanting("p1", "x=c", group="g2")], strategy=strategy)
    assert (Status.SUCCESS if strategy == "complete" else Status.UNSCHEDULABLE) is decision.status
    if strategy == "greedy":
        assert "resource claim default/c is in the process of being allocated" in str(reasons_of(decision))
        assert "kube-scheduler does not let groups of one tree share claim default/c, which is not allocated" in message_of(decision)
        assert "No-Backtracking" not in message_of(decision)


def crossing() -> list[Json]:
    fabric = device_slice(None, "f", pool="fabric", driver="fabric.example", allNodes=True)
    claims = [resource_claim("shared", request("r", "fabric")), template("own", request("r"))]
    members = [wanting(name, "s=shared", "o:own", group="g") for name in ("p0", "p1")]
    return [*BASE, device_class("fabric"), fabric, device_slice("n1", "a", "b"), *claims, leaf("g", 2), *members]


def test_greedy_exchanges_devices_of_shared_and_new_claims_as_kube_scheduler():
    exchanged, right = (given(decided(crossing(), strategy=strategy)) for strategy in ("greedy", "complete"))
    assert exchanged["default/shared"] == right["default/shared"]
    assert exchanged["pod/p1/o"] == right["default/shared"]
    assert exchanged["pod/p1/o"] != right["pod/p1/o"]


def test_allocated_claims_keep_pods_on_their_nodes():
    claim = resource_claim("c", devices=["gpu=n2/a"], nodes=only_on("n2"))
    decision = greedy([*NODES, device_class(), claim, wanting("p", "x=c")])
    assert {"p": "n2"} == placed(decision)
    assert {"default/c": ["gpu=n2/a"]} == given(decision)
    elsewhere = wanting("p", "x=c", nodeSelector={"kubernetes.io/hostname": "n1"})
    refused = greedy([*NODES, device_class(), claim, elsewhere])
    assert "resourceclaim not available on the node" in reasons_of(refused)["default/p"]


@pytest.mark.parametrize(("users", "status"), [((), Status.ERROR), (("p",), Status.SUCCESS)])
def test_kube_scheduler_cannot_reserve_an_allocation_without_timestamp(users, status):
    claim = resource_claim("c", devices=["gpu=n1/a"], users=users)
    del claim["status"]["allocation"]["allocationTimestamp"]
    objects = [*BASE, claim, wanting("p", "x=c")]
    decision = greedy(objects)
    assert status is decision.status
    assert ("field cannot be modified once set" in message_of(decision)) == (status is Status.ERROR)
    assert {"p": "n1"} == placed(decided(objects, strategy="complete"))


def test_a_group_with_too_few_pods_after_a_failed_reservation_has_an_error():
    claim = resource_claim("c", devices=["gpu=x/a"])
    del claim["status"]["allocation"]["allocationTimestamp"]
    pods = [wanting("p0", "x=c", group="g"), pod("p1", "g")]
    for minimum, status in ((1, Status.SUCCESS), (2, Status.ERROR)):
        decision = greedy([*BASE, claim, leaf("g", minimum), *pods])
        assert (status, {"p1": "n1"}) == (decision.status, placed(decision))
        assert ["default/p0"] == [*decision.pending]


CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        pytest.param([], Status.WAIT, id="not yet"),
        pytest.param([{"type": "ready", "status": "True"}], Status.SUCCESS, id="met"),
        pytest.param([{"type": "failed", "status": "True"}], Status.UNSCHEDULABLE, id="failed"),
    ],
)
def test_binding_conditions_of_an_allocated_claim(conditions, status):
    claim = resource_claim("c", devices=["gpu=x/a"], results=CONDITIONS)
    claim["status"]["devices"] = [{"driver": DRIVER, "pool": "x", "device": "a", "conditions": conditions}]
    decision = greedy([node("n1"), device_class(), claim, wanting("p", "x=c")])
    assert status is decision.status
    assert ({"default/p": "n1"} if status is Status.WAIT else {}) == decision.nominations
    assert ({"p": "n1"} if status is Status.SUCCESS else {}) == placed(decision)


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param([wanting("p", "g:gone")], 'pod "default/p": ResourceClaim not created yet', id="no template"),
        pytest.param([wanting("p", "x=gone")], 'could not find ResourceClaim "default/gone"', id="no claim"),
        pytest.param(
            [resource_claim("c", deletionTimestamp="2026-08-01T00:00:00Z"), wanting("p", "x=c")],
            'resourceclaim "c" is being deleted',
            id="being deleted",
        ),
        pytest.param([pod("p", resourceClaims=[{"name": "x"}])], "none of the supported fields are set", id="neither claim nor template"),
    ],
)
def test_a_pod_without_its_claim_waits(objects, reason):
    decision = greedy([*BASE, device_slice("n1", "a"), *objects])
    assert decision.status is Status.WAIT
    assert reason in reasons_of(decision)["default/p"]
    assert {"p": "n1"} == placed(greedy([*BASE, *objects], ignore=frozenset({"spec.resourceClaims"})))


@pytest.mark.parametrize(
    ("owner", "uid", "fits"),
    [("p", "p", True), ("q", "q", False), ("p", "uid of an earlier pod", False), ("p", "", True)],
)
def test_a_generated_claim_belongs_to_its_pod(owner, uid, fits):
    """As in kube-scheduler, the uid counts; a file can lack it."""
    reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": uid, "controller": True}
    pending = wanting()
    pending["status"] = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-1"}]}
    decision = greedy([*BASE, device_slice("n1", "a"), resource_claim("p-g-1", ownerReferences=[reference]), pending])
    assert (Status.SUCCESS if fits else Status.WAIT) is decision.status
    assert ("ResourceClaim default/p-g-1 was not created for Pod default/p (Pod is not owner)" in str(reasons_of(decision))) != fits


@pytest.mark.parametrize(
    ("kind", "group", "fits"),
    [
        ("PodGroup", "scheduling.k8s.io/v1beta1", True),
        ("PodGroup", "scheduling.k8s.io/v1alpha3", True),
        ("PodGroup", "scheduling.x-k8s.io/v1alpha1", False),
        ("Pod", "v1", False),
    ],
)
def test_a_claim_generated_for_a_group_belongs_to_the_pods_that_name_the_group(kind, group, fits):
    """As in kube-scheduler, the name counts, because pods do not know the uid of their group."""
    reference = {"apiVersion": group, "kind": kind, "name": "g", "uid": "any", "controller": True}
    of_group = leaf("g", 1, resourceClaims=[{"name": "x", "resourceClaimTemplateName": "one"}])
    of_group["status"] = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "g-x-1"}]}
    objects = [
        *BASE,
        device_slice("n1", "a"),
        of_group,
        resource_claim("g-x-1", ownerReferences=[reference]),
        wanting("p", "x:one", group="g"),
    ]
    decision = greedy(objects)
    assert (Status.SUCCESS if fits else Status.WAIT) is decision.status
    assert ("(neither Pod nor PodGroup g is the owner)" in str(reasons_of(decision))) != fits


@pytest.mark.parametrize(("uid", "status"), [("uid of an earlier pod", Status.ERROR), ("p", Status.SUCCESS), ("", Status.SUCCESS)])
def test_a_reservation_for_an_earlier_pod_of_the_same_name_is_not_one_for_the_pod(uid, status):
    claim = resource_claim("c", devices=["gpu=n1/a"], users=["p"])
    claim["status"]["reservedFor"][0]["uid"] = uid
    del claim["status"]["allocation"]["allocationTimestamp"]
    assert status is greedy([*BASE, claim, wanting("p", "x=c")]).status


@pytest.mark.parametrize(("group", "placed_on"), [("scheduling.k8s.io", {"p": "n1"}), ("scheduling.x-k8s.io", {})])
def test_a_reservation_for_the_group_of_a_pod_is_one_for_the_pod(group, placed_on):
    claim = resource_claim("c", devices=["gpu=n1/a"], users=["any"])
    claim["status"]["reservedFor"] = [{"apiGroup": group, "resource": "podgroups", "name": "g", "uid": "any"}]
    del claim["status"]["allocation"]["allocationTimestamp"]
    assert placed_on == placed(greedy([*BASE, claim, leaf("g", 1), wanting("p", "x=c", group="g")]))


def test_an_entry_for_which_no_claim_is_needed_counts_nothing():
    pending = wanting()
    pending["status"] = {"resourceClaimStatuses": [{"name": "g"}]}
    assert {"p": "n1"} == placed(greedy([*BASE, pending]))


def test_pods_of_a_group_share_the_claim_of_the_group_unless_the_gate_is_off():
    group = leaf("g", 2, resourceClaims=[{"name": "g", "resourceClaimTemplateName": "one"}])
    objects = [*BASE, device_slice("n1", "a"), group, wanting("p0", group="g"), wanting("p1", group="g")]
    assert {"podgroup/g/g": ["gpu=n1/a"]} == given(greedy(objects))
    off = greedy(objects, gates=Gates({"DRAWorkloadResourceClaims": False}))
    assert off.status is Status.UNSCHEDULABLE


def test_the_old_versions_are_read():
    slices = device_slice("n1", {"name": "a", "basic": {"attributes": {"numa": {"int": 1}}, "taints": [TAINT]}}, "b")
    flat = template("t", {"name": "r", "deviceClassName": CLASS})
    old = [{**each, "apiVersion": "resource.k8s.io/v1beta1"} for each in (slices, flat, device_class())]
    rule = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {"taint": TAINT}}
    assert ["r=n1/b"] == of_pod([node("n1"), *old, rule, wanting("p", "g:t")])


def test_unusable_objects_are_problems():
    objects = [*BASE, device_slice("n1", device("a", capacity={"m": {"value": "many"}})), wanting()]
    (problem,) = worded(run(objects, strategy="greedy").problems)
    assert "ResourceSlice s-n1" == problem.object
    assert "the slice is left out" in problem.message


def test_a_quantity_of_too_many_digits_is_an_error_of_its_device():
    large = device("a", capacity={"m": {"value": "1" * 5000}})
    selected = request(selectors=[{"cel": {"expression": "device.driver != ''"}}])
    result = run([node("n1"), device_class(), template("one", selected), device_slice("n1", large), wanting()], strategy="greedy")
    (decision,) = result.decisions
    assert "quantity has more than 4000 digits" in message_of(decision)


BOTH = {"firstAvailable": [{"name": "a", "deviceClassName": CLASS}]}


@pytest.mark.parametrize(
    ("request_of", "field"),
    [
        pytest.param({**request(), **BOTH}, "exactly", id="v1"),
        pytest.param({"name": "gpu", "deviceClassName": CLASS, **BOTH}, "deviceClassName", id="v1beta1"),
    ],
)
@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_request_of_two_types_satisfies_no_claim(request_of, field, strategy):
    result = run([node("n1"), device_class(), device_slice("n1", "a"), template("one", request_of), wanting()], strategy=strategy)
    message = f"spec.spec.devices.requests[0]: set either {field} or firstAvailable, not both; the template is left out"
    assert [("ResourceClaimTemplate default/one", message)] == [(each.object, each.message) for each in worded(result.problems)]
    assert not any(each.assignments for each in result.decisions)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param(
            [template("one", {"name": "gpu", "deviceClassName": CLASS}), device_slice("n1", "a")],
            f"spec.spec.devices.requests[0].deviceClassName: only {API}beta1 has this field; in {API} set exactly.deviceClassName; "
            "the template is left out",
            id="a request of v1beta1",
        ),
        pytest.param(
            [template() | {"apiVersion": f"{API}beta1"}, device_slice("n1", "a")],
            f"spec.spec.devices.requests[0].exactly: {API}beta1 has no such field; set its fields in the request itself; "
            "the template is left out",
            id="a request of v1",
        ),
        pytest.param(
            [template(), device_slice("n1", {"name": "a", "basic": {}})],
            f"spec.devices[0].basic: only {API}beta1 has this field; set its fields in the device itself; the slice is left out",
            id="a device of v1beta1",
        ),
    ],
)
def test_fields_of_another_version_are_problems(objects, message):
    result = run([node("n1"), device_class(), *objects, wanting()], strategy="greedy")
    assert [message] == [each.message for each in worded(result.problems)]
    assert not any(each.assignments for each in result.decisions)


@pytest.mark.parametrize("version", ["v2", "v1alpha2"])
def test_objects_of_other_versions_are_problems(version):
    rule = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {"taint": TAINT}, "apiVersion": f"resource.k8s.io/{version}"}
    slices = {**device_slice("n2", "a"), "apiVersion": f"resource.k8s.io/{version}"}
    result = run([*BASE, node("n2"), rule, slices, wanting()], strategy="complete")
    unserved = f"resource.k8s.io/{version} is not served; use resource.k8s.io/v1"
    assert [f"{unserved}; the rule is left out", f"{unserved}; the slice is left out"] == [each.message for each in worded(result.problems)]
    assert not any(each.assignments for each in result.decisions)


@pytest.mark.parametrize(
    ("slices", "problem"),
    [
        pytest.param([device_slice("n1", "a", count=2)], "is incomplete: 1 of 2 slices of generation 1 exist", id="slices are missing"),
        pytest.param(
            [device_slice("n1", "a", count=2), device_slice("n1", "a", name="t", count=2)],
            "is invalid: its slices have device a more than once",
            id="a device is named twice",
        ),
        pytest.param([device_slice("n1", "a"), device_slice("n1", "b", name="t", generation=2)], "", id="an older generation"),
        pytest.param(
            [device_slice("n1", "a", pool="n1"), device_slice("n2", "b", pool="n1", name="t", generation=2, count=2)],
            "",
            id="a newer generation elsewhere",
        ),
    ],
)
def test_pools_that_kube_scheduler_does_not_allocate_are_problems(slices, problem):
    result = run([*BASE, *slices, wanting()], strategy="complete")
    expected = [("ResourceSlice s-n1", f"pool {DRIVER}/n1 {problem}; kube-scheduler allocates no device of the pool")]
    assert (expected if problem else []) == [(each.object, each.message) for each in worded(result.problems)]
    assert bool(problem) == (not result.decisions[0].assignments)
    assert [] == [*run([*BASE, *slices, pod("p")]).problems]


def test_only_the_first_of_many_unusable_pools_are_listed():
    slices = [device_slice("n1", "a", pool=f"p{number:02}", name=f"s{number:02}", count=2) for number in range(12)]
    problems = run([*BASE, *slices, wanting()], strategy="complete").problems
    assert len(problems) == 11
    assert "2 more pools are incomplete or invalid" in {each.message for each in worded(problems)}


def test_shapes_have_the_specification_of_claims_and_only_shared_claims_their_name():
    objects = [*BASE, template("same"), wanting("p0"), wanting("p1", "x:same"), resource_claim("c"), wanting("p2", "x=c")]
    shapes = {each.name: each.shape for each in load(objects).pods}
    assert 1 == len(set(shapes.values()))
    shared = {each.name: each.shape for each in load([*objects, wanting("p3", "x=c")]).pods}
    assert shared["p0"] is shared["p1"]
    assert shared["p2"] is shared["p3"] is not shared["p0"]


def test_victims_do_not_free_devices_in_the_same_cycle_and_their_claims_do_later():
    victim = wanting("v", "x=used", on="n1", priority=0, cpu="4")
    used = resource_claim("used", devices=["gpu=n1/a"], users=["v"])
    objects = [*BASE, device_slice("n1", "a"), used, victim]
    assert () == greedy([*objects, wanting("p", priority=10)]).victims
    both = [*BASE, device_slice("n1", "a", "b"), used, victim, wanting("p", cpu="4", priority=10)]
    first, second = run(both, strategy="greedy", evict=True).decisions
    assert ("default/v",) == first.victims
    assert {"pod/p/g": ["gpu=n1/a"]} == given(second)


def test_a_claim_that_a_root_took_is_taken_for_the_next_cycle():
    objects = [*racks({"r1": 1}), device_class(), template(), device_slice("r1-0", "a")]
    victim = pod("v", cpu="2", on="r1-0", priority=0)
    first, *later = run([*objects, victim, wanting("p0", priority=5), pod("big", cpu="3", priority=4), wanting("p1")], evict=True).decisions
    assert {"pod/p0/g": ["gpu=r1-0/a"]} == given(first)
    assert [] == [each for each in later if each.devices]


def test_a_pod_without_claims_does_not_activate_the_plugin():
    snapshot = load([*BASE, device_slice("n1", "a"), pod("p")])
    assert snapshot.devices is not None
    assert () == snapshot.pods[0].shape.devices
    assert load([node("n1"), pod("p")]).devices is None


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param([device_slice("n1"), wanting()], "its only node has no free device of class gpu for claim g", id="no device"),
        pytest.param(
            [device_slice("n1", "a"), template("t", request(count=2)), wanting("p", "g:t")],
            "its only node has at most 1 free device of class gpu for claim g, 2 needed",
            id="too few",
        ),
        pytest.param(
            [device_slice("n1", "a"), template("t", request("x"), request("y")), wanting("p", "g:t")],
            "its only node has at most 1 free device of class gpu for claim g, 2 needed",
            id="one device for two requests",
        ),
        pytest.param(
            [
                device_slice("n1", device("a", {"model": "m"}), device("b", {"model": "n"})),
                resource_claim("u", devices=["gpu=n1/b"], users=["other"]),
                template(
                    "t", request("x"), request("y", selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "m"'}}])
                ),
                wanting("p", "g:t"),
            ],
            "the free devices of its only node do not satisfy claim g",
            id="one device for different requests",
        ),
        pytest.param(
            [resource_claim("c", devices=["gpu=n2/a"], nodes=only_on("n2")), wanting("p", "x=c")],
            "its only node cannot use the devices of claim c, which is allocated on node n2",
            id="allocated elsewhere",
        ),
    ],
)
def test_the_message_names_claim_class_and_number(objects, message):
    assert message in message_of(greedy([*BASE, *objects]))


def test_the_message_names_faults_of_kube_scheduler():
    message = message_of(greedy(crossing()))
    assert "claims of pod p1 get the devices of each other" in message
    assert "of the pods that share claim shared, the first is bound at once" in message
    assert not message_of(decided(crossing(), strategy="complete"))


def selecting(model: str) -> Json:
    return template("one", request(selectors=[{"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}}]))


@pytest.mark.parametrize(("model", "expected"), [("x", "n1"), ("y", "n2")])
def test_nodes_whose_devices_differ_in_an_attribute_that_is_read_are_not_alike(model, expected):
    slices = [device_slice(name, device("a", {"model": value})) for name, value in (("n1", "x"), ("n2", "y"))]
    assert {"p": expected} == placed(greedy([*NODES, device_class(), selecting(model), *slices, wanting()]))


def test_nodes_that_reach_different_devices_of_a_slice_are_not_alike():
    devices = [device("a", nodeName="n1"), device("b", nodeName="n2")]
    published = device_slice(None, *devices, pool="x", perDeviceNodeSelection=True)
    decision = greedy([*NODES, device_class(), template(), published, leaf("g", 2), wanting("p0", group="g"), wanting("p1", group="g")])
    assert [["gpu=x/a"], ["gpu=x/b"]] == sorted(given(decision).values())


def test_a_device_that_binds_to_its_node_keeps_the_claim_there():
    published = device_slice(None, device("a", bindsToNode=True), pool="x", allNodes=True)
    (allocation,) = greedy([*BASE, published, wanting()]).devices.values()
    assert allocation.nodes is not None
    assert allocation.nodes.node_selector_terms[0].match_fields[0].values == ("n1",)


def test_a_pool_with_a_newer_generation_elsewhere_does_not_exist_for_the_node():
    slices = [device_slice("n1", "a", pool="x", count=2), device_slice("n2", "b", pool="x", generation=2)]
    every = template("t", request(allocationMode="All"))
    decision = greedy([*BASE, node("n2", unschedulable=True), *slices, every, wanting("p", "g:t")])
    assert decision.status is Status.UNSCHEDULABLE


def test_a_claim_of_several_pods_is_released_with_the_last():
    objects = load([*BASE, resource_claim("c", devices=["gpu=n1/a"], users=["p", "q"])]).devices
    left, released = objects.after({}, {}, ["default/p"])
    assert ((("pods", "q"),), frozenset()) == (left.claims["default", "c"].consumers, released)
    none, released = objects.after({}, {}, ["default/p", "default/q"])
    assert ((), {"default/c"}, {}) == (none.claims["default", "c"].consumers, released, none.allocated)
    # A pod that was placed meanwhile keeps it.
    assert frozenset() == objects.after({}, {"default/c": [("pods", "r")]}, ["default/p", "default/q"])[1]
