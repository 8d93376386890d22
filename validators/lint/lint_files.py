"""Linting of manifests: every document by itself, then every document together with all others.

The pipeline validates.  This module collects the objects for the lookup, counts documents, and adds positions to errors.
The report does not depend on the order of the manifests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterable, Sequence

from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import replaced
from kubeapi.record import Record
from kubeapi.versions.form import Form
from validators import pipeline, rules
from validators.hierarchy.tree import GroupTree
from validators.lint import against, suppress
from validators.lint.documents import Document, Manifest
from validators.lint.examination import Examination, FirstPass, findings_of, unreadable_findings
from validators.lint.finding import (
    UNREADABLE,
    Finding,
    Report,
    Summary,
    file_order,
)
from validators.lookup import KnownObjects
from validators.model.objects import Object, namespace_of
from validators.rules.base import About, Profile, Settings, Severity


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
    kept = _Kept()
    first = FirstPass(settings, kept.keep)
    for manifest in watch(ordered):
        first.read_manifest(manifest)
    second = _SecondPass(kept.pending, [*_not_replaced(lookup_only, kept.objects), *kept.objects], settings, listed)
    first.examination.findings += [*second.findings(before), *unreadable_findings(lookup_only)]
    return report_on(first.examination, tuple(each.file for each in ordered), settings)


class _Pending(Record, frozen=True):
    """Document without errors of its own, to be validated together with the others."""

    document: Document
    object: Object
    form: Form


class Before(Record, frozen=True):
    """Objects before a change; *place* returns the place of a file after it, see ``against.Placed``."""

    objects: Iterable[against.Placed]
    place: Callable[[str], str]

    def matched(self, after: Sequence[_Pending]) -> list[Object | None]:
        """Return the object before the change of each document."""
        return against.matched(self.objects, [against.Placed(self.place(each.document.file), each.object) for each in after])


class _Kept:
    """Objects in memory, and the documents of those to be validated."""

    def __init__(self) -> None:
        self.objects: list[Object] = []
        self.pending: list[_Pending] = []

    def keep(self, document: Document, examined: pipeline.Examined, item: Object) -> None:
        self.objects.append(item)
        if not examined.violations:
            self.pending.append(_Pending(document, item, examined.form))


class _SecondPass:
    """Validation of each document together with all others."""

    def __init__(self, pending: list[_Pending], known: list[Object], settings: Settings, listed: Container[str]) -> None:
        self._pending = pending
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
            findings += findings_of(each.document, violations, with_fixes=self._settings.fixes)
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


def _not_replaced(manifests: Sequence[Manifest], validated: Sequence[Object]) -> list[Object]:
    """Return the objects of *manifests* that the *validated* ones do not replace."""
    replacing = {_name(each) for each in validated}
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
            remaining.append(each if severity is each.severity else replaced(each, severity=severity))
    return sorted(remaining, key=lambda each: each.order)


def report_on(examination: Examination, files: tuple[str, ...], settings: Settings) -> Report:
    """Return the report on *files*: suppressed findings are removed, and the others have the severity of their file."""
    scope = scope_of(settings, {*examination.objects_skipped}, {*examination.documents_skipped})
    outcome = suppress.apply(examination.findings, examination.annotations, examination.comments, scope=scope)
    findings = with_configured_severity(outcome.findings, settings)
    summary = Summary(
        files=len(files),
        documents=examination.documents,
        foreign=examination.foreign,
        suppressed=outcome.suppressed,
    )
    has_unreadable = any(each.rule == UNREADABLE for each in examination.findings)
    return Report((), summary, files, tuple(examination.checked), has_unreadable=has_unreadable).with_findings(findings)
