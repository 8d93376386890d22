"""Amounts that a policy of a capacity allows."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kubeapi.devices import CapacityRequestPolicy, CapacityRequestPolicyRange
from scheduler_core.plugins.devices.consumable_capacity import is_allowed


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
