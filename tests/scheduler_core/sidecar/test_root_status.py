"""How it stands with a root."""

from __future__ import annotations

from typing import Any

import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.model.names import Name
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.root_status import OurPods, RootStatus, root_status
from tests.scheduler_core.builders import HOST, composite, leaf, node, pod, pods
from tests.scheduler_core.sidecar.histories import Json, Server

OURS = {"schedulerName": "muster"}
WHOSE = OurPods("muster", ungates=False)


def surveyed(*objects: Json, root: tuple[str, str] = ("PodGroup", "g"), whose: OurPods = WHOSE) -> RootStatus | None:
    server, store = Server(), Cache()
    for each in (node("n1"), *objects):
        server.put(each)
    server.fill(store)
    store.usage.set_options(ungates=whose.ungates)
    return root_status(store, Name(root[0], "default", root[1]), whose)


def found(*objects: Json, **more: Any) -> RootStatus:
    result = surveyed(*objects, **more)
    assert result is not None
    return result


def said(group: Json, status: str = "True") -> Json:
    """*group* with the condition that says whether it was placed."""
    return {**group, "status": {"conditions": [{"type": INITIALLY_SCHEDULED[group["kind"]], "status": status, "reason": "x"}]}}


def names(pods_: Any) -> list[str]:
    return sorted(each.parsed_pod.name[1] for each in pods_)


def groups(survey_: RootStatus) -> list[str]:
    return [each.key[2] for each in survey_.to_commit]


def two(placed: int, count: int = 4, **more: Any) -> list[Json]:
    """*count* members of g, the first of them bound."""
    return [pod(f"g-{number}", "g", on="n1" if number < placed else "", **{**OURS, **more}) for number in range(count)]


def test_root_without_a_pod_of_ours_is_none_of_ours():
    assert None is surveyed(leaf("g", 1), pod("g-0", "g"))
    assert None is surveyed(leaf("g", 1))


def test_group_that_is_below_another_is_no_root():
    assert None is surveyed(composite("top", 1), leaf("g", 1, parent="top"), *two(0))


@pytest.mark.parametrize(
    ("minimum", "placed", "want"),
    [
        pytest.param(4, 0, [], id="none is bound"),
        pytest.param(4, 3, ["g-0", "g-1", "g-2"], id="all but one"),
        pytest.param(4, 4, [], id="all"),
        pytest.param(2, 1, ["g-0"], id="fewer than it needs"),
        pytest.param(2, 2, [], id="as many as it needs"),
        pytest.param(0, 1, [], id="not a gang"),
    ],
)
def test_gang_is_loose_while_fewer_are_bound_than_it_needs(minimum, placed, want):
    assert want == names(found(leaf("g", minimum), *two(placed)).partially_bound)


@pytest.mark.parametrize(
    ("status", "want"),
    [pytest.param("True", [], id="it was placed once"), pytest.param("False", ["g-0"], id="it was not")],
)
def test_gang_that_was_placed_once_is_not_loose(status, want):
    assert want == names(found(said(leaf("g", 4), status), *two(1)).partially_bound)


def test_child_that_is_partial_is_loose_by_itself_where_its_root_was_placed():
    objects = [said(composite("top", 1)), leaf("a", 1, parent="top"), leaf("g", 2, parent="top"), pod("a-0", "a", on="n1", **OURS), *two(1)]
    assert ["g-0"] == names(found(*objects, root=("CompositePodGroup", "top")).partially_bound)


def test_every_child_is_loose_where_the_root_lacks_one():
    objects = [composite("top", 2), leaf("a", 1, parent="top"), leaf("g", 2, parent="top"), pod("a-0", "a", on="n1", **OURS), *two(1)]
    assert ["a-0", "g-0"] == names(found(*objects, root=("CompositePodGroup", "top")).partially_bound)


def test_root_is_finished_with_those_of_its_groups_that_have_what_they_need():
    objects = [composite("top", 1), leaf("a", 1, parent="top"), leaf("g", 2, parent="top"), pod("a-0", "a", on="n1", **OURS), *two(1)]
    assert ["top", "a"] == groups(found(*objects, root=("CompositePodGroup", "top")))


def test_child_is_not_finished_before_its_root():
    objects = [composite("top", 2), leaf("a", 1, parent="top"), leaf("g", 2, parent="top"), pod("a-0", "a", on="n1", **OURS), *two(1)]
    assert [] == groups(found(*objects, root=("CompositePodGroup", "top")))


def test_group_that_says_that_it_was_placed_is_not_finished_again():
    assert [] == groups(found(said(leaf("g", 1)), *two(1)))
    assert ["g"] == groups(found(said(leaf("g", 1), "False"), *two(1)))


@pytest.mark.parametrize(
    ("count", "want"),
    [pytest.param(1, False, id="too few members"), pytest.param(2, True, id="as many as it needs"), pytest.param(3, True, id="more")],
)
def test_gang_is_ready_with_as_many_members_as_it_needs(count, want):
    assert want == found(leaf("g", 2), *two(0, count)).ready


