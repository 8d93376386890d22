"""Trials restore the state, and report the pods that block the root."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.cycle.preemptor import Proving
from scheduler_core.model.status import Status
from scheduler_core.preemption.minimal.trials import Trials
from scheduler_core.preemption.plans.effort import Effort, EffortSpentError
from tests.scheduler_core.preemption.crowded import node
from tests.scheduler_core.preemption.pending_root import gang, low, names, prepared

NODES = [node("a", 4), node("b", 2), *(low(f"a{number}", 2, "a") for number in range(2)), low("b0", 2, "b")]


class Scene:
    def __init__(self, objects, free=(), effort=10**6):
        self.decider, self.root = prepared(objects)
        self.units = self.decider.preemptions.units(self.root)
        self.called = {unit.pods[0].name: number for number in range(len(self.units)) for unit in [self.units.unit(number)]}
        proving = Proving(self.decider._greedy, self.root)
        self.domain = proving.requirements.domains[0]
        self.effort = Effort(effort)
        self.trials = Trials(self.root, self.units, self.numbers(*free), proving, self.effort)

    def numbers(self, *called):
        return frozenset(self.called[name] for name in called)

    def ledger(self):
        ledger = self.decider._ledger
        return [ledger.used.copy(), ledger.held.copy(), ledger.scored.copy()]


@pytest.mark.parametrize(("leaving", "want"), [((), False), (("a0",), True), (("b0",), True)])
def test_a_root_fits_where_enough_have_left(leaving, want):
    scene = Scene([*NODES, *gang(1, 2)])
    before = scene.ledger()

    assert want is scene.trials.fits(scene.numbers(*leaving), scene.domain)
    assert (Status.SUCCESS if want else Status.UNSCHEDULABLE) is scene.trials.place_without(scene.numbers(*leaving)).status
    assert all(np.array_equal(had, has) for had, has in zip(before, scene.ledger(), strict=True))


def test_who_leaves_anyway_has_left_in_all_of_them():
    scene = Scene([*NODES, *gang(2, 2)], free=["b0"])

    assert [False, True] == [scene.trials.fits(scene.numbers(*each), scene.domain) for each in ((), ("a0",))]


def test_who_is_not_in_the_way_of_what_was_placed_stays():
    scene = Scene([*NODES, *gang(1, 2)], free=["b0"])
    before = scene.ledger()
    everybody = scene.numbers("a0", "a1")
    outcome = scene.trials.place_without(everybody)
    (node_taken,) = {where for _, where in outcome.assigned}
    result = scene.trials.reprieved(everybody, outcome.assigned, scene.decider.preemptions.budgets)

    assert (["a1"] if node_taken == 0 else []) == names(scene.units, result)
    assert all(np.array_equal(had, has) for had, has in zip(before, scene.ledger(), strict=True))


def test_all_are_in_the_way_of_as_many():
    scene = Scene([*NODES, *gang(3, 2)])
    everybody = scene.numbers("a0", "a1", "b0")

    assert everybody == scene.trials.reprieved(everybody, scene.trials.place_without(everybody).assigned, scene.decider.preemptions.budgets)


def test_each_trial_takes_effort_once():
    scene = Scene([*NODES, *gang(1, 2)])
    used = []
    for leaving in (("a0",), ("a0",), ("a0", "a1")):
        scene.trials.fits(scene.numbers(*leaving), scene.domain)
        used.append(scene.effort.taken)

    assert 0 < used[0] == used[1] < used[2]


def test_without_effort_there_is_no_trial():
    scene = Scene([*NODES, *gang(1, 2)], effort=50)

    with pytest.raises(EffortSpentError):
        scene.trials.fits(frozenset(), scene.domain)
