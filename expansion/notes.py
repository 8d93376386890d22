"""Problems and notes about the objects that a person writes: what controllers and the API server make of them, as values without text."""

from __future__ import annotations

import enum
from typing import ClassVar

from expansion.queue_notes import QueueNote
from kubeapi.base_structs import Record
from kubeapi.names import Name
from kubeapi.problem import ProblemKind
from kubeapi.resource_names import Quantity, unit_of_quota
from validators.model.start_order import Event
from workloadbuilder.adapters.skipped_kinds import Skipped

# Objects of controllers.


class NotSimulated(Record, frozen=True):
    """Object that creates pods, or may create pods, which are not simulated.

    Attributes:
        detail: text of its adapter, or of the rules of its kind.
        unknown_kind: its kind and API group, if no adapter reads them.
        template: path of a pod template in such an object, with the path of its number after ``,replicas=`` if there is one; empty if none.

    """

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    detail: str
    unknown_kind: str = ""
    template: str = ""

    @classmethod
    def from_skipped(cls, kind: str, group: str, skipped: Skipped) -> NotSimulated:
        """Return the reason for an object of a kind without an adapter."""
        named = f"{kind}.{group}".rstrip(".") if skipped.unknown or skipped.template else ""
        return cls(skipped.reason, named, ",replicas=".join(filter(None, (skipped.template, skipped.replicas))))


class ManagedElsewhere(Record, frozen=True):
    """Object whose *field* names another controller than the usual one."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    field: str
    manager: str


class FieldsUnknown(Record, frozen=True):
    """Object with *fields* that *source*, its project in a version, does not have."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    fields: tuple[str, ...]
    source: str


class CreatedTwice(Record, frozen=True):
    """Object for which *duplicate* is created, as it is for *origin*."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    duplicate: Name
    origin: Name


class GroupOfOwner(Record, frozen=True):
    """Group of another scheduler that its *owner* has made; the pods that are created for the owner have no group."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    owner: Name


class PodOfTwoGroups(Record, frozen=True):
    """Group of another scheduler with a *pod* that *group*, which is one too, has as a member."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    pod: Name
    group: Name


class TemplateWithoutContainers(Record, frozen=True):
    """Object with a pod template that has no containers."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED


class TaskGroups(Record, frozen=True):
    """Pods with task groups of YuniKorn in the annotation *key*, which are not modelled; *created*: pods of an object, which has none then."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    key: str
    created: bool = True


class ShareNotJudged(Record, frozen=True):
    """Pods with a share of a device that *scheduler* gives them, which is not modelled.

    Attributes:
        scheduler: the project that divides the devices.
        key: the annotation or the resource by which the pods request it.
        annotation: whether it is an annotation.

    """

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    scheduler: str
    key: str
    annotation: bool


class SharesUncounted(Record, frozen=True):
    """Pods with whole devices of *node*, of which *scheduler* gives shares to other pods: they are not counted.

    Attributes:
        node: name of the node.
        scheduler: the project that divides its devices.
        key: the annotation or the resource, of the node or of a pod there, that says so.

    """

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    node: str
    scheduler: str
    key: str


class SharesAhead(Record, frozen=True):
    """Pending pods of the cluster with shares of devices, which come before those at PATH: what they take is not known.

    Attributes:
        scheduler: the project that divides the devices for the first of them.
        key: the annotation or the resource by which it requests its share.

    """

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    scheduler: str
    key: str


class NameMissing(Record, frozen=True):
    """Object without a name and without a prefix for a generated one."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED


WhyNotSimulated = (
    NotSimulated
    | ManagedElsewhere
    | FieldsUnknown
    | CreatedTwice
    | GroupOfOwner
    | PodOfTwoGroups
    | TaskGroups
    | ShareNotJudged
    | SharesAhead
    | SharesUncounted
    | TemplateWithoutContainers
    | NameMissing
)
"""Why the pods of an object are not simulated."""


class ObjectNote(enum.StrEnum):
    """Note about a given object that its kind tells alone."""

    HAS_ENDED = "has-ended"
    CREATES_NO_PODS = "creates-no-pods"
    TAKEN_WITHOUT_PODS = "taken-without-pods"
    WITHOUT_PODS = "without-pods"
    HAS_NODE = "has-node"
    CRITICAL_PODS = "critical-pods"
    KUEUE_GROUP = "kueue-group"

    @property
    def problem_kind(self) -> ProblemKind:
        """Return the kind, which has the same word."""
        return ProblemKind(self.value)


