"""Greedy placement: its caches change no result, and no capacity stays taken."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, queued
from scheduler_core.model.entity import Entity
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.placement import greedy as module
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import assigned, pods_with_nodes
from scheduler_core.placement.state import PlacementState
from scheduler_core.preemption.units.preemption_units import PotentialVictims, Units
from scheduler_core.wording.kube_scheduler import BARE, attempt_words
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, as_values, composite, entities, leaf, names, node, pod, pods, promising, racks, run, state
from tests.scheduler_core.builders import place_root as placed_root
from tests.scheduler_core.oracle.strategies import Size

WIDE = Size(nodes=14, trees=4, depth=3, pending=4, running=2, lone=6)
KINDS = ("place", "place", "assume", "assume", "release", "promise", "withdraw", "aside", "own", "mark", "rewind", "settle")
steps = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=16)
options = st.sampled_from([PlacingOptions(), PlacingOptions(four_statuses=True, nominated_first=True), PlacingOptions(every_pod=True)])


class Side:
    """Cluster with one engine that caches, or with a new engine for every question."""

    def __init__(self, objects: list[Json], chosen: PlacingOptions, *, remembering: bool) -> None:
        snapshot = load(objects)
        self.state = PlacementState.from_snapshot(snapshot, chosen)
        self.roots = queued(snapshot, CycleOptions())
        self.waiting = [each for each in snapshot.pods if each.node < 0]
        units = Units.from_snapshot(snapshot)
        self.below = [units.potential_victims(priority) for priority in (5, 60, 1000)]
        self._greedy = Greedy(self.state) if remembering else None
        self.marks: list[tuple[int, int]] = []

    @property
    def greedy(self) -> Greedy:
        return self._greedy or Greedy(self.state)

    def step(self, kind: str, number: int, other: int) -> Any:
        """Run one operation of the engine in a cycle; return its result."""
        root = self.roots[number % len(self.roots)] if self.roots else None
        if kind in {"promise", "withdraw"}:
            return self._nominate(number, other if kind == "promise" else -1)
        if kind == "release":
            return self._without(self.below[number % len(self.below)])
        alone = {"mark": self._mark, "rewind": self._rewind, "settle": self.settle}
        if kind in alone or root is None:
            return alone.get(kind, lambda: None)()
        return self.place(root, keep=kind == "assume") if kind in {"place", "assume"} else self._aside(root, own=kind == "own")

    def _mark(self) -> None:
        self.marks.append((self.state.ledger.mark(), self.state.stateful.mark()))

    def _nominate(self, number: int, node: int) -> None:
        if self.waiting:
            which = self.waiting[number % len(self.waiting)]
            if node < 0:
                self.state.nominations.withdraw(which)
            else:
                self.state.nominations.nominate(which, node % len(self.state.nodes))
            # As in a cycle: a promise is never rewound.
            self.settle()

    def _without(self, below: PotentialVictims) -> Any:
        """Place all roots while some running pods are removed."""
        mark = self.state.ledger.mark()
        self.state.ledger.release(below.loads, below.cause(self.state.ledger))
        result = [self.place(each) for each in self.roots]
        self.state.ledger.rewind(mark)
        return result

    def _aside(self, root: Entity, *, own: bool) -> Any:
        """Place a root while nominations of other pods are set aside, or as a preemption does, with its own released and kept."""
        mark = self.state.ledger.mark()
        self.state.nominations.release_lower_priority(root)
        if own:
            released = self.state.nominations.release_own(root)
            self.state.ledger.release(self.below[0].loads, self.below[0].cause(self.state.ledger))
            self.state.nominations.hold_again(released)
        result = self.place(root)
        self.state.ledger.rewind(mark)
        return result

    def _rewind(self) -> None:
        if self.marks:
            used, told_ = self.marks.pop()
            self.state.ledger.rewind(used)
            self.state.stateful.rewind(told_)

    def settle(self) -> None:
        self.state.ledger.forget()
        self.state.stateful.forget()
        self.marks.clear()

    def place(self, root: Entity, *, keep: bool = False) -> Any:
        greedy = self.greedy
        request = greedy.request(root)
        outcome = greedy.place(request)
        if keep and outcome.success:
            greedy.assume(request, outcome)
        return as_values(outcome), [(each.key, where) for each, where in pods_with_nodes(request, outcome)]

    def used_resources(self) -> tuple[Any, ...]:
        ledger = self.state.ledger
        ports = {node: dict(in_use) for node, in_use in ledger.ports.items() if in_use}
        return ledger.used.tobytes(), ledger.scored.tobytes(), ledger.held.tobytes(), ports


@settings(deadline=None, max_examples=sampled(120), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.one_of(promising(WIDE), promising(WIDE, apart=True)), options, steps)
def test_what_is_remembered_changes_nothing(objects, chosen, plan):
    remembers, forgets = (Side(objects, chosen, remembering=remembering) for remembering in (True, False))
    for each in plan:
        assert forgets.step(*each) == remembers.step(*each)
        assert forgets.used_resources() == remembers.used_resources()
    for number in range(len(remembers.roots)):
        assert forgets.step("place", number, 0) == remembers.step("place", number, 0)


@settings(deadline=None, max_examples=sampled(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(promising(WIDE, apart=True), options)
def test_placing_leaves_no_trace(objects, chosen):
    side = Side(objects, chosen, remembering=True)
    side.state.ledger.grow()
    before = (side.used_resources(), side.state.ledger.mark(), side.state.stateful.mark())
    for root in side.roots:
        side.place(root)

        assert before == (side.used_resources(), side.state.ledger.mark(), side.state.stateful.mark())


def test_a_group_of_the_same_shape_is_answered_from_memory(monkeypatch):
    objects = [*racks({f"r{number}": 2 for number in range(3)}), leaf("g", 2, "rack"), *pods("g", 2), leaf("h", 2, "rack"), *pods("h", 2)]
    tries: list[str] = []
    real = module.try_leaf

    def counted(request: Any, placement: Any, site_: PlacementState) -> Any:
        tries.append(placement.value)
        return real(request, placement, site_)

    monkeypatch.setattr(module, "try_leaf", counted)
    side = Side(objects, PlacingOptions(), remembering=True)
    side.step("assume", 0, 0)
    first, tries[:] = [*tries], []
    side.step("assume", 1, 0)

    assert (["r0", "r1", "r2"], ["r0"]) == (first, tries)


def test_caches_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "_CACHED_RESULTS", 3)
    monkeypatch.setattr(module, "_CACHED_DOMAINS", 2)
    objects = [*racks({f"r{number}": 2 for number in range(4)})]
    for number in range(6):
        objects += [leaf(f"g{number}", number + 1, "rack"), *pods(f"g{number}", number + 1)]
    bounded, forgets = Side(objects, PlacingOptions(), remembering=True), Side(objects, PlacingOptions(), remembering=False)

    for number in (*range(6), *range(6)):
        assert forgets.step("place", number, 0) == bounded.step("place", number, 0)
    assert len(bounded.greedy._results) <= 3
    assert len(bounded.greedy._domain_caches) <= 2


def test_a_root_that_has_what_it_needs_and_can_place_no_more_is_unschedulable():
    _, _, outcome = placed_root([node("a", "1"), leaf("g", 1), pod("g-9", "g", on="a"), *pods("g", 1)], "g")

    assert (Status.UNSCHEDULABLE, BARE) == (outcome.status, attempt_words(outcome.reason))


def test_a_child_takes_what_its_younger_sibling_would_need():
    objects = [node("a", "3"), composite("root", 2), leaf("first", 1, parent="root"), leaf("second", 1, parent="root")]
    _, _, outcome = placed_root([*objects, *pods("first", 3), *pods("second", 1)], "root")

    assert (Status.UNSCHEDULABLE, "minGroupCount (2) cannot be satisfied: 1 scheduled, 0 remaining") == (
        outcome.status,
        attempt_words(outcome.reason),
    )
    assert [True, False] == [each is not None and each.success for each in outcome.children]
    assert (0, ()) == (outcome.placed, outcome.loads)


@pytest.mark.parametrize("count", [1, 2])
def test_siblings_and_later_roots_count_the_pods_placed_before(count):
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, "labels": {"app": "x"}}
    nodes = [node(f"n{number}") for number in range(count)]
    tree = [composite("root", 2), leaf("a", 1, parent="root"), leaf("b", 1, parent="root"), pod("p", "a", **apart), pod("q", "b", **apart)]
    results = [each.status for each in run([*nodes, *tree]).decisions]
    alone = [each.status for each in run([*nodes, pod("p", **apart), pod("q", **apart)]).decisions]

    assert [Status.SUCCESS if count == 2 else Status.UNSCHEDULABLE] == results
    assert [Status.SUCCESS, Status.SUCCESS if count == 2 else Status.UNSCHEDULABLE] == alone


def test_children_after_the_one_that_decides_it_are_not_tried():
    objects = [node("a", "1"), composite("root", 3)]
    objects += [leaf(name, count, parent="root") for name, count in (("a", 2), ("b", 1), ("c", 1))]
    _, _, outcome = placed_root([*objects, *pods("a", 2), *pods("b", 1), *pods("c", 1)], "root")

    assert "minGroupCount (3) cannot be satisfied: 0 scheduled, 2 remaining" == attempt_words(outcome.reason)
    assert [False, True, True] == [each is None for each in outcome.children]


def test_a_composite_is_placed_in_the_zone_where_all_its_children_find_racks():
    nodes = [node(f"{zone}-{rack}", cpu, zone=zone, rack=rack) for zone, rack, cpu in (("z1", "r1", "4"), ("z1", "r2", "1"))]
    nodes += [node(f"z2-{rack}", "2", zone="z2", rack=rack) for rack in ("r1", "r2")]
    objects = [*nodes, composite("root", 2, "zone"), leaf("a", 2, "rack", "root"), leaf("b", 2, "rack", "root")]
    here, request, outcome = placed_root([*objects, *pods("a", 2, "2"), *pods("b", 2)], "root")

    # No rack of the second zone holds two pods of 2 CPU, and in the first zone they leave no room for their siblings.
    assert (Status.UNSCHEDULABLE, 2) == (outcome.status, outcome.tried)
    objects.append(node("z2-r1-b", "8", zone="z2", rack="r1"))
    here, request, outcome = placed_root([*objects, *pods("a", 2, "2"), *pods("b", 2)], "root")
    assert ("z2", ["r1", "r2"]) == (outcome.placement.value, [each.placement.value for each in outcome.children if each])
    assert ["z2-r1-b", "z2-r1-b", "z2-r2", "z2-r2"] == sorted(here.nodes.names[where] for _, where in assigned(request, outcome))


@pytest.mark.parametrize(
    ("objects", "texts"),
    [
        pytest.param(
            [*racks({"r1": 1, "r2": 1}, "1"), leaf("g", 2, "rack")],
            "0/2 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
            id="no domain is feasible",
        ),
        pytest.param([node("a"), leaf("g", 2, "rack")], "no feasible placements found", id="no node has the label"),
        pytest.param(
            [*racks({"r1": 1, "r2": 9}, "1"), leaf("g", 3, "rack"), pod("g-9", "g", on="r1-0")],
            "0/1 placements are available, first placement status: minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",
            id="the domain of the members that run",
        ),
    ],
)
def test_the_words_for_no_placement_are_those_of_kube_scheduler(objects, texts):
    _, _, outcome = placed_root([*objects, *pods("g", 2)], "g")

    assert (Status.UNSCHEDULABLE, texts) == (outcome.status, attempt_words(outcome.reason))


def test_a_pinned_group_whose_domain_is_not_in_its_parents_placement_finds_none():
    nodes = [node("a", zone="z1", rack="r1"), node("b", "8", zone="z2", rack="r2")]
    objects = [*nodes, composite("root", 1, "zone"), leaf("pinned", 2, "rack", "root"), leaf("other", 1, parent="root")]
    objects += [pod("pinned-9", "pinned", on="a"), *pods("pinned", 1), pod("other-9", "other", on="a")]
    here = state(objects)
    greedy = Greedy(here)
    request = greedy.request(entities(objects)["root"])
    (pinned,) = [child for child in request.children if child.entity.name.name == "pinned"]
    zones = here.topology.divide(here.topology.root, "zone").domains

    assert ["", "no feasible placements found"] == [attempt_words(greedy.evaluate(pinned, zone).reason) for zone in zones]


@pytest.mark.parametrize("chosen", [PlacingOptions(), PlacingOptions(four_statuses=True)], ids=["as kube-scheduler", "by the document"])
def test_domains_to_choose_from_are_reported_by_name(chosen):
    objects = [*racks({"r2": 1, "r1": 1}), leaf("g", 1, "rack"), *pods("g", 1), leaf("h", 1), *pods("h", 1), leaf("p", 2, "rack")]
    objects += [pod("p-9", "p", on="r2-0"), *pods("p", 1)]
    greedy = Greedy(state(objects, chosen))
    root, roots = greedy.state.topology.root, entities(objects)
    result = {name: [each.value for each in greedy.placements(greedy.request(entity), root)] for name, entity in roots.items()}

    assert {"g": ["r1", "r2"], "h": [""], "p": ["r2"]} == result


def test_the_first_error_of_a_domain_is_the_groups():
    objects = [*racks({"r1": 1, "r2": 1, "r3": 1}), composite("root", 1, "rack"), leaf("a", 1, parent="root"), *pods("a", 1)]
    objects += [leaf("b", 1, "kubernetes.io/hostname", parent="root"), *pods("b", 1)]
    here = state(objects)
    greedy = Greedy(here)
    request = greedy.request(entities(objects)["root"])
    # As if members ran on two hosts.
    torn = dataclasses.replace(request.children[1], pinned=(0, 1), number=10**6)
    outcome = greedy.place(dataclasses.replace(request, children=(request.children[0], torn), number=10**6 + 1))

    assert (Status.ERROR, "r1") == (outcome.status, outcome.placement.value)
    assert attempt_words(outcome.reason).startswith("members run in 2 domains of 'kubernetes.io/hostname'")


def test_pods_of_a_success_are_those_of_its_successful_leaves():
    objects = [node("a", "3"), composite("root", 1), leaf("first", 4, parent="root"), leaf("second", 1, parent="root")]
    here, request, outcome = placed_root([*objects, *pods("first", 4), *pods("second", 2)], "root")

    assert ["second-0", "second-1"] == [each.name for each, _ in assigned(request, outcome)]
    assert ["first-0", "first-1", "first-2", "second-0", "second-1"] == [each.name for each, _ in pods_with_nodes(request, outcome)]
    assert ["a", "a"] == names(here, outcome.children[1])
