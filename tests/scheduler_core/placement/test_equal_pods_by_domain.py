"""Placing equal pods in every domain at once compared with each domain alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model.ledger import Hold, Ledger, PodLoad
from scheduler_core.model.topology import Topology
from scheduler_core.placement.equal_pods import fill, slots_of
from scheduler_core.placement.equal_pods_by_domain import count_in_domain, count_in_domains, fill_domains
from scheduler_core.placement.placement_request import Run
from scheduler_core.plugins.profile import Profile
from tests.sampling import sampled
from tests.scheduler_core.builders import shape, table

GIB = 2**30
SHAPES = (
    shape(1000, serial=0),
    shape(500, GIB, serial=1),
    shape(serial=2),
    shape(1500, 2 * GIB, serial=3, node_selector=(("disk", "ssd"),)),
)

labels = st.fixed_dictionaries({}, optional={"rack": st.sampled_from(["r1", "r2", "r3", "r4"]), "disk": st.just("ssd")})
nodes = st.lists(
    st.tuples(labels, st.sampled_from([0, 1000, 4000, 8000]), st.sampled_from([0, 4 * GIB, 8 * GIB]), st.sampled_from([2, 110])),
    min_size=1,
    max_size=14,
)
loads = st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(0, 13), st.booleans()), max_size=12)


def ledger_of(kinds: list[tuple[dict[str, str], int, int, int]]) -> Ledger:
    named, cpu, memory, pods = zip(*kinds, strict=True)
    return Ledger(Topology(table(named, cpu, memory, pods)))


@settings(deadline=None, max_examples=sampled(200))
@given(nodes, loads, st.sampled_from(SHAPES), st.integers(1, 25))
def test_every_domain_is_filled_as_it_is_by_itself(kinds, taken, what, count):
    ledger = ledger_of(kinds)
    for each, node, only_held in taken:
        where = (PodLoad(each, np.array([node % len(kinds)], dtype=np.int64)),)
        if only_held:
            ledger.hold(Hold(where, ledger.fresh()))
        else:
            ledger.assume(where, ledger.fresh())
    table_ = ledger.topology.nodes
    division, capacity = ledger.topology.divide(ledger.topology.root, "rack"), table_.allocatable[:2].astype(float)
    if not division.domains:
        return
    static, whole = Profile(table_).compile(what), bool(capacity.all())
    result = fill_domains(Run(what, count), static, division.members, ledger, capacity, whole=whole)
    fitting, scored = count_in_domains(static, division.members, ledger)

    assert result.placed.tolist() == [min(each, count) for each in fitting.tolist()]
    assert result.scored.tolist() == scored.tolist()
    for row, domain in enumerate(division.domains):
        here = domain.nodes
        free = table_.allocatable[static.rows] - ledger.used[static.rows] - ledger.held[static.rows]
        slots = slots_of(free[:, here], static.amounts, None if static.mask is None else static.mask[here])
        alone = here[
            fill(static.local, count, slots, capacity[:, here], ledger.scored[:, here], ledger.used[:2, here], whole=whole)
        ].tolist()
        assert [*alone, *[-1] * (count - len(alone))] == result.nodes[row].tolist()
        assert len(alone) == result.placed[row]
        assert fitting[row] == count_in_domain(static, here, ledger) == np.maximum(slots, 0).sum()
        assert ledger.scored[:, here].sum(axis=1).tolist() == result.scored[:, row].tolist()


def test_only_the_domains_requested_are_filled():
    ledger = ledger_of([({"rack": rack}, 4000, 8 * GIB, 110) for rack in ("r1", "r2", "r3")])
    division = ledger.topology.divide(ledger.topology.root, "rack")
    free_capacity = ledger.topology.nodes.allocatable[:2].astype(float)
    result = fill_domains(
        Run(SHAPES[0], 5), Profile(ledger.topology.nodes).compile(SHAPES[0]), division.members[[2, 0]], ledger, free_capacity, whole=True
    )

    assert [[2, 2, 2, 2, -1], [0, 0, 0, 0, -1]] == result.nodes.tolist()
    assert [4, 4] == result.placed.tolist()


@pytest.mark.parametrize("count", [1, 3, 40])
def test_there_is_a_place_for_every_pod_even_where_there_are_fewer_slots(count):
    ledger = ledger_of([({"rack": "r1"}, 1000, GIB, 110), ({"rack": "r2"}, 0, GIB, 110)])
    division = ledger.topology.divide(ledger.topology.root, "rack")
    capacity = ledger.topology.nodes.allocatable[:2].astype(float)
    result = fill_domains(
        Run(SHAPES[0], count), Profile(ledger.topology.nodes).compile(SHAPES[0]), division.members, ledger, capacity, whole=False
    )

    assert [[0, *[-1] * (count - 1)], [-1] * count] == result.nodes.tolist()
    assert [1, 0] == result.placed.tolist()


def test_nothing_is_taken():
    ledger = ledger_of([({"rack": "r1"}, 4000, GIB, 110), ({"rack": "r1"}, 4000, GIB, 110)])
    before = (ledger.used.tobytes(), ledger.scored.tobytes(), ledger.mark())
    division = ledger.topology.divide(ledger.topology.root, "rack")
    capacity = ledger.topology.nodes.allocatable[:2].astype(float)
    fill_domains(Run(SHAPES[0], 3), Profile(ledger.topology.nodes).compile(SHAPES[0]), division.members, ledger, capacity, whole=True)

    assert before == (ledger.used.tobytes(), ledger.scored.tobytes(), ledger.mark())