class NotExpressed(Record, frozen=True):
    """Field of an object that groups cannot express; *detail* is the text of its adapter."""

    problem_kind: ClassVar = ProblemKind.NOT_EXPRESSED
    field: str
    detail: str


class ConversionWarning(Record, frozen=True):
    """Warning about a field of an object that is converted; *detail* is the text of its adapter."""

    problem_kind: ClassVar = ProblemKind.CONVERSION_WARNING
    field: str
    detail: str


class NeverCreated(Record, frozen=True):
    """Pods of an object that are created only after others which never run: their gang waits for the pods that come later.

    Attributes:
        pods: number of the pods.
        event: what their controller waits for.
        awaited: the parts of the object that must run before.
        gang: the group, of the pods that would have to run first, that waits; None if others are waited for, which never run either.

    """

    problem_kind: ClassVar = ProblemKind.GANG_WAITS_FOR_LATER
    pods: int
    event: Event
    awaited: tuple[str, ...]
    gang: Name | None = None


class JudgedAsGang(Record, frozen=True):
    """Pods without a group that are judged as one gang."""

    problem_kind: ClassVar = ProblemKind.GANG_REQUEST


class GangsKept(Record, frozen=True):
    """Consequence for groups of the option that judges pods as one gang.

    Attributes:
        keeps_policies: whether the tree has gangs, which are kept.
        topology: topology key of whose domains each tree must be in one; empty if none is requested.
        replaced: topology key of the tree that it replaces.

    """

    problem_kind: ClassVar = ProblemKind.GANG_REQUEST
    keeps_policies: bool = False
    topology: str = ""
    replaced: str = ""


class NotOneGang(Record, frozen=True):
    """Pods of several *namespaces* or *schedulers*, which cannot be one gang as requested."""

    problem_kind: ClassVar = ProblemKind.NOT_ONE_GANG
    namespaces: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()


class KueueGroupIncomplete(Record, frozen=True):
    """Pods of the pod group *group_name* of Kueue, of which *existing* pods exist and *total* are needed."""

    problem_kind: ClassVar = ProblemKind.MISSING_OBJECT
    group_name: str
    existing: int
    total: int


# Admission by the API server, and by others.


class RefusedByServer(Record, frozen=True):
    """Object that the API server refuses, or whose pods it refuses.

    Attributes:
        detail: its text.
        position: file, line and column of the error; empty if they are not known.

    """

    problem_kind: ClassVar = ProblemKind.REFUSED
    detail: str
    position: str = ""


class RefusedByKueue(Record, frozen=True):
    """Object that Kueue refuses, or whose pods it never admits.

    Attributes:
        detail: its text.
        position: file, line and column of the error; empty if they are not known.

    """

    problem_kind: ClassVar = ProblemKind.REFUSED
    detail: str
    position: str = ""


class TemplateMissing(Record, frozen=True):
    """Pods that name a ResourceClaimTemplate which does not exist; *similar* is the name of a similar one."""

    problem_kind: ClassVar = ProblemKind.MISSING_OBJECT
    template: Name
    similar: str = ""


class GroupMissing(Record, frozen=True):
    """Pods that name a PodGroup which does not exist.

    Attributes:
        group: the PodGroup.
        similar: name of a similar one.
        api_group: API group of the PodGroup if it is one of another scheduler.

    """

    problem_kind: ClassVar = ProblemKind.MISSING_OBJECT
    group: Name
    similar: str = ""
    api_group: str = ""


class FieldsUnreadable(Record, frozen=True):
    """ResourceQuota, LimitRange or RuntimeClass with fields that cannot be read, with the error of each; they are not applied."""

    problem_kind: ClassVar = ProblemKind.INVALID_FIELD
    errors: tuple[tuple[str, str], ...]


class AnnotationsUnknown(Record, frozen=True):
    """Namespaces whose annotations an admission plugin reads, and that are not among the objects."""

    problem_kind: ClassVar = ProblemKind.MISSING_NAMESPACE


