"""The plugins that are modelled, by kind, each kind in the order in which kube-scheduler's default profile filters.

To add one, add its file and a line here.  Filters run in the order of the kinds: static, ledger,
node-local, stateful.
"""

from __future__ import annotations

from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import LedgerPlugin, NodeLocalPlugin, Plugin, StatefulPlugin, StaticPlugin
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.noderesources import NodeResources
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.taint_toleration import TaintToleration

STATIC: tuple[type[StaticPlugin], ...] = (NodeUnschedulable, TaintToleration, NodeAffinity)
LEDGER: tuple[type[LedgerPlugin], ...] = (NodePorts,)
NODE_LOCAL: type[NodeLocalPlugin] = NodeResources
STATEFUL: tuple[type[StatefulPlugin], ...] = (PodTopologySpread, InterPodAffinity)


def one_by_one(shape: PodShape) -> bool:
    """Whether pods of *shape* hang on what the ledger keeps beside resources, so that each is placed by itself."""
    return any(plugin.touches(shape) for plugin in LEDGER)


def speaks(shape: PodShape) -> bool:
    """Whether pods of *shape* say anything that a stateful plugin filters or scores by."""
    return any(plugin.speaks(shape) for plugin in STATEFUL)


def modelled() -> tuple[type[Plugin], ...]:
    """All of them, in the order in which they filter."""
    return (*STATIC, *LEDGER, NODE_LOCAL, *STATEFUL)
