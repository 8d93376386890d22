"""The engine of the linter: examines each document by itself, validates it with the other objects, and reports.

``lint_files``, ``batch`` and ``workspace`` have all findings from here.  They only decide where objects are kept, and when which document
is validated.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from kubeapi.base_structs import Record
from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.meta import replaced
from kubeapi.versions.conversion import Form
from validators import pipeline, rules
from validators.hierarchy.tree import GroupTree
from validators.lint import suppress
from validators.lint.documents import Document, Manifest
from validators.lint.examination import Examination
from validators.lint.finding import UNREADABLE, Finding, Report, Summary
from validators.lint.object_index import Connected, P
from validators.model.objects import Object, namespace_of
from validators.model.templates import Templates
from validators.object_lookup import Lookup, group_rank
from validators.rules.base import About, Profile, Settings, Severity
from validators.whole_documents import BUILT_IN_RULE, PROJECT_RULE


class FirstPass:
    """Examination of each document by itself; *keep* is called with each object that others can refer to.

    Without *list_objects*, the validated objects are not listed.
    """

    def __init__(
        self, settings: Settings, keep: Callable[[Document, pipeline.Examined, Object], None], *, list_objects: bool = True
    ) -> None:
        self._settings = settings
        self._list_objects = list_objects
        self._keep = keep
        self.examination = Examination()

    def read_manifest(self, manifest: Manifest) -> None:
        """Examine the documents of one file."""
        self.examination.add_file(manifest)
        for document in manifest.documents:
            examined = pipeline.examine(document.content, self._settings)
            self.examination.add_document(document, examined, with_fixes=self._settings.fixes, is_listed=self._list_objects)
            if examined.object is not None:
                self._keep(document, examined, examined.object)


class Pending(Record, frozen=True):
    """Object without errors of its own, to be validated with the others; *old* is the object that it replaces, to validate the change."""

    object: Object
    form: Form
    templates: Templates | None = None
    old: Object | None = None


class Objects(Lookup, Protocol[P]):
    """Objects with which others are validated, by their places."""

    def connected(self, place: P, group: Group) -> Connected[P]:
        """Return the groups that are connected with the *group* at *place*."""


L = TypeVar("L", bound=Objects[Any])


def second_pass(
    places: Iterable[P], pending: Callable[[P], Pending], objects: Callable[[], L], settings: Settings
) -> Iterator[tuple[L, Mapping[P, tuple[pipeline.Violation, ...]]]]:
    """Yield the violations of the objects at *places*: of one object, or of groups of one tree together, with the lookup that was used."""
    waiting = dict.fromkeys(places)
    for place in (*waiting,):
        if place not in waiting:
            continue
        known, item = objects(), pending(place).object
        members, tree = [place], None
        if isinstance(item, (PodGroup, CompositePodGroup)):
            connected = known.connected(place, item)
            members, tree = connected.among(waiting), connected.tree
        for each in members:
            del waiting[each]
        yield known, {each: _violations(pending(each), settings, known, tree) for each in members}


def _violations(new: Pending, settings: Settings, known: Lookup, tree: GroupTree | None) -> tuple[pipeline.Violation, ...]:
    violations = pipeline.validate_document(new.object, settings, lookup=known, tree=tree, form=new.form, templates=new.templates)
    if new.old is None:
        return violations
    changes = pipeline.validate_change(new.object, new.old, settings, lookup=known, tree=tree, form=new.form)
    return (*violations, *(change for change in changes if change not in violations))


def known_objects(manifests: Iterable[Manifest], examination: Examination) -> Iterator[Object]:
    """Yield the objects of files that are only looked up; add the findings for what cannot be read in them."""
    for manifest in manifests:
        examination.add_unreadable(manifest)
        for document in manifest.documents:
            item = pipeline.decode_for_lookup(document.content)
            if item is not None:
                yield item


def is_replaced(known: Object, is_validated: Callable[[str, str, str, int], bool]) -> bool:
    """Return whether an object that is only looked up is not used, because one of its kind, namespace, name and API group *is_validated*."""
    # An object without a name replaces nothing: generateName creates a new object each time.
    return bool(known.metadata.name) and is_validated(known.kind, namespace_of(known), known.metadata.name, group_rank(known))


def report_on(examination: Examination, files: tuple[str, ...], settings: Settings) -> Report:
    """Return the report on *files*: suppressed findings are removed, and the others have the severity of their file."""
    scope = _scope(settings, {*examination.objects_skipped}, {*examination.documents_skipped})
    outcome = suppress.apply(_without_repeated(examination.findings), examination.annotations, examination.comments, scope=scope)
    findings = _with_configured_severity(outcome.findings, settings)
    tools = dict(examination.tools)
    files = tuple(each for each in files if each not in tools)
    summary = Summary(
        files=len(files),
        documents=examination.documents,
        foreign=sum(examination.foreign.values()),
        suppressed=outcome.suppressed,
        foreign_kinds=dict(sorted(examination.foreign.items())),
    )
    has_unreadable = any(each.rule == UNREADABLE for each in examination.findings)
    skipped = collections.Counter(tools.values())
    report = Report((), summary, files, tuple(examination.checked), has_unreadable=has_unreadable, skipped=skipped)
    return report.with_findings(findings)


def _without_repeated(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings without those about values of whole documents for which another rule has one, at the field or its parent."""
    repeating = {BUILT_IN_RULE, PROJECT_RULE}
    files = {each.file for each in findings if each.rule in repeating}
    if not files:
        return findings
    others = {(each.file, each.index, each.field) for each in findings if each.file in files and each.rule not in repeating}

    def is_repeated(finding: Finding) -> bool:
        fields = (finding.field, finding.field.rpartition(".")[0])
        return finding.rule in repeating and any((finding.file, finding.index, each) in others for each in fields)

    return [each for each in findings if not is_repeated(each)]


def _scope(
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


def _with_configured_severity(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return the findings in order, with the severity of their file; the pipeline has set that of rules about objects."""
    configured = dict(settings.severities)
    by_file = settings.by_file or (lambda _file, _rule: None)
    remaining: list[Finding] = []
    for each in findings:
        severity = by_file(each.file, each.rule) or configured.get(each.rule, each.severity)
        if severity is not Severity.OFF:
            remaining.append(each if severity is each.severity else replaced(each, severity=severity))
    return sorted(remaining, key=lambda each: each.order)
