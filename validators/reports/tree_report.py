"""Hierarchy of Workloads, groups and pods in manifests, as text or JSON, with the findings at their objects and templates."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.workloads import CompositePodGroupTemplate, CompositeShape, Gang, LeafShape, Template, Workload, WorkloadSpec
from validators import pipeline
from validators.hierarchy.tree import GroupNode, GroupTree
from validators.lint.documents import Document
from validators.lint.examination import subject_of
from validators.lint.finding import Finding, Report
from validators.model.controllers import Controller
from validators.model.objects import Object, namespace_of
from validators.model.templates import COMPOSITES, LEAVES, SPEC
from validators.model.views import Job, JobSet, Pod
from validators.object_lookup import api_group_of, group_rank, references_to_groups
from validators.reports import counts
from validators.reports.escape import json_text, printable
from validators.reports.json_report import finding_as_json

_IN_TEMPLATE = re.compile(rf"spec(?:\.(?:{LEAVES}|{COMPOSITES})\[\d+\])+")
_MOST_NAMES = 5
"""Names of pods without findings that are listed for a group."""
VERSION = 1
_MOST_LEVELS = 20
"""Levels that are indented: a valid tree has eight at most, and one of files can have thousands."""


@dataclasses.dataclass(slots=True, eq=False)
class Branch:
    """Object or template of the hierarchy, with its findings and what is below it."""

    kind: str
    name: str
    notes: list[str]
    file: str
    line: int
    findings: list[Finding] = dataclasses.field(default_factory=list)
    below: list[Branch] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Forest:
    """Trees of the manifests, and the findings of other objects and of files."""

    roots: tuple[Branch, ...]
    others: tuple[Finding, ...]
    report: Report


def build(documents: Iterable[Document], report: Report) -> Forest:
    """Return the hierarchy of *documents*, which *report* is about."""
    builder = _Builder(report)
    for document in documents:
        builder.add(document)
    return builder.forest()


def as_text(forest: Forest) -> str:
    """Return the trees as lines, the other findings, and the summary."""
    lines: list[str] = []
    for root in forest.roots:
        lines += [*_lines(root), ""]
    if forest.others:
        lines += ["Other findings", *(f"   {printable(each.file)}:{_finding_text(each)}" for each in forest.others), ""]
    return "\n".join([*lines, counts.in_words(forest.report.summary)]) + "\n"


def as_json(forest: Forest) -> str:
    """Return a JSON document: ``rows`` in the order of the text, each with its ``depth``, and the findings of other objects."""
    rows = [
        {
            "depth": depth,
            "kind": branch.kind,
            "name": branch.name,
            "notes": branch.notes,
            "file": branch.file,
            "line": branch.line,
            "findings": [finding_as_json(each) for each in branch.findings],
        }
        for root in forest.roots
        for depth, branch in _walk(root)
    ]
    others = [finding_as_json(each) for each in forest.others]
    return json_text({"version": VERSION, "rows": rows, "findings": others}, indent=2)


def _lines(root: Branch) -> Iterator[str]:
    """Yield the lines of a tree; findings are between an object and what is below it.  Lines that are not indented have their level."""
    stack = [(root, "", "", 0)]
    while stack:
        branch, lead, line, depth = stack.pop()
        notes = f": {', '.join(branch.notes)}" if branch.notes else ""
        yield printable(f"{lead}{branch.kind} {branch.name}{notes}") + f"  ({printable(branch.file)}:{branch.line})"
        margin = f"{line}│  " if branch.below else f"{line}   "
        yield from (f"{margin}{_finding_text(each)}" for each in branch.findings)
        for child in reversed(branch.below):
            is_last = child is branch.below[-1]
            level = f"level {depth + 1}: " if depth >= _MOST_LEVELS else ""
            below = line if level else f"{line}{'   ' if is_last else '│  '}"
            stack.append((child, f"{line}{'└─' if is_last else '├─'} {level}", below, depth + 1))


def _walk(root: Branch) -> Iterator[tuple[int, Branch]]:
    stack = [(0, root)]
    while stack:
        depth, branch = stack.pop()
        yield depth, branch
        stack += [(depth + 1, child) for child in reversed(branch.below)]


def _finding_text(finding: Finding) -> str:
    field = f"{finding.field}: " if finding.field else ""
    return printable(f"{finding.span.line}:{finding.span.column}: {finding.severity} {finding.rule}: {field}{finding.message}")


class _Builder:
    """Collects the objects, and joins them into trees."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._findings: dict[tuple[str, int | None], list[Finding]] = {}
        for each in report.findings:
            self._findings.setdefault((each.file, each.index), []).append(each)
        self._workloads: list[tuple[Workload, Branch]] = []
        self._groups: list[tuple[PodGroup | CompositePodGroup, Branch]] = []
        self._pods: dict[tuple[str, str], list[Branch]] = {}
        """Pods and Jobs by namespace and name of their PodGroup."""
        self._unreadable: list[Branch] = []
        """Workloads and groups whose fields cannot be read."""

    def add(self, document: Document) -> None:
        """Add a document; one that has no place in a hierarchy is left out."""
        subject = subject_of(document.content)
        item = pipeline.decode_for_lookup(document.content)
        branch = self._branch(document, subject.kind, f"{subject.namespace}/{subject.name}", item)
        if isinstance(item, Workload):
            self._take_findings(branch, document)
            self._add_templates(branch, document, item.spec)
            self._workloads.append((item, branch))
        elif isinstance(item, (PodGroup, CompositePodGroup)):
            self._take_findings(branch, document)
            self._groups.append((item, branch))
        elif isinstance(item, (Pod, Job, JobSet, Controller)):
            for number, (_, group) in enumerate(references_to_groups(item)):
                # An object with pods of several groups is below each, but its findings are below the first one only.
                if not number:
                    self._take_findings(branch, document)
                below = dataclasses.replace(branch, findings=[]) if number else branch
                self._pods.setdefault((namespace_of(item), group), []).append(below)
        elif item is None and subject.kind in {"Workload", "PodGroup", "CompositePodGroup"}:
            self._take_findings(branch, document)
            self._unreadable.append(branch)

    def forest(self) -> Forest:
        """Return the trees: Workloads, then groups, then what cannot be read; each by name."""
        _note_api_groups([*self._workloads, *self._groups])
        branches = {id(group): branch for group, branch in self._groups}
        # Of PodGroups of one name, the pods are below the one that counts.
        tree = GroupTree.build(group for group, _ in sorted(self._groups, key=lambda each: group_rank(each[0])))
        roots = []
        for node in tree.nodes:
            branch = branches[id(node.group)]
            if isinstance(node.group, PodGroup):
                branch.below += _shortened(self._pods.pop((namespace_of(node.group), node.group.metadata.name), []))
            branch.below += [branches[id(child.group)] for child in node.children if not child.on_cycle]
            if node.parent is None or node.on_cycle:
                branch.notes += _root_notes(node)
                roots.append(branch)
        lonely = [branch for listed in self._pods.values() for branch in listed]
        ordered = [*_by_name(branch for _, branch in self._workloads), *_by_name(roots), *_by_name(lonely), *_by_name(self._unreadable)]
        others = sorted((each for listed in self._findings.values() for each in listed), key=lambda each: each.order)
        return Forest(tuple(ordered), tuple(others), self._report)

    def _branch(self, document: Document, kind: str, name: str, item: Object | None, path: FieldPath | None = None) -> Branch:
        span = document.span(path or FieldPath())
        return Branch(kind, name, _notes(item), document.file, span.line)

    def _take_findings(self, branch: Branch, document: Document) -> None:
        branch.findings += self._findings.pop((document.file, document.index), [])

    def _add_templates(self, top: Branch, document: Document, spec: WorkloadSpec) -> None:
        """Add the templates of a Workload below it, and give each the findings at its fields."""
        branches: dict[str, Branch] = {}
        waiting: list[tuple[Branch, FieldPath, WorkloadSpec | CompositePodGroupTemplate]] = [(top, SPEC, spec)]
        while waiting:
            above, path, holder = waiting.pop()
            lists: Mapping[str, Sequence[Template] | None] = {
                LEAVES: holder.pod_group_templates,
                COMPOSITES: holder.composite_pod_group_templates,
            }
            for field, templates in lists.items():
                for index, template in enumerate(templates or ()):
                    at = path / field / index
                    branch = branches[str(at)] = self._template(document, template, at)
                    above.below.append(branch)
                    if isinstance(template, CompositePodGroupTemplate):
                        waiting.append((branch, at, template))
        findings, top.findings = top.findings, []
        for each in findings:
            inside = _IN_TEMPLATE.match(each.field)
            branches.get(inside.group() if inside else "", top).findings.append(each)

    def _template(self, document: Document, template: Template, at: FieldPath) -> Branch:
        kind = "CompositePodGroupTemplate" if isinstance(template, CompositePodGroupTemplate) else "PodGroupTemplate"
        branch = self._branch(document, kind, template.name, None, at)
        branch.notes += _shape(template)
        return branch


