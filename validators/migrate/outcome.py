"""Results of a migration.  Lines and columns are those of the input."""

from __future__ import annotations

import dataclasses

from kubeapi.field_path import FieldPath
from validators.lint.finding import Subject
from validators.migrate.change import Change

EXIT_LOST = 1
EXIT_REFUSED = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Spot:
    """Position of a field: file, line, column, object and field path."""

    file: str
    line: int
    column: int
    subject: Subject | None = None
    """The object; None for a file or a document that is not an object."""
    field: str = ""

    @property
    def order(self) -> tuple[bytes, int, int, str]:
        """The sort key: file (bytewise), line, column, field."""
        return self.file.encode("utf-8", "surrogateescape"), self.line, self.column, self.field


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """Value that could not be converted: the value, its meaning, and what to do."""

    spot: Spot
    lost: str
    meant: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """Information without a loss."""

    spot: Spot
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """Error that prevents the migration of a file."""

    spot: Spot
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Migrated:
    """Changed object, as it was before, with its new API version."""

    spot: Spot
    to: str
    changes: tuple[Change, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """PodGroup that was created: its template and Workload, its replica, and the number of references to it.

    ``spot`` is the position of the Workload after which it is written.
    """

    spot: Spot
    subject: Subject
    workload: str
    template: str
    replica_key: str
    references: int


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """Bytes of one file before and after; equal if nothing changed."""

    name: str
    path: str
    before: bytes = dataclasses.field(repr=False)
    after: bytes = dataclasses.field(repr=False)

    @property
    def changed(self) -> bool:
        """True if the file changed."""
        return self.before != self.after


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """Result of one run; all lists are in the order of files and lines.

    If anything is refused, write nothing: files refer to objects in other files.
    """

    files: tuple[File, ...]
    documents: int
    migrated: tuple[Migrated, ...]
    made: tuple[Made, ...]
    losses: tuple[Loss, ...]
    notes: tuple[Note, ...]
    refused: tuple[Refused, ...]

    @property
    def exit_status(self) -> int:
        """0 if everything was converted, 1 with losses, 2 if something could not be read or migrated, 3 for both."""
        return (EXIT_LOST if self.losses else 0) | (EXIT_REFUSED if self.refused else 0)


def dotted(path: tuple[str | int, ...]) -> str:
    """Return a path as text."""
    return str(FieldPath(*path))
