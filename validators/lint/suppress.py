"""Takes out the findings that annotations and comments hide, and tells of those that hide nothing.

The annotation ``muster.dev/ignore`` holds ``rule-id: reason``, one rule on each line, and hides findings of its own
object.  The comment ``# muster: ignore[rule-id, …] reason`` hides findings on its own line, or on the next line if it
stands alone.  Without a reason neither hides anything.

What cannot be hidden: ``unreadable``, since nothing in such a document is known to be a comment, and
``unused-suppression``, since a suppression that hides the news of itself would never be found.  ``not-kubernetes`` has
no object, so only a comment hides it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from validators.field import FieldPath, Key
from validators.lint.comments import Comment
from validators.lint.finding import UNREADABLE, UNUSED_SUPPRESSION, Finding, Subject
from validators.lint.places import Span
from validators.rules.base import Severity

ANNOTATION = "muster.dev/ignore"
ANNOTATION_PATH = FieldPath("metadata", "annotations", Key(ANNOTATION))

_COMMENT = r"muster:[ \t]*ignore[ \t]*\[([^\]]*)\][ \t]*(.*)"
_MALFORMED_COMMENT = "the comment must name its rules and give a reason, as in '# muster: ignore[gang-minimum] filled in by a controller'"
_NEVER_HIDDEN = frozenset({UNREADABLE, UNUSED_SUPPRESSION})

_Where = tuple[str, str, int | None, int]
"""File, rule, and the object's index or the line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Annotation:
    """The value of an object's ``muster.dev/ignore`` and where it stands."""

    file: str
    index: int
    subject: Subject
    value: str
    span: Span
    source: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """Which rules there are, and of which it can be said that there is nothing to hide.

    It cannot be said of rules that were not ``asked``, nor of objects that were given up early: those whose shape is
    wrong, by file and index, and by file and the offset of the document that holds them.
    """

    known: Collection[str]
    asked: Collection[str]
    objects_given_up: Collection[tuple[str, int]] = frozenset()
    documents_given_up: Collection[tuple[str, int]] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The findings that are left, those about suppressions among them, and how many were hidden."""

    findings: tuple[Finding, ...]
    suppressed: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Suppression:
    """One rule hidden in one place: of the object *index*, or on the line *line*."""

    rule: str
    reason: str
    file: str
    index: int | None
    line: int
    warning: Finding
    malformed: str
    given_up: bool

    @property
    def hides(self) -> bool:
        """Whether it can hide anything at all."""
        return bool(self.reason) and self.rule not in _NEVER_HIDDEN

    @property
    def place(self) -> _Where:
        """What it hides.  An annotation's line is 0, where no line is."""
        return self.file, self.rule, self.index, self.line


def apply(
    findings: Iterable[Finding], annotations: Iterable[Annotation], comments: Iterable[tuple[str, Comment]], *, scope: Scope
) -> Outcome:
    """Hides what is to be hidden.  *comments* come with their file's name; findings are not put in order."""
    suppressions = [*_of_annotations(annotations, scope), *_of_comments(comments, scope)]
    # A finding is looked up by its two places: a file may hold thousands of both.
    hiding = {each.place for each in suppressions if each.hides}
    left: list[Finding] = []
    used: set[_Where] = set()
    hidden = 0
    for finding in findings:
        found = hiding & {(finding.file, finding.rule, finding.index, 0), (finding.file, finding.rule, None, finding.span.line)}
        used |= found
        hidden += bool(found)
        if not found:
            left.append(finding)
    left += [
        dataclasses.replace(each.warning, message=message)
        for each in suppressions
        if not (each.hides and each.place in used) and not each.given_up and (message := _complaint(each, scope))
    ]
    return Outcome(tuple(left), hidden)


def _complaint(suppression: _Suppression, scope: Scope) -> str:
    """What is wrong with a suppression that hid nothing; empty if nothing can be said."""
    rule = suppression.rule
    if suppression.malformed:
        return suppression.malformed
    if rule not in scope.known:
        return f"{rule!r} must be the id of a rule; `muster explain` lists them"
    if not suppression.reason:
        return f"the suppression of {rule} must give a reason; without one it hides nothing"
    if rule in _NEVER_HIDDEN:
        return f"{rule} cannot be hidden; remove the suppression"
    if rule not in scope.asked:
        return ""
    return f"the suppression of {rule} must hide a finding, and there is none here; remove it"


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
        given_up = (each.file, each.index) in scope.objects_given_up
        lines = [line for line in each.value.splitlines() if line.strip()]
        for line in lines or [""]:
            rule, _, reason = (part.strip() for part in line.partition(":"))
            malformed = "" if rule else f"{ANNOTATION} must hold a rule and a reason, as in 'gang-minimum: filled in by a controller'"
            yield _Suppression(rule, reason, each.file, each.index, 0, warning, malformed, given_up)


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
        given_up = (file, comment.base) in scope.documents_given_up
        for rule in rules or [""]:
            yield _Suppression(rule, reason, file, None, line, warning, malformed, given_up)


def _parts(text: str) -> tuple[Sequence[str], str]:
    found = re.match(_COMMENT, text)
    if found is None:
        return [], ""
    return [rule for part in found[1].split(",") if (rule := part.strip())], found[2].strip()
