"""Linting of manifests: every document by itself, then every document together with all others.

The pipeline validates.  This module collects the objects for the lookup, counts documents, and adds positions to errors.
The report does not depend on the order of the manifests.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from validators import pipeline, rules
from validators.hierarchy.tree import GroupTree
from validators.lint import against, fixes, suppress
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


def run(
    manifests: Iterable[Manifest],
    objects: Iterable[Manifest] = (),
    *,
    settings: Settings,
    before: Before | None = None,
    listed: Container[str] = (),
    watch: Callable[[Sequence[Manifest]], Iterable[Manifest]] = iter,
) -> Report:
    """Validate all documents of *manifests*; those of *objects* are only for the lookup.

    If both have an object with the same name, the one in *manifests* is used, because applying it replaces the other one.  With
    *before*, changes of objects are validated too.  Of the kinds *listed*, no other objects exist.  *watch* returns the manifests that it is
    given, and sees when each is validated.
    """
    ordered = sorted(manifests, key=lambda each: file_order(each.file))
    lookup_only = sorted(objects, key=lambda each: file_order(each.file))
    first = _FirstPass(settings)
    for manifest in watch(ordered):
        first.read_manifest(manifest)
    second = _SecondPass(first, [*_not_replaced(lookup_only, first), *first.objects], settings, listed)
    findings = [*first.findings, *second.findings(before), *_unreadable(lookup_only)]
    outcome = suppress.apply(findings, first.annotations, _comments(ordered), scope=first.scope())
    findings = with_configured_severity(outcome.findings, settings)
    has_unreadable = any(isinstance(part, Unreadable) for manifest in (*ordered, *lookup_only) for part in manifest.parts)
    return _report(findings, outcome.suppressed, first, files=tuple(each.file for each in ordered), has_unreadable=has_unreadable)


def subject_of(content: Mapping[str, object]) -> Subject:
    """Return apiVersion, kind, namespace and name of a document; empty where they are absent or not strings."""
    metadata = content.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    api_version, kind = _text(content.get("apiVersion")), _text(content.get("kind"))
    cluster_scoped = kind in CLUSTER_SCOPED and served.serves(api_version.rpartition("/")[0], kind)
    namespace = "" if cluster_scoped else _text(fields.get("namespace")) or "default"
    return Subject(api_version, kind, namespace, _text(fields.get("name")) or _text(fields.get("generateName")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


@dataclasses.dataclass(frozen=True, slots=True)
class _Pending:
    """Document without errors of its own, to be validated together with the others."""

    document: Document
    object: Object
    form: Form


@dataclasses.dataclass(frozen=True, slots=True)
class Before:
    """Objects before a change; *place* returns the place of a file after it, see ``against.Placed``."""

    objects: Iterable[against.Placed]
    place: Callable[[str], str]

    def matched(self, after: Sequence[_Pending]) -> list[Object | None]:
        """Return the object before the change of each document."""
        return against.matched(self.objects, [against.Placed(self.place(each.document.file), each.object) for each in after])


class _FirstPass:
    """Examination of each document by itself."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.findings: list[Finding] = []
        self.objects: list[Object] = []
        self.pending: list[_Pending] = []
        self.checked: list[Checked] = []
        self.annotations: list[suppress.Annotation] = []
        self.documents = 0
        self.foreign = 0
        self._objects_skipped: set[tuple[str, int]] = set()
        self._documents_skipped: set[tuple[str, int]] = set()

    def read_manifest(self, manifest: Manifest) -> None:
        """Examine the documents of one file."""
        for part in manifest.parts:
            if isinstance(part, Document):
                self.documents += 1
                self._examine(part)
            else:
                self.findings.append(finding_of_file(part))

    def scope(self) -> suppress.Scope:
        """Return the rules and documents for which unused suppressions can be reported."""
        return scope_of(self._settings, self._objects_skipped, self._documents_skipped)

    def _examine(self, document: Document) -> None:
        examined = pipeline.examine(document.content, self._settings)
        if examined.foreign:
            self.foreign += 1
            return
        subject = subject_of(document.content)
        self.checked.append(Checked(document.file, document.index, subject))
        self.findings += findings_of(document, examined.violations)
        if examined.violations:
            self._objects_skipped.add((document.file, document.index))
            self._documents_skipped.add((document.file, document.chunk.base))
        if examined.object is not None:
            self.objects.append(examined.object)
            if not examined.violations:
                self.pending.append(_Pending(document, examined.object, examined.form))
        self.annotations += annotations_of(document, subject)


