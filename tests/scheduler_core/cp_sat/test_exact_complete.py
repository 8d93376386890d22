"""Strategy ``complete`` compared with the exact oracle: placements, proofs, victims."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
from collections.abc import Callable

import pytest
from hypothesis import given

from scheduler_core.cycle import preemptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from scheduler_core.preemption.minimal import minimal_plans
from tests.scheduler_core.cp_sat import corpus, judge, model
from tests.scheduler_core.cp_sat.model import Fewest
from tests.scheduler_core.cp_sat.runs import (
    COUNT,
    SEEDS,
    Case,
    batches,
    complete,
    decide,
    decide_first,
    drawn,
    feasible,
    fewest_victims,
    of_any_kind,
    slowly,
)
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.strategies import clusters


@batches()
def test_it_says_of_no_tree_what_is_not_so(seeds):
    messages = []
    for case in drawn(seeds):
        lines = judge.verdict(complete(of_any_kind, case.seed), case.objects, feasible=feasible(case.seed))
        messages += [f"{case.seed}: {line}" for line in lines]

    assert [] == messages


@slowly
@given(clusters())
def test_it_says_of_no_small_cluster_what_is_not_so(objects):
    for name, possible in model.feasible(objects).items():
        decision = decide_first(name, objects, "complete")
        if decision.status not in judge.NOT_TRIED:
            assert [] == judge.verdict(decision, objects, feasible=possible)


@pytest.mark.timeout(120 + COUNT)
def test_its_budget_is_spent_on_one_in_a_hundred_at_most():
    ends = collections.Counter(complete(of_any_kind, seed).search.outcome for seed in SEEDS)

    assert ends["budget"] <= len(SEEDS) // 100


def with_leftovers(seeds: tuple[int, ...], *, spare: int) -> list[Case]:
    """Draw instances with optional pods and, with *spare*, optional child groups."""
    results = []
    for case in drawn(seeds):
        make = dataclasses.replace(case.make, optional=not spare, spare=spare, slack=10 + case.seed % 20, loose=False, moved=0, short=0)
        results.append(Case(case.seed, make, corpus.instance(case.seed, make)))
    return results


def missing_pods(case: Case) -> list[str]:
    """Return the pods that should be placed and are not."""
    decision = decide(case.objects, "complete")
    if decision.status is not Status.SUCCESS:
        return [f"{case.seed}: {decision.status}"]
    more = model.placements(judge.bound(case.objects, decision.assignments)).get("t")
    return [f"{case.seed}: there is room for {sorted(more)}"] if more else []


@batches(share=6)
def test_no_optional_pod_is_left_out_that_has_capacity(seeds):
    assert [] == [line for case in with_leftovers(seeds, spare=0) for line in missing_pods(case)]


@batches(share=6)
def test_no_optional_child_is_left_out_that_has_capacity(seeds):
    assert [] == [line for case in with_leftovers(seeds, spare=2) for line in missing_pods(case)]


@batches(share=4)
def test_who_leaves_must_leave(seeds):
    messages = []
    for seed in seeds:
        objects = corpus.crowded(seed)
        decision, fewest = complete(corpus.crowded, seed), fewest_victims(corpus.crowded, seed)
        lines = judge.verdict(decision, objects, feasible=fewest is not None and fewest.nobody)
        lines += judge.evicting(decision, objects, fewest)
        if decision.status is Status.UNRESOLVABLE and fewest is not None:
            lines.append(f"no eviction is said to help, and that of {fewest.victims} does")
        if decision.status is Status.UNSCHEDULABLE and fewest is not None and not decision.victims:
            lines.append(f"nobody leaves, though it would help that {fewest.victims} did")
        messages += [f"{seed}: {line}" for line in lines]

    assert [] == messages


def misjudged(seed: int, objects: Objects, decision: Decision, fewest: Fewest | None) -> list[str]:
    """Return the wrong statements of a decision about victims."""
    units, _ = judge.leaving(decision, objects)
    plan, result = decision.preemption, []
    if plan is None or fewest is None:
        return [] if plan is None or not units else [f"{seed}: {len(units)} units leave, and nothing helps"]
    cost = judge.cost(objects, units)
    if fewest.nobody:
        result.append(f"{seed}: {len(units)} units leave, and nobody need")
    if plan.lower > fewest.cost[1]:
        result.append(f"{seed}: at least {plan.lower} units are said to leave, and {fewest.cost} is enough")
    if plan.proved and cost != fewest.cost:
        result.append(f"{seed}: {cost} is said to be the best, and is {fewest.cost}")
    if plan.proved and plan.gap:
        result.append(f"{seed}: a gap of {plan.gap} is left, and nothing is said to be better")
    return result


def judged(make: Callable[[int], Objects], seed: int) -> tuple[Objects, Decision, Fewest | None]:
    return make(seed), complete(make, seed), fewest_victims(make, seed)


@batches()
def test_victims_that_are_said_to_be_the_best_are(seeds):
    assert [] == [line for seed in seeds for line in misjudged(seed, *judged(corpus.crowded, seed))]


@batches(share=2)
def test_victims_for_trees_of_all_kinds_that_are_said_to_be_the_best_are(seeds):
    assert [] == [line for seed in seeds for line in misjudged(seed, *judged(corpus.pressed, seed))]


@pytest.mark.timeout(120 + COUNT)
@pytest.mark.parametrize(
    ("make", "one_in"),
    [pytest.param(corpus.crowded, 200, id="of small trees"), pytest.param(corpus.pressed, 25, id="of trees of all kinds")],
)
def test_victims_are_not_proved_to_be_the_best_for_few(make, one_in):
    plans = [plan for seed in SEEDS if (plan := complete(make, seed).preemption) is not None]

    assert len(SEEDS) // 5 <= len(plans)
    assert sum(not plan.proved for plan in plans) <= len(plans) // one_in


@pytest.mark.parametrize("steps", [0, 3_000, 30_000])
@batches(share=12)
def test_with_less_effort_who_leaves_must_leave_too_and_no_bound_is_wrong(seeds, steps, monkeypatch):
    monkeypatch.setattr(preemptions, "fewest_victims", functools.partial(minimal_plans.fewest_victims, steps=steps))
    messages = []
    for seed in seeds:
        objects, fewest = corpus.crowded(seed), fewest_victims(corpus.crowded, seed)
        decision = decide(objects, "complete")
        messages += misjudged(seed, objects, decision, fewest)
        messages += judge.evicting(decision, objects, fewest)

    assert [] == messages


@batches(share=6)
def test_no_pod_is_preempted_where_there_is_a_placement(seeds):
    messages = []
    for seed in seeds:
        make = dataclasses.replace(corpus.drawn(seed), moved=0, short=0, filler=0)
        decision = decide(corpus.instance(seed, make), "complete")
        if decision.victims or decision.status is not Status.SUCCESS:
            messages.append(f"{seed}: {decision.status}, {len(decision.victims)} leave")

    assert [] == messages


@batches(share=12)
def test_the_order_of_the_objects_changes_nothing(seeds):
    messages = []
    for case in drawn(seeds):
        shuffled = random.Random(case.seed).sample(case.objects, len(case.objects))
        if complete(of_any_kind, case.seed) != decide(shuffled, "complete"):
            messages.append(case.seed)

    assert [] == messages
