"""Pools of devices that kube-scheduler does not allocate: their slices are incomplete, or name a device twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import DeviceRepeated, MorePoolsUnusable, PoolIncomplete
from scheduler_core.model.device_pools import PoolName
from scheduler_core.model.devices import DeviceSlice
from scheduler_core.model.names import Name
from scheduler_core.plugins.devices.device_kinds import slices_by_pool

_LISTED = 10
"""Maximum number of pools with their own problem."""


def unusable_pools(slices: Iterable[DeviceSlice]) -> Iterator[Problem]:
    """Yield a problem for each of the first pools that kube-scheduler does not allocate, and one for all others."""
    found = [(pool[0].name, fault) for name, pool in slices_by_pool(slices).items() if (fault := _fault(name, pool))]
    for first, fault in found[:_LISTED]:
        yield Problem.about(Name("ResourceSlice", "", first), fault)
    if (more := len(found) - _LISTED) > 0:
        yield Problem(MorePoolsUnusable(more), place="ResourceSlices")


def _fault(name: PoolName, pool: Sequence[DeviceSlice]) -> PoolIncomplete | DeviceRepeated | None:
    """Return why no device of *pool* is allocated; None if devices are allocated, or if that depends on the node."""
    generation = max(each.generation for each in pool)
    newest = [each for each in pool if each.generation == generation]
    local = len({each.node for each in pool}) == 1 and bool(pool[0].node)
    if not local and len(newest) < len(pool):
        # A node that does not reach the newest slices uses the older ones.
        return None
    if len(newest) < newest[0].count:
        return PoolIncomplete("/".join(name), generation, len(newest), newest[0].count)
    names = Counter(device.name for each in newest for device in each.devices)
    if local and len(names) < names.total():
        twice = next(device for device, number in names.items() if number > 1)
        return DeviceRepeated("/".join(name), twice)
    return None
