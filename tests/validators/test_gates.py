"""Feature gates: all on by default; combinations with which no API server starts are refused."""

from __future__ import annotations

import pytest

from validators.gates import (
    COMPOSITE,
    DESIRED_COUNT,
    GENERIC_WORKLOAD,
    LAST_VERSIONS,
    NEEDS,
    PREEMPTION_POLICY,
    TOPOLOGY,
    GateError,
    Gates,
    names,
)


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
    others = [name for name in NEEDS if name != DESIRED_COUNT]

    assert not Gates.from_switches([(name, False) for name in others]).enabled(DESIRED_COUNT)


def test_an_unknown_gate_is_named_with_those_that_exist() -> None:
    with pytest.raises(GateError, match=r"'Gang'.*GenericWorkload"):
        Gates.from_switches([("Gang", True)])


@pytest.mark.parametrize("name", sorted(LAST_VERSIONS))
@pytest.mark.parametrize("on", [True, False])
def test_a_gate_that_was_removed_is_unknown_and_what_it_guarded_is_on(name: str, on: bool) -> None:
    last = LAST_VERSIONS[name]

    assert Gates.from_switches([(name, on)], last).enabled(name) is on
    assert name in names(last)
    assert name not in names(last + 1)
    assert Gates.from_switches([], last + 1).enabled(name)
    with pytest.raises(GateError, match=rf"'{name}' in Kubernetes 1\.{last + 1}; must be one of "):
        Gates.from_switches([(name, on)], last + 1)
