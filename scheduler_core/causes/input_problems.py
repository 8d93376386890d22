"""Problems of the objects of a cluster that are read: what cannot be used, or has no effect, and names that nothing has."""

from __future__ import annotations

import enum
from typing import ClassVar

from kubeapi.base_structs import Record
from kubeapi.problem import ObjectLeftOut, ObjectUnreadable, ProblemKind, SeveralApiGroups, SeveralObjects


class Effect(enum.StrEnum):
    """Effect of an error in a part of an object."""

    TAINT_LEFT_OUT = "taint-left-out"
    TOLERATES_NOTHING = "tolerates-nothing"
    CONSTRAINT_LEFT_OUT = "constraint-left-out"
    SELECTOR_MATCHES_NOTHING = "selector-matches-nothing"
    TERM_MATCHES_NOTHING = "term-matches-nothing"


# Objects that are not used.


class KindNotServed(Record, frozen=True):
    """Group of a kind that the API server does not serve, because the feature gate *gate* is off."""

    problem_kind: ClassVar = ProblemKind.OBJECT_LEFT_OUT
    gate: str


class NodeUnknown(Record, frozen=True):
    """Pod on a node that is not among the nodes."""

    problem_kind: ClassVar = ProblemKind.OBJECT_LEFT_OUT
    node: str


# Objects that are not used in full, or otherwise than they were written.


class UnknownValue(Record, frozen=True):
    """Field with a *value* that is none of those *allowed*."""

    problem_kind: ClassVar = ProblemKind.INVALID_FIELD
    field: str
    value: str
    allowed: tuple[str, ...]
    effect: Effect


class InvalidField(Record, frozen=True):
    """Field that breaks a rule; *detail* is the text of the rule."""

    problem_kind: ClassVar = ProblemKind.INVALID_FIELD
    field: str
    detail: str
    effect: Effect


class FieldDropped(Record, frozen=True):
    """Field that the API server drops, because the feature gate *gate* is off."""

    problem_kind: ClassVar = ProblemKind.FIELD_DROPPED
    field: str
    gate: str


class PriorityClassUnknown(Record, frozen=True):
    """Pod or group with a priority class that does not exist, so that its priority is 0."""

    problem_kind: ClassVar = ProblemKind.UNKNOWN_PRIORITY_CLASS
    priority_class: str


class TemplateDiffers(Record, frozen=True):
    """Group with other values in *differing_fields* than the *template* of its Workload; those of the group count."""

    problem_kind: ClassVar = ProblemKind.TEMPLATE_DIFFERS
    template: str
    differing_fields: tuple[str, ...]


class NominatedNodeUnknown(Record, frozen=True):
    """Pod that is nominated for a node which is not among the nodes."""

    problem_kind: ClassVar = ProblemKind.UNKNOWN_NOMINATED_NODE
    node: str


class PoolIncomplete(Record, frozen=True):
    """Pool of devices of whose newest *generation* only some slices exist.

    Attributes:
        pool_name: driver, pool, and node if the pool is that of a node, joined by slashes.
        generation: the newest generation.
        slices: number of its slices that exist.
        of_slices: number of slices that it has as they state.

    """

    problem_kind: ClassVar = ProblemKind.UNUSABLE_POOL
    pool_name: str
    generation: int
    slices: int
    of_slices: int


class DeviceRepeated(Record, frozen=True):
    """Pool of devices whose slices have a device of one name more than once."""

    problem_kind: ClassVar = ProblemKind.UNUSABLE_POOL
    pool_name: str
    device: str


class MorePoolsUnusable(Record, frozen=True):
    """Number of further pools of devices that are incomplete or invalid."""

    problem_kind: ClassVar = ProblemKind.UNUSABLE_POOL
    pools: int


# Scheduler configuration.


class UnmodelledSetting(enum.StrEnum):
    """Setting of kube-scheduler that is not modelled."""

    EXTENDERS = "extenders"
    CANDIDATES = "candidates-of-preemption"
    FILTER_TIMEOUT = "filter-timeout"
    CAPACITY_SCORE = "capacity-score"


class SettingNotModelled(Record, frozen=True):
    """Field of a scheduler configuration that has no effect."""

    problem_kind: ClassVar = ProblemKind.NOT_MODELLED
    field: str
    setting: UnmodelledSetting


class PluginNotModelled(Record, frozen=True):
    """Plugin in a scheduler configuration that is none of kube-scheduler's default plugins."""

    problem_kind: ClassVar = ProblemKind.NOT_MODELLED
    field: str
    plugin: str


class ArgumentsNotModelled(Record, frozen=True):
    """Arguments of a plugin that are not modelled; *plugin* is empty if it has no name."""

    problem_kind: ClassVar = ProblemKind.NOT_MODELLED
    field: str
    plugin: str = ""


