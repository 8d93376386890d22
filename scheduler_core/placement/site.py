"""All that placing works on, made once from a snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from scheduler_core.fit import Fit
from scheduler_core.ledger import Ledger
from scheduler_core.nodes import NodeTable
from scheduler_core.nominations import Nominations
from scheduler_core.options import PlacingOptions
from scheduler_core.placement.looked import Looked
from scheduler_core.placement.node_score import Floats
from scheduler_core.placement.plugins import Plugins
from scheduler_core.relations.relations import Relations
from scheduler_core.snapshot import ClusterSnapshot
from scheduler_core.topology import Topology

NO_PLUGINS = Plugins()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Nodes, what is taken on them, and what may stand where.

    Attributes:
        room: shape (2, nodes) float64: allocatable millicores and bytes.
        whole: whether every node has some of both.
        nominations: room kept for pods that were promised a node.
        looked: how many candidate placements were looked at so far.

    """

    nodes: NodeTable
    topology: Topology
    ledger: Ledger
    fit: Fit
    relations: Relations
    room: Floats
    whole: bool
    options: PlacingOptions
    nominations: Nominations
    plugins: Plugins = NO_PLUGINS
    looked: Looked = dataclasses.field(default_factory=Looked)

    @classmethod
    def of(cls, snapshot: ClusterSnapshot, options: PlacingOptions, ignore: Iterable[str] = (), plugins: Plugins = NO_PLUGINS) -> Site:
        """The site of *snapshot*, with what is bound taken; fields in *ignore* are passed over though they are not modelled."""
        topology = Topology(snapshot.nodes)
        ledger = Ledger(topology)
        ledger.bind(pod for pod in snapshot.pods if pod.node >= 0)
        nominations = Nominations(ledger, snapshot.pods)
        ledger.forget()
        room = snapshot.nodes.allocatable[:2].astype(float)
        fit, relations = Fit(snapshot.nodes, ignore), Relations(snapshot)
        return cls(snapshot.nodes, topology, ledger, fit, relations, room, bool(room.all()), options, nominations, plugins)
