"""Raw objects of groups, Workloads and pods with changed fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kubeapi.base_structs import as_dict
from scheduler_core.model.decision import Step
from scheduler_core.model.names import Name
from scheduler_core.whatif.edits.node_templates import Content, section
from scheduler_core.whatif.edits.raw_objects import Book


def respecified(book: Book, name: Name, change: Callable[[Content], bool]) -> tuple[Step, ...]:
    """Return the steps that change the spec of a group, its template if there is one, and all groups of that template; none if it cannot."""
    group = book.get(name.kind, name.namespace, name.name)
    if group is None or not change(section(group, "spec")):
        return ()
    steps = [Step(apply=group)]
    workload, template = _reference(group)
    workload_object = book.get("Workload", name.namespace, workload) if workload else None
    if workload_object is None or not any(
        change(each) for each in _templates(section(workload_object, "spec")) if each.get("name") == template
    ):
        return tuple(steps)
    for other in book.all(name.kind, name.namespace):
        own = section(other, "metadata").get("name") == name.name
        if not own and _reference(other) == (workload, template) and change(section(other, "spec")):
            steps.append(Step(apply=other))
    return (Step(apply=workload_object), *steps)


def successive(book: Book, parts: Iterable[Callable[[Book], tuple[Step, ...]]]) -> tuple[Step, ...]:
    """Return the steps of *parts*, each of which gets the objects after those before it; none if one has none."""
    result: list[Step] = []
    for part in parts:
        if not (steps := part(book)):
            return ()
        result += steps
        book = book.with_steps(steps)
    return tuple(result)


def _reference(group: Content) -> tuple[str, str]:
    """Return the names of its Workload and template, from either form of the reference."""
    spec = section(group, "spec")
    if old := section(section(spec, "podGroupTemplateRef"), "workload"):
        return str(old.get("workloadName", "")), str(old.get("podGroupTemplateName", ""))
    reference = section(spec, "workloadRef")
    return str(reference.get("workloadName", "")), str(reference.get("templateName", ""))


def _templates(holder: Content) -> list[Content]:
    result = [*(holder.get("podGroupTemplates") or ())]
    for each in holder.get("compositePodGroupTemplates") or ():
        result += [each, *_templates(each)]
    return result


def pod_name(key: str) -> Name:
    """Return the name of the pod with that ``namespace/name``."""
    namespace, _, name = key.partition("/")
    return Name("Pod", namespace, name)


def pod_of(book: Book, key: str) -> Content | None:
    """Return the raw pod with that ``namespace/name``."""
    name = pod_name(key)
    return book.get(name.kind, name.namespace, name.name)


def deletion(pod: str) -> Step:
    """Return the step that deletes the pod with that ``namespace/name``."""
    return Step(delete={"apiVersion": "v1", **as_dict(pod_name(pod))})


def released_claims(book: Book, pods: Iterable[str]) -> Iterator[Step]:
    """Yield the steps that release the claims to devices that only the running *pods* use, by namespace and name."""
    by_namespace: dict[str, set[str]] = {}
    for pod in map(pod_name, pods):
        by_namespace.setdefault(pod.namespace, set()).add(pod.name)
    for namespace, names in sorted(by_namespace.items()):
        for claim in book.naming("ResourceClaim", namespace, names):
            status = section(claim, "status")
            users = {str(each.get("name")) if each.get("resource") == "pods" else "" for each in status.get("reservedFor") or ()}
            if status.get("allocation") and users and users <= names:
                yield Step(apply=claim | {"status": {}})
