"""Objects -> ClusterSnapshot: defaults are applied as in the API server; unusable objects are listed in the problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from kubeapi.gather import CONFIGURATION, gather, left_out, several
from kubeapi.gathered import Given, Objects, Unusable
from kubeapi.problem import Problem
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.cluster.node_table import TableInputs, build_node_table
from scheduler_core.cluster.stores import Stores, assembled
from scheduler_core.loading import v1alpha1
from scheduler_core.loading.build_pod_records import Records
from scheduler_core.loading.claim_options import report_storage
from scheduler_core.loading.configuration.scheduler_configuration import NAME, read_configuration
from scheduler_core.loading.parsed_pods import ParsedPod, requested_rows
from scheduler_core.loading.read_nodes import NodeRead
from scheduler_core.loading.read_pods import Reader, read_pods
from scheduler_core.loading.volume_pools import ClaimDemand, volume_numbers
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILES, SchedulerProfiles
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.volumes import VolumeObjects
from validators.gates import ALL_ON, Gates


def load(
    objects: Iterable[Given],
    profiles: SchedulerProfiles | None = None,
    device_topology: Iterable[str] = (),
    behavior: SchedulerBehavior = KUBERNETES_1_37,
    gates: Gates = ALL_ON,
) -> ClusterSnapshot:
    """Return the snapshot of *objects*: each is parsed JSON, or the JSON text of one object; lists are opened.

    Nodes, Namespaces, pods, groups, Workloads, priority classes, disruption budgets, the objects about claims, volumes and CSI drivers,
    and the Services and controllers of pods are read; other kinds are skipped.  *profiles* are the profiles by scheduler; None: those of
    a KubeSchedulerConfiguration among *objects*, or else kube-scheduler's defaults.  *device_topology* are attributes of devices that
    are topology keys.  *behavior* is that of the kube-scheduler that is mirrored, and *gates* are those with which it reads its configuration.  The result does not depend on the order of *objects*.  No input raises: errors are listed in ``problems``.
    """
    return load_gathered(*gather(objects), profiles, device_topology, behavior, gates)


def load_gathered(
    kinds: Mapping[str, Objects],
    problems: list[Problem],
    profiles: SchedulerProfiles | None = None,
    device_topology: Iterable[str] = (),
    behavior: SchedulerBehavior = KUBERNETES_1_37,
    gates: Gates = ALL_ON,
) -> ClusterSnapshot:
    """Return the snapshot of the objects by kind; see ``load``."""
    stores = Stores.filled(kinds, problems)
    nodes, groups, volumes = stores.nodes.nodes, stores.groups, stores.volumes.objects
    profiles = profiles or configured_profiles(kinds[CONFIGURATION], len(nodes), problems, behavior, gates)
    parsed_pods, reader = read_pods(kinds["Pod"], nodes, volumes, problems)
    parsed_pods, devices = _with_devices(stores, parsed_pods, reader)
    generated = v1alpha1.join(parsed_pods, groups.objects["Workload"].values(), groups.groups, groups.priorities)
    table = _node_table(nodes, parsed_pods, volumes, devices, profiles.scored_resources, behavior)
    if attributes := tuple(device_topology):
        from scheduler_core.loading.device_levels import report_levels

        report_levels(table, devices or DeviceObjects(), attributes, problems)
    problems += stores.nodes.problems()
    # The table has all that is needed of the nodes; the memory of the nodes as read is free for the records of pods.
    nodes.clear()
    pods = tuple(Records(table, groups.priorities, problems, profiles).record_all(parsed_pods))
    return dataclasses.replace(assembled(stores, table, devices, pods, generated, problems), profiles=profiles)


def _node_table(
    nodes: Mapping[str, NodeRead],
    parsed_pods: Sequence[ParsedPod],
    volumes: VolumeObjects,
    devices: DeviceObjects | None,
    scored: Collection[str],
    behavior: SchedulerBehavior,
) -> NodeTable:
    images = {name for each in {parsed_pod.images for parsed_pod in parsed_pods} for name in each}
    provided = devices.resources if devices is not None else {}
    table = build_node_table(TableInputs(nodes, requested_rows(parsed_pods), volumes.attach, images, provided, scored, behavior=behavior))
    free = report_storage(table, volumes)
    if devices is not None:
        from scheduler_core.cluster.releasable_claims import ReleasableClaims
        from scheduler_core.plugins.devices.interchangeable import count_devices

        wanted = [parsed_pod.form.devices for parsed_pod in parsed_pods if parsed_pod.form.devices]
        claims = ReleasableClaims(devices.claims)
        for parsed_pod in parsed_pods:
            claims.count(parsed_pod, 1)
        running = {parsed_pod.key for parsed_pod in parsed_pods if parsed_pod.node}
        later = {"/".join(name): need for name, _, need in claims.update(running.__contains__) if need is not None}
        count_devices(table, devices, [*wanted, *((need,) for need in later.values())], later)
    demand = ClaimDemand.of_pods(parsed_pod.form.requests() for parsed_pod in parsed_pods if parsed_pod.form.volumes)
    table.count_volumes(volume_numbers(table, free, demand))
    return table


def _with_devices(stores: Stores, parsed_pods: list[ParsedPod], reader: Reader) -> tuple[list[ParsedPod], DeviceObjects | None]:
    """Return *parsed_pods*, read by *reader*, with the requirements of their claims to devices; and the devices, if any."""
    if stores.devices is None and not any(parsed_pod.attached.entries for parsed_pod in parsed_pods):
        return parsed_pods, None
    from scheduler_core.loading.pod_devices import PodDevices

    devices = (stores.devices.objects if stores.devices is not None else None) or DeviceObjects()
    return PodDevices(devices, stores.groups.entries).resolved(parsed_pods, reader.forms), devices


def configured_profiles(
    objects: Objects, nodes: int, problems: list[Problem], behavior: SchedulerBehavior, gates: Gates
) -> SchedulerProfiles:
    """Return the profiles of the configuration among *objects*, the first as JSON of several; the defaults if there is none.

    *nodes* is the number of nodes of the cluster, *behavior* and *gates* are those of the kube-scheduler that reads the configuration.
    """
    by_text = {each.canonical(): each for each in objects}
    if not by_text:
        return DEFAULT_PROFILES
    if len(by_text) > 1:
        problems.append(several(NAME))
    try:
        configuration = read_configuration(by_text[min(by_text)].content(), behavior, gates)
    except Unusable as error:
        problems.append(left_out(CONFIGURATION, ("", ""), str(error)))
        return DEFAULT_PROFILES
    if configuration.errors:
        problems += configuration.refusals
        return DEFAULT_PROFILES
    problems += configuration.problems(nodes)
    return configuration.profiles