class PluginStaysEnabled(Record, frozen=True):
    """Plugin that a scheduler configuration disables at an extension point where it is always modelled."""

    problem_kind: ClassVar = ProblemKind.NOT_MODELLED
    field: str
    plugin: str
    extension_point: str


class PartlyScored(Record, frozen=True):
    """All feasible nodes are scored, while kube-scheduler scores a part of them, which depends on timing.

    Attributes:
        whole: number of nodes of a domain that kube-scheduler scores whole.
        nodes: number of nodes of the cluster, if it is known.
        scored: number of feasible nodes that kube-scheduler scores of these.
        field: field of the scheduler configuration that says so.

    """

    problem_kind: ClassVar = ProblemKind.PARTLY_SCORED
    whole: int
    nodes: int | None = None
    scored: int | None = None
    field: str = ""


# Names that do not exist.


class LabelSource(enum.StrEnum):
    """Part of a pod that requires a label of nodes."""

    NODE_SELECTOR = "node-selector"
    NODE_AFFINITY = "node-affinity"
    POD_AFFINITY = "pod-affinity"
    POD_ANTI_AFFINITY = "pod-anti-affinity"
    TOPOLOGY_SPREAD = "topology-spread"


class TopologyKeyUnknown(Record, frozen=True):
    """Topology key that no node has, while nodes have the *similar* one."""

    problem_kind: ClassVar = ProblemKind.UNKNOWN_TOPOLOGY_KEY
    key: str
    similar: str


class LabelUnknown(Record, frozen=True):
    """Label that a pod requires and no node has.

    Attributes:
        key: its key.
        required_by: what requires it.
        similar: similar key that nodes have, or similar value if there are *values*.
        values: values of which one is required; empty if no node has the key.

    """

    problem_kind: ClassVar = ProblemKind.UNKNOWN_LABEL
    key: str
    required_by: LabelSource
    similar: str
    values: tuple[str, ...] = ()


class ResourceUnknown(Record, frozen=True):
    """Resource that a pod requests and no node has, while nodes have the *similar* one."""

    problem_kind: ClassVar = ProblemKind.UNKNOWN_RESOURCE
    resource: str
    similar: str


class KeyInOtherCase(Record, frozen=True):
    """Label of a node whose key differs from the topology key *key* only in case."""

    problem_kind: ClassVar = ProblemKind.LABEL_CASE
    node_key: str
    key: str


class ValueInOtherCase(Record, frozen=True):
    """Label of a node that differs from that of *other_node* only in case, so that they are in two domains."""

    problem_kind: ClassVar = ProblemKind.LABEL_CASE
    key: str
    value: str
    other_value: str
    other_node: str


class AttributeUnknown(Record, frozen=True):
    """Attribute that is to be a topology level and that no device has; *similar* is a similar one of devices."""

    problem_kind: ClassVar = ProblemKind.UNKNOWN_ATTRIBUTE
    attribute: str
    similar: str = ""


class SeveralDomains(Record, frozen=True):
    """Node whose devices have several values of an attribute that is a topology level, so that it is in no domain."""

    problem_kind: ClassVar = ProblemKind.IN_NO_DOMAIN
    attribute: str
    values: tuple[str, ...]


class AttributeIsNoLevel(Record, frozen=True):
    """Topology key of a group that is an attribute of devices, but was not declared as a topology level."""

    problem_kind: ClassVar = ProblemKind.ATTRIBUTE_WITHOUT_LEVEL
    key: str


class NamespacesUnknown(Record, frozen=True):
    """Field of a pod that needs the labels of namespaces with pods, which are not among the objects."""

    problem_kind: ClassVar = ProblemKind.MISSING_NAMESPACE
    field: str
    namespaces: tuple[str, ...]


InputProblem = (
    ObjectUnreadable
    | ObjectLeftOut
    | KindNotServed
    | NodeUnknown
    | SeveralApiGroups
    | SeveralObjects
    | UnknownValue
    | InvalidField
    | FieldDropped
    | PriorityClassUnknown
    | TemplateDiffers
    | NominatedNodeUnknown
    | PoolIncomplete
    | DeviceRepeated
    | MorePoolsUnusable
    | SettingNotModelled
    | PluginNotModelled
    | ArgumentsNotModelled
    | PluginStaysEnabled
    | PartlyScored
    | TopologyKeyUnknown
    | LabelUnknown
    | ResourceUnknown
    | KeyInOtherCase
    | ValueInOtherCase
    | AttributeUnknown
    | SeveralDomains
    | AttributeIsNoLevel
    | NamespacesUnknown
)
"""What is wrong with an object of a cluster, or with a scheduler configuration."""
