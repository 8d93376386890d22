"""Results of the linter: findings with their positions, and the report of one run."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Mapping

from kubeapi.base_structs import Record, record_field
from kubeapi.meta import replaced
from validators.lint.places import Span
from validators.rules.base import Severity

UNREADABLE = "unreadable"
NOT_KUBERNETES = "not-kubernetes"
UNUSED_SUPPRESSION = "unused-suppression"

LONGEST_NAME = 500
"""Characters of names of an object in its findings; a valid name has at most 253."""
LONGEST_TEXT = 5000
"""Characters of the message and of the field of a finding: an object can have thousands, each with a key or a value of a megabyte."""
EXIT_ERRORS = 1
EXIT_UNREADABLE = 2


class Subject(Record, frozen=True):
    """Object of a finding.  ``namespace`` is empty for cluster-scoped kinds."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind or 'object'} {name}".rstrip("/ ")


class Owner(Record, frozen=True, order=True):
    """Topmost controller of an object of a cluster; the object itself if it has none.  ``namespace`` can be empty."""

    namespace: str = ""
    kind: str = ""
    name: str = ""


class Edit(Record, frozen=True, order=True):
    """Replacement of a part of a file, as offsets in its text without byte order mark."""

    start: int
    end: int
    text: str


class TextFix(Record, frozen=True):
    """Edits of a file that resolve a finding, with their places.  An unsafe fix may not be what the author wants."""

    title: str
    edits: tuple[Edit, ...]
    is_safe: bool
    spans: tuple[Span, ...] = ()
    """The replaced part of each edit."""


class Finding(Record, frozen=True, kw_only=True):
    """Error or warning at a position in a file.

    ``type`` is the Kubernetes error type, None if none applies.  ``field`` is empty for the file or the object itself.
    ``index`` counts the objects of the file from 0; it is None if the finding is not about an object.  ``source`` is the
    text of the line.  ``owner`` is given for objects of a cluster.
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
    fix: TextFix | None = None
    owner: Owner | None = None
    is_counted: bool = False
    """True if reports for people only count it: there can be hundreds of such files in a repository, and nobody named this one."""

    @property
    def docs(self) -> str:
        """The documentation of the rule, as a path in the project."""
        return f"validators/rules/README.md#{self.rule}"

    @property
    def order(self) -> tuple[bytes, int, int, str, str, str]:
        """The sort key: file (bytewise), line, column, field, rule."""
        return file_order(self.file), self.span.line, self.span.column, self.field, self.rule, self.message


class Checked(Record, frozen=True):
    """Object that was validated, with or without findings."""

    file: str
    index: int
    subject: Subject


class Summary(Record, frozen=True):
    """Counts of one run.

    ``documents`` are Kubernetes objects, including ``foreign`` ones, which are not judged; ``foreign_kinds`` counts these by kind, with the
    API group after a dot if there is one.
    """

    files: int = 0
    documents: int = 0
    foreign: int = 0
    errors: int = 0
    warnings: int = 0
    suppressed: int = 0
    baselined: int = 0
    foreign_kinds: Mapping[str, int] = record_field(default_factory=dict)


class Report(Record, frozen=True):
    """Result of one run: findings in order, counts, and the files and objects that were validated."""

    findings: tuple[Finding, ...]
    summary: Summary
    files: tuple[str, ...] = ()
    checked: tuple[Checked, ...] = ()
    has_unreadable: bool = False
    """True if a file or a document could not be read."""
    skipped: Mapping[str, int] = record_field(default_factory=dict)
    """Number of skipped files of each other tool, which are not among ``files``."""

    def with_skipped(self, skipped: Mapping[str, int]) -> Report:
        """Return this report with further *skipped* files."""
        return replaced(self, skipped=dict(collections.Counter(self.skipped) + collections.Counter(skipped)))

    def with_findings(self, findings: Iterable[Finding]) -> Report:
        """Return this report with *findings* and their counts."""
        findings = tuple(findings)
        errors = sum(each.severity is Severity.ERROR for each in findings)
        summary = replaced(self.summary, errors=errors, warnings=len(findings) - errors)
        return replaced(self, findings=findings, summary=summary)

    def joined(self, others: Iterable[Report]) -> Report:
        """Return one report with the findings, counts and files of this one and *others*."""
        reports = (self, *others)
        names = set(Summary.__struct_fields__) - {"foreign_kinds"}
        kinds = sum((collections.Counter(each.summary.foreign_kinds) for each in reports), collections.Counter[str]())
        summary = Summary(**{name: sum(getattr(each.summary, name) for each in reports) for name in names}, foreign_kinds=dict(kinds))
        return replaced(
            self,
            summary=summary,
            files=tuple(sorted((file for each in reports for file in each.files), key=file_order)),
            checked=tuple(each for report in reports for each in report.checked),
            has_unreadable=any(each.has_unreadable for each in reports),
        ).with_findings(sorted((each for report in reports for each in report.findings), key=lambda each: each.order))

    @property
    def exit_status(self) -> int:
        """0 without findings or with warnings only, 1 with errors, 2 if something could not be read, 3 for both."""
        return self.status_if((Severity.ERROR,))

    def status_if(self, failing: Collection[Severity]) -> int:
        """Return the exit status if findings of the severities *failing* make it 1."""
        failed = any(each.severity in failing and each.rule != UNREADABLE for each in self.findings)
        return (EXIT_ERRORS if failed else 0) | (EXIT_UNREADABLE if self.has_unreadable else 0)


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Return *text*, cut after *most* characters."""
    return text if len(text) <= most else f"{text[:most]}…"


def file_order(file: str) -> bytes:
    """Return the sort key of a file: the bytes of its name."""
    return file.encode("utf-8", "surrogateescape")
