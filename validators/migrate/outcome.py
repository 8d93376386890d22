"""What a migration came to, as values.  Lines and columns are those of the input."""

from __future__ import annotations

import dataclasses

from validators.field import FieldPath
from validators.lint.finding import Subject
from validators.migrate.change import Change

EXIT_LOST = 1
EXIT_COULD_NOT_LOOK = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Spot:
    """A field of an object, by file, line and column."""

    file: str
    line: int
    column: int
    subject: Subject | None = None
    """None where a file, or a document that is no object, is spoken of."""
    field: str = ""

    @property
    def order(self) -> tuple[bytes, int, int, str]:
        """Sorts by file (bytewise), line, column, field."""
        return self.file.encode("utf-8", "surrogateescape"), self.line, self.column, self.field


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """Something that could not be carried over: what, what it meant, what to do."""

    spot: Spot
    lost: str
    meant: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """Nothing is lost, and yet somebody should know."""

    spot: Spot
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """What stands in the way of migrating a file."""

    spot: Spot
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Migrated:
    """An object that was changed, as it was called before, and its API version after."""

    spot: Spot
    to: str
    changes: tuple[Change, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A PodGroup that was made: by what template of what Workload, for which replica, for how many references.

    ``spot`` is the Workload behind which it stands.
    """

    spot: Spot
    subject: Subject
    workload: str
    template: str
    replica_key: str
    references: int


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """One file before and after: the same bytes where nothing changed."""

    name: str
    path: str
    before: bytes = dataclasses.field(repr=False)
    after: bytes = dataclasses.field(repr=False)

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """All of one call, each list in the order of the files and lines.

    Where anything is refused, nothing should be written: files name objects in one another.
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
        """0 where all was carried over; 1 for losses, 2 for what could not be read or migrated, 3 for both."""
        return (EXIT_LOST if self.losses else 0) | (EXIT_COULD_NOT_LOOK if self.refused else 0)


def dotted(path: tuple[str | int, ...]) -> str:
    """A path as it is told."""
    return str(FieldPath(*path))
