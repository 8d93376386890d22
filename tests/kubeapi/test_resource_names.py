"""Amounts of resources."""

from __future__ import annotations

import pytest

from kubeapi import quantity
from kubeapi.resource_names import at_least

KI, MI, GI, TI = (2**power for power in (10, 20, 30, 40))


@pytest.mark.parametrize(
    ("resource", "value", "want"),
    [
        ("cpu", 8000, "8"),
        ("cpu", 1500, "1500m"),
        ("memory", 64 * GI, "64Gi"),
        ("memory", 2048 * GI, "2Ti"),
        ("memory", 64 * GI + 512 * MI, "65Gi"),
        ("memory", 1536 * MI, "1536Mi"),
        ("memory", 1_900_000 * GI, "1856Ti"),
        ("ephemeral-storage", 9_999 * KI, "9999Ki"),
        ("ephemeral-storage", 10_000 * KI, "10Mi"),
        ("memory", 1, "1Ki"),
        ("pods", 20_000, "20000"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_quantity_of_a_larger_node_is_short_and_not_too_small(resource, value, want):
    assert at_least(resource, value) == want
    assert quantity.milli_value(want) >= (value if resource == "cpu" else 1000 * value)
