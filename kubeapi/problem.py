"""Problems and notes: what is said about objects that are read, by kind; what a problem says is a fact, a value of the package that finds it."""

from __future__ import annotations

import enum
from typing import ClassVar, Protocol

from kubeapi.base_structs import Record, as_tuple
from kubeapi.names import Name


class ProblemKind(enum.StrEnum):
    """Kind of a problem or note.  Programs decide by it, not by the texts; the words are never changed."""

    OTHER_PROGRAM = "other-program"
    """Text of another program; Muster itself always states another kind."""

    # Inputs that are not used.
    NO_FILE = "no-file"
    """A directory has no file to read."""
    UNREADABLE_FILE = "unreadable-file"
    """A file, or a part of one, cannot be read."""
    UNREADABLE_RESOURCE = "unreadable-resource"
    """An API server refuses to give, or to list, objects, or to review permissions."""
    UNREADABLE_OBJECT = "unreadable-object"
    """An object cannot be sorted by its kind, and is left out."""
    OBJECT_LEFT_OUT = "object-left-out"
    """An object of a known kind cannot be used, and is left out."""
    SEVERAL_OBJECTS = "several-objects"
    """Objects of one name differ; one of them is used."""

    # Objects that are not used in full, or otherwise than they were written.
    INVALID_FIELD = "invalid-field"
    """A part of an object has an error, and has no effect."""
    FIELD_DROPPED = "field-dropped"
    """A field is dropped, because its feature gate is off."""
    UNKNOWN_PRIORITY_CLASS = "unknown-priority-class"
    UNKNOWN_NOMINATED_NODE = "unknown-nominated-node"
    UNUSABLE_POOL = "unusable-pool"
    """A pool of devices, or several, of which kube-scheduler allocates nothing."""
    NOT_MODELLED = "not-modelled"
    """A valid part of a scheduler configuration is ignored."""
    TEMPLATE_DIFFERS = "template-differs"
    """A group has other values than the template of its Workload; those of the group count."""
    POD_SLOTS_ASSUMED = "pod-slots-assumed"
    """Nodes that were written by hand do not say how many pods they take."""
    PARTLY_SCORED = "partly-scored"
    """Every feasible node is scored, while kube-scheduler scores a part of the nodes."""

    # Names that do not exist.
    UNKNOWN_TOPOLOGY_KEY = "unknown-topology-key"
    """No node has the topology key of a group, but a similar label."""
    UNKNOWN_LABEL = "unknown-label"
    """No node has a label that a pod requires, but a similar one."""
    UNKNOWN_RESOURCE = "unknown-resource"
    """No node has a resource that a pod requests, but a similar one."""
    LABEL_CASE = "label-case"
    """A label differs from a topology key, or from another value of it, only in case."""
    UNKNOWN_ATTRIBUTE = "unknown-attribute"
    """No device has an attribute that is to be a topology level."""
    IN_NO_DOMAIN = "in-no-domain"
    """The devices of a node have several values of such an attribute."""
    ATTRIBUTE_WITHOUT_LEVEL = "attribute-without-level"
    """The topology key of a group is an attribute of devices that is no topology level."""
    MISSING_OBJECT = "missing-object"
    """An object that pods name does not exist, and they wait for it."""
    MISSING_NAMESPACE = "missing-namespace"
    """The labels or annotations of a namespace decide, and it is not among the objects."""

    # Objects of controllers.
    NOT_SIMULATED = "not-simulated"
    """An object creates pods, or may create pods, that cannot be simulated."""
    CREATES_NO_PODS = "creates-no-pods"
    HAS_ENDED = "has-ended"
    TAKEN_WITHOUT_PODS = "taken-without-pods"
    """An object of an unknown kind is said to create no pods."""
    WITHOUT_PODS = "without-pods"
    """A group has no pods that could be judged."""
    HAS_NODE = "has-node"
    """The pods of an object name their node, and are not scheduled."""
    NOT_EXPRESSED = "not-expressed"
    """A group cannot express a part of an object."""
    CONVERSION_WARNING = "conversion-warning"
    """Warning about the conversion of an object to groups and pods."""
    GANG_WAITS_FOR_LATER = "gang-waits-for-later"
    """Pods are never created, because they come after pods of a gang that waits for them."""
    CRITICAL_PODS = "critical-pods"
    """Pods have no group, because no group can have their priority class."""
    GANG_REQUEST = "gang-request"
    """Consequence of the option that judges pods as one gang."""
    LATER_UPDATE_HANGS = "later-update-hangs"
    """The next update of the pods of a new object would not be finished."""
    NOT_ONE_GANG = "not-one-gang"
    """Pods cannot be one gang, which was requested."""

    # Admission by the API server, and by others.
    REFUSED = "refused"
    """The API server refuses an object, or its pods."""
    QUOTA_UNKNOWN = "quota-unknown"
    """A quota may refuse objects: it is not known how many of them it counts already, or how many are created."""
    PLUGINS_ON = "plugins-on"
    """The API server of the cluster turns on admission plugins that are off by default."""
    PLUGINS_ASSUMED = "plugins-assumed"
    """The plugins that are on are those of a platform's documentation, or would be if the cluster did not show them."""
    FITS_WITH_PLUGIN = "fits-with-plugin"
    """Pods without a node would get one if an admission plugin was on."""
    NOT_ADMITTED = "not-admitted"
    """Kueue does not admit a job, so its pods do not start."""
    KUEUE_QUOTAS = "kueue-quotas"
    """What Kueue's quotas make of a job that is judged as admitted."""
    KUEUE_GROUP = "kueue-group"
    """Kueue admits pods together that are placed one by one here."""
    VOLUME_PLACE_UNKNOWN = "volume-place-unknown"
    """A volume is provided before its pod has a node: it is taken for granted that the nodes can use it."""

    DRAIN = "drain"
    """What the eviction of the pods of drained nodes meets."""

    # The answer.
    REMEDIES_LIMITED = "remedies-limited"
    """Remedies were not searched for all roots."""


