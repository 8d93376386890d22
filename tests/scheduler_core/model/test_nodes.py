"""Table of nodes, and the columns of their labels."""

from __future__ import annotations

import numpy as np
import pytest

from kubeapi.nodes import Taint
from kubeapi.resource_names import BUILT_IN
from scheduler_core.model.nodes import CPU, EPHEMERAL, MEMORY, PODS, NodeTable
from tests.scheduler_core.builders import table

NODES = table([{"zone": "b", "rack": "r1"}, {"zone": "a"}, {}, {"zone": "b", "rack": ""}])


def test_a_name_leads_to_its_index_and_back():
    assert [0, 1, 2, 3] == [NODES.index[name] for name in NODES.names]
    assert 4 == len(NODES)


def test_everything_is_all_indices_in_order():
    assert [0, 1, 2, 3] == NODES.everything.tolist()
    assert np.int64 == NODES.everything.dtype


@pytest.mark.parametrize(
    ("key", "values", "ids"),
    [
        pytest.param("zone", ("a", "b"), [1, 0, -1, 1], id="values in order"),
        pytest.param("rack", ("", "r1"), [1, -1, -1, 0], id="an empty value is a value"),
        pytest.param("power", (), [-1, -1, -1, -1], id="a label that no node has"),
    ],
)
def test_a_column_numbers_the_values_of_a_label(key, values, ids):
    column = NODES.column(key)

    assert values == column.values
    assert ids == column.ids.tolist()


def test_a_column_is_read_once():
    assert NODES.column("zone") is NODES.column("zone")


def test_built_in_resources_have_fixed_rows_and_the_others_follow():
    resources = (*BUILT_IN, "example.com/gpu")
    nodes = NodeTable(["n"], [{}], [()], [False], resources, np.zeros((len(resources), 1), dtype=np.int64))

    assert ("cpu", "memory", "ephemeral-storage", "pods") == tuple(nodes.resources[row] for row in (CPU, MEMORY, EPHEMERAL, PODS))
    assert 4 == nodes.row["example.com/gpu"]


def test_taints_and_cordons_are_kept_by_node():
    marked = (Taint("a", "NoSchedule"),)
    nodes = NodeTable(["x", "y"], [{}, {}], [(), marked], [True, False], BUILT_IN, np.zeros((4, 2), dtype=np.int64))

    assert ((), marked) == nodes.taints
    assert [True, False] == nodes.unschedulable.tolist()


def test_a_table_without_nodes_has_columns_without_values():
    nodes = table([])

    assert ((), []) == (nodes.column("zone").values, nodes.column("zone").ids.tolist())
