"""Problems and notes of a request: its files, and what controllers and the API server make of the objects at PATH."""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

from kubeapi.problem import ProblemKind
from scheduler_core.causes.changes import SearchedRoots
from scheduler_core.model.names import Name

# Files, and what an API server answers.


@dataclasses.dataclass(frozen=True, slots=True)
class NoFile:
    """Directory without a file that has one of the *suffixes*."""

    problem_kind: ClassVar = ProblemKind.NO_FILE
    suffixes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class FileUnreadable:
    """File that cannot be read, with the error of the system."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str


@dataclasses.dataclass(frozen=True, slots=True)
class FileTooLarge:
    """File of more than *most_json* bytes of JSON, or of more than *most_yaml* bytes if it is YAML (None: it is JSON)."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    most_json: int
    most_yaml: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TextNotJson:
    """Part of a file that is not JSON."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str


@dataclasses.dataclass(frozen=True, slots=True)
class KeyRepeated:
    """JSON object with a key that it has twice."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentUnreadable:
    """Document of a file that is no object; *left_out* if the other documents are used."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str
    left_out: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class AlsoDefined:
    """Object that is also at *first_place*, where it is used."""

    problem_kind: ClassVar = ProblemKind.SEVERAL_OBJECTS
    duplicate: Name
    first_place: str


class RefusedRequest(enum.StrEnum):
    """Request that an API server refuses."""

    LIST = "list"
    READ = "read"
    DISCOVERY = "discovery"
    REVIEW_PERMISSIONS = "review-permissions"


@dataclasses.dataclass(frozen=True, slots=True)
class RequestRefused:
    """Request that the API server refuses, with its text."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_RESOURCE
    request_kind: RefusedRequest
    error: str


# Objects of controllers.


@dataclasses.dataclass(frozen=True, slots=True)
class NotSimulated:
    """Object that creates pods, or may create pods, which are not simulated.

    Attributes:
        detail: text of its adapter, or of the rules of its kind.
        unknown_kind: its kind and API group if it is not known whether it creates pods.

    """

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    detail: str
    unknown_kind: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ManagedElsewhere:
    """Object whose *field* names another controller than the usual one."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    field: str
    manager: str


@dataclasses.dataclass(frozen=True, slots=True)
class FieldsUnknown:
    """Object with *fields* that *source*, its project in a version, does not have."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    fields: tuple[str, ...]
    source: str


@dataclasses.dataclass(frozen=True, slots=True)
class CreatedTwice:
    """Object for which *duplicate* is created, as it is for *origin*."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED
    duplicate: Name
    origin: Name


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateWithoutContainers:
    """Object with a pod template that has no containers."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED


@dataclasses.dataclass(frozen=True, slots=True)
class NameMissing:
    """Object without a name and without a prefix for a generated one."""

    problem_kind: ClassVar = ProblemKind.NOT_SIMULATED


WhyNotSimulated = NotSimulated | ManagedElsewhere | FieldsUnknown | CreatedTwice | TemplateWithoutContainers | NameMissing
"""Why the pods of an object are not simulated."""


class ObjectNote(enum.StrEnum):
    """What is said about an object at PATH by its kind alone."""

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


@dataclasses.dataclass(frozen=True, slots=True)
class NotExpressed:
    """Field of an object that groups cannot express; *detail* is the text of its adapter."""

    problem_kind: ClassVar = ProblemKind.NOT_EXPRESSED
    field: str
    detail: str


@dataclasses.dataclass(frozen=True, slots=True)
class ConversionWarning:
    """Warning about a field of an object that is converted; *detail* is the text of its adapter."""

    problem_kind: ClassVar = ProblemKind.CONVERSION_WARNING
    field: str
    detail: str


@dataclasses.dataclass(frozen=True, slots=True)
class JudgedAsGang:
    """Pods without a group that are judged as one gang."""

    problem_kind: ClassVar = ProblemKind.GANG_REQUEST


@dataclasses.dataclass(frozen=True, slots=True)
class GangsKept:
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


@dataclasses.dataclass(frozen=True, slots=True)
class NotOneGang:
    """Pods of several *namespaces* or *schedulers*, which cannot be one gang as requested."""

    problem_kind: ClassVar = ProblemKind.NOT_ONE_GANG
    namespaces: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()


# Admission by the API server, and by others.


@dataclasses.dataclass(frozen=True, slots=True)
class RefusedByServer:
    """Object that the API server refuses, or whose pods it refuses.

    Attributes:
        detail: its text.
        position: file, line and column of the error; empty if they are not known.

    """

    problem_kind: ClassVar = ProblemKind.REFUSED
    detail: str
    position: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateMissing:
    """Pods that name a ResourceClaimTemplate which does not exist; *similar* is the name of a similar one."""

    problem_kind: ClassVar = ProblemKind.MISSING_OBJECT
    template: Name
    similar: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class FieldsUnreadable:
    """ResourceQuota, LimitRange or RuntimeClass with fields that cannot be read, with the error of each; they are not applied."""

    problem_kind: ClassVar = ProblemKind.INVALID_FIELD
    errors: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class KueueQuotas:
    """Number of queues of Kueue in the cluster, whose quotas are not considered."""

    problem_kind: ClassVar = ProblemKind.KUEUE_QUOTAS
    queues: int


@dataclasses.dataclass(frozen=True, slots=True)
class PlaceUnknown:
    """Claims of classes that provide volumes at once; *ephemeral*: those of the ephemeral volumes of an object's pods."""

    problem_kind: ClassVar = ProblemKind.VOLUME_PLACE_UNKNOWN
    ephemeral: bool = False


RequestNote = (
    NoFile
    | FileUnreadable
    | FileTooLarge
    | TextNotJson
    | KeyRepeated
    | DocumentUnreadable
    | AlsoDefined
    | RequestRefused
    | WhyNotSimulated
    | ObjectNote
    | NotExpressed
    | ConversionWarning
    | JudgedAsGang
    | GangsKept
    | NotOneGang
    | RefusedByServer
    | TemplateMissing
    | FieldsUnreadable
    | KueueQuotas
    | PlaceUnknown
    | SearchedRoots
)
"""What is said about a request, besides its result."""
