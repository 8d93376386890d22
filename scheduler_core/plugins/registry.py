"""Modelled plugins by kind, each kind in the filter order of kube-scheduler's default profile.

To add a plugin, add its file, a line here, and its place in the order.  The kinds filter in the order static, ledger, node-local,
stateful, except that static plugins with ``last`` filter after all others; kube-scheduler's messages have its own order.
"""

from __future__ import annotations

import functools

from scheduler_core.model.pods import PodShape
from scheduler_core.plugins.base import LedgerPlugin, NodeLocalPlugin, Plugin, StatefulPlugin, StaticPlugin
from scheduler_core.plugins.claim_allocation import ClaimAllocation
from scheduler_core.plugins.declared_values import DeclaredValues
from scheduler_core.plugins.dynamic_resources import DeviceAllocation, DynamicResources
from scheduler_core.plugins.image_locality import ImageLocality
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits, SharedVolumeLimits
from scheduler_core.plugins.noderesources import NodeResources
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.plugins.volume_binding import VolumeBinding, VolumeMatching
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone

STATIC: tuple[type[StaticPlugin], ...] = (
    NodeUnschedulable,
    TaintToleration,
    NodeAffinity,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    DynamicResources,
    ImageLocality,
    NodeDeclaredFeatures,
)
OF_CLAIMS: frozenset[type[StaticPlugin]] = frozenset((NodeVolumeLimits, VolumeBinding, VolumeZone, DynamicResources))
"""Static plugins that are only about pods with claims to volumes or devices; no other plugin excludes all nodes in PreFilter."""
LEDGER: tuple[type[LedgerPlugin], ...] = (NodePorts,)
NODE_LOCAL: type[NodeLocalPlugin] = NodeResources
STATEFUL: tuple[type[StatefulPlugin], ...] = (
    VolumeRestrictions,
    SharedVolumeLimits,
    VolumeMatching,
    PodTopologySpread,
    InterPodAffinity,
    DeviceAllocation,
)


_ORDER = (
    "UnmodelledFields",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
"""Plugins in the filter order of kube-scheduler's default profile."""


def is_of_kube_scheduler(plugin: str) -> bool:
    """Return whether kube-scheduler's default profile has a plugin of this name."""
    return plugin in _ORDER


def position(plugin: str) -> int:
    """Return the position of *plugin* in the filter order of kube-scheduler's default profile.

    Of other plugins, static ones are next to NodeAffinity, and the rest is last.
    """
    if plugin in _ORDER:
        return _ORDER.index(plugin)
    static = any(each.name == plugin and not each.last for each in STATIC)
    return _ORDER.index(NodeAffinity.name) if static else len(_ORDER)


def one_by_one(shape: PodShape) -> bool:
    """Return whether a ledger plugin applies to *shape*, so that its pods are placed one by one."""
    return any(plugin.touches(shape) for plugin in LEDGER if shape.profile.filters(plugin.name))


def used_by(shape: PodShape) -> bool:
    """Return whether pods of *shape* can affect a verdict of a stateful plugin."""
    return any(plugin.used_by(shape) for plugin in STATEFUL)


def has_constraints(shape: PodShape) -> bool:
    """Return the same without the plugins that give claims a volume or devices."""
    return any(plugin.used_by(shape) for plugin in STATEFUL if not issubclass(plugin, ClaimAllocation))


def modelled() -> tuple[type[Plugin], ...]:
    """Return all modelled plugins in filter order; of a plugin of several kinds, only the first."""
    plugins: dict[str, type[Plugin]] = {}
    for plugin in (*STATIC, *LEDGER, NODE_LOCAL, *STATEFUL):
        plugins.setdefault(plugin.name, plugin)
    return tuple(plugins.values())


def declared() -> DeclaredValues:
    """Return the values that the plugins keep of nodes and pods."""
    return _declared(STATIC, LEDGER, NODE_LOCAL, STATEFUL)


@functools.cache
def _declared(
    static: tuple[type[Plugin], ...], ledger: tuple[type[Plugin], ...], local: type[Plugin], stateful: tuple[type[Plugin], ...]
) -> DeclaredValues:
    plugins = (*static, *ledger, local, *stateful)
    of_nodes = dict.fromkeys(value for plugin in plugins for value in plugin.node_values)
    return DeclaredValues.collected(of_nodes, dict.fromkeys(value for plugin in plugins for value in plugin.pod_values))