class PluginsOn(Record, frozen=True):
    """Admission plugins, off by default, that the API server of the cluster turns on: new pods are admitted with them."""

    problem_kind: ClassVar = ProblemKind.PLUGINS_ON
    plugins: tuple[str, ...]


class PluginsAssumed(Record, frozen=True):
    """Admission plugins, off by default, that are on by the documentation of a platform: new pods are admitted with them.

    Attributes:
        plugins: the plugins.
        source: address of the documentation.
        as_of: its date.

    """

    problem_kind: ClassVar = ProblemKind.PLUGINS_ASSUMED
    plugins: tuple[str, ...]
    source: str
    as_of: str


class PlatformNotAssumed(Record, frozen=True):
    """Preset of a platform that is not used, because the cluster shows the options of its API server."""

    problem_kind: ClassVar = ProblemKind.PLUGINS_ASSUMED


class FitsWithPlugin(Record, frozen=True):
    """Objects without a node, whose pods all get one if an admission plugin is on when they are created; a trial has verified that.

    Attributes:
        plugin: the plugin.
        stored: whether the pods are stored already, so that they must be created again.

    """

    problem_kind: ClassVar = ProblemKind.FITS_WITH_PLUGIN
    plugin: str
    stored: bool = False


class KueueQuotas(Record, frozen=True):
    """Number of queues of Kueue in the cluster, whose quotas are not considered, because no object names a queue."""

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    queues: int


class PlaceUnknown(Record, frozen=True):
    """Claims of classes that provide volumes at once; *ephemeral*: those of the ephemeral volumes of an object's pods."""

    problem_kind: ClassVar = ProblemKind.VOLUME_PLACE_UNKNOWN
    ephemeral: bool = False


# ResourceQuotas that refuse new objects, or may refuse them.


class QuotaExceeded(Record, frozen=True):
    """New objects that need more of a resource than a ResourceQuota leaves.

    Attributes:
        quota: the ResourceQuota.
        quota_resource: name of the resource in the ResourceQuota.
        free: amount that it leaves.
        needed: amount that the new objects need together.
        may_exist: True if it may count some of the objects already, so that there would be enough.

    """

    quota: Name
    quota_resource: str
    free: Quantity
    needed: Quantity
    may_exist: bool = False

    @property
    def problem_kind(self) -> ProblemKind:
        """Return whether the quota refuses the objects, or may refuse them."""
        return ProblemKind.QUOTA_UNKNOWN if self.may_exist else ProblemKind.REFUSED

    @property
    def resource(self) -> str:
        """Return the resource in whose units the amounts are."""
        return unit_of_quota(self.quota_resource)


class QuotaRequiresAmounts(Record, frozen=True):
    """Pods with a container that lacks requests or limits that a ResourceQuota limits.

    Attributes:
        quota: the ResourceQuota.
        quota_resources: names of their resources in the ResourceQuota.

    """

    problem_kind: ClassVar = ProblemKind.REFUSED
    quota: Name
    quota_resources: tuple[str, ...]


class ObjectsUncounted(Record, frozen=True):
    """Objects that a ResourceQuota counts, and that a controller creates in an unknown number.

    Attributes:
        quota: the ResourceQuota.
        quota_resource: name of the resource in the ResourceQuota.

    """

    problem_kind: ClassVar = ProblemKind.QUOTA_UNKNOWN
    quota: Name
    quota_resource: str


QuotaCause = QuotaExceeded | QuotaRequiresAmounts | ObjectsUncounted
"""Why a ResourceQuota refuses new objects; ``ObjectsUncounted`` and, with *may_exist*, ``QuotaExceeded`` say that it may refuse them."""

Note = (
    WhyNotSimulated
    | ObjectNote
    | NotExpressed
    | ConversionWarning
    | NeverCreated
    | JudgedAsGang
    | GangsKept
    | NotOneGang
    | RefusedByServer
    | RefusedByKueue
    | TemplateMissing
    | GroupMissing
    | KueueGroupIncomplete
    | FieldsUnreadable
    | AnnotationsUnknown
    | PluginsOn
    | PluginsAssumed
    | PlatformNotAssumed
    | FitsWithPlugin
    | KueueQuotas
    | QueueNote
    | PlaceUnknown
    | QuotaCause
)
"""What is said about an object, besides the groups and pods that arise."""