@pytest.mark.parametrize(
    ("count", "on", "want"),
    [
        pytest.param(3, "", False, id="one too few without it"),
        pytest.param(4, "", True, id="enough without it"),
        pytest.param(3, "n1", True, id="it still has a node"),
    ],
)
def test_member_that_is_deleted_before_it_had_a_node_is_not_counted(count, on, want):
    going = pod("g-0", "g", on=on, **OURS)
    going["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:00Z"
    assert want == found(leaf("g", 3), going, *two(0, count)[1:]).ready


def test_group_whose_parent_is_missing_is_not_ready():
    assert not found(leaf("g", 1, parent="top"), *two(0)).ready


@pytest.mark.parametrize(("levels", "want"), [pytest.param(4, True, id="four levels"), pytest.param(5, False, id="five")])
def test_tree_with_too_many_levels_is_not_ready(levels, want):
    above = [composite(f"c{number}", 1, parent=f"c{number - 1}" if number else "") for number in range(levels - 1)]
    result = found(*above, leaf("g", 1, parent=above[-1]["metadata"]["name"]), *two(0), root=("CompositePodGroup", "c0"))
    assert want == result.ready


def test_circle_of_parents_has_no_end_and_nothing_of_it_is_touched():
    circle = [composite("a", 1, parent="b"), composite("b", 1, parent="a"), leaf("g", 2, parent="b"), *two(1)]
    result = found(*circle, root=("CompositePodGroup", "a"))
    assert (False, (), ()) == (result.ready, result.partially_bound, result.to_commit)


def test_root_in_which_a_member_leaves_before_it_was_placed_waits():
    going = pod("g-0", "g", on="n1", **OURS)
    going["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:00Z"
    assert found(leaf("g", 2), going, *two(0)[1:]).terminating
    assert not found(said(leaf("g", 2)), going, *two(0)[1:]).terminating


def test_partial_roots_come_first_then_by_priority_age_and_name():
    partial = found(leaf("g", 2, priority=0), *two(1))
    urgent = found(leaf("g", 2, priority=5), *two(0))
    assert partial.order < urgent.order
    older, younger = (found(leaf("g", 1), *two(0)) for _ in range(2))
    assert urgent.order < older.order < younger.order


def test_members_that_no_gate_of_ours_holds_are_left_to_their_scheduler():
    gated = pods("g", 2, schedulingGates=[{"name": PLACEMENT_GATE}])
    free = pod("free", "g")
    result = found(leaf("g", 3), *gated, free, whose=OurPods("", ungates=True))
    assert (["g-0", "g-1"], {"default/free"}, True) == (names(result.to_place), set(result.excluded), result.ready)


def test_gang_hangs_while_members_that_it_needs_are_pinned_and_not_bound():
    pinned = pod("g-0", "g", nodeSelector={HOST: "n1"})
    pinned["metadata"]["annotations"] = {PLACEMENT_GATE: "n1"}
    whose = OurPods("", ungates=True)
    assert found(leaf("g", 1), pinned, whose=whose).awaits_binding
    assert not found(said(leaf("g", 1)), pinned, whose=whose).awaits_binding
    assert not found(leaf("g"), pinned, whose=whose).awaits_binding


UNGATING = OurPods("", ungates=True)


def pinned(name: str, where: str, group: str = "", **more: Any) -> Json:
    """A pod that was opened for its own scheduler, which has not bound it yet."""
    each = pod(name, group, **{"nodeSelector": {HOST: where}, **more})
    each["metadata"]["annotations"] = {PLACEMENT_GATE: where}
    return each


@pytest.mark.parametrize(
    "more", [pytest.param({}, id="pinned"), pytest.param({"nodeSelector": {}}, id="with nothing but the mark, as a copy has it")]
)
@pytest.mark.parametrize("where", ["n1", "n9"])
def test_pod_that_is_open_is_left_to_its_own_scheduler(where, more):
    alone = surveyed(pinned("a", where, **more), root=("Pod", "a"), whose=UNGATING)
    assert () == (alone.to_place if alone is not None else ())
    assert () == found(leaf("g", 1), pinned("g-0", where, "g", **more), whose=UNGATING).to_place


def test_member_that_was_pinned_to_a_node_that_is_gone_hangs_and_can_be_taken_back():
    got = found(leaf("g", 2), pinned("g-0", "n1", "g"), pinned("g-1", "n9", "g"), whose=UNGATING)
    assert (True, ["g-0", "g-1"], ["g-0"]) == (got.awaits_binding, names(got.placed), names(got.partially_bound))


def test_member_that_carries_a_mark_and_is_not_pinned_is_not_taken_back():
    got = found(leaf("g", 2), pinned("g-0", "n1", "g"), pinned("g-1", "n9", "g", nodeSelector={}), whose=UNGATING)
    assert ["g-0"] == names(got.placed)


def test_pods_of_our_scheduler_are_placed_beside_gated_pods_and_others_are_held():
    gated = pod("g-0", "g", schedulingGates=[{"name": PLACEMENT_GATE}])
    got = found(leaf("g", 2), gated, pod("g-1", "g", **OURS), pod("g-2", "g"), whose=OurPods("muster", ungates=True))
    assert (["g-0", "g-1"], {"default/g-2"}) == (names(got.to_place), set(got.excluded))