class Fact(Protocol):
    """Content of a problem or note, what is wrong or said: a record, or a member of an enumeration."""

    @property
    def problem_kind(self) -> ProblemKind:
        """Return the kind of the problem or note."""


class Problem(Record, frozen=True):
    """Problem or note about objects, or about a place.

    Attributes:
        fact: what is wrong, or said.
        names: all objects that it is about; cluster-scoped objects have an empty namespace.
        place: where it is if it is about no object, such as a file with a line, the path of an API, or a part of Kubernetes.

    """

    fact: Fact
    names: tuple[Name, ...] = ()
    place: str = ""

    @classmethod
    def about(cls, name: Name, fact: Fact) -> Problem:
        """Return the problem of one object."""
        return cls(fact, (name,))

    @property
    def kind(self) -> ProblemKind:
        """Return the kind, by which programs decide."""
        return self.fact.problem_kind


def in_order(problems: set[Problem]) -> tuple[Problem, ...]:
    """Return *problems* in an order that depends on nothing but their content."""
    return tuple(sorted(problems, key=lambda each: ([*map(as_tuple, each.names)], each.place, repr(each.fact))))


# Objects that are not used, whatever their kind.


class ObjectUnreadable(Record, frozen=True):
    """Object that cannot be sorted by its kind, with the error."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_OBJECT
    error: str


class ObjectLeftOut(Record, frozen=True):
    """Object of a known kind that cannot be used, with the error; *field* is empty if the error names the field, or if it is in none."""

    problem_kind: ClassVar = ProblemKind.OBJECT_LEFT_OUT
    error: str
    field: str = ""


class SeveralApiGroups(Record, frozen=True):
    """Objects of one kind and name in two API groups; that of the group *used* is used."""

    problem_kind: ClassVar = ProblemKind.SEVERAL_OBJECTS
    used: str
    ignored: str


class SeveralObjects(Record, frozen=True):
    """Objects of one name with different content; the one that sorts first as JSON is used."""

    problem_kind: ClassVar = ProblemKind.SEVERAL_OBJECTS
