"""How changes are written: raw objects of groups, Workloads and pods with some fields changed."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.model.decision import Name, Step
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book


def respecified(book: Book, name: Name, change: Callable[[Content], bool]) -> tuple[Step, ...] | None:
    """A group with its spec changed; its template, where there is one, and all groups made of that are changed alike."""
    group = book.get(name.kind, name.namespace, name.name)
    if group is None or not change(section(group, "spec")):
        return None
    steps = [Step(apply=group)]
    workload, template = _reference(group)
    found = book.get("Workload", name.namespace, workload) if workload else None
    if found is None or not any(change(each) for each in _templates(section(found, "spec")) if each.get("name") == template):
        return tuple(steps)
    for other in book.all(name.kind, name.namespace):
        own = section(other, "metadata").get("name") == name.name
        if not own and _reference(other) == (workload, template) and change(section(other, "spec")):
            steps.append(Step(apply=other))
    return (Step(apply=found), *steps)


def _reference(group: Content) -> tuple[str, str]:
    """The names of its Workload and template, in whichever form it has them."""
    spec = section(group, "spec")
    if old := section(section(spec, "podGroupTemplateRef"), "workload"):
        return str(old.get("workloadName", "")), str(old.get("podGroupTemplateName", ""))
    reference = section(spec, "workloadRef")
    return str(reference.get("workloadName", "")), str(reference.get("templateName", ""))


def _templates(holder: Content) -> list[Content]:
    found = [*(holder.get("podGroupTemplates") or ())]
    for each in holder.get("compositePodGroupTemplates") or ():
        found += [each, *_templates(each)]
    return found


def pod_of(book: Book, key: str) -> Content | None:
    """The pod of that ``namespace/name``."""
    namespace, _, name = key.partition("/")
    return book.get("Pod", namespace, name)


def minimum_field(kind: str) -> str:
    """The field of a kind of group that is its minimum."""
    return "minCount" if kind == "PodGroup" else "minGroupCount"
