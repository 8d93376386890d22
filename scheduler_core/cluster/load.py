"""Objects -> ClusterSnapshot: defaults are applied as in the API server; unusable objects are listed in the problems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kubeapi.gather import CONFIGURATION, DEVICE_KINDS, gather, left_out, several
from kubeapi.gathered import Given, Objects, Unusable
from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.priority import PriorityClass
from kubeapi.problem import Problem, in_order
from kubeapi.workloads import Workload
from scheduler_core.cluster.label_stores import NamespaceStore, SelectorStore
from scheduler_core.cluster.node_table import TableInputs, build_node_table
from scheduler_core.cluster.volume_store import VolumeStore
from scheduler_core.loading import label_case, label_suggestions, v1alpha1
from scheduler_core.loading.claim_options import report_storage
from scheduler_core.loading.configuration.scheduler_configuration import NAME, read_configuration
from scheduler_core.loading.pod_drafts import Draft, requested_rows
from scheduler_core.loading.pod_records import Records
from scheduler_core.loading.priority import Priorities
from scheduler_core.loading.read_groups import completed, group_priorities, read_budgets, read_kind
from scheduler_core.loading.read_namespaces import missing_namespaces
from scheduler_core.loading.read_nodes import NodeRead, images_among, read_nodes
from scheduler_core.loading.read_pods import Reader, read_pods
from scheduler_core.loading.volume_pools import ClaimDemand, volume_numbers
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILES, SchedulerProfiles
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.volumes import VolumeObjects
from validators.lookup import KnownObjects
from validators.model.views import Node


def load(objects: Iterable[Given], profiles: SchedulerProfiles | None = None, device_topology: Iterable[str] = ()) -> ClusterSnapshot:
    """Return the snapshot of *objects*: each is parsed JSON, or the JSON text of one object; lists are opened.

    Nodes, Namespaces, pods, groups, Workloads, priority classes, disruption budgets, the objects about claims, volumes and CSI drivers,
    and the Services and controllers of pods are read; other kinds are skipped.  *profiles* are the profiles by scheduler; None: those of
    a KubeSchedulerConfiguration among *objects*, or else kube-scheduler's defaults.  *device_topology* are attributes of devices that
    are topology keys.  The result does not depend on the order of *objects*.  No input raises: errors are listed in ``problems``.
    """
    return load_gathered(*gather(objects), profiles, device_topology)


def load_gathered(
    kinds: Mapping[str, Objects],
    problems: list[Problem],
    profiles: SchedulerProfiles | None = None,
    device_topology: Iterable[str] = (),
) -> ClusterSnapshot:
    """Return the snapshot of the objects by kind; see ``load``."""
    nodes = read_nodes(kinds["Node"], problems)
    profiles = profiles or configured_profiles(kinds[CONFIGURATION], len(nodes), problems)
    classes = read_kind(kinds["PriorityClass"], PriorityClass, problems)
    workloads = read_kind(kinds["Workload"], Workload, problems)
    leaves = read_kind(kinds["PodGroup"], PodGroup, problems)
    composites = read_kind(kinds["CompositePodGroup"], CompositePodGroup, problems)
    priorities = Priorities(classes.good)
    stores = VolumeStore(completes=True), SelectorStore(), NamespaceStore()
    for store in stores:
        store.fill(kinds, problems)
    volumes, selectors, namespaces = stores[0].objects, stores[1].objects, stores[2].labels
    drafts, reader = read_pods(kinds["Pod"], nodes, volumes, problems)
    drafts, devices = _with_devices(kinds, drafts, leaves.good, reader, problems)
    generated = v1alpha1.join(drafts, workloads.good, (*leaves.good, *composites.good), priorities)
    groups = completed((*leaves.good, *composites.good, *generated.groups), priorities, problems)
    table = _node_table(nodes, drafts, volumes, devices, profiles.scored_resources, problems)
    _report_levels(table, devices, tuple(device_topology), groups, problems)
    # The records take the memory of the nodes.
    known_nodes = [*map(_known, nodes.values())]
    nodes.clear()
    records = Records(table, priorities, problems, profiles)
    pods = tuple(records.record_all(drafts))
    problems += (*label_case.problems(table, groups, pods), *label_suggestions.problems(table, groups, pods))
    problems += missing_namespaces(pods, namespaces)
    unusable = (*classes.unusable, *workloads.unusable, *leaves.unusable, *composites.unusable)
    return ClusterSnapshot(
        nodes=table,
        pods=pods,
        groups=groups,
        priorities=group_priorities(groups, priorities),
        desired=generated.desired,
        budgets=read_budgets(kinds["PodDisruptionBudget"], problems),
        known=KnownObjects((*groups, *workloads.good, *classes.good, *known_nodes, *unusable), complete=False),
        problems=in_order({*problems}),
        volumes=volumes,
        selectors=selectors,
        profiles=profiles,
        namespaces=namespaces,
        devices=devices,
    )


def _node_table(
    nodes: Mapping[str, NodeRead],
    drafts: Sequence[Draft],
    volumes: VolumeObjects,
    devices: DeviceObjects | None,
    scored: Collection[str],
    problems: list[Problem],
) -> NodeTable:
    wanted_images = {name for each in {draft.images for draft in drafts} for name in each}
    images = [images_among(each.node.status.images, wanted_images) for each in nodes.values()]
    provided = devices.resources if devices is not None else {}
    table = build_node_table(TableInputs(nodes, requested_rows(drafts), volumes.attach, images, provided, scored), problems)
    free = report_storage(table, volumes)
    if devices is not None:
        from scheduler_core.loading.released_claims import releasable
        from scheduler_core.loading.unusable_pools import unusable_pools
        from scheduler_core.plugins.devices.interchangeable import count_devices

        wanted = [draft.form.devices for draft in drafts if draft.form.devices]
        later = releasable(drafts, devices)
        count_devices(table, devices, [*wanted, *((need,) for need in later.values())], later)
        if any(need.allocates for needs in wanted for need in needs):
            problems += unusable_pools(devices.slices)
    demand = ClaimDemand.of_pods(draft.form.requests() for draft in drafts if draft.form.volumes)
    table.count_volumes(volume_numbers(table, free, demand))
    return table


def _report_levels(
    table: NodeTable, devices: DeviceObjects | None, attributes: Sequence[str], groups: Iterable[Group], problems: list[Problem]
) -> None:
    """Set the levels of *table* by *attributes* of devices, and report topology keys of *groups* that are such attributes."""
    if not attributes and devices is None:
        return
    from scheduler_core.loading.device_levels import levels_not_named, report_levels

    devices = devices or DeviceObjects()
    if attributes:
        report_levels(table, devices, attributes, problems)
    problems += levels_not_named(table, devices, groups)


def _with_devices(
    kinds: Mapping[str, Objects], drafts: list[Draft], groups: Iterable[PodGroup], reader: Reader, problems: list[Problem]
) -> tuple[list[Draft], DeviceObjects | None]:
    """Return *drafts*, with *groups* and read by *reader*, with the requirements of their claims to devices; and the devices, if any."""
    if not any(kinds[kind] for kind in DEVICE_KINDS) and not any(draft.attached.entries for draft in drafts):
        return drafts, None
    from scheduler_core.cluster.device_store import DeviceStore
    from scheduler_core.loading.pod_devices import PodDevices, group_entries

    store = DeviceStore()
    store.fill(kinds, problems)
    devices = store.objects or DeviceObjects()
    return PodDevices(devices, group_entries(groups).get).resolved(drafts, reader.forms), devices


def configured_profiles(objects: Objects, nodes: int, problems: list[Problem]) -> SchedulerProfiles:
    """Return the profiles of the configuration among *objects*, the first as JSON of several; the defaults if there is none.

    *nodes* is the number of nodes of the cluster.
    """
    by_text = {each.canonical(): each for each in objects}
    if not by_text:
        return DEFAULT_PROFILES
    if len(by_text) > 1:
        problems.append(several(NAME))
    try:
        configuration = read_configuration(by_text[min(by_text)].content())
    except Unusable as error:
        problems.append(left_out(CONFIGURATION, ("", ""), str(error)))
        return DEFAULT_PROFILES
    if configuration.errors:
        problems += configuration.refusals
        return DEFAULT_PROFILES
    problems += configuration.problems(nodes)
    return configuration.profiles


def _known(read: NodeRead) -> Node:
    return Node(metadata=read.node.metadata)
