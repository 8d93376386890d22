"""What the linter found, as values: findings, their place, and the report of one call."""

from __future__ import annotations

import dataclasses

from validators.lint.places import Span
from validators.rules.base import Severity

UNREADABLE = "unreadable"
NOT_KUBERNETES = "not-kubernetes"
UNUSED_SUPPRESSION = "unused-suppression"

EXIT_FOUND = 1
EXIT_COULD_NOT_LOOK = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """The object that a finding is about.  ``namespace`` is empty for kinds that have none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind or 'object'} {name}".rstrip("/ ")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong, at a place in a file.

    ``type`` is the Kubernetes error type, None where none applies; ``field`` is empty for the file or the object itself;
    ``index`` counts the objects of the file from 0, None where the finding is about no object; ``source`` is the line.
    """

    rule: str
    severity: Severity
    message: str
    type: str | None
    field: str
    file: str
    span: Span
    document: Subject | None = None
    index: int | None = None
    source: str = ""

    @property
    def docs(self) -> str:
        """Where the rule is explained, as a path in the project."""
        return f"validators/rules/README.md#{self.rule}"

    @property
    def order(self) -> tuple[bytes, int, int, str, str, str]:
        """Sorts by file (bytewise), line, column, field, rule."""
        return file_order(self.file), self.span.line, self.span.column, self.field, self.rule, self.message


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """An object that was judged, well or not."""

    file: str
    index: int
    subject: Subject


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """Counts over one call.  ``documents`` are Kubernetes objects, the ``foreign`` ones among them."""

    files: int = 0
    documents: int = 0
    foreign: int = 0
    errors: int = 0
    warnings: int = 0
    suppressed: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """All of one call: findings in order, counts, and what was looked at."""

    findings: tuple[Finding, ...]
    summary: Summary
    files: tuple[str, ...] = ()
    checked: tuple[Checked, ...] = ()
    could_not_look: bool = False
    """Whether a file or a document could not be read."""

    @property
    def exit_status(self) -> int:
        """0 where nothing is wrong but warnings; 1 for errors, 2 for what could not be read, 3 for both."""
        errors = any(each.severity is Severity.ERROR and each.rule != UNREADABLE for each in self.findings)
        return (EXIT_FOUND if errors else 0) | (EXIT_COULD_NOT_LOOK if self.could_not_look else 0)


def file_order(file: str) -> bytes:
    """Files sort by the bytes of their names."""
    return file.encode("utf-8", "surrogateescape")
