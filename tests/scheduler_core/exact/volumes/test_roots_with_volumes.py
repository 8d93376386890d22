"""Complete search of roots whose volumes are usable on several nodes, or are named by several pods."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.exact.complete import Complete
from scheduler_core.model.decision import Decision
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, composite, decided, entities, leaf, names, node, placed, pod, state
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, request, template
from tests.scheduler_core.plugins.device_objects import wanting as wanting_devices
from tests.scheduler_core.plugins.test_delayed_claims import LOCAL, claim, using, volume
from tests.scheduler_core.plugins.test_node_volume_limits import attached as attachment
from tests.scheduler_core.plugins.test_node_volume_limits import csi
from tests.scheduler_core.plugins.test_volume_restrictions import single
from tests.scheduler_core.plugins.test_volumes import claim as bound_claim
from tests.scheduler_core.plugins.test_volumes import csi_node
from tests.scheduler_core.plugins.test_volumes import volume as bound_volume


def zonal(name: str, zone: str, size: str = "10Gi", **labels: str) -> Json:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return volume(name, size=size, labels=labels, nodeAffinity=affinity)


def wanting(**labels: str) -> Json:
    return {"selector": {"matchLabels": labels}}


def volumes_of(decision: Decision) -> dict[str, str]:
    return {name.removeprefix("default/"): each.volume for name, each in decision.volumes.items()}


ZONES = [node("a1", "2", zone="a"), node("a2", "2", zone="a"), node("b1", "2", zone="b")]
GANG = [LOCAL, leaf("g", 3), *(using(f"c{n}", name=f"p{n}", group="g") for n in range(3))]


@pytest.mark.parametrize(
    ("zones", "outcome"), [("aab", "placed"), ("aaa", "placed"), ("abb", "placed"), ("bbb", "infeasible"), ("ab", "infeasible")]
)
def test_zonal_volumes(zones, outcome):
    volumes = [zonal(f"pv{number}", zone) for number, zone in enumerate(zones)]
    decision = decided([*ZONES, *GANG, *(claim(f"c{n}") for n in range(3)), *volumes], strategy="complete")
    assert outcome == decision.search.outcome
    used = sorted(volume for volume in volumes_of(decision).values())
    assert used == (["pv0", "pv1", "pv2"] if outcome == "placed" else [])


def test_selectors_that_overlap_share_volumes_as_a_matching():
    """The order of the pods misleads greedy: the first claim must not take what the last one needs."""
    volumes = [zonal("x", "a", "5Gi", red="1", blue="1"), zonal("y", "a", "9Gi", red="1"), zonal("z", "a", "9Gi", blue="1")]
    wanted = [claim("c0", **wanting(red="1")), claim("c1", **wanting(blue="1")), claim("c2", **wanting(red="1", blue="1"))]
    decision = decided([*ZONES, *GANG, *wanted, *volumes], strategy="complete")
    assert {"c0": "y", "c1": "z", "c2": "x"} == volumes_of(decision)
    assert Status.SUCCESS is not decided([*ZONES, *GANG, *wanted, *volumes], strategy="greedy").status
    assert "infeasible" == decided([*ZONES, *GANG, *wanted, *volumes[:2]], strategy="complete").search.outcome


def test_volumes_couple_groups_in_different_domains():
    objects = [*ZONES, LOCAL, composite("root", 2), volume("everywhere"), zonal("in-a", "a")]
    for name in "xy":
        objects += [leaf(f"g{name}", 1, "zone", parent="root"), using(f"c{name}", name=f"p{name}", group=f"g{name}"), claim(f"c{name}")]
    objects[-2] = using("cy", name="py", group="gy", nodeSelector={"zone": "b"})
    decision = decided(objects, strategy="complete")
    assert {"cx": "in-a", "cy": "everywhere"} == volumes_of(decision)
    assert "b1" == placed(decision)["py"]
    alone = [each for each in objects if each["metadata"]["name"] != "in-a"]
    assert "infeasible" == decided(alone, strategy="complete").search.outcome


def test_all_users_of_a_claim_reach_its_volume():
    pods = [using("c", name=f"p{number}", group="g", cpu="2") for number in range(2)]
    objects = [*ZONES, LOCAL, leaf("g", 2), claim("c"), zonal("in-b", "b", "5Gi"), *pods]
    assert "infeasible" == decided(objects, strategy="complete").search.outcome
    decision = decided([*objects, zonal("in-a", "a", "50Gi")], strategy="complete")
    assert ({"a1", "a2"}, {"c": "in-a"}) == ({*placed(decision).values()}, volumes_of(decision))


def test_pods_with_one_read_write_once_pod_claim_are_not_placed_together():
    pods = [using("c", name="p0", group="g"), using("c", name="p1", group="g"), using("d", name="p2", group="g", cpu="2")]
    tight = [node("a1", "2", zone="a"), node("b1", "1", zone="b")]
    decision = decided([*tight, *single("c", "d"), leaf("g", 2), *pods], strategy="complete")
    assert 2 == len(placed(decision))
    assert {"p0", "p1"} - {*placed(decision)}
    decision = decided([*tight, *single("c", "d"), leaf("g", 3), *pods], strategy="complete")
    assert ("infeasible", Status.UNRESOLVABLE) == (decision.search.outcome, decision.status)


def test_shared_volume_counts_once_on_a_node():
    """Two pods fit if they share the node, so that the volume of each counts once."""
    shared = [bound_claim("c", "pv"), bound_volume("pv", csi={"driver": "csi.example", "volumeHandle": "h"})]
    limits = [csi_node(name, {"csi.example": 1}) for name in ("a1", "a2")]
    own = [bound_claim("d", "pv-d"), bound_volume("pv-d", csi={"driver": "csi.example", "volumeHandle": "d"})]
    pods = [using("c", name="p0", group="g"), using("c", name="p1", group="g"), using("d", name="p2", group="g")]
    decision = decided([*ZONES[:2], *shared, *own, *limits, leaf("g", 3), *pods], strategy="complete")
    nodes = placed(decision)
    assert nodes["p0"] == nodes["p1"] != nodes["p2"]


TWELVE = [f"{one}{other}" for one, other in zip("abcdefghijkl", "mnopqrstuvwx", strict=True)]


def attaching(attached: str, limit: int, *pods: str) -> list[Json]:
    """Return a gang of *pods*, each with the volumes that its letters name, and the node a1 that has *limit* and those *attached*."""
    objects = [node("a1", "32"), csi_node("a1", {"csi.example": limit})]
    objects += csi(*sorted({*attached, *"".join(pods)}), driver="csi.example")
    objects += [attachment("a1", name, "csi.example") for name in attached]
    return [*objects, *(using(*volumes, name=f"p{number}", group="g") for number, volumes in enumerate(pods))]


DEVICES = [device_class(), device_slice("a1", "d0", "d1"), template("all", request(allocationMode="All"))]


@pytest.mark.parametrize("others", [[], [pod("other", "g")], [*DEVICES, wanting_devices("other", "gpu:all", group="g")]])
@pytest.mark.parametrize(
    ("attached", "limit", "pods", "outcome"),
    [
        # The pod whose volume has an attachment must come before the last unit is used.
        ("a", 2, ["b", "b", "a"], "placed"),
        ("a", 1, ["a", "a"], "infeasible"),
        # Pods with one volume each bring those that are too many for one pod.
        ("ab", 3, ["ab", "a", "b"], "placed"),
        ("ab", 3, ["ab", "ab"], "infeasible"),
        ("abcdefghijkl", 24, TWELVE, "infeasible"),
        ("abcdefghijkl", 25, TWELVE, "placed"),
    ],
)
def test_an_attached_volume_needs_a_unit_until_its_first_pod_is_there(attached, limit, pods, outcome, others):
    count = len(pods) + bool(others)
    decision = decided([leaf("g", count), *attaching(attached, limit, *pods), *others], strategy="complete")
    assert outcome == decision.search.outcome
    assert len(placed(decision)) == (count if outcome == "placed" else 0)


def test_an_eviction_can_help_although_the_eviction_of_all_pods_does_not():
    """The volume needs a unit of its own, unless a running pod that uses it stays."""
    running = [using("a", name="user", nodeName="a1", cpu="16", priority=-1), pod("other", nodeName="a1", cpu="16", priority=-1)]
    objects = [leaf("g", 1), *attaching("a", 1, "a"), *running]
    decision = decided(objects, strategy="complete")
    assert (Status.UNSCHEDULABLE, ("default/other",), {"default/p0": "a1"}) == (decision.status, decision.victims, decision.nominations)
    assert Status.UNRESOLVABLE is decided([*objects[:-2], running[1]], strategy="complete").status


def test_one_of_several_users_of_a_volume_stays():
    """Two users are evicted: the youngest, and the one that has the other volume too."""
    users = [using("a", name=f"user{number}", nodeName="a1", cpu="8", priority=-1) for number in range(3)]
    users.append(using("a", "b", name="both", nodeName="a1", cpu="8", priority=-2))
    objects = [leaf("g", 1), *attaching("a", 1, "a"), *csi("b", driver="csi.example"), *users]
    objects = [*(each for each in objects if each["metadata"]["name"] != "p0"), using("a", name="p0", group="g", cpu="16")]
    decision = decided(objects, strategy="complete")
    assert (2, "default/both") == (len(decision.victims), decision.victims[0])


def test_a_user_stays_in_a_cluster_with_many_other_victims():
    others = [node(f"n{number}", "8") for number in range(300)]
    running = [
        pod(f"r{number}", nodeName=f"n{number // 8}", priority=-1, nodeSelector={"kubernetes.io/os": "linux"}) for number in range(2_400)
    ]
    objects = [leaf("g", 1), *attaching("a", 1, "a"), *others, *running]
    users = [using("a", name="user", nodeName="a1", cpu="16", priority=-1), pod("other", nodeName="a1", cpu="16", priority=-1)]
    far = [using("a", name="p0", group="g", cpu="16")]
    decision = decided([*(each for each in objects if each["metadata"]["name"] != "p0"), *users, *far], strategy="complete")
    assert (("default/other",), {"default/p0": "a1"}) == (decision.victims, decision.nominations)


def test_a_spent_budget_leaves_the_root_undecided():
    volumes = [zonal("x", "a", red="1"), zonal("y", "a", red="1"), zonal("z", "a", blue="1")]
    objects = [*ZONES, *GANG, *(claim(f"c{n}", **wanting(red="1")) for n in range(3)), *volumes]
    decision = decided(objects, strategy="complete", budget=5)
    assert ("budget", {}) == (decision.search.outcome, placed(decision))


def test_pods_without_volumes_are_packed_around_the_others():
    sizes = [pod(f"q{number}", "g", cpu=cpu) for number, cpu in enumerate(("1", "2"))]
    pods = [using("c0", name="p0", group="g", cpu="2"), using("c1", name="p1", group="g", cpu="1")]
    objects: list[Any] = [*ZONES, LOCAL, leaf("g", 4), *sizes, *pods, claim("c0"), claim("c1"), zonal("pv0", "a"), volume("pv1")]
    assert 4 == len(placed(decided(objects, strategy="complete")))
    objects[0] = node("a1", "1", zone="a")
    assert "infeasible" == decided(objects, strategy="complete").search.outcome


def test_nodes_with_other_volumes_are_not_exchanged():
    nodes = [node("a", "2", zone="a"), node("b", "2", zone="b")]
    wide = zonal("wide", "a", red="1", blue="1")
    volumes = [wide, zonal("red", "b", red="1"), zonal("blue", "b", blue="1"), zonal("both", "c", red="1", blue="1")]
    wanted = [claim("c0", **wanting(red="1")), claim("c1", **wanting(blue="1"))]
    pods = [using("c0", name="p0", group="g"), using("c1", name="p1", group="g"), pod("q", "g", cpu="2")]
    assert {"p0": "b", "p1": "b", "q": "a"} == placed(decided([*nodes, LOCAL, leaf("g", 3), *volumes, *wanted, *pods], strategy="complete"))


def test_results_of_a_search_with_read_write_once_pod_are_not_reused_by_another():
    """The sidecar keeps the node filters of pods between cycles, and each cycle has a search of its own."""
    objects = [node(name, "1", zone=name) for name in "ab"]
    for group, zones in {"g": "aa", "h": "-a"}.items():
        objects += [leaf(group, 2)]
        for number, zone in enumerate(zones):
            name = f"{group}{number}"
            more = {} if zone == "-" else {"nodeSelector": {"zone": zone}}
            objects += [*single(name), using(name, name=name, group=group, **more), using(name, name=f"next-{name}")]
    here, roots = state(objects, PlacingOptions(sparing=True)), entities(objects)
    found = []
    for name in ("g", "h"):
        complete = Complete(here)
        outcome = complete.place(complete.request(roots[name]))
        found.append((outcome.success and names(here, outcome), complete.search.outcome))
    assert found == [(False, "infeasible"), (["b", "a"], "placed")]
