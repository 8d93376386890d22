"""Problems of the files of a request, and of what an API server answers, as values; ``problem_words`` has their text."""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

from kubeapi.names import Name
from kubeapi.problem import ProblemKind


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
    """File of more than *most_json* bytes of JSON, or of more than *most_yaml* bytes if it is YAML (no limit is given for JSON)."""

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


class CreatingTool(enum.StrEnum):
    """Tool that creates objects from files of its own."""

    HELM = "Helm"
    KUSTOMIZE = "Kustomize"

    def rendered_for(self, command: str) -> str:
        """Return the line of a shell that gives the objects of a chart, or of a kustomization, to *command*."""
        return f"{'helm template CHART' if self is CreatingTool.HELM else 'kubectl kustomize DIRECTORY'} | {command} -"


@dataclasses.dataclass(frozen=True, slots=True)
class FilesOfTool:
    """Files of a tool below a directory, whose objects the command with the name *command* can read."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    tool: CreatingTool
    command: str


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
    DRY_RUN = "dry-run"


@dataclasses.dataclass(frozen=True, slots=True)
class RequestRefused:
    """Request that the API server refuses, with its text."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_RESOURCE
    request_kind: RefusedRequest
    error: str


@dataclasses.dataclass(frozen=True, slots=True)
class PodSlotsAssumed:
    """Nodes written by hand without ``allocatable.pods``, which are taken to have so many *slots*."""

    problem_kind: ClassVar = ProblemKind.POD_SLOTS_ASSUMED
    slots: int


FileNote = (
    NoFile
    | FileUnreadable
    | FileTooLarge
    | TextNotJson
    | KeyRepeated
    | DocumentUnreadable
    | FilesOfTool
    | AlsoDefined
    | RequestRefused
    | PodSlotsAssumed
)
"""What is said about files and requests."""
