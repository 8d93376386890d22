"""Each invariant of a world fails for a history with the fault that it names, and holds for the same history without it."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from tests.cluster.groups import LABEL, SCHEDULED, composite, pod_group
from tests.cluster.kubelet import node, pod
from tests.reliability.world import invariants
from tests.reliability.world.faults import GAPS, LANES, plan
from tests.reliability.world.history import History, Seen, key_of, read
from tests.scheduler_core.plugins.device_objects import resource_claim

Json = dict[str, Any]
SPACE = "world-a"
OPTIONS = SchedulerOptions(preempt=True).cycle
_orders = itertools.count(1)


def added(each: Json, *, gone: bool = False, **changes: Any) -> Seen:
    """A change of an object, with a version of its own and these fields of its status; the uid is the name unless it has one."""
    order = next(_orders)
    metadata = {"uid": each["metadata"]["name"], **each["metadata"], "resourceVersion": str(order)}
    return Seen(float(order), gone, {**each, "metadata": metadata, "status": {**each.get("status", {}), **changes}})


def bound(name: str, on: str = "", *, group: str = "", cpu: int = 1, priority: int = 0, **metadata: Any) -> Json:
    """A pod, bound if it has a node."""
    spec = {"schedulerName": "muster", "priority": priority, **({"nodeName": on} if on else {})}
    result = pod(name, SPACE, group=group, spec=spec, cpu=cpu)
    result["metadata"] |= metadata
    return result


def gang(name: str = "g", count: int = 2, **more: Any) -> Json:
    return pod_group(name, SPACE, minimum=count, **more)


def pending(group: Json, reason: str) -> Json:
    """The group with the condition that it is not placed."""
    condition = {"type": SCHEDULED[group["kind"]], "status": "False", "reason": reason}
    return {**group, "status": {"conditions": [condition]}}


def preempted(victim: str, root: str, reason: str = "Preempted") -> Json:
    """The event of an evicted pod."""
    return {
        "kind": "Event",
        "metadata": {"name": f"{victim}.{root}", "namespace": SPACE},
        "reason": reason,
        "involvedObject": {"kind": "Pod", "name": victim, "uid": victim},
        "message": f"Preempted by PodGroup {SPACE}/{root} on node n",
    }


def objects_of(*seen: Seen) -> invariants.Objects:
    """The objects at the end of a history."""
    objects: invariants.Objects = {}
    for step in invariants.replay(seen):
        objects = dict(step.objects)
    return objects


def test_a_node_with_more_than_it_can_have_is_a_failure():
    small = node("n", pods=3, cpu=2)
    full = [added(small), added(bound("a", "n")), added(bound("b", "n"))]
    assert [] == invariants.over_capacity(full)
    more = [*full, added(bound("c", "n"))]
    assert ["node n has 2 cpu, and 3 are requested by a, b, c, after the bind of Pod world-a/c"] == invariants.over_capacity(more)
    assert ["node n has 2 cpu, and 3 are requested by a, b, c"] == invariants.overfull(objects_of(*more))
    assert [] == invariants.overfull(objects_of(*full))


def test_a_node_with_too_many_pods_is_a_failure():
    assert "has 1 pods, and 2" in invariants.over_capacity([added(node("n", pods=1)), *(added(bound(each, "n")) for each in "ab")])[0]


@pytest.mark.parametrize(
    "leaving", [added(bound("a", "n"), phase="Succeeded"), added(bound("a", "n"), gone=True)], ids=["ended", "deleted"]
)
def test_a_pod_that_ended_or_is_gone_takes_no_capacity(leaving):
    before = [added(node("n", cpu=1)), added(bound("a", "n"))]
    after = added(bound("b", "n"))
    leaves = Seen(after.order - 0.5, leaving.gone, leaving.object)
    assert [] == invariants.over_capacity([*before, leaves, after])
    assert [] != invariants.over_capacity([*before, after, leaves])


def test_a_node_that_shrinks_is_no_fault_of_a_bind():
    assert [] == invariants.over_capacity([added(node("n", cpu=2)), added(bound("a", "n", cpu=2)), added(node("n", cpu=1))])


def lease(manager: str, holder: str = "b", *, gone: bool = False, at: float = 0.0) -> Seen:
    """The Lease of the sidecars with a holder that *manager* has written."""
    fields = [{"manager": manager, "fieldsV1": {"f:spec": {"f:holderIdentity": {}}}}]
    metadata = {"name": "muster-sidecar", "namespace": "muster-system", "managedFields": fields}
    return dataclasses.replace(added({"kind": "Lease", "metadata": metadata, "spec": {"holderIdentity": holder}}, gone=gone), at=at)


@pytest.mark.parametrize(
    ("change", "after", "excused"),
    [
        pytest.param(lease("kubectl"), 9.0, True, id="given away by hand"),
        pytest.param(lease("muster-sidecar", gone=True), 9.0, True, id="deleted"),
        pytest.param(lease("kubectl"), 11.0, False, id="later"),
        pytest.param(lease("muster-sidecar"), 9.0, False, id="elected"),
    ],
)
def test_only_leaders_that_were_forced_are_excused(change, after, excused):
    full = [added(node("n", cpu=1)), added(bound("a", "n")), change]
    late = dataclasses.replace(added(bound("b", "n")), at=after)
    assert excused is ([] == invariants.over_capacity([*full, late]))
    claims = [
        added(resource_claim("a", devices=["gpu=n/d0"])),
        change,
        dataclasses.replace(late, object=resource_claim("b", devices=["gpu=n/d0"])),
    ]
    assert excused is ([] == invariants.shared_devices(claims))
    assert [] != invariants.overfull(objects_of(*full, late))


def test_renewals_of_a_lease_that_was_given_away_are_no_further_contest():
    seen = [lease("muster-sidecar", "a"), lease("kubectl", "b", at=20.0), lease("kubectl", "b", at=25.0), lease("kubectl", "b", at=31.0)]
    assert 1 == invariants.contests(seen)
    late = dataclasses.replace(added(bound("b", "n")), at=31.0)
    assert [] != invariants.over_capacity([added(node("n", cpu=1)), added(bound("a", "n")), *seen, late])


def test_a_device_of_two_claims_is_a_failure():
    one, other = (added(resource_claim(name, devices=["gpu=n/d0"])) for name in "ab")
    assert ["ResourceClaim default/b and ResourceClaim default/a have gpu.example/n/d0"] == invariants.shared_devices([one, other])
    released = added(resource_claim("a"))
    assert [] == invariants.shared_devices([one, released, added(other.object)])
    assert [] == invariants.shared_devices([one, added(resource_claim("b", devices=["gpu=n/d1"]))])


def test_a_pod_with_two_nodes_is_a_failure():
    first = added(bound("a", "n"))
    assert ["Pod world-a/a was bound to n, then to m"] == invariants.bound_twice([first, added(bound("a", "m"))])
    assert [] == invariants.bound_twice([first, added(bound("a", "m", uid="another of the name"))])


def test_a_group_that_was_not_refused_is_a_failure():
    assert ["PodGroup world-a/refused-1 was not refused"] == invariants.unjudged([added(gang("refused-1"))])
    assert [] == invariants.unjudged([added(gang("gang-1"))])


def test_a_gang_of_which_a_part_is_bound_is_a_failure():
    seen = [added(gang()), added(bound("a", "n", group="g")), added(bound("b", group="g"))]
    assert ["PodGroup world-a/g: 1 of 2 pods are bound"] == invariants.half_bound(objects_of(*seen), seen)
    whole = [*seen, added(bound("b", "n", group="g"))]
    assert [] == invariants.half_bound(objects_of(*whole), whole)


def test_a_gang_that_was_whole_once_or_lacks_a_pod_is_not_half_bound():
    seen = [added(gang()), *(added(bound(each, "n", group="g")) for each in "ab")]
    replaced = [*seen, added(bound("b", "n", group="g"), gone=True), added(bound("b", group="g", uid="new"))]
    assert [] == invariants.half_bound(objects_of(*replaced), replaced)
    lacking = [*seen[:2]]
    assert [] == invariants.half_bound(objects_of(*lacking), lacking)


def test_a_tree_of_which_a_leaf_is_bound_is_a_failure():
    tree = [added(composite("t", SPACE, minimum=2)), *(added(gang(leaf, 1, parent="t")) for leaf in ("x", "y"))]
    seen = [*tree, added(bound("x0", "n", group="x")), added(bound("y0", group="y"))]
    assert ["CompositePodGroup world-a/t: 1 of 2 pods are bound"] == invariants.half_bound(objects_of(*seen), seen)


def evicted(*, placed: bool = False, nominated: bool = False, reason: str = "Unschedulable", priority: int = 100) -> list[Seen]:
    """A pod was evicted for a gang."""
    victim, group = bound("v", "n", priority=10), gang("g", 1)
    group["spec"]["priority"] = priority
    seen = [added(victim), added(group), added(bound("a", group="g", priority=priority)), added(preempted("v", "g"))]
    seen += [added(victim, gone=True), added(bound("a", group="g"), **({"nominatedNodeName": "n"} if nominated else {}))]
    seen.append(added(pending(group, reason) if reason else group))
    return [*seen, added(bound("a", "n", group="g"))] if placed else seen


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(evicted(placed=True), "", id="it is placed"),
        pytest.param(evicted(), "", id="it is given up for a reason"),
        pytest.param(evicted(nominated=True), "whose Pod world-a/a still waits for its node", id="a nomination stays"),
        pytest.param(evicted(reason=""), "which does not say why it is pending", id="no reason"),
        pytest.param(evicted(placed=True, priority=10), "whose priority is not higher", id="a victim of the same priority"),
    ],
)
def test_an_eviction_in_vain_is_a_failure(history, expected):
    messages = invariants.in_vain(objects_of(*history), history)
    assert [f"Pod world-a/v was evicted for PodGroup world-a g, {expected}"] * bool(expected) == messages
    assert 1 == invariants.evictions(history)


def test_an_eviction_for_a_group_that_is_deleted_is_not_in_vain():
    history = [*evicted(nominated=True), added(gang("g", 1), gone=True)]
    assert [] == invariants.in_vain(objects_of(*history), history)


@pytest.mark.parametrize(
    ("group", "cpu", "expected"),
    [
        pytest.param(pending(gang(), "Unschedulable"), 8, [], id="a true reason"),
        pytest.param(pending(gang(), "Waiting"), 8, ["g says Waiting, and true is Unschedulable"], id="another reason"),
        pytest.param(gang(), 8, ["g says nothing, and true is Unschedulable"], id="no reason"),
        pytest.param(pending(gang(), "Unschedulable"), 1, ["g says Unschedulable, and true is none: it must be placed"], id="it fits"),
    ],
)
def test_a_pending_root_without_its_true_reason_is_a_failure(group, cpu, expected):
    seen = [added(node("n", {LABEL: "r"}, cpu=4)), added(group), *(added(bound(each, group="g", cpu=cpu)) for each in "ab")]
    assert expected == invariants.unexplained(objects_of(*seen), OPTIONS)


def test_a_single_pod_that_could_be_placed_is_a_failure():
    assert ["Pod world-a/p is pending and must be placed"] == invariants.unexplained(
        objects_of(added(node("n")), added(bound("p"))), OPTIONS
    )


@pytest.mark.parametrize("each", [bound("p"), gang(), resource_claim("c")], ids=lambda each: each["kind"])
def test_what_is_left_is_a_failure(each):
    held = {**each, "metadata": {**each["metadata"], "finalizers": ["example.com/held"]}}
    (message,) = invariants.left(objects_of(added(held)), ())
    assert message.endswith(f"/{each['metadata']['name']} is left with example.com/held")
    assert [] == invariants.left(objects_of(added(held), added(held, gone=True), added(node("n"))), ())


def test_a_claim_of_a_pod_that_was_replaced_is_not_counted_and_that_of_its_successor_is():
    pods = [added(bound("p", uid=uid)) for uid in ("first", "second")]
    owned = [
        {**resource_claim("c"), "metadata": {**resource_claim("c")["metadata"], "ownerReferences": [{"uid": uid}]}}
        for uid in ("first", "second")
    ]

    assert [] == invariants.left(objects_of(added(owned[0])), pods)
    assert ["ResourceClaim default/c is left"] == invariants.left(objects_of(added(owned[1])), pods)


def test_a_list_after_a_gap_counts_no_pod_on_a_node_longer_than_it_was(tmp_path):
    """The watch was broken: meanwhile a pod went, another came and the first version of a third is not known."""
    history = History()
    first = [added(node("n", cpu=2)), added(bound("a", "n")), added(bound("b", "n"))]
    for each in first:
        history.add("ADDED", each.object)
    after = [added(bound("c", "n")), added(bound("b", "n"), phase="Running")]
    history.add_list("Pod", [each.object for each in after], first[-1].order)
    history.write(tmp_path / "history.jsonl")
    seen = [*read(tmp_path / "history.jsonl")]
    assert [] == invariants.over_capacity(seen)
    assert {("Node", "", "n"), ("Pod", SPACE, "b"), ("Pod", SPACE, "c")} == {*objects_of(*seen)}
    assert [] != invariants.over_capacity([*first, after[0]])


def test_faults_are_the_same_for_a_seed_and_all_happen():
    assert plan(1, 240, 3, 2) == plan(1, 240, 3, 2) != plan(2, 240, 3, 2)
    drawn = {each.name for seed in range(20) for lane in plan(seed, 240, 3, 2).values() for each in lane}
    assert {name for faults in LANES.values() for name in faults} == drawn
    assert LANES.keys() == GAPS.keys()


def test_faults_of_a_lane_come_one_after_the_other():
    for lane in plan(5, 240, 3, 2).values():
        assert all(each.at + each.seconds < then.at for each, then in itertools.pairwise(lane))


def test_keys_name_objects_of_no_namespace():
    assert ("Node", "", "n") == key_of(node("n"))
