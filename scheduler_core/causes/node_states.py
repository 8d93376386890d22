"""Causes about the nodes themselves: taints, labels, cordons, and what a plugin refuses for a reason of its own."""

from __future__ import annotations

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from kubeapi.selectors import NodeSelectorTerm, Requirement
from scheduler_core.causes.filter_reasons import FilterReason, UnmodelledField
from scheduler_core.causes.node_count import NodeCount


class FurtherTaint(Record, frozen=True):
    """Taint that the pod does not tolerate either, of some of the nodes that a cause is about."""

    taint: Taint
    nodes: NodeCount


class UntoleratedTaint(Record, frozen=True):
    """Nodes with a taint that the pod does not tolerate; the first such taint of each node counts.

    Attributes:
        further_taints: other such taints of these nodes.

    """

    taint: Taint
    nodes: NodeCount
    further_taints: tuple[FurtherTaint, ...] = ()


class Cordoned(Record, frozen=True):
    """Nodes with ``spec.unschedulable``.

    Attributes:
        further_taints: taints of these nodes that the pod does not tolerate, without the one that a cordon sets.

    """

    nodes: NodeCount
    further_taints: tuple[FurtherTaint, ...] = ()


class NodeAffinityMismatch(Record, frozen=True):
    """Nodes that the pod does not select.

    Attributes:
        node_selector: labels and values of ``spec.nodeSelector``.
        node_affinity: True if the pod also requires node affinity.
        node_selector_terms: terms of that affinity, of which a node must match one: all its expressions and fields.
        unmet_requirements: labels and names that no node of the cluster has, and that the pod cannot do without: all of
            ``spec.nodeSelector``, and if each term has one, the first of each.

    """

    nodes: NodeCount
    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: bool = False
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
    unmet_requirements: tuple[Requirement, ...] = ()


class NodesRefused(Record, frozen=True):
    """Nodes that a plugin refuses.

    Attributes:
        reason: reason of the plugin, most often a constant of kube-scheduler.
        plugin: name of the plugin; empty for a plugin of kube-scheduler.

    """

    reason: FilterReason
    nodes: NodeCount
    plugin: str = ""


class PodRefused(Record, frozen=True):
    """Pod that a plugin refuses whatever the node (PreFilter); *reason* is its own text."""

    reason: str


class UnusableCapacity(Record, frozen=True):
    """Node whose free capacity no new pod can use; the first field that is set is the reason.

    Attributes:
        cordoned: True if it has ``spec.unschedulable``.
        taints: keys of the taints with which Kubernetes keeps new pods away.
        exhausted: resources of which nothing is left.

    """

    cordoned: bool
    taints: tuple[str, ...]
    exhausted: tuple[str, ...]


NodeStateCause = Cordoned | UntoleratedTaint | NodeAffinityMismatch | UnmodelledField | NodesRefused | PodRefused
