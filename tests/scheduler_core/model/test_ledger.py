"""Ledger: assumed pods take capacity, rewinding restores it, and a version identifies one content."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.ledger import Hold, Ledger, PodLoad
from scheduler_core.model.pods import PodShape, Port
from scheduler_core.model.topology import Placement, Topology
from tests.sampling import sampled
from tests.scheduler_core.builders import record, shape, table
from tests.scheduler_core.placement import small_clusters

SHAPES = [small_clusters.shape(500), small_clusters.shape(1000, 2 * small_clusters.GI)]
RACKS = ["a", "a", "b", "b", None]


def ledger() -> Ledger:
    return Ledger(Topology(small_clusters.table([(4, 8)] * 5, RACKS, ["x", "y", "x", "y", "x"])))


def load(shape: int, *nodes: int) -> tuple[PodLoad, ...]:
    return (PodLoad(SHAPES[shape], np.array(nodes)),)


def test_a_pod_takes_what_it_requests_and_counts_once():
    books = ledger()
    books.assume(load(1, 2), books.fresh())
    assert [1000, 2 * small_clusters.GI, 0, 1] == books.used[:, 2].tolist()
    assert [1000, 2 * small_clusters.GI] == books.scored[:, 2].tolist()
    assert 0 == books.used[:, [0, 1, 3, 4]].sum()


def test_several_pods_on_one_node_are_all_counted():
    books = ledger()
    books.assume(load(0, 1, 1, 3), books.fresh())
    assert [0, 1000, 0, 500, 0] == books.used[0].tolist()


def test_what_is_held_takes_capacity_and_counts_in_no_score():
    books = ledger()
    books.hold(Hold(load(0, 1), books.fresh()))
    assert 500 == books.held[0, 1]
    assert (0, 0) == (books.used.sum(), books.scored.sum())


def test_only_placements_around_a_node_change():
    books = ledger()
    racks = books.topology.divide(books.topology.root, "rack").domains
    books.grow()
    before = books.versions[[each.serial for each in racks]].tolist()
    books.assume(load(0, 0), books.fresh())
    after = books.versions[[each.serial for each in racks]].tolist()
    assert [True, False] == [one != other for one, other in zip(before, after, strict=True)]


def test_the_same_cause_on_the_same_version_leads_to_the_same_version():
    books = ledger()
    cause, mark = books.fresh(), books.mark()
    books.assume(load(0, 0), cause)
    first = books.versions.copy()
    books.rewind(mark)
    books.assume(load(0, 0), cause)
    assert first.tolist() == books.versions.tolist()


def test_a_placement_computed_with_a_reservation_changes_once_it_is_removed():
    books = ledger()
    mark = books.mark()
    books.assume(load(0, 0), books.fresh())
    rack = books.topology.divide(books.topology.root, "rack").domains[0]
    books.grow()
    meanwhile = int(books.versions[rack.serial])
    books.rewind(mark)
    assert meanwhile != int(books.versions[rack.serial])


LABELS = [{"zone": zone, "rack": rack} for zone in "ab" for rack in ("r1", "r2")] + [{"rack": "r1"}, {}]
WEB: Port = ("TCP", "0.0.0.0", 80)
KINDS = (shape(1000, serial=0), shape(500, 2**30, serial=1), shape(serial=2, ports=(WEB,)), shape(2**45, 2**46, serial=3))
TAKING = ("assume", "release", "hold", "let go")


def of_kind(what: PodShape, *nodes: int) -> PodLoad:
    return PodLoad(what, np.array(nodes, dtype=np.int64))


def used_on(books: Ledger, nodes: list[int]) -> tuple[Any, ...]:
    """Return everything taken on *nodes* as bytes."""
    arrays = (books.used, books.scored, books.held)
    return (*(array[:, nodes].tobytes() for array in arrays), [{**books.ports.get(node, {})} for node in nodes])


class World:
    """Ledger, compared with one that counts from the beginning each time."""

    def __init__(self, pool: list[list[tuple[PodShape, list[int]]]]) -> None:
        self.ledger = Ledger(Topology(table(LABELS)))
        self.pool = [(tuple(of_kind(what, *nodes) for what, nodes in each), self.ledger.fresh()) for each in pool]
        self.placements: list[Placement] = [self.ledger.topology.root]
        self.log: list[tuple[str, int]] = []
        self.marks: list[tuple[int, int, tuple[Any, ...], list[int]]] = []
        self.seen: dict[tuple[int, int], tuple[Any, ...]] = {}
        self.after: dict[tuple[int, int, str, int], int] = {}

    def take(self, kind: str, index: int) -> None:
        index %= len(self.pool)
        what, cause = self.pool[index]
        self.ledger.grow()
        before = self.ledger.versions.copy()
        if kind == "assume":
            self.ledger.assume(what, cause)
        elif kind == "release":
            self.ledger.release(what, cause)
        else:
            self.ledger.hold(Hold(what, cause), 1 if kind == "hold" else -1)
            last = next((each for each, other in reversed(self.log) if other == index and each not in {"assume", "release"}), "")
            if (kind == "hold") == (last == "hold"):
                # What is held already is not held twice, and what is not held is not released.
                assert before.tolist() == self.ledger.versions.tolist()
                return
        self.log.append((kind, index))
        touched = {node for each in what for node in each.nodes.tolist()}
        for placement in self.placements:
            earlier, version = int(before[placement.serial]), int(self.ledger.versions[placement.serial])
            if touched & {*placement.nodes.tolist()}:
                # The same taken from the same leads to the same.
                assert self.after.setdefault((placement.serial, earlier, kind, index), version) == version
            else:
                assert earlier == version

    def divide(self, number: int) -> None:
        parent = self.placements[number % len(self.placements)]
        for each in self.ledger.topology.divide(parent, "zone" if number % 2 else "rack").domains:
            if each not in self.placements:
                self.placements.append(each)

    def mark(self) -> None:
        self.ledger.grow()
        versions = [int(self.ledger.versions[each.serial]) for each in self.placements]
        self.marks.append((self.ledger.mark(), len(self.log), self.everything(), versions))

    def rewind(self, number: int) -> None:
        if not self.marks:
            return
        del self.marks[number % len(self.marks) + 1 :]
        mark, length, before, versions = self.marks.pop()
        self.ledger.rewind(mark)
        del self.log[length:]
        assert before == self.everything()
        assert versions == [int(self.ledger.versions[each.serial]) for each in self.placements[: len(versions)]]

    def everything(self) -> tuple[Any, ...]:
        return used_on(self.ledger, self.ledger.topology.nodes.everything.tolist())

    def check(self) -> None:
        self.ledger.grow()
        used, scored, reserved = (np.zeros_like(array) for array in (self.ledger.used, self.ledger.scored, self.ledger.held))
        ports: Counter[tuple[int, Port]] = Counter()
        for kind, index in self.log:
            sign = 1 if kind in {"assume", "hold"} else -1
            for what, node in [(each.shape, node) for each in self.pool[index][0] for node in each.nodes.tolist()]:
                for row, amount in what.requests:
                    (used if kind in {"assume", "release"} else reserved)[row, node] += sign * amount
                if kind in {"assume", "release"}:
                    scored[:, node] += sign * np.array(what.scored)
                for port in what.ports:
                    ports[node, port] += sign
        assert (used.tolist(), scored.tolist(), reserved.tolist()) == tuple(
            array.tolist() for array in (self.ledger.used, self.ledger.scored, self.ledger.held)
        )
        counted = {(node, port): count for node, in_use in self.ledger.ports.items() for port, count in in_use.items()}
        assert {key: count for key, count in ports.items() if count} == counted
        for placement in self.placements:
            known = (placement.serial, int(self.ledger.versions[placement.serial]))
            there = used_on(self.ledger, placement.nodes.tolist())
            assert self.seen.setdefault(known, there) == there


somewhere = st.lists(st.integers(0, len(LABELS) - 1), min_size=1, max_size=20)
pools = st.lists(st.lists(st.tuples(st.sampled_from(KINDS), somewhere), min_size=1, max_size=3), min_size=1, max_size=4)
plans = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(TAKING), st.integers(0, 3)),
        st.tuples(st.sampled_from([f"try to {kind}" for kind in TAKING]), st.integers(0, 1)),
        st.tuples(st.just("divide"), st.integers(0, 9)),
        st.tuples(st.just("rewind"), st.integers(0, 5)),
        st.tuples(st.sampled_from(["mark", "mark", "forget"]), st.just(0)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=sampled(120), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(pools, plans)
def test_sums_are_right_after_rewinding_and_equal_versions_have_equal_contents(pool, plan):
    world = World(pool)
    for what, number in plan:
        match what:
            case "divide":
                world.divide(number)
            case "mark":
                world.mark()
            case "rewind":
                world.rewind(number)
            case "forget":
                world.ledger.forget()
                world.marks.clear()
            case _ if what.startswith("try to "):
                world.mark()
                world.take(what.removeprefix("try to "), number)
                world.check()
                world.rewind(-1)
            case _:
                world.take(what, number)
        world.check()


def test_changes_before_a_forget_are_not_rewound():
    books = ledger()
    mark = books.mark()
    books.assume(load(0, 0, 0), books.fresh())
    books.forget()
    books.rewind(mark)

    assert [1000, 2] == books.used[[0, 3], 0].tolist()


def test_pods_that_run_are_bound_by_node():
    books = Ledger(Topology(table(LABELS)))
    books.bind(record(f"p{number}", KINDS[number % 3], node=number % 2) for number in range(6))

    assert [[1500, 1500], [2**30, 2**30], [0, 0], [3, 3]] == books.used[:, :2].tolist()
    assert {WEB: 1} == books.ports[0]
    assert not books.used[:, 2:].any()
    assert 0 == books.mark()


def test_pods_of_one_load_may_share_a_node_however_many_there_are():
    for nodes in ([0] * 3, [0] * 40 + [1] * 2):
        books = ledger()
        books.assume(load(0, *nodes), books.fresh())

        assert [500 * nodes.count(0), 500 * nodes.count(1)] == books.used[0, :2].tolist()
