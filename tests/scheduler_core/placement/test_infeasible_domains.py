"""Domains that static filters exclude, or that counting rejects: they are not tried, and trying them would not place the group either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, queued
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.model.topology import Placement
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.infeasible_domains import DeviceBound, LowerBound, countable, reachable
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.pod_group import try_leaf
from scheduler_core.placement.state import PlacementState
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, composite, decided, entities, leaf, node, pod, pods, reasons_of, state
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_class, device_slice, resource_claim, template, wanting
from tests.scheduler_core.plugins.device_objects import request as request_for

RACKS = ("r0", "r1", "r2")
NONE = {"selectors": [{"cel": {"expression": "false"}}]}
"""Specification of a device class that selects no device."""
DISKS = ("hdd", "ssd", "")


def bound_to(zone: str) -> list[Json]:
    """Return a claim ``data`` and the volume to which it is bound, which only nodes of *zone* reach."""
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    metadata = {"name": "data", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": affinity},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {"volumeName": "pv"}},
    ]


MOUNTED: Json = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def formed(objects: list[Json]) -> tuple[PlacementState, PlacementRequest]:
    here = state(objects)
    return here, Greedy(here).request(entities(objects)["g"])


def open_racks(here: PlacementState, request: PlacementRequest) -> list[str]:
    """Return the racks that are not excluded."""
    division = here.topology.divide(here.topology.root, "rack")
    able = reachable(request, division.members, here)
    return [each.value for number, each in enumerate(division.domains) if able is None or able[number]]


def zoned() -> list[Json]:
    """Return two racks of zone a and one of zone b, two nodes each."""
    return [node(f"{rack}-{number}", rack=rack, zone=zone) for rack, zone in zip(RACKS, "aab", strict=True) for number in range(2)]


class Attempts(Greedy):
    """Greedy placement that records which racks are tried for the root."""

    def __init__(self, here: PlacementState) -> None:
        super().__init__(here)
        self.tried: list[str] = []

    def _try(self, request: PlacementRequest, placement: Placement) -> PlacementOutcome:
        if request.entity.name.name == "g":
            self.tried.append(placement.value)
        return super()._try(request, placement)


@st.composite
def groups(draw: st.DrawFn) -> list[Json]:
    """Draw a leaf, or a tree of leaves of which each can have a topology key and a Basic policy."""
    labels = st.sampled_from(DISKS)

    def members(group: str) -> list[Json]:
        disks = draw(st.lists(labels, min_size=1, max_size=4))
        return [pod(f"{group}-{number}", group, **selecting(disk)) for number, disk in enumerate(disks)]

    if draw(st.booleans()):
        own = members("g")
        return [leaf("g", draw(st.integers(0, len(own))), "rack"), *own]
    count = draw(st.integers(1, 3))
    result = [composite("g", draw(st.integers(0, count)), "rack")]
    for number in range(count):
        own = members(f"c{number}")
        result += [leaf(f"c{number}", draw(st.integers(0, len(own))), draw(st.sampled_from(["", "disk"])), "g"), *own]
    return result


def selecting(disk: str) -> Json:
    return {"nodeSelector": {"disk": disk}} if disk else {}


@settings(deadline=None, max_examples=sampled(150))
@given(st.lists(st.tuples(st.sampled_from("14"), st.sampled_from(RACKS), st.sampled_from(DISKS)), min_size=1, max_size=7), groups())
def test_a_trial_of_an_excluded_domain_places_nothing_and_is_no_error(nodes, group):
    objects = [
        node(f"n{number}", cpu, rack=rack, **({"disk": disk} if disk else {})) for number, (cpu, rack, disk) in enumerate(nodes)
    ] + group
    here, request = formed(objects)
    left = open_racks(here, request)

    for domain in here.topology.divide(here.topology.root, "rack").domains:
        if domain.value not in left:
            assert Greedy(here).attempt(request, domain).status not in (Status.SUCCESS, Status.ERROR)


@st.composite
def related(draw: st.DrawFn) -> Json:
    """Draw labels and affinity of a pod: to others, against others, both or neither."""
    apps, keys = st.sampled_from("ab"), st.sampled_from(["rack", "kubernetes.io/hostname"])
    affinity = {}
    for kind in draw(st.sets(st.sampled_from(["podAffinity", "podAntiAffinity"]))):
        term = {"labelSelector": {"matchLabels": {"app": draw(apps)}}, "topologyKey": draw(keys)}
        affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"labels": {"app": draw(apps)}, **({"affinity": affinity} if affinity else {})}


@settings(deadline=None, max_examples=sampled(200))
@given(
    st.lists(st.sampled_from(RACKS), min_size=2, max_size=6),
    st.lists(related(), max_size=4),
    st.lists(st.lists(related(), min_size=1, max_size=3), min_size=1, max_size=2),
    st.data(),
)
def test_a_domain_that_other_pods_forbid_is_excluded_only_if_its_trial_fails(racks, running, children, data):
    objects = [node(f"n{number}", "3", rack=rack) for number, rack in enumerate(racks)]
    objects += [pod(f"r{number}", on=f"n{number % len(racks)}", **more) for number, more in enumerate(running)]
    objects.append(composite("g", data.draw(st.integers(0, len(children))), "rack"))
    for number, members in enumerate(children):
        objects.append(leaf(f"c{number}", data.draw(st.integers(0, len(members))), "", "g"))
        objects += [pod(f"c{number}-{member}", f"c{number}", **more) for member, more in enumerate(members)]
    here, request = formed(objects)
    left = open_racks(here, request)

    for domain in here.topology.divide(here.topology.root, "rack").domains:
        if domain.value not in left:
            assert Greedy(here).attempt(request, domain).status not in (Status.SUCCESS, Status.ERROR)


def test_affinity_to_pods_of_the_same_group_excludes_no_rack():
    """The first pod opens the rack for the second, which anti-affinity to others does not change."""
    terms = {app: [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "rack"}] for app in ("first", "other")}
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms["first"]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms["other"]},
    }
    members = [pod("c0-0", "c0", labels={"app": "first"}), pod("c1-0", "c1", affinity=affinity)]
    there = pod("there", on="r0-0", labels={"app": "other"})
    tree = [composite("g", 2, "rack"), *(leaf(name, 1, "", "g") for name in ("c0", "c1"))]
    here, request = formed([*zoned(), there, *tree, *members])

    assert ["r1", "r2"] == open_racks(here, request)
    assert Greedy(here).place(request).success


REPELS = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}, "topologyKey": "rack"}]}}


@pytest.mark.parametrize(
    ("member", "want"),
    [
        pytest.param(pod("g-0", "g"), ["r1", "r2"], id="forbidden by the running pod"),
        pytest.param(pod("g-0", "g", **MOUNTED), ["r1"], id="its volume is in zone a"),
        pytest.param(pod("g-0", "g", nominated="r0-0"), ["r0", "r1", "r2"], id="a pod that holds a place leaves it when it is tried"),
        pytest.param(wanting("g-0", group="g"), ["r0", "r1", "r2"], id="a claim can end the trial in an error"),
    ],
)
def test_racks_that_anti_affinity_excludes_are_not_tried(member, want):
    pair = [device(name, {"numa": 1}) for name in "ab"]
    slices = [device_slice(f"{rack}-{number}", *pair) for rack in RACKS for number in range(2)]
    there = pod("there", on="r0-0", affinity=REPELS)
    objects = [*zoned(), *bound_to("a"), *slices, device_class(), PAIR, there, leaf("g", 1, "rack"), member]
    here, request = formed(objects)
    greedy = Attempts(here)

    assert want == open_racks(here, request)
    assert greedy.place(request).success
    assert {*greedy.tried} <= {*want}


@pytest.mark.parametrize(
    ("group", "want"),
    [
        pytest.param([leaf("g", 1, "rack"), *pods("g", 1)], ["r0", "r1", "r2"], id="no volume"),
        pytest.param([leaf("g", 1, "rack"), *pods("g", 1, **MOUNTED)], ["r2"], id="one pod with the volume"),
        pytest.param([leaf("g", 2, "rack"), *pods("g", 1, **MOUNTED), pod("g-x", "g")], ["r2"], id="both are needed"),
        pytest.param([leaf("g", 1, "rack"), *pods("g", 1, **MOUNTED), pod("g-x", "g")], ["r0", "r1", "r2"], id="the other is enough"),
        pytest.param(
            [composite("g", 2, "rack"), leaf("a", 1, "", "g"), leaf("b", 1, "", "g"), *pods("a", 1), *pods("b", 1, **MOUNTED)],
            ["r2"],
            id="one of two children, both are needed",
        ),
        pytest.param(
            [composite("g", 1, "rack"), leaf("a", 1, "", "g"), leaf("b", 1, "", "g"), *pods("a", 1), *pods("b", 1, **MOUNTED)],
            ["r0", "r1", "r2"],
            id="one of two children, one is enough",
        ),
        pytest.param(
            [composite("g", 2, "rack"), leaf("a", 0, "", "g"), leaf("b", 1, "", "g"), *pods("a", 1), *pods("b", 1, **MOUNTED)],
            ["r2"],
            id="a Basic child",
        ),
    ],
)
def test_a_bound_volume_leaves_the_racks_that_hold_the_minimum(group, want):
    assert want == open_racks(*formed([*zoned(), *bound_to("b"), *group]))


@pytest.mark.parametrize("count", [1, 9], ids=["equal pods", "many runs"])
def test_only_reachable_racks_are_tried(count):
    members = [pod(f"g-{number}", "g", cpu=f"{100 + number}m", **MOUNTED) for number in range(count)]
    objects = [*zoned(), *bound_to("b"), leaf("g", count, "rack"), *members]
    here = state(objects)
    greedy = Attempts(here)
    outcome = greedy.place(greedy.request(entities(objects)["g"]))

    assert (Status.SUCCESS, "r2", ["r2"]) == (outcome.status, outcome.placement.value, greedy.tried)
    assert (3, 1) == (here.evaluated.generated, here.evaluated.feasible)


def test_a_root_without_a_reachable_rack_has_the_reason_of_the_first_rack():
    objects: list[Any] = [*zoned(), *bound_to("c"), leaf("g", 2, "rack"), *pods("g", 2, **MOUNTED)]
    here = state(objects)
    greedy = Attempts(here)
    outcome = greedy.place(greedy.request(entities(objects)["g"]))
    want = "0/3 placements are available, first placement status: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"

    assert (Status.UNSCHEDULABLE, want, 3, ["r0"]) == (outcome.status, attempt_words(outcome.reason), outcome.tried, greedy.tried)


def fabric(rack: str) -> Json:
    """Return the slice of a device that all nodes of *rack* reach."""
    expression = {"key": "rack", "operator": "In", "values": [rack]}
    return device_slice(None, "channel", pool=f"fabric-{rack}", nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [expression]}]})


def test_an_allocated_claim_of_a_group_leaves_the_domains_of_its_devices():
    expression = {"key": "rack", "operator": "In", "values": ["r1"]}
    allocated = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    claim = resource_claim("c", devices=["gpu=fabric-r1/channel"], nodes=allocated)
    objects = [
        *zoned(),
        device_class(),
        *map(fabric, RACKS),
        claim,
        leaf("g", 2, "rack"),
        *(wanting(f"p{each}", "x=c", group="g") for each in "ab"),
    ]
    assert ["r1"] == open_racks(*formed(objects))
    here, request = formed(objects)
    greedy = Attempts(here)
    assert "r1" == greedy.place(request).placement.value
    assert ["r1"] == greedy.tried


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_claim_that_is_not_allocated_leaves_the_domains_that_have_devices_for_it(strategy):
    group = leaf("g", 2, "rack", resourceClaims=[{"name": "x", "resourceClaimTemplateName": "one"}])
    pending = [wanting(f"p{each}", "x:one", group="g") for each in "ab"]
    objects = [*zoned(), device_class(), template(), fabric("r1"), fabric("r2"), group, *pending]
    snapshot = load(objects)
    here = PlacementState.from_snapshot(snapshot, PlacingOptions())
    greedy = Attempts(here)
    (root,) = queued(snapshot, CycleOptions())
    request = greedy.request(root)
    assert ["r1", "r2"] == open_racks(here, request)
    assert greedy.place(request).success
    assert ["r1", "r2"] == greedy.tried
    used = resource_claim("other", devices=[f"gpu=fabric-{rack}/channel" for rack in ("r1", "r2")])
    decision = decided([*objects, used], strategy=strategy)
    assert "cannot allocate all claims" in reasons_of(decision)["default/pa"]
    assert decision.status is Status.UNSCHEDULABLE


def test_errors_of_selectors_are_not_hidden_by_missing_devices():
    wrong = request_for(selectors=[{"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'x'"}}])
    objects = [
        *zoned(),
        device_class(),
        device_slice("r0-0", "a"),
        template("one", wrong, request_for("nic", "nic")),
        device_class("nic", **NONE),
    ]
    decision = decided([*objects, wanting()], strategy="greedy")
    assert decision.status is Status.ERROR


KINDS: list[Json] = [{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "nodeSelector": {"disk": "ssd"}}]


def short(here: PlacementState, request: PlacementRequest) -> list[bool]:
    division = here.topology.divide(here.topology.root, "rack")
    result: list[bool] = LowerBound(request).short(division, np.arange(len(division.domains)), here).tolist()
    return result


def mixed(kinds: list[int], minimum: int) -> list[Json]:
    return [leaf("g", minimum, "rack"), *(pod(f"g-{number:03}", "g", **KINDS[kind]) for number, kind in enumerate(kinds))]


@settings(deadline=None, max_examples=sampled(100))
@given(
    st.lists(st.tuples(st.sampled_from("1248"), st.sampled_from("012"), st.booleans()), min_size=1, max_size=8),
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.integers(1, 12),
    st.booleans(),
)
def test_no_domain_is_refuted_where_the_leaf_can_be_placed(nodes, kinds, minimum, promised):
    there = [node(f"n{number}", cpu, rack=f"r{rack}", disk="ssd" if ssd else "hdd") for number, (cpu, rack, ssd) in enumerate(nodes)]
    there += [pod("promised", cpu="1", nominated="n0", priority=9, schedulingGates=[{"name": "wait"}])] if promised else []
    here, request = formed([*there, *mixed(kinds, min(minimum, len(kinds)))])
    domains = here.topology.divide(here.topology.root, "rack").domains

    for domain, refuted in zip(domains, short(here, request), strict=True):
        assert not (refuted and try_leaf(request, domain, here).success)


@pytest.mark.parametrize(
    ("cores", "kinds", "want"),
    [
        pytest.param("6", [0, 0, 1, 1], False, id="as much as it needs"),
        pytest.param("5", [0, 0, 1, 1], True, id="less than it needs"),
        pytest.param("2", [0, 0], False, id="as many pods as have capacity"),
        pytest.param("8", [2, 0], True, id="no node for one of them"),
    ],
)
def test_a_domain_is_refuted_that_has_too_little(cores, kinds, want):
    here, request = formed([node("n0", cores, rack="r0"), *mixed(kinds, len(kinds))])

    assert [want] == short(here, request)


def test_what_has_been_taken_meanwhile_counts():
    here, request = formed([node("n0", "4", rack="r0"), pod("runs", cpu="3", on="n0"), *mixed([0, 0], 2)])

    assert [True] == short(here, request)


@pytest.mark.parametrize(
    ("kinds", "more", "want"),
    [([0, 1] * 4, {}, True), ([0, 1] * 3, {}, False), ([0, 1] * 4, {"host_port": 80}, False)],
    ids=["eight runs", "six runs", "ports of the host"],
)
def test_it_is_for_leaves_of_many_runs_that_nothing_else_decides_about(kinds, more, want):
    objects = [leaf("g", 1, "rack"), *(pod(f"g-{number}", "g", **KINDS[kind], **more) for number, kind in enumerate(kinds))]
    _, request = formed([node("n0", "4", rack="r0"), *objects])

    assert want == countable(request)


PAIR = template("one", request_for(count=2), constraints=[{"matchAttribute": "gpu.example/numa"}])


def with_devices(numas: list[list[int]], size: int, minimum: int, running: int = 0) -> tuple[PlacementState, PlacementRequest]:
    """Return a gang whose pods need two devices of one NUMA node; *numas* are those of the devices by node, two nodes a rack."""
    nodes = [node(f"n{number}", "100", rack=f"r{number // 2}") for number in range(len(numas))]
    slices = [
        device_slice(f"n{at}", *(device(f"d{number}", {"numa": each}) for number, each in enumerate(of))) for at, of in enumerate(numas)
    ]
    members = [wanting(f"g-{number}", group="g") for number in range(size)]
    bound = [pod(f"g-run{number}", "g", on="n0") for number in range(running)]
    objects = [*nodes, *slices, device_class(), PAIR, leaf("g", minimum, "rack"), *members, *bound]
    here = state(objects, PlacingOptions(sparing=True))
    return here, Greedy(here).request(entities(objects)["g"])


def without_devices(here: PlacementState, request: PlacementRequest) -> list[bool]:
    division = here.topology.divide(here.topology.root, "rack")
    result: list[bool] = DeviceBound(request).short(division, np.arange(len(division.domains)), here).tolist()
    return result


@settings(deadline=None, max_examples=sampled(100))
@given(st.lists(st.lists(st.integers(0, 1), max_size=5), min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2))
def test_no_domain_is_refuted_where_the_leaf_gets_its_devices(numas, size, minimum, running):
    here, request = with_devices(numas, size, min(minimum, size + running), running)
    domains = here.topology.divide(here.topology.root, "rack").domains

    for domain, refuted in zip(domains, without_devices(here, request), strict=True):
        assert not (refuted and try_leaf(request, domain, here).success)


def test_domains_with_too_few_devices_are_refuted_without_placing_a_pod(monkeypatch):
    here, request = with_devices([[0] * 8, [1] * 7, [0] * 8, [0] * 8], 8, 8)
    assert [True, False] == without_devices(here, request)
    tried: list[str] = []
    greedy = Greedy(here)
    attempt = greedy.attempt
    monkeypatch.setattr(greedy, "attempt", lambda request, domain: tried.append(domain.value) or attempt(request, domain))
    assert greedy.place(greedy.request(request.entity)).success
    assert ["r1"] == tried


def test_kube_scheduler_tries_each_domain_as_an_attempt_can_end_with_an_error():
    objects = [node("n0", rack="r0"), device_slice("n0", "a"), device_class(), PAIR, leaf("g", 8, "rack")]
    objects += [wanting(f"g-{number}", group="g") for number in range(8)]
    here = state(objects)
    assert [False] == without_devices(here, Greedy(here).request(entities(objects)["g"]))
