"""Numbered sets of nodes."""

from __future__ import annotations

import types

import numpy as np

from scheduler_core.exact.certificate.node_sets import NodeSets


def test_a_union_has_the_nodes_of_all_its_sets_and_of_one_set_it_is_that_set():
    sets = NodeSets(types.SimpleNamespace(everything=np.arange(6)))
    one, other = sets.number(np.array([0, 1])), sets.number(np.array([1, 4]))

    assert [0, 1, 4] == sets.nodes(sets.union([one, other])).tolist()
    assert one == sets.union([one, one])
    assert sets.union([one, other]) == sets.number(np.array([0, 1, 4]))
