"""Feature gates: all on by default; combinations with which no API server starts are refused."""

from __future__ import annotations

import pytest

from validators.gates import COMPOSITE, DESIRED_COUNT, GENERIC_WORKLOAD, NEEDS, PREEMPTION_POLICY, TOPOLOGY, GateError, Gates


def test_all_are_on() -> None:
    assert all(Gates().enabled(name) for name in NEEDS)


def test_a_gate_can_be_switched_off() -> None:
    assert not Gates.from_switches([(PREEMPTION_POLICY, False)]).enabled(PREEMPTION_POLICY)


def test_of_two_switches_the_later_counts() -> None:
    assert Gates.from_switches([(PREEMPTION_POLICY, False), (PREEMPTION_POLICY, True)]).enabled(PREEMPTION_POLICY)


def test_what_a_gate_needs_must_be_on() -> None:
    with pytest.raises(GateError, match=r"CompositePodGroup on and TopologyAwareWorkloadScheduling off"):
        Gates.from_switches([(TOPOLOGY, False)])


def test_with_what_needs_it_off_too_the_server_starts() -> None:
    gates = Gates.from_switches([(TOPOLOGY, False), (COMPOSITE, False)])

    assert (gates.enabled(TOPOLOGY), gates.enabled(COMPOSITE), gates.enabled(GENERIC_WORKLOAD)) == (False, False, True)


def test_the_gate_of_1_35_goes_with_the_others_where_it_is_not_named() -> None:
    names = [name for name in NEEDS if name != DESIRED_COUNT]

    assert not Gates.from_switches([(name, False) for name in names]).enabled(DESIRED_COUNT)


def test_an_unknown_gate_is_named_with_those_that_exist() -> None:
    with pytest.raises(GateError, match=r"'Gang'.*GenericWorkload"):
        Gates.from_switches([("Gang", True)])
