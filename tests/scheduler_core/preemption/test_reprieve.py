"""Capacity on the nodes of proposed pods."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.victims.reprieve import ReprieveCapacity
from tests.scheduler_core.preemption.scene import ledger_of, node_table, pod

ALL, ONE = "0.0.0.0", "10.0.0.1"


def reprieve_capacity(*proposed, cpus=(2000, 2000), running=()):
    return ReprieveCapacity(proposed, ledger_of(node_table(cpus), running))


def test_who_is_admitted_takes_capacity_until_dismissed():
    result, one, other = reprieve_capacity((pod("high"), 0)), [pod("a", 0)], [pod("b", 0)]

    assert [True, False] == [result.admit(one), result.admit(other)]
    result.remove(one)
    assert result.admit(other)


def test_a_unit_is_admitted_whole_or_not_at_all():
    result = reprieve_capacity((pod("high"), 0), (pod("high"), 1))

    assert not result.admit([pod("a", 0), pod("b", 1, cpu=1001)])
    assert result.admit([pod("c", 0), pod("d", 1)])


def test_pods_of_one_unit_share_the_capacity_of_a_node():
    assert not reprieve_capacity((pod("high"), 0)).admit([pod("a", 0, cpu=600), pod("b", 0, cpu=600)])


def test_who_runs_elsewhere_needs_no_capacity():
    assert reprieve_capacity((pod("high", cpu=2000), 0)).admit([pod("a", 1, cpu=9000)])


def test_only_nodes_of_proposed_pods_are_examined():
    assert [0, 1] == reprieve_capacity((pod("a"), 1), (pod("b"), 0), (pod("c"), 1)).nodes
    assert [] == reprieve_capacity().nodes


def test_a_node_that_is_full_beyond_its_size_admits_nobody_else():
    result = reprieve_capacity((pod("a", cpu=1500), 0), (pod("b", cpu=1500), 0))

    assert not result.admit([pod("c", 0, cpu=0)])


@pytest.mark.parametrize(
    ("used", "want"),
    [
        pytest.param(("TCP", ALL, 80), False, id="the same"),
        pytest.param(("TCP", ONE, 80), False, id="one address of all"),
        pytest.param(("UDP", ALL, 80), True, id="another protocol"),
        pytest.param(("TCP", ALL, 81), True, id="another port"),
    ],
)
def test_a_port_of_the_host_is_had_once(used, want):
    assert want is reprieve_capacity((pod("high", ports=(("TCP", ALL, 80),)), 0)).admit([pod("a", 0, ports=(used,))])
