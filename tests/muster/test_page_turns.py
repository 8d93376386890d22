"""What was free when it was a root's turn."""

from __future__ import annotations

from muster.html.free_capacity import attempts
from tests.muster import paged
from tests.muster.paged import gang, machine, member, racks


def taken(objects, *names, **options):
    """For each root of those names that was not placed: free cores by node, and whether promises count."""
    case = paged.case(objects, **options)
    roots = frozenset(decision.root for decision in case.unplaced if decision.root.name in names or not names)
    found = attempts(case.snapshot, case.answer, case.options, roots)
    return {attempt.decision.root.name: ((attempt.free[0] // 1000).tolist(), attempt.promised) for attempt in found}


def test_running_pods_use_resources():
    assert {"big": ([1, 4], False)} == taken([*racks(2), member("run", on="r1-1", cpu="3"), *gang("big", 2, cpu="9")])


def test_roots_placed_before_use_resources_and_later_ones_do_not():
    objects = [
        *racks(1, cpu="6"),
        *gang("first", 1, cpu="1", priority=3),
        *gang("big", 1, cpu="9", priority=2),
        *gang("last", 1, cpu="2", priority=1),
    ]
    assert {"big": ([5], False)} == taken(objects)


def test_what_was_promised_counts_for_those_of_no_higher_priority():
    objects = [*paged.evicting(), *gang("very-late", 1, cpu="9", priority=100), *gang("small", 1, cpu="9", priority=1)]
    assert {"urgent": ([0], False), "very-late": ([0], True), "small": ([0], True)} == taken(objects)


def test_what_was_promised_to_a_lower_priority_does_not_count():
    waiting = member("promised", cpu="3", priority=1)
    waiting["status"] = {"phase": "Pending", "nominatedNodeName": "n"}
    objects = [machine("n"), waiting, *gang("big", 1, cpu="9", priority=5), *gang("low", 1, cpu="9", priority=1)]
    assert {"big": ([4], False)} == {name: told for name, told in taken(objects).items() if name == "big"}


def test_resources_of_deleted_victims_are_free():
    objects = [*paged.evicting(), *gang("later", 1, cpu="9", priority=1)]
    assert {"later": ([1], False)} == taken(objects, evict=True)


def test_only_requested_roots_that_were_attempted_are_reported():
    objects = [*racks(1), *gang("one", 1, cpu="9"), *gang("two", 1, cpu="9"), *gang("waits", 1, parent="nobody")]
    assert {"two"} == set(taken(objects, "two"))
    assert {"one", "two"} == set(taken(objects))
    assert {} == taken(racks(1))


def test_pods_of_the_root_are_as_they_are_by_then():
    objects = [*racks(1), *gang("g", 3, cpu="9"), member("g-runs", "g", on="r1-1")]
    case = paged.case(objects)
    (attempt,) = attempts(case.snapshot, case.answer, case.options, frozenset(each.root for each in case.unplaced))
    assert (["g-0", "g-1", "g-2"], ["g-runs"]) == (
        [pod.name for pod in attempt.entity.waiting],
        [pod.name for pod in attempt.entity.running],
    )
