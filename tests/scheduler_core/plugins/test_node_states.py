"""Uses of the devices of nodes: equal if the devices that are used can be exchanged, and are used in the same way."""

from __future__ import annotations

from decimal import Decimal

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.plugins.devices.node_allocations import NodeAllocations
from tests.scheduler_core.builders import node
from tests.scheduler_core.plugins.device_objects import DRIVER, device_class, device_slice


def share(pool: str, name: str, amount: int) -> Allocation:
    return Allocation((GivenDevice("gpu", (DRIVER, pool, name), shared=True, consumed=(("memory", Decimal(amount)),)),))


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        pytest.param(share("n1", "b", 1), True, id="another device, used in the same way"),
        pytest.param(share("n1", "b", 2), False, id="a larger share"),
        pytest.param(Allocation((GivenDevice("gpu", (DRIVER, "n1", "b")),)), False, id="a whole device"),
        pytest.param(Allocation(()), False, id="none"),
    ],
)
def test_uses_are_equal_if_devices_are_used_in_the_same_way(other, equal):
    snapshot = load([node("n0"), node("n1"), device_class(), device_slice("n0", "a", "b"), device_slice("n1", "a", "b")])
    found = NodeAllocations(snapshot.nodes, snapshot.devices)
    assert found.states.use(0) == found.states.use(1)
    found.usage.add_allocation(share("n0", "a", 1))
    found.usage.add_allocation(other)

    assert equal == (found.states.use(0) == found.states.use(1))
    found.usage.remove_allocation(other)
    found.usage.remove_allocation(share("n0", "a", 1))
    assert found.states.use(0) == found.states.use(1)
