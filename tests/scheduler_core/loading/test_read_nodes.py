"""Nodes as they are read into a ClusterSnapshot."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.nodes import CPU
from tests.scheduler_core.loading.manifests import node, pod, problem_lines


class TestNodes:
    def test_nodes_are_in_order_of_their_names(self):
        table = load([node("node-2"), node("node-10"), node("node-1")]).nodes

        assert ("node-1", "node-10", "node-2") == table.names

    def test_the_table_has_what_can_be_allocated(self):
        given = node("a", labels={"rack": "r1"}, allocatable={"cpu": "1500m", "memory": "1Ki", "pods": 110, "nvidia.com/gpu": "8"})
        given["spec"]["unschedulable"] = True

        table = load([given, node("b")]).nodes

        assert ("cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu") == table.resources
        assert [[1500, 4000], [1024, 8 * 1024**3], [0, 0], [110, 110], [8, 0]] == table.allocatable.tolist()
        assert ({"rack": "r1"}, {}) == table.labels
        assert [True, False] == table.unschedulable.tolist()

    def test_rows_are_made_for_what_only_pods_request(self):
        wants = pod(containers=[{"resources": {"requests": {"b.com/b": 1, "a.com/a": 1}}}])

        table = load([node(), wants]).nodes

        assert ("cpu", "memory", "ephemeral-storage", "pods", "a.com/a", "b.com/b") == table.resources
        assert [[0], [0]] == table.allocatable[4:].tolist()

    def test_a_node_without_allocatable_is_left_out(self):
        snapshot = load([node(), node("bare", allocatable=None)])

        assert ("node-1",) == snapshot.nodes.names
        assert ["Node bare: status.allocatable is missing; the node is left out"] == problem_lines(snapshot)

    def test_where_only_the_capacity_is_written_it_can_be_allocated(self):
        snapshot = load([node(allocatable=None, capacity={"cpu": "3"})])

        assert 3000 == snapshot.nodes.allocatable[CPU, 0]
        assert [] == problem_lines(snapshot)

    @pytest.mark.parametrize(
        ("cpu", "text"),
        [
            pytest.param("-1", "status.allocatable[cpu] is negative: -1", id="negative"),
            pytest.param("4 cores", 'status.allocatable[cpu]: "4 cores" is not a quantity: must be a number with an optional unit, such as 500m, 2 or 1.5Gi', id="unreadable"),
            pytest.param(True, "a value of status.allocatable must be a whole number or a number or a string, not true or false", id="of the wrong type"),
        ],
    )  # fmt: skip
    def test_a_node_with_a_quantity_that_cannot_be_is_left_out(self, cpu, text):
        snapshot = load([node(), node("odd", allocatable={"cpu": cpu})])

        assert ("node-1",) == snapshot.nodes.names
        assert [f"Node odd: {text}; the node is left out"] == problem_lines(snapshot)

    def test_a_taint_with_an_unknown_effect_is_left_out(self):
        taints = [{"key": "a", "effect": "NoScedule"}, {"key": "b", "effect": "NoExecute"}]

        snapshot = load([node(taints=taints)])

        assert ["b"] == [taint.key for taint in snapshot.nodes.taints[0]]
        want = 'spec.taints[0].effect is "NoScedule"; allowed: NoSchedule, PreferNoSchedule, NoExecute; the taint is left out'
        assert [f"Node node-1: {want}"] == problem_lines(snapshot)