class _SecondPass:
    """Validation of each document together with all others."""

    def __init__(self, first: _FirstPass, known: list[Object], settings: Settings, listed: Container[str]) -> None:
        self._pending = first.pending
        self._settings = settings
        self._lookup = KnownObjects(known, complete=False, listed=listed)
        self._tree = GroupTree.build(each for each in known if isinstance(each, (PodGroup, CompositePodGroup)))

    def findings(self, before: Before | None) -> list[Finding]:
        """Return the findings of all rules."""
        findings: list[Finding] = []
        olds = before.matched(self._pending) if before else itertools.repeat(None)
        for each, old in zip(self._pending, olds, strict=False):
            violations = pipeline.validate_document(each.object, self._settings, lookup=self._lookup, tree=self._tree, form=each.form)
            if old is not None:
                changes = pipeline.validate_change(each.object, old, self._settings, lookup=self._lookup, tree=self._tree, form=each.form)
                violations += tuple(change for change in changes if change not in violations)
            findings += findings_of(each.document, violations)
        return findings


def scope_of(
    settings: Settings, objects_skipped: Collection[tuple[str, int]], documents_skipped: Collection[tuple[str, int]]
) -> suppress.Scope:
    """Return the rules and documents for which unused suppressions can be reported; see ``suppress.Scope``."""
    configured = dict(settings.severities)
    active = {
        rule.id
        for rule in rules.discover().values()
        if configured.get(rule.id) is not Severity.OFF
        and (rule.about is About.FILE or rule.profile is Profile.UPSTREAM or settings.profile is Profile.KEP)
    }
    return suppress.Scope(frozenset(rules.discover()), active, objects_skipped, documents_skipped)


def annotations_of(document: Document, subject: Subject) -> Iterator[suppress.Annotation]:
    """Yield the annotation that suppresses findings of the document, if it has one."""
    metadata = document.content.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    value = annotations.get(suppress.ANNOTATION) if isinstance(annotations, dict) else None
    if isinstance(value, str):
        span = document.span(suppress.ANNOTATION_PATH)
        yield suppress.Annotation(document.file, document.index, subject, value, span, document.source(span.line))


def findings_of(document: Document, violations: Iterable[pipeline.Violation]) -> list[Finding]:
    """Return the findings for the violations of a document, with their positions in the file."""
    findings: list[Finding] = []
    for each in violations:
        span = document.span(each.error.path)
        findings.append(
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
                fix=fixes.text_fix(document, each.error),
            )
        )
    return findings


def finding_of_file(part: Unreadable | NotKubernetes) -> Finding:
    """Return the finding for a document that is unreadable or not a Kubernetes object."""
    unreadable = isinstance(part, Unreadable)
    return Finding(
        rule=UNREADABLE if unreadable else NOT_KUBERNETES,
        severity=Severity.ERROR if unreadable else Severity.WARNING,
        message=part.message,
        type=None,
        field="",
        file=part.file,
        span=Span(part.line, part.column, part.line, max(part.column, len(part.source.rstrip()) + 1)),
        source=part.source,
    )


def _unreadable(manifests: Sequence[Manifest]) -> list[Finding]:
    return [finding_of_file(part) for manifest in manifests for part in manifest.parts if isinstance(part, Unreadable)]


def _comments(manifests: Sequence[Manifest]) -> list[tuple[str, Comment]]:
    return [(manifest.file, comment) for manifest in manifests for comment in manifest.comments]


def _not_replaced(manifests: Sequence[Manifest], first: _FirstPass) -> list[Object]:
    """Return the objects of *manifests* that the validated documents do not replace."""
    replacing = {_name(each) for each in first.objects}
    objects: list[Object] = []
    for part in (part for manifest in manifests for part in manifest.parts):
        if isinstance(part, Document):
            known = pipeline.decode_for_lookup(part.content)
            if known is not None and _name(known) not in replacing:
                objects.append(known)
    return objects


def _name(known: Object) -> tuple[str, str, str]:
    # An object without a name replaces nothing: generateName creates a new object each time.
    return known.kind, namespace_of(known), known.metadata.name or str(id(known))


def with_configured_severity(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return the findings in order, with the severity of their file; the pipeline has set that of rules about objects."""
    configured = dict(settings.severities)
    by_file = settings.by_file or (lambda _file, _rule: None)
    remaining: list[Finding] = []
    for each in findings:
        severity = by_file(each.file, each.rule) or configured.get(each.rule, each.severity)
        if severity is not Severity.OFF:
            remaining.append(each if severity is each.severity else dataclasses.replace(each, severity=severity))
    return sorted(remaining, key=lambda each: each.order)


def _report(findings: list[Finding], suppressed: int, first: _FirstPass, *, files: tuple[str, ...], has_unreadable: bool) -> Report:
    summary = Summary(
        files=len(files),
        documents=first.documents,
        foreign=first.foreign,
        suppressed=suppressed,
    )
    return Report((), summary, files, tuple(first.checked), has_unreadable=has_unreadable).with_findings(findings)
