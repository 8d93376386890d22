"""Amounts that a policy of a capacity allows."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kubeapi.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from scheduler_core.plugins.devices.consumable_capacity import is_allowed, is_sufficient


@pytest.mark.parametrize(
    ("amount", "step", "allowed"),
    [
        pytest.param(3, None, True, id="any amount without a step"),
        pytest.param(9, None, False, id="beyond the largest"),
        pytest.param(5, "2", True, id="steps from the least"),
        pytest.param(4, "2", False, id="between two steps"),
    ],
)
def test_an_amount_in_a_range(amount, step, allowed):
    """k8s.io/dynamic-resource-allocation/structured, violatesPolicy."""
    assert allowed is is_allowed(
        Decimal(amount), CapacityRequestPolicy(valid_range=CapacityRequestPolicyRange(min="1", max="8", step=step))
    )


@pytest.mark.parametrize(
    ("amount", "policy", "sufficient"),
    [
        pytest.param(4, None, True, id="all of it"),
        pytest.param(5, None, False, id="more than there is"),
        pytest.param(2, CapacityRequestPolicy(default="1", valid_values=("1", "2")), True, id="an allowed value"),
        pytest.param(3, CapacityRequestPolicy(default="1", valid_values=("1", "2")), False, id="more than any allowed value"),
        pytest.param(5, CapacityRequestPolicy(default="1", valid_values=("1", "8")), False, id="an allowed value beyond the capacity"),
    ],
)
def test_a_capacity_suffices_for_a_request(amount, policy, sufficient):
    """k8s.io/dynamic-resource-allocation/structured, CmpRequestOverCapacity."""
    assert sufficient is is_sufficient({"memory": Decimal(amount)}, {"memory": DeviceCapacity("4", policy)})
