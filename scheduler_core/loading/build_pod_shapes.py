"""Shapes of pods, once the rows of the node table are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from scheduler_core.loading.parsed_pod_specs import Images, ParsedPodSpec
from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile


def scored_images(images: Images, nodes: NodeTable) -> Images:
    """Return *images* with an empty text for each that no node reports; nothing if no node reports any."""
    reported = nodes.reported
    if not reported or reported.keys().isdisjoint(images):
        return ()
    return tuple(sorted(name if name in reported else "" for name in images))


def picks_devices(needs: Sequence[DeviceNeed], nodes: NodeTable) -> bool:
    """Return whether the devices of a pod with *needs* depend on the devices that other pods take."""
    return any(each.allocates for each in needs) and (nodes.device_rows is None or nodes.device_rows.one_by_one(needs))


def counts_devices(needs: Sequence[DeviceNeed], nodes: NodeTable) -> bool:
    """Return whether the requests of a pod with *needs* say exactly how many devices it needs."""
    return not any(each.allocates for each in needs) or (nodes.device_rows is not None and nodes.device_rows.counts(needs))


def counts_devices_as(shape: PodShape, nodes: NodeTable) -> bool:
    """Return whether *shape* requests its devices as the present rows of *nodes* count them."""
    needs, rows = shape.devices, nodes.device_rows
    wanted = {nodes.row[name]: number for name, number in rows.requests(needs).items()} if rows is not None else {}
    requested = {row: amount for row, amount in shape.requests if row in nodes.counted}
    flags = picks_devices(needs, nodes), counts_devices(needs, nodes)
    return (requested, shape.picks_devices, shape.counts_devices) == (wanted, *flags)


def shape_of(form: ParsedPodSpec, images: Images, serial: int, nodes: NodeTable, profile: SchedulerProfile = DEFAULT_PROFILE) -> PodShape:
    """Return the shape of *form* with ``scored_images``, scheduled by *profile*.

    *nodes* has a row for each resource, and the options of its claims.  Resources that share a row count with the largest amount.
    """
    requests: dict[int, int] = {}
    unchecked: dict[int, int] = {}
    for name, amount in form.demand.requests:
        row, amounts = nodes.row[name], unchecked if profile.ignores(name) else requests
        amounts[row] = max(amount, amounts.get(row, 0))
    storage, claims = nodes.storage, form.requests() if profile.filters("VolumeBinding") else []
    for name in storage.rows(claims) if storage is not None else ():
        requests[nodes.row[name]] = requests.get(nodes.row[name], 0) + 1
    devices = form.devices if form.devices and profile.filters("DynamicResources") else ()
    for name, number in nodes.device_rows.requests(devices).items() if nodes.device_rows is not None else ():
        requests[nodes.row[name]] = requests.get(nodes.row[name], 0) + number
    return PodShape(
        serial=serial,
        requests=tuple(sorted(requests.items())),
        scored=form.demand.scored,
        node_selector=form.node_selector,
        affinity=form.affinity,
        tolerations=form.tolerations,
        spread=form.spread,
        ports=form.ports,
        kept=form.kept,
        images=images,
        unmodelled=form.unmodelled,
        volumes=form.volumes,
        picks_volumes=storage is not None and storage.one_by_one(claims),
        counts_volumes=storage is None or storage.counted(claims),
        named_volumes=form.named_volumes,
        devices=devices,
        picks_devices=picks_devices(devices, nodes),
        counts_devices=counts_devices(devices, nodes),
        unchecked=tuple(sorted(unchecked.items())),
        profile=profile,
        containers_scored=None if nodes.behavior.scores_pod_requests else form.demand.containers_scored,
    )


def with_needs(shape: PodShape, needs: tuple[DeviceNeed, ...], nodes: NodeTable) -> PodShape:
    """Return *shape* with other claims to devices."""
    requests = dict(each for each in shape.requests if each[0] not in nodes.counted)
    for name, number in nodes.device_rows.requests(needs).items() if nodes.device_rows is not None else ():
        requests[nodes.row[name]] = number
    return dataclasses.replace(
        shape,
        requests=tuple(sorted(requests.items())),
        devices=needs,
        picks_devices=picks_devices(needs, nodes),
        counts_devices=counts_devices(needs, nodes),
    )
