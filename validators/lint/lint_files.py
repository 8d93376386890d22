"""Manifests in, report out: every document by itself, then each among all the others.

What is right is the pipeline's business; here documents are counted, known to one another, and their errors given a
place.  The same manifests give the same report, in whatever order they come.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from validators import pipeline, rules
from validators.hierarchy.tree import GroupTree
from validators.lint import suppress
from validators.lint.comments import Comment
from validators.lint.documents import Document, Manifest, NotKubernetes, Unreadable
from validators.lint.finding import (
    NOT_KUBERNETES,
    UNREADABLE,
    Checked,
    Finding,
    Report,
    Subject,
    Summary,
    file_order,
)
from validators.lint.places import Span
from validators.lookup import KnownObjects
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.objects import CLUSTER_SCOPED, Object, namespace_of
from validators.rules.base import About, Profile, Settings, Severity
from validators.versions import served
from validators.versions.form import Form


def run(manifests: Iterable[Manifest], objects: Iterable[Manifest] = (), *, settings: Settings) -> Report:
    """Judges all documents of *manifests*; those of *objects* are known and not judged.

    Where both hold an object of one name, that of *manifests* counts: it is about to replace the other.
    """
    ordered = sorted(manifests, key=lambda each: file_order(each.file))
    known_only = sorted(objects, key=lambda each: file_order(each.file))
    first = _FirstPass(settings)
    for manifest in ordered:
        first.read_manifest(manifest)
    judging = _SecondPass(first, [*_replaced(known_only, first), *first.objects], settings)
    findings = [*first.findings, *judging.findings(), *_unreadable(known_only)]
    outcome = suppress.apply(findings, first.annotations, _comments(ordered), scope=first.scope())
    left = _with_chosen_severity(outcome.findings, settings)
    lost = any(isinstance(part, Unreadable) for manifest in (*ordered, *known_only) for part in manifest.parts)
    return _report(left, outcome.suppressed, first, files=tuple(each.file for each in ordered), lost=lost)


def subject_of(content: Mapping[str, object]) -> Subject:
    """What a document says it is; empty where it does not say so in words."""
    metadata = content.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    api_version, kind = _text(content.get("apiVersion")), _text(content.get("kind"))
    in_cluster = kind in CLUSTER_SCOPED and served.serves(api_version.rpartition("/")[0], kind)
    namespace = "" if in_cluster else _text(named.get("namespace")) or "default"
    return Subject(api_version, kind, namespace, _text(named.get("name")) or _text(named.get("generateName")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


@dataclasses.dataclass(frozen=True, slots=True)
class _Pending:
    """A document that is right by itself, to be judged among the others."""

    document: Document
    object: Object
    form: Form


class _FirstPass:
    """Looks at each document by itself."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.findings: list[Finding] = []
        self.objects: list[Object] = []
        self.pending: list[_Pending] = []
        self.checked: list[Checked] = []
        self.annotations: list[suppress.Annotation] = []
        self.documents = 0
        self.foreign = 0
        self._objects_given_up: set[tuple[str, int]] = set()
        self._documents_given_up: set[tuple[str, int]] = set()

    def read_manifest(self, manifest: Manifest) -> None:
        """Takes in one file."""
        for part in manifest.parts:
            if isinstance(part, Document):
                self.documents += 1
                self._examine(part)
            else:
                self.findings.append(_of_file(part))

    def scope(self) -> suppress.Scope:
        """Of what it can be said that there is nothing to hide."""
        chosen = dict(self._settings.severities)
        asked = {
            rule.id
            for rule in rules.discover().values()
            if chosen.get(rule.id) is not Severity.OFF
            and (rule.about is About.FILE or rule.profile is Profile.UPSTREAM or self._settings.profile is Profile.KEP)
        }
        return suppress.Scope(frozenset(rules.discover()), asked, self._objects_given_up, self._documents_given_up)

    def _examine(self, document: Document) -> None:
        examined = pipeline.examine(document.content, self._settings)
        if examined.foreign:
            self.foreign += 1
            return
        subject = subject_of(document.content)
        self.checked.append(Checked(document.file, document.index, subject))
        self.findings += findings_of(document, examined.violations)
        if examined.violations:
            self._objects_given_up.add((document.file, document.index))
            self._documents_given_up.add((document.file, document.chunk.base))
        if examined.object is not None:
            self.objects.append(examined.object)
            if not examined.violations:
                self.pending.append(_Pending(document, examined.object, examined.form))
        self._take_annotation(document, subject)

    def _take_annotation(self, document: Document, subject: Subject) -> None:
        metadata = document.content.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        value = annotations.get(suppress.ANNOTATION) if isinstance(annotations, dict) else None
        if isinstance(value, str):
            span = document.span(suppress.ANNOTATION_PATH)
            self.annotations.append(suppress.Annotation(document.file, document.index, subject, value, span, document.source(span.line)))


