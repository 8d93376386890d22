"""State of placement, made once from a snapshot."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator

from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.model.device_claims import DeviceNeed
from scheduler_core.model.devices import Allocation
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.nodes import Ints, Nodes, NodeTable
from scheduler_core.model.nominations import Nominations
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.topology import Topology
from scheduler_core.placement.counters import Counters
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.pod_by_pod import NodeRanking
from scheduler_core.plugins.assumed_volumes import picks_of_running, provisioned_storage, volumes_beyond_requests
from scheduler_core.plugins.base import Floats
from scheduler_core.plugins.profile import Profile
from scheduler_core.plugins.stateful_plugins import StatefulPlugins

NO_PLUGINS = Plugins()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PlacementState:
    """Nodes, resources taken, plugins and nominations.

    Attributes:
        profile: plugins compiled for pod shapes.
        stateful: plugins whose verdict depends on pods of any node.
        capacity: shape (resources, nodes) float64: allocatable amounts of ``nodes.scored``: millicores, bytes, and others in units.
        whole: True if every node has cpu and memory.
        nominations: capacity reserved for nominated pods.
        evaluated: counts of evaluated candidate placements.
        ranking: ranks of nodes, if only those of the best rank are scored; then all pods are placed one by one.
        provisioned: bytes of the volumes to be provisioned for pods that are placed, by storage class and node.

    """

    nodes: NodeTable
    topology: Topology
    ledger: Ledger
    profile: Profile
    stateful: StatefulPlugins
    capacity: Floats
    whole: bool
    options: PlacingOptions
    nominations: Nominations
    plugins: Plugins = NO_PLUGINS
    evaluated: Counters = dataclasses.field(default_factory=Counters)
    provisioned: Counter[tuple[str, int]] = dataclasses.field(default_factory=Counter)
    ranking: NodeRanking | None = None

    @property
    def behavior(self) -> SchedulerBehavior:
        """Return the behavior of the kube-scheduler that is mirrored."""
        return self.nodes.behavior

    @classmethod
    def from_snapshot(
        cls, snapshot: ClusterSnapshot, options: PlacingOptions, ignore: Iterable[str] = (), plugins: Plugins = NO_PLUGINS
    ) -> PlacementState:
        """Return the state of *snapshot* with its bound pods; fields in *ignore* do not refuse a pod although they are not modelled."""
        topology = Topology(snapshot.nodes)
        ledger = new_ledger(topology, options)
        ledger.bind(pod for pod in snapshot.pods if pod.node >= 0)
        if snapshot.devices is not None:
            # Running pods have their devices by their claims.
            for row, number in snapshot.nodes.devices_in_use(snapshot.devices.allocated.values()).items():
                ledger.used[row] = number
            ledger.beyond.update(snapshot.nodes.devices_beyond_requests(_claims_taken(snapshot)))
        ledger.take_beyond(volumes_beyond_requests(picks_of_running(snapshot.pods, snapshot.nodes), snapshot.nodes))
        nominations = Nominations(ledger, snapshot.pods, sparing=options.sparing)
        ledger.forget()
        capacity = snapshot.nodes.allocatable[snapshot.nodes.scored.rows].astype(float)
        profile, stateful = Profile(snapshot.nodes, ignore), StatefulPlugins(snapshot, sparing=options.sparing)
        provisioned = provisioned_storage(snapshot.pods if snapshot.nodes.storage is not None else ())
        whole = bool(capacity[:2].all())
        return cls(
            snapshot.nodes, topology, ledger, profile, stateful, capacity, whole, options, nominations, plugins, provisioned=provisioned
        )


def new_ledger(topology: Topology, options: PlacingOptions) -> Ledger:
    """Return an empty ledger for *topology*.

    kube-scheduler 1.37.1 adds nominated pods to the resources of nodes, but not to the devices and volumes in use.
    """
    nodes = topology.nodes
    return Ledger(topology, unheld=() if options.sparing else nodes.counted | nodes.volume_rows)


def free_of(state: PlacementState, rows: Ints, nodes: Nodes | None = None) -> Ints:
    """Return the free amounts of the resources *rows* on *nodes*; shape (rows, nodes), of all nodes if None."""
    at = rows if nodes is None else (rows[:, None], nodes)
    free: Ints = state.nodes.allocatable[at] - state.ledger.used[at]
    return free - state.ledger.held[at] if state.ledger.holding else free


def _claims_taken(snapshot: ClusterSnapshot) -> Iterator[tuple[DeviceNeed, Allocation]]:
    """Yield the claims that decisions have allocated for the pods of *snapshot*."""
    allocated = snapshot.devices.allocated if snapshot.devices is not None else {}
    for pod in snapshot.pods:
        for claim, need in zip(pod.device_claims, pod.shape.devices, strict=False) if pod.node >= 0 else ():
            if need.allocates and claim.key in allocated:
                yield need, allocated[claim.key]
