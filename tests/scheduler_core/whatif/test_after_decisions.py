"""What a root finds is what the decisions before it have left, told from these alone."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.cycle.run_cycle import CycleOptions, prepared, run_cycle
from scheduler_core.loading.load import load
from scheduler_core.model.decision import Name
from scheduler_core.model.options import PlacingOptions
from scheduler_core.whatif.trial.after_decisions import standing, tried
from tests.sampling import sampled
from tests.scheduler_core.oracle.strategies import TINY, Size
from tests.scheduler_core.whatif.cluster import COMPLETE, Objects, decided, gang, node, pod, waiting
from tests.scheduler_core.whatif.contested import contested

OPTIONS = {
    "complete": COMPLETE,
    "greedy": CycleOptions(),
    "greedy that preempts for leftovers": CycleOptions(placing=PlacingOptions(preempt_for_leftovers=True)),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@settings(max_examples=sampled(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(contested(TINY), contested(Size(nodes=3, depth=2, trees=4))))
def test_what_stands_is_what_the_cycle_goes_on_with(options, objects):
    snapshot = load(objects)
    decisions = run_cycle(snapshot, options).decisions
    for number, decision in enumerate(decisions):
        decider, first = prepared(snapshot, options, until=decision.root)
        victims = {pod for each in map(decider.decide, first) for pod in each.victims}
        then = standing(snapshot, tried(decisions[:number], snapshot, options))

        assert _taken(decider.after_eviction(), set()) == _taken(then, victims)


def _taken(snapshot, left):
    """Where pods run and are promised a node, without those that have *left*."""
    taken = [(each.key, each.node, each.nominated) for each in snapshot.pods if each.node >= 0 or each.nominated >= 0]
    return [each for each in taken if each[0] not in left]


def promised(name: str, group: str = "", on: str = "a2", **spec) -> dict[str, object]:
    return {**pod(name, group, priority=9, **spec), "status": {"phase": "Pending", "nominatedNodeName": on}}


def higher(minimum: int, key: str, *members: dict[str, object]) -> Objects:
    return [gang("h", minimum, key, priority=9), *members]


RACKS = [node("a1", "r1", cpu=4), node("a2", "r2", cpu=2)]
TORN = [pod("h-0", "h", on="a1", cpu=1, priority=9), pod("h-1", "h", on="a2", cpu=1, priority=9)]
KEPT = {
    "of a pod by itself that may not preempt": [promised("h", cpu=5, preemptionPolicy="Never")],
    "of what a root that is placed leaves over": higher(1, "", pod("h-0", "h", cpu=4, priority=9), promised("h-1", "h", cpu=3)),
    "of what a root that preempts has no need of": [
        pod("low", on="a1", cpu=4),
        *higher(1, "", pod("h-0", "h", cpu=4, priority=9), promised("h-1", "h", cpu=3)),
    ],
    "of pods that are held back by gates": higher(1, "", promised("h-0", "h", cpu=2, schedulingGates=[{"name": "g"}])),
    "of pods that are in error before they have a turn": higher(
        2, "", promised("h-0", "h", cpu=2), promised("h-1", "h", cpu=2, schedulerName="other")
    ),
}
LOST = {
    "of a root that fails": higher(1, "", promised("h-0", "h", cpu=5)),
    "of a pod by itself that may preempt": [promised("h", cpu=5)],
    "of a root that is in error in its turn": [*TORN, *higher(3, "rack", promised("h-2", "h", cpu=1))],
}


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        *(pytest.param(objects, True, id=f"kept: that {name}") for name, objects in KEPT.items()),
        *(pytest.param(objects, False, id=f"lost: that {name}") for name, objects in LOST.items()),
    ],
)
def test_a_promise_is_kept_or_lost_as_the_cycle_does(objects, want):
    """On the smaller node: the pod that waits for that is placed in the cycle just where nothing is promised."""
    last = pod("last", cpu=1, nodeSelector={"kubernetes.io/hostname": "a2"}, preemptionPolicy="Never")
    objects = [*RACKS, *objects, last]
    snapshot = load(objects)
    decisions = run_cycle(snapshot, COMPLETE).decisions
    then = standing(snapshot, tried(decisions[:-1], snapshot, COMPLETE))

    assert Name("Pod", "default", "last") == decisions[-1].root
    assert want == (not decisions[-1].assignments)
    assert want == any(each.nominated >= 0 for each in then.pods)


def test_what_is_placed_runs_and_what_is_promised_is_nominated():
    objects = [*RACKS, pod("low", on="a1", cpu=4), pod("h", cpu=3, priority=9), pod("i", cpu=2, priority=8)]
    decisions = decided(objects)
    snapshot = load(objects)
    then = {each.name: (each.node, each.nominated) for each in standing(snapshot, [*decisions.values()]).pods}

    assert {"low": (0, -1), "h": (-1, 0), "i": (1, -1)} == then


def test_where_nothing_was_decided_nothing_is_changed():
    snapshot = load([*RACKS, gang("g", 2), *waiting("g", 2)])
    assert snapshot is standing(snapshot, tried([], snapshot, COMPLETE))
