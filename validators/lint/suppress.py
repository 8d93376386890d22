"""Suppression of findings by annotations and comments; unused suppressions are reported.

The annotation ``muster.dev/ignore`` has ``rule-id: reason``, one rule on each line, and hides findings of its own object.
The comment ``# muster: ignore[rule-id, …] reason`` hides findings on its own line, or on the next line if it is alone on
its line.  Without a reason, neither hides anything.

Two rules cannot be suppressed: ``unreadable``, because comments of such a document cannot be recognized, and
``unused-suppression``, because it would hide itself.  ``not-kubernetes`` has no object: only a comment can suppress it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath, Key
from kubeapi.meta import replaced
from validators.lint.comments import Comment
from validators.lint.finding import UNREADABLE, UNUSED_SUPPRESSION, Finding, Subject
from validators.lint.places import Span
from validators.rules.base import Severity

ANNOTATION = "muster.dev/ignore"
ANNOTATION_PATH = FieldPath("metadata", "annotations", Key(ANNOTATION))

_COMMENT = r"muster:[ \t]*ignore[ \t]*\[([^\]]*)\][ \t]*(.*)"
_MALFORMED_COMMENT = "the comment must name its rules and give a reason, as in '# muster: ignore[gang-minimum] filled in by a controller'"
_NEVER_HIDDEN = frozenset({UNREADABLE, UNUSED_SUPPRESSION})

_Target = tuple[str, str, int | None, int]
"""File, rule, and the index of the object or the line."""


class Annotation(Record, frozen=True):
    """Value and position of an object's ``muster.dev/ignore``."""

    file: str
    index: int
    subject: Subject
    value: str
    span: Span
    source: str = ""


class Scope(Record, frozen=True):
    """All rules, and the rules and objects for which unused suppressions can be reported.

    They cannot be reported for rules that are not *active*, nor for objects with an invalid shape, whose validation was
    skipped: by file and index, and by file and the offset of the document that contains them.
    """

    known: Collection[str]
    active: Collection[str]
    objects_skipped: Collection[tuple[str, int]] = frozenset()
    documents_skipped: Collection[tuple[str, int]] = frozenset()


class Outcome(Record, frozen=True):
    """Remaining findings, including those about suppressions, and the number of suppressed findings."""

    findings: tuple[Finding, ...]
    suppressed: int


class _Suppression(Record, frozen=True):
    """Suppression of one rule for one object *index*, or on one *line*."""

    rule: str
    reason: str
    file: str
    index: int | None
    line: int
    warning: Finding
    malformed: str
    skipped: bool

    @property
    def hides(self) -> bool:
        """True if it can hide findings at all."""
        return bool(self.reason) and self.rule not in _NEVER_HIDDEN

    @property
    def target(self) -> _Target:
        """The findings that it hides.  The line is 0 for an annotation."""
        return self.file, self.rule, self.index, self.line


def apply(
    findings: Iterable[Finding], annotations: Iterable[Annotation], comments: Iterable[tuple[str, Comment]], *, scope: Scope
) -> Outcome:
    """Remove the suppressed findings.  *comments* have the name of their file; findings are not sorted."""
    suppressions = [*_of_annotations(annotations, scope), *_of_comments(comments, scope)]
    # Looked up by the two possible targets of a finding: a file may have thousands of findings and suppressions.
    hiding = {each.target for each in suppressions if each.hides}
    remaining: list[Finding] = []
    used: set[_Target] = set()
    suppressed = 0
    for finding in findings:
        matches = hiding & {(finding.file, finding.rule, finding.index, 0), (finding.file, finding.rule, None, finding.span.line)}
        used |= matches
        suppressed += bool(matches)
        if not matches:
            remaining.append(finding)
    remaining += [
        replaced(each.warning, message=message)
        for each in suppressions
        if not (each.hides and each.target in used) and not each.skipped and (message := _error_of(each, scope))
    ]
    return Outcome(tuple(remaining), suppressed)


def _error_of(suppression: _Suppression, scope: Scope) -> str:
    """Return the message for a suppression that hid nothing; empty if nothing can be reported."""
    rule = suppression.rule
    if suppression.malformed:
        return suppression.malformed
    if rule not in scope.known:
        return f"{rule!r} must be the id of a rule; `muster explain` lists them"
    if not suppression.reason:
        return f"the suppression of {rule} must give a reason; without one it hides nothing"
    if rule in _NEVER_HIDDEN:
        return f"{rule} cannot be hidden; remove the suppression"
    if rule not in scope.active:
        return ""
    return f"the suppression of {rule} must hide a finding, but there is none; remove it"


def _of_annotations(annotations: Iterable[Annotation], scope: Scope) -> Iterator[_Suppression]:
    for each in annotations:
        warning = Finding(
            rule=UNUSED_SUPPRESSION,
            severity=Severity.WARNING,
            message="",
            type=None,
            field=str(ANNOTATION_PATH),
            file=each.file,
            span=each.span,
            document=each.subject,
            index=each.index,
            source=each.source,
        )
        skipped = (each.file, each.index) in scope.objects_skipped
        lines = [line for line in each.value.splitlines() if line.strip()]
        for line in lines or [""]:
            rule, _, reason = (part.strip() for part in line.partition(":"))
            malformed = "" if rule else f"{ANNOTATION} must hold a rule and a reason, as in 'gang-minimum: filled in by a controller'"
            yield _Suppression(rule, reason, each.file, each.index, 0, warning, malformed, skipped)


def _of_comments(comments: Iterable[tuple[str, Comment]], scope: Scope) -> Iterator[_Suppression]:
    for file, comment in comments:
        line = comment.line + 1 if comment.alone else comment.line
        span = Span(comment.line, comment.column, comment.line, comment.column + len(comment.text) + 2)
        warning = Finding(
            rule=UNUSED_SUPPRESSION,
            severity=Severity.WARNING,
            message="",
            type=None,
            field="",
            file=file,
            span=span,
            source=comment.source,
        )
        rules, reason = _parts(comment.text)
        malformed = "" if rules else _MALFORMED_COMMENT
        skipped = (file, comment.base) in scope.documents_skipped
        for rule in rules or [""]:
            yield _Suppression(rule, reason, file, None, line, warning, malformed, skipped)


def _parts(text: str) -> tuple[Sequence[str], str]:
    match = re.match(_COMMENT, text)
    if match is None:
        return [], ""
    return [rule for part in match[1].split(",") if (rule := part.strip())], match[2].strip()
