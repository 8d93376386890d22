"""Smallest sets of victims compared with trying all sets of units."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.sampling import sampled
from tests.scheduler_core.oracle.model import read
from tests.scheduler_core.oracle.strategies import Size, clusters
from tests.scheduler_core.preemption import subsets
from tests.scheduler_core.preemption.crowded import PRIORITY, crowded
from tests.scheduler_core.preemption.deciding import decide, run
from tests.scheduler_core.preemption.pending_root import prepared

SMALL = Size(nodes=3, trees=2, depth=2, pending=2, running=2, lone=4)
slowly = settings(deadline=None, max_examples=sampled(60), suppress_health_check=list(HealthCheck))
REFUSED = (Status.UNSCHEDULABLE, Status.UNRESOLVABLE)


def name_of(decision: Decision) -> dict[str, str]:
    return {"kind": decision.root.kind, "name": decision.root.name, "namespace": decision.root.namespace}


@slowly
@given(crowded())
def test_no_set_of_units_is_better_than_the_one_chosen(objects):
    decision = decide(objects)
    if decision.status not in REFUSED:
        return
    want = subsets.best(objects, name_of(decision), PRIORITY)

    assert want == (subsets.of_victims(objects, decision.victims) if decision.victims else None)
    if want is not None:
        assert want[1] == decision.preemption.units
        assert decision.preemption.lower <= want[1]


@slowly
@given(clusters(SMALL))
def test_no_set_of_units_is_better_in_clusters_of_all_kinds(objects):
    decision = next(iter(run(objects).decisions), None)
    if decision is None or decision.root.kind == "Pod" or decision.status not in REFUSED:
        return
    root = read(objects).groups[decision.root.kind, decision.root.namespace, decision.root.name]
    want = None if root.policy == "Never" else subsets.best(objects, name_of(decision), root.priority)

    assert want == (subsets.of_victims(objects, decision.victims) if decision.victims else None)


@slowly
@given(crowded())
def test_greedy_breaks_no_fewer_units_unless_it_breaks_a_budget(objects):
    few, many = decide(objects), decide(objects, "greedy")
    if many.victims and few.status in REFUSED:
        assert subsets.of_victims(objects, few.victims)[:2] <= subsets.of_victims(objects, many.victims)[:2]


@slowly
@given(crowded())
def test_once_the_victims_have_left_the_root_is_placed(objects):
    first, *later = run(objects, evict=True).decisions
    if first.victims:
        (second,) = [each for each in later if each.root == first.root]

        assert Status.SUCCESS is second.status


@slowly
@given(crowded(), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(objects, random):
    want = decide(objects)
    random.shuffle(objects)

    assert want == decide(objects)


@slowly
@given(crowded())
def test_the_ledger_is_as_it_was(objects):
    decider, root = prepared(objects)
    ledger = decider._greedy.state.ledger
    before = [ledger.used.copy(), ledger.held.copy(), ledger.scored.copy()]
    decider.preemptions.preempt(root, fewest=True)

    assert all(np.array_equal(want, got) for want, got in zip(before, (ledger.used, ledger.held, ledger.scored), strict=True))
