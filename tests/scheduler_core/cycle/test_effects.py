"""Effects of decisions on a snapshot, and the two rules for nominations."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.effects import Effects, failure_clears_nominations, held_nominations, keeps_nominations
from scheduler_core.cycle.run_cycle import CycleOptions, attempted, prepared, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.placement.state import PlacementState
from tests.sampling import sampled
from tests.scheduler_core.builders import composite, leaf
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
def test_a_cycle_continues_with_the_effects_of_its_decisions(options, objects):
    snapshot = load(objects)
    decisions = run_cycle(snapshot, options).decisions
    for number, decision in enumerate(decisions):
        decider, first = prepared(snapshot, options, until=decision.root)
        for entity in first:
            decider.decide(entity)
        effects = Effects(snapshot.nodes, attempted(decisions[:number], snapshot, options))
        for then in (effects.apply(snapshot), effects.apply(snapshot, drop_pending=True)):
            assert capacity(PlacementState.from_snapshot(then, options.placing, options.ignore)) == capacity(decider._greedy.state)


def capacity(state):
    """Return the resources taken on the nodes, and the pods for which capacity is reserved."""
    reserved = {key: nomination.node for key, nomination in state.nominations._nominations.items()}
    return state.ledger.used.tolist(), state.ledger.held.tolist(), reserved


@settings(max_examples=sampled(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(contested(Size(nodes=3, depth=2, trees=4)), st.randoms(use_true_random=False))
def test_the_order_of_decisions_and_pods_does_not_matter(objects, random):
    snapshot = load(objects)
    decisions = [*run_cycle(snapshot).decisions]
    shuffled = [dataclasses.replace(each, **mixed(each, random)) for each in random.sample(decisions, len(decisions))]
    other = dataclasses.replace(snapshot, pods=random.sample(snapshot.pods, len(snapshot.pods)))
    for options in ({}, {"evict": True}, {"drop_pending": True}):
        want = state(Effects(snapshot.nodes, decisions).apply(snapshot, **options))
        assert want == state(Effects(snapshot.nodes, shuffled).apply(snapshot, **options))
        assert want == state(Effects(snapshot.nodes, decisions).apply(other, **options))


def mixed(decision, random):
    """Return a decision with its pods in another order."""
    maps = {field: getattr(decision, field) for field in ("assignments", "nominations", "pending")}
    mixed = {field: dict(random.sample([*pods.items()], len(pods))) for field, pods in maps.items()}
    return {**mixed, "victims": tuple(random.sample(decision.victims, len(decision.victims)))}


def state(snapshot):
    """Return nodes and nominations of the pods, by key."""
    return {pod.key: (pod.node, pod.nominated) for pod in snapshot.pods}


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
}
UNTOUCHED = {
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
        *(pytest.param(objects, True, id=f"kept: that {name}") for name, objects in {**KEPT, **UNTOUCHED}.items()),
        *(pytest.param(objects, False, id=f"lost: that {name}") for name, objects in LOST.items()),
    ],
)
def test_a_promise_is_kept_or_lost_as_the_cycle_does(objects, want):
    """On the smaller node, the pod that waits for it is placed in the cycle only if no pod is nominated there."""
    last = pod("last", cpu=1, nodeSelector={"kubernetes.io/hostname": "a2"}, preemptionPolicy="Never")
    objects = [*RACKS, *objects, last]
    snapshot = load(objects)
    decisions = run_cycle(snapshot, COMPLETE).decisions
    then = Effects(snapshot.nodes, attempted(decisions[:-1], snapshot, COMPLETE)).apply(snapshot, drop_pending=True)

    assert Name("Pod", "default", "last") == decisions[-1].root
    assert want == (not decisions[-1].assignments)
    assert want == any(each.nominated >= 0 for each in then.pods)


FULL = [*RACKS, pod("low", on="a1", cpu=4), pod("h", cpu=3, priority=9), pod("i", cpu=2, priority=8), pod("j", cpu=9, priority=7)]
"""Cluster in which pod h preempts low, i is placed, and j has no node."""


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param({}, {"low": (0, -1), "h": (-1, 0), "i": (1, -1), "j": (-1, -1)}, id="in the cycle victims run"),
        pytest.param({"evict": True}, {"h": (-1, 0), "i": (1, -1), "j": (-1, -1)}, id="after it they do not"),
        pytest.param({"drop_pending": True}, {"low": (0, -1), "h": (-1, 0), "i": (1, -1)}, id="without pods that take no capacity"),
    ],
)
def test_placed_pods_run_and_victims_leave_and_nominated_pods_are_nominated(options, want):
    snapshot = load(FULL)
    effects = Effects(snapshot.nodes, decided(FULL).values())
    then = effects.apply(snapshot, **options)

    assert want == {key.partition("/")[2]: each for key, each in state(then).items()}
    assert ({"default/i": 1}, {"default/h": 0}, {"default/low"}) == (effects.placed, effects.nominated, effects.victims)


def test_a_victim_that_the_same_cycle_placed_leaves():
    objects = [*RACKS, pod("low", cpu=4), pod("h", cpu=4, priority=9)]
    snapshot = load(objects)
    effects = Effects(snapshot.nodes, decided(objects, CycleOptions(order=("low", "h"))).values())

    assert {"default/low": (0, -1), "default/h": (-1, 0)} == state(effects.apply(snapshot))
    assert {"default/h": (-1, 0)} == state(effects.apply(snapshot, evict=True))


def test_a_nominated_pod_that_is_placed_has_no_nomination():
    objects = [*RACKS, promised("h", cpu=2)]
    snapshot = load(objects)
    effects = Effects(snapshot.nodes, decided(objects).values())
    assert ({"default/h": (1, -1)}, -1) == (state(effects.apply(snapshot)), effects.nomination(snapshot.pods[0]))


def test_pods_that_no_decision_concerns_are_the_same():
    snapshot = load([*FULL, pod("other", on="a2", cpu=0)])
    effects = Effects(snapshot.nodes, decided(FULL).values())
    before, after = ({each.key: each for each in pods} for pods in (snapshot.pods, effects.apply(snapshot).pods))
    assert {"default/low", "default/j", "default/other"} == {key for key in before if before[key] is after[key]}


def test_without_decisions_the_snapshot_is_the_same():
    snapshot = load([*RACKS, gang("g", 2), *waiting("g", 2)])
    assert snapshot is Effects(snapshot.nodes).apply(snapshot, evict=True, drop_pending=True)


def test_effects_recorded_one_by_one_are_those_of_all():
    snapshot = load(FULL)
    effects = Effects(snapshot.nodes)
    for decision in decided(FULL).values():
        effects.record(decision)
    assert state(Effects(snapshot.nodes, decided(FULL).values()).apply(snapshot, evict=True)) == state(effects.apply(snapshot, evict=True))


@pytest.mark.parametrize("objects", KEPT.values(), ids=KEPT)
def test_a_nomination_that_the_cycle_keeps_is_kept(objects):
    snapshot = load([*RACKS, *objects])
    effects = Effects(snapshot.nodes, decided([*RACKS, *objects]).values())
    (before,) = (pod for pod in snapshot.pods if pod.nominated >= 0)
    (after,) = (pod for pod in effects.apply(snapshot).pods if pod.key == before.key)
    assert before.nominated == effects.nomination(before) == after.nominated


GROUP, POD = Name("PodGroup", "default", "g"), Name("Pod", "default", "p")


@pytest.mark.parametrize(
    ("root", "status", "nominated", "preempts", "want"),
    [
        pytest.param(GROUP, Status.SUCCESS, False, True, True, id="a success"),
        pytest.param(GROUP, Status.UNSCHEDULABLE, True, True, True, id="a preemption"),
        pytest.param(GROUP, Status.UNSCHEDULABLE, False, True, False, id="a failure"),
        pytest.param(GROUP, Status.UNRESOLVABLE, False, True, False, id="a failure that no preemption resolves"),
        pytest.param(GROUP, Status.ERROR, False, True, False, id="an error"),
        pytest.param(GROUP, Status.UNSCHEDULABLE, False, False, False, id="a failure of a group that must not preempt"),
        pytest.param(POD, Status.UNSCHEDULABLE, False, True, False, id="a failure of a single pod"),
        pytest.param(POD, Status.UNSCHEDULABLE, False, False, True, id="a failure of a single pod that must not preempt"),
    ],
)
def test_rule_for_nominations_that_a_decision_does_not_name(root, status, nominated, preempts, want):
    decision = Decision(root, status, nominations={"default/p-0": "n"} if nominated else {})
    assert want == keeps_nominations(decision, preempts=preempts)
    assert (root == GROUP or preempts) == failure_clears_nominations(root, preempts=preempts)


TOP = Name("CompositePodGroup", "default", "top")
TREE = [composite("top", 2), *(leaf(name, 2, parent="top") for name in "abc")]
DEEP = [composite("top", 1), *(composite(name, 2, parent="top") for name in ("x", "y")), leaf("a", 2, parent="x"), leaf("b", 2, parent="x")]


@pytest.mark.parametrize(
    ("objects", "placed", "want"),
    [
        pytest.param(TREE, {"a": 2, "b": 2, "c": 2}, "abc", id="all are complete"),
        pytest.param(TREE, {"a": 2, "b": 2, "c": 1}, "ab", id="a group beyond the minimum is not"),
        pytest.param(TREE, {"a": 2, "b": 1, "c": 1}, "abc", id="the root is not"),
        pytest.param([*DEEP, leaf("c", 1, parent="top")], {"a": 2, "b": 1, "c": 1}, "c", id="a composite is not, with all below it"),
        pytest.param([*DEEP, leaf("c", 1, parent="y")], {"a": 2, "b": 2, "c": 1}, "ab", id="a composite has too few groups"),
        pytest.param([*DEEP, leaf("c", 2, parent="top")], {"a": 2, "b": 2, "c": 1}, "ab", id="a composite is complete"),
    ],
)
def test_pod_groups_below_their_minimum_hold_no_nominations(objects, placed, want):
    pods = {f"default/{name}-0": Name("PodGroup", "default", name) for name in "abc"}
    decision = Decision(TOP, Status.UNSCHEDULABLE, nominations=dict.fromkeys([*pods, "default/gone"], "n"))
    trees = [*parents_first(load(objects).groups)]
    reserved = [held_nominations(decision, tree, pods, lambda name: placed[name.name]) for tree in trees]
    assert [{f"default/{name}-0" for name in want} | {"default/gone"}] * len(trees) == [each.keys() for each in reserved]


def parents_first(groups):
    """Yield every order of *groups* in which parents precede their children."""
    for tree in itertools.permutations(groups):
        names = ["", *(group.metadata.name for group in tree)]
        if all((group.spec.parent_composite_pod_group_name or "") in names[: place + 1] for place, group in enumerate(tree)):
            yield tree


def test_a_single_pod_holds_its_nomination():
    decision = Decision(POD, Status.UNSCHEDULABLE, nominations={"default/p": "n"})
    assert {"default/p": "n"} == held_nominations(decision, [], {"default/p": Name("PodGroup", "default", "")}, lambda _: 0)