def _notes(item: Object | None) -> list[str]:
    if isinstance(item, (PodGroup, CompositePodGroup)):
        return _shape(item.spec)
    if isinstance(item, Job):
        parallelism = item.spec.parallelism
        return [counts.counted(1 if parallelism is None else parallelism, "pod")]
    return []


def _note_api_groups(branches: Iterable[tuple[Workload | PodGroup | CompositePodGroup, Branch]]) -> None:
    """Note the API group of objects whose kind and name exist in several API groups, and which object counts."""
    named: dict[tuple[str, str, str], list[tuple[int, str, Branch]]] = {}
    for item, branch in branches:
        if item.metadata.name:
            entry = group_rank(item), api_group_of(item) or "", branch
            named.setdefault((item.kind, namespace_of(item), item.metadata.name), []).append(entry)
    for listed in named.values():
        first = min(rank for rank, *_ in listed)
        if any(rank != first for rank, *_ in listed):
            for rank, group, branch in listed:
                branch.notes.insert(0, group if rank == first else f"{group} (ignored)")


def _shape(shape: LeafShape | CompositeShape) -> list[str]:
    """Return policy, topology level, disruption mode and priority in words."""
    gang = shape.scheduling_policy.gang
    if gang is None:
        notes = [] if shape.scheduling_policy.basic is None else ["basic"]
    elif isinstance(gang, Gang):
        notes = [f"gang of {counts.counted(gang.min_count, 'pod')}"]
    else:
        notes = [f"gang of {counts.counted(gang.min_group_count, 'group')}"]
    if shape.scheduling_constraints is not None:
        notes += [f"in one {each.key}" for each in shape.scheduling_constraints.topology or () if each.key]
    if shape.disruption_mode is not None and shape.disruption_mode.all is not None:
        notes.append("disrupted together")
    if shape.priority_class_name:
        notes.append(f"priority {shape.priority_class_name}")
    return notes


def _root_notes(node: GroupNode) -> list[str]:
    parent = node.group.spec.parent_composite_pod_group_name
    if node.on_cycle:
        return [f"its parents are a cycle: {parent} above"]
    return [f"the parent {parent} is missing"] if node.orphan else []


def _shortened(pods: Sequence[Branch]) -> list[Branch]:
    """Return one branch for all pods without findings, and the other branches as they are."""
    plain = [each for each in pods if _is_plain(each)]
    if len(plain) < 2:
        return [*pods]
    names = [each.name.rpartition("/")[2] for each in plain]
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    first = plain[0]
    merged = Branch(f"{len(names):,} pods:", f"{', '.join(names[:_MOST_NAMES])}{more}", [], first.file, first.line)
    return [merged, *(each for each in pods if not _is_plain(each))]


def _is_plain(pod: Branch) -> bool:
    return pod.kind == "Pod" and not pod.findings


def _by_name(branches: Iterable[Branch]) -> list[Branch]:
    return sorted(branches, key=lambda each: (each.name, each.kind, each.file, each.line))