class _SecondPass:
    """Judges each document among all the others."""

    def __init__(self, first: _FirstPass, known: list[Object], settings: Settings) -> None:
        self._pending = first.pending
        self._settings = settings
        self._lookup = KnownObjects(known, complete=False)
        self._tree = GroupTree.build(each for each in known if isinstance(each, (PodGroup, CompositePodGroup)))

    def findings(self) -> list[Finding]:
        """What the rules say."""
        found: list[Finding] = []
        for each in self._pending:
            judged = pipeline.validate_document(each.object, self._settings, lookup=self._lookup, tree=self._tree, form=each.form)
            found += findings_of(each.document, judged)
        return found


def findings_of(document: Document, judged: Iterable[pipeline.Violation]) -> list[Finding]:
    """What is wrong with a document, at its place in the file."""
    found: list[Finding] = []
    for each in judged:
        span = document.span(each.error.path)
        found.append(
            Finding(
                rule=each.error.origin,
                severity=each.severity,
                message=str(each.error),
                type=each.error.type.value,
                field=str(each.error.path),
                file=document.file,
                span=span,
                document=subject_of(document.content),
                index=document.index,
                source=document.source(span.line),
            )
        )
    return found


def _of_file(part: Unreadable | NotKubernetes) -> Finding:
    is_lost = isinstance(part, Unreadable)
    return Finding(
        rule=UNREADABLE if is_lost else NOT_KUBERNETES,
        severity=Severity.ERROR if is_lost else Severity.WARNING,
        message=part.message,
        type=None,
        field="",
        file=part.file,
        span=Span(part.line, part.column, part.line, max(part.column, len(part.source.rstrip()) + 1)),
        source=part.source,
    )


def _unreadable(manifests: Sequence[Manifest]) -> list[Finding]:
    return [_of_file(part) for manifest in manifests for part in manifest.parts if isinstance(part, Unreadable)]


def _comments(manifests: Sequence[Manifest]) -> list[tuple[str, Comment]]:
    return [(manifest.file, comment) for manifest in manifests for comment in manifest.comments]


def _replaced(manifests: Sequence[Manifest], first: _FirstPass) -> list[Object]:
    """The further objects but those that are among the judged ones."""
    judged = {_name(each) for each in first.objects}
    found: list[Object] = []
    for part in (part for manifest in manifests for part in manifest.parts):
        if isinstance(part, Document):
            known = pipeline.decode_for_lookup(part.content)
            if known is not None and _name(known) not in judged:
                found.append(known)
    return found


def _name(known: Object) -> tuple[str, str, str]:
    # Without a name nothing is replaced: generateName makes a new object each time.
    return known.kind, namespace_of(known), known.metadata.name or str(id(known))


def _with_chosen_severity(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Findings about files have their severity here; the pipeline has seen to the others.  In order."""
    chosen = dict(settings.severities)
    left: list[Finding] = []
    for each in findings:
        severity = chosen.get(each.rule, each.severity)
        if severity is not Severity.OFF:
            left.append(each if severity is each.severity else dataclasses.replace(each, severity=severity))
    return sorted(left, key=lambda each: each.order)


def _report(findings: list[Finding], suppressed: int, first: _FirstPass, *, files: tuple[str, ...], lost: bool) -> Report:
    summary = Summary(
        files=len(files),
        documents=first.documents,
        foreign=first.foreign,
        errors=sum(each.severity is Severity.ERROR for each in findings),
        warnings=sum(each.severity is Severity.WARNING for each in findings),
        suppressed=suppressed,
    )
    return Report(tuple(findings), summary, files, tuple(first.checked), could_not_look=lost)
