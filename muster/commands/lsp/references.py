"""Fields that name an object or a template of a Workload, and the templates of a Workload."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubeapi.field_path import FieldPath, Part
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions.served_versions import WORKLOAD_GROUPS
from validators.lint.documents import Document
from validators.lint.examination import subject_of
from validators.model.job_parts import TEMPLATE, WORKLOAD
from validators.model.templates import COMPOSITES, LEAVES
from validators.rules.linkage_annotations import PARENT, PARENT_IN_KEP

_KINDS = {
    "podGroupName": "PodGroup",
    POD_GROUP_LABEL: "PodGroup",
    "parentCompositePodGroupName": "CompositePodGroup",
    PARENT: "CompositePodGroup",
    PARENT_IN_KEP: "CompositePodGroup",
    "workloadName": "Workload",
    WORKLOAD: "Workload",
    "priorityClassName": "PriorityClass",
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
    "deviceClassName": "DeviceClass",
}
"""Fields, annotations and labels whose value is the name of an object, with its kind."""
_TEMPLATES = {"templateName": "workloadName", TEMPLATE: WORKLOAD, "podGroupTemplateName": "workloadName"}
"""Fields and annotations whose value is the name of a template, with the field beside them that names its Workload."""
_WITH_KIND = frozenset({"ownerReferences", "controllerRef"})
"""Fields that name an object of the kind that is beside the name."""
_LISTS = {LEAVES: "PodGroup", COMPOSITES: "CompositePodGroup", "podGroups": "PodGroup"}
"""Lists of templates, with the kind of the groups of them; the last one of v1alpha1."""


@dataclasses.dataclass(frozen=True, slots=True)
class NamedObject:
    """Object that a field names; and the template in it, if the field names one.  ``name`` is empty if it is not known."""

    kind: str
    namespace: str
    name: str
    template: str = ""

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"template {self.template} of {self.kind} {name}" if self.template else f"{self.kind} {name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """Template of a Workload: its place, its name, and the kind of the groups that are created from it."""

    path: FieldPath
    name: str
    kind: str


def reference_at(path: Sequence[Part], value: str, namespace: str, sibling: Callable[[str], str]) -> NamedObject | None:
    """Return what the field at a path names with a value; None if it names nothing.

    *sibling* returns the value of a field beside it, empty if there is none.
    """
    names = [part for part in path if isinstance(part, str)]
    if not names:
        return None
    if names[-1] in _TEMPLATES:
        return NamedObject("Workload", namespace, sibling(_TEMPLATES[names[-1]]), value)
    kind = _KINDS.get(names[-1], "")
    if names[-1] == "name" and len(names) > 1:
        kind = sibling("kind") if names[-2] in _WITH_KIND else "Workload" if names[-2:] == ["workloadRef", "name"] else ""
    return NamedObject(kind, "" if kind in CLUSTER_SCOPED else namespace, value) if kind else None


def names_template(path: Sequence[Part]) -> bool:
    """Return whether the field at a path names a template."""
    return bool(path) and path[-1] in _TEMPLATES


def name_at(document: Document, path: FieldPath) -> NamedObject | None:
    """Return the object or template whose name is the field at a path: that it defines, or refers to."""
    value = value_at(document.content, path.parts)
    if not isinstance(value, str) or not value:
        return None
    subject = subject_of(document.content)
    if path.parts == ("metadata", "name"):
        return NamedObject(subject.kind, subject.namespace, value)
    if subject.kind == "Workload" and any(each.path / "name" == path for each in templates(document.content)):
        return NamedObject("Workload", subject.namespace, subject.name, value)
    holder = value_at(document.content, path.parts[:-1])

    def sibling(key: str) -> str:
        other = holder.get(key) if isinstance(holder, dict) else None
        return other if isinstance(other, str) else ""

    return reference_at(path.parts, value, subject.namespace or "default", sibling)


def definitions(document: Document, named: NamedObject) -> Iterator[FieldPath]:
    """Yield the paths of the name of an object or template in a document that defines it; of a template, all that have the name."""
    subject = subject_of(document.content)
    if (subject.kind, subject.namespace, subject.name) != (named.kind, named.namespace, named.name):
        return
    if named.template:
        yield from (each.path / "name" for each in templates(document.content) if each.name == named.template)
    else:
        yield FieldPath("metadata", "name")


def is_of_groups(document: Document) -> bool:
    """Return whether a document is an object of an API group that has Workloads."""
    return subject_of(document.content).api_version.rpartition("/")[0] in WORKLOAD_GROUPS


def templates(content: object) -> Iterator[Template]:
    """Yield the templates of a Workload: a list before the lists below its items."""
    waiting: list[tuple[FieldPath, object]] = [(FieldPath("spec"), value_at(content, ("spec",)))]
    while waiting:
        path, holder = waiting.pop(0)
        for field, kind in _LISTS.items():
            listed = value_at(holder, (field,))
            for index, template in enumerate(listed if isinstance(listed, list) else ()):
                below = path / field / index
                name = value_at(template, ("name",))
                yield Template(below, name if isinstance(name, str) else "", kind)
                waiting.append((below, template))


def named_fields(value: object, text: str, path: tuple[Part, ...] = ()) -> Iterator[FieldPath]:
    """Yield the paths of all fields with a value, in the order of the fields."""
    waiting: list[tuple[tuple[Part, ...], Any]] = [(path, value)]
    while waiting:
        at, current = waiting.pop()
        if isinstance(current, dict):
            waiting += [((*at, key), each) for key, each in reversed(current.items())]
        elif isinstance(current, list):
            waiting += [((*at, index), current[index]) for index in reversed(range(len(current)))]
        elif current == text and isinstance(current, str):
            yield FieldPath(*at)


def value_at(value: object, path: Sequence[Part]) -> object:
    """Return the value at a path; None if it is absent."""
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        else:
            value = value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None
    return value
