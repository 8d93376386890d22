"""Rows of the nodes that count volumes or devices, as a certificate explains them."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.model.migrated_volumes import MIGRATED_DRIVERS
from scheduler_core.model.nodes import NodeTable

Counted = Mapping[str, str | list[str]]
"""What a row of the nodes counts: ``driver``, whose volumes have a limit, or ``volumes`` or ``devices`` by name."""


def counted_volumes(nodes: NodeTable) -> dict[int, Counted]:
    """Return what each row counts that the objects state: attach limits, and local volumes of classes without a provisioner."""
    migrated = {*MIGRATED_DRIVERS.values()}
    counted: dict[int, Counted] = {row: {"driver": driver} for row, driver in nodes.limit_rows.items() if driver not in migrated}
    if (storage := nodes.storage) is not None:
        provisioned = {name for each in storage.pooled if storage.options(each).provisions for name in storage.pooled[each].rows}
        for claims, volumes in storage.resources.items():
            if volumes.row in nodes.row and volumes.row not in provisioned:
                counted[nodes.row[volumes.row]] = {"volumes": storage.names_of_volumes(next(iter(claims)))}
    return counted


def counted_devices(nodes: NodeTable) -> dict[int, Counted]:
    """Return what each row counts that counts devices."""
    if nodes.device_rows is None:
        return {}
    names: dict[str, list[str]] = {row: [] for row in nodes.device_rows.numbers}
    for device, (_, rows) in nodes.device_rows.devices.items():
        for row in rows:
            names[row].append("/".join(device))
    return {nodes.row[row]: {"devices": sorted(devices)} for row, devices in names.items()}
