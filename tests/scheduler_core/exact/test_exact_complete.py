"""Strategy ``complete`` against the truth: what it places, what it proves, whom it makes leave."""

from __future__ import annotations

import collections
import dataclasses
import random

import pytest
from hypothesis import given

from scheduler_core.decision import Status
from tests.scheduler_core.exact import corpus, judge, model
from tests.scheduler_core.exact.runs import BATCH, COUNT, Case, batches, decide, decide_first, drawn, slowly
from tests.scheduler_core.oracle.strategies import clusters


@batches()
def test_it_says_of_no_tree_what_is_not_so(seeds):
    told = []
    for case in drawn(seeds):
        decision = decide(case.objects, "complete")
        lines = judge.verdict(decision, case.objects, feasible=model.feasible(case.objects)["t"])
        told += [f"{case.seed}: {line}" for line in lines]

    assert [] == told


@slowly
@given(clusters())
def test_it_says_of_no_small_cluster_what_is_not_so(objects):
    for name, feasible in model.feasible(objects).items():
        decision = decide_first(name, objects, "complete")
        if decision.status not in judge.NOT_TRIED:
            assert [] == judge.verdict(decision, objects, feasible=feasible)


@pytest.mark.timeout(120 + COUNT)
def test_its_budget_is_spent_on_one_in_a_hundred_at_most():
    ends = collections.Counter(decide(case.objects, "complete").search.outcome for case in drawn(range(COUNT)))

    assert ends["budget"] <= COUNT // 100


def with_leftovers(seeds: range, *, spare: int) -> list[Case]:
    """Instances with more pods than must be placed, and with more child groups, if *spare*."""
    found = []
    for case in drawn(seeds):
        make = dataclasses.replace(case.make, optional=not spare, spare=spare, slack=10 + case.seed % 20, loose=False, moved=0, short=0)
        found.append(Case(case.seed, make, corpus.instance(case.seed, make)))
    return found


def left_out(case: Case) -> list[str]:
    """What is not placed that should be."""
    decision = decide(case.objects, "complete")
    if decision.status is not Status.SUCCESS:
        return [f"{case.seed}: {decision.status}"]
    more = model.placements(judge.bound(case.objects, decision.assignments)).get("t")
    return [f"{case.seed}: there is room for {sorted(more)}"] if more else []


@batches(share=6)
def test_no_optional_pod_is_left_out_that_has_room(seeds):
    assert [] == [line for case in with_leftovers(seeds, spare=0) for line in left_out(case)]


@batches(share=6)
def test_no_optional_child_is_left_out_that_has_room(seeds):
    assert [] == [line for case in with_leftovers(seeds, spare=2) for line in left_out(case)]


@batches(share=4)
def test_who_leaves_must_leave(seeds):
    told = []
    for seed in seeds:
        objects = corpus.crowded(seed)
        decision, fewest = decide(objects, "complete"), model.fewest_victims(objects)["t"]
        lines = judge.verdict(decision, objects, feasible=fewest is not None and fewest.nobody)
        lines += judge.evicting(decision, objects, fewest)
        if decision.status is Status.UNRESOLVABLE and fewest is not None:
            lines.append(f"no eviction is said to help, and that of {fewest.victims} does")
        if decision.status is Status.UNSCHEDULABLE and fewest is not None and not decision.victims:
            lines.append(f"nobody leaves, though it would help that {fewest.victims} did")
        told += [f"{seed}: {line}" for line in lines]

    assert [] == told


@pytest.mark.timeout(120 + COUNT)
def test_as_few_leave_as_can_and_no_bound_is_wrong():
    bounds, more, some = [], [], 0
    for seed in range(max(BATCH, COUNT // 4)):
        objects = corpus.crowded(seed)
        decision, fewest = decide(objects, "complete"), model.fewest_victims(objects)["t"]
        units, _ = judge.leaving(decision, objects)
        if units and fewest is not None and decision.preemption is not None:
            some += 1
            bounds += [seed] if decision.preemption.lower > fewest.cost[1] else []
            # Whether a budget is broken, and how many units leave.
            more += [seed] if judge.cost(objects, units)[:2] > fewest.cost[:2] else []

    assert [] == bounds
    assert len(more) <= some // 20


@batches(share=6)
def test_nobody_leaves_where_there_is_a_placement(seeds):
    told = []
    for seed in seeds:
        make = dataclasses.replace(corpus.drawn(seed), moved=0, short=0, filler=0)
        decision = decide(corpus.instance(seed, make), "complete")
        if decision.victims or decision.status is not Status.SUCCESS:
            told.append(f"{seed}: {decision.status}, {len(decision.victims)} leave")

    assert [] == told


@batches(share=12)
def test_the_order_of_the_objects_changes_nothing(seeds):
    told = []
    for case in drawn(seeds):
        shuffled = random.Random(case.seed).sample(case.objects, len(case.objects))
        if decide(case.objects, "complete") != decide(shuffled, "complete"):
            told.append(case.seed)

    assert [] == told
