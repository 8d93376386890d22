"""Topology levels by attributes of devices: a node is in the domain that its devices name, such as an NVLink clique or partition."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence

from kubeapi.devices import DeviceAttribute
from kubeapi.groups import Group
from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import AttributeIsNoLevel, AttributeUnknown, SeveralDomains
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.device_pools import DevicePools
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import NodeTable
from scheduler_core.plugins.devices.attribute_constraints import attribute_of
from validators.model.objects import namespace_of

Values = tuple[tuple[str, ...], ...]
"""Values of the devices of a node, by attribute."""


def report_levels(nodes: NodeTable, devices: DeviceObjects, attributes: Iterable[str], problems: list[Problem]) -> None:
    """Set the levels of *nodes* by *attributes* of their devices.

    A node whose devices have several values is in no domain: its pods could get devices of any of them.
    """
    attributes = sorted({*attributes})
    pools = DevicePools(nodes, devices.slices)
    values = [reached_values(pools, node, attributes) for node in range(len(nodes))]
    problems += problems_of_levels(nodes, devices, attributes, values)
    set_levels(nodes, attributes, values)


def reached_values(pools: DevicePools, node: int, attributes: Sequence[str]) -> Values:
    """Return the values of each of *attributes*, sorted, of the devices that *node* reaches."""
    reached = [device for pool in pools.on(node) for device in pool.devices if pools.reaches(device, node)]
    found = ([attribute_of(device, name) for device in reached] for name in attributes)
    return tuple(tuple(sorted({_text(value) for value in each if value is not None})) for each in found)


def set_levels(nodes: NodeTable, attributes: Sequence[str], values: Sequence[Values]) -> None:
    """Set the levels of *nodes* by the *values* of *attributes*, one entry for each node."""
    levels = zip(attributes, zip(*values, strict=True), strict=True) if values else ((name, ()) for name in attributes)
    nodes.report_device_levels({name: tuple(_domain(each) for each in of_name) for name, of_name in levels})


def problems_of_levels(nodes: NodeTable, devices: DeviceObjects, attributes: Sequence[str], values: Iterable[Values]) -> Iterator[Problem]:
    """Yield a problem for each node with several values, and for each attribute that no device has; arguments as for ``set_levels``."""
    for node, of_node in zip(nodes.names, values, strict=True):
        for name, each in zip(attributes, of_node, strict=True):
            if len(each) > 1:
                yield Problem.about(Name("Node", "", node), SeveralDomains(name, each))
    known = _attributes(devices)
    absent = (name for name in attributes if name not in known)
    yield from (Problem(AttributeUnknown(name, _similar(name, known))) for name in absent)


def _domain(values: Sequence[str]) -> str | None:
    return values[0] if len(values) == 1 else None


def levels_not_named(nodes: NodeTable, devices: DeviceObjects, groups: Iterable[Group]) -> Iterator[Problem]:
    """Yield a problem for each topology key of a group that no node has, but devices as an attribute."""
    keys: dict[str, list[Group]] = {}
    for group in groups:
        constraints = group.spec.scheduling_constraints
        for each in (constraints and constraints.topology) or ():
            if each.key not in nodes.device_levels and not nodes.column(each.key).values:
                keys.setdefault(each.key, []).append(group)
    attributes = _attributes(devices) if keys else ()
    for key, found in sorted(keys.items()):
        if key in attributes:
            names = (Name(group.kind, namespace_of(group), group.metadata.name) for group in found)
            yield from (Problem.about(name, AttributeIsNoLevel(key)) for name in names)


def _attributes(devices: DeviceObjects) -> set[str]:
    """Return the attributes of all devices, with their domains."""
    contents = ((each.driver, device.content) for each in devices.slices for device in each.devices)
    return {name if "/" in name else f"{driver}/{name}" for driver, content in contents for name in content.attributes or {}}


def _text(value: DeviceAttribute) -> str:
    """Return the value of an attribute as the name of a domain."""
    if value.boolean is not None:
        return str(value.boolean).lower()
    found = (each for each in (value.version, value.string, value.integer) if each is not None)
    return str(next(found, ""))


def _similar(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), "")
