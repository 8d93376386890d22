"""Problems of the files of a request, and of what an API server answers, as values; ``problem_words`` has their text."""

from __future__ import annotations

import enum
from typing import ClassVar

from kubeapi.base_structs import Record
from kubeapi.names import Name
from kubeapi.problem import ProblemKind


class NoFile(Record, frozen=True):
    """Directory without a file that has one of the *suffixes*."""

    problem_kind: ClassVar = ProblemKind.NO_FILE
    suffixes: tuple[str, ...]


class FileUnreadable(Record, frozen=True):
    """File that cannot be read, with the error of the system."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str


class FileTooLarge(Record, frozen=True):
    """File of more than *most_json* bytes of JSON, or of more than *most_yaml* bytes if it is YAML (no limit is given for JSON)."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    most_json: int
    most_yaml: int | None = None


class TextNotJson(Record, frozen=True):
    """Part of a file that is not JSON."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str


class KeyRepeated(Record, frozen=True):
    """JSON object with a key that it has twice."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    error: str


class DocumentUnreadable(Record, frozen=True):
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


class FilesOfTool(Record, frozen=True):
    """Files of a tool below a directory, whose objects the command with the name *command* can read."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_FILE
    tool: CreatingTool
    command: str


class AlsoDefined(Record, frozen=True):
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


class RequestRefused(Record, frozen=True):
    """Request that the API server refuses, with its text."""

    problem_kind: ClassVar = ProblemKind.UNREADABLE_RESOURCE
    request_kind: RefusedRequest
    error: str


class PodSlotsAssumed(Record, frozen=True):
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
