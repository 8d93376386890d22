"""Evaluation of the templates of a workflow: the pods of each, and which of them can run at a time.

Source: Argo Workflows 4.1, ``workflow/controller`` (``steps.go``, ``dag.go``, ``workflowpod.go``).  The containers of the executor, which
are in every pod, request nothing unless the controller's configuration says so.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

from kubeapi.decode import Json
from workloadbuilder.adapters.argo import peaks, workflow_values
from workloadbuilder.adapters.argo.peaks import Peak, Slot
from workloadbuilder.adapters.argo.workflow_templates import Templates
from workloadbuilder.adapters.argo.workflow_values import NotStaticError, Scope
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.blueprint import copied

_DEEPEST = 40
_MOST_CALLS = 20_000
_NAMES = re.compile(r"[A-Za-z0-9_][\w\-]*", re.ASCII)
_RESULTS = frozenset({"Succeeded", "Failed", "Errored", "Skipped", "Omitted", "Daemoned", "AnySucceeded", "AllFailed"})
_OF_ARGO = frozenset({"dependencies", "mirrorVolumeMounts"})
"""Fields of containers that only Argo has: their order, and whether they mount what the main container mounts."""
_OF_WORKFLOW = ("nodeSelector", "affinity", "tolerations")
"""Fields of pods that a template has from the template that calls it, or else from the workflow."""
_IMAGE = "image-of-argoexec"
_WITHOUT_PODS = ("suspend",)
_NOT_MODELLED = ("http", "plugin", "data")
_CREATING = frozenset({"apply", "create"})


@dataclasses.dataclass(frozen=True, slots=True)
class Evaluation:
    """Evaluation of the templates of one workflow with the specification *spec*; *values* are those that all templates know."""

    spec: Fields
    values: Scope
    calls: Iterator[int] = dataclasses.field(default_factory=itertools.count)
    """Numbers of the templates that are evaluated."""

    def template(self, templates: Templates, template: Fields, given: Scope, boundary: Fields, depth: int = 0) -> Peak:
        """Return the pods of a *template* that can run at a time.

        Args:
            templates: those that it can call.
            template: the template itself.
            given: values of its parameters.
            boundary: the template that calls it.
            depth: number of the templates above it.

        Raises:
            NotStaticError: the pods are known only when the workflow runs.

        """
        if next(self.calls) > _MOST_CALLS:
            raise NotStaticError(f"it has more than {_MOST_CALLS} steps")
        if depth > _DEEPEST:
            raise NotStaticError(f"template {template.text('name')!r} is nested more than {_DEEPEST} levels deep, or calls itself")
        scope = {**self.values, **workflow_values.parameters(template.mapping("inputs"), "inputs.parameters."), **given}
        filled = Fields(workflow_values.substituted(template.given, scope), template.path, template.errors)
        if filled.flag("daemon"):
            raise NotStaticError(f"template {filled.text('name')!r} is a daemon, which runs until the workflow ends")
        if "steps" in filled:
            groups = (peaks.at_once(self._call(templates, each, filled, depth) for each in group) for group in _groups_of_steps(filled))
            peak = peaks.one_after_another(groups)
        elif "dag" in filled:
            peak = self._dag(templates, filled, depth)
        else:
            return {} if any(name in filled for name in _WITHOUT_PODS) else self._pod(filled, boundary)
        if sum(slot.count for slot in peak.values()) > MAX_PODS:
            raise NotStaticError(f"it has more than {MAX_PODS} pods at a time")
        return peaks.limited(peak, filled.number("parallelism", 0))

    def _call(self, templates: Templates, step: Fields, boundary: Fields, depth: int) -> Peak:
        """Return the pods of a *step* or task, for all of its items."""
        if "hooks" in step or "onExit" in step:
            raise NotStaticError(f"{step.path} has hooks, which run only when something happens")
        found: list[Peak] = []
        for item in workflow_values.items_of(step):
            filled = Fields(workflow_values.substituted(step.given, item), step.path, step.errors) if item else step
            if (unknown := workflow_values.unknown_in(filled.text("when"))) or not workflow_values.is_run(filled):
                if unknown:
                    raise NotStaticError(f"the condition {step.path}.when depends on {unknown}, which is known only when it runs")
                continue
            others, template = templates.called(filled)
            given = workflow_values.parameters(filled.mapping("arguments"), "inputs.parameters.")
            found.append(self.template(others, template, given, boundary, depth + 1))
        return peaks.at_once(found)

    def _dag(self, templates: Templates, template: Fields, depth: int) -> Peak:
        dag = template.mapping("dag")
        if "target" in dag:
            raise NotStaticError(f"{dag.path}.target selects tasks, which is not modelled")
        tasks = [*dag.each_item("tasks")]
        names = {each.text("name"): index for index, each in enumerate(tasks)}
        direct = [{names[name] for name in _dependencies(each) if name in names} for each in tasks]
        return peaks.of_tasks([self._call(templates, each, template, depth) for each in tasks], _all_before(direct, dag))

    def _pod(self, template: Fields, boundary: Fields) -> Peak:
        """Return the pod of a template that runs containers."""
        name = template.text("name") or "inline"
        if unmodelled := next((each for each in _NOT_MODELLED if each in template), ""):
            raise NotStaticError(f"template {name!r} is of the kind {unmodelled}, whose pods are not known")
        if "podSpecPatch" in template or "podSpecPatch" in self.spec:
            raise NotStaticError(f"podSpecPatch changes the pods of template {name!r}, and is not read")
        spec = self._spec(template, boundary, name)
        given = (self.spec.mapping("podMetadata"), template.mapping("metadata"))
        metadata = {
            key: value for key in ("labels", "annotations") if (value := {**given[0].annotations(key), **given[1].annotations(key)})
        }
        shape = peaks.shape_of(spec)
        if unknown := workflow_values.unknown_in(shape):
            raise NotStaticError(f"the pods of template {name!r} depend on {unknown}, which is known only when it runs")
        return {shape: Slot(1, name, {"metadata": metadata, "spec": spec})}

    def _spec(self, template: Fields, boundary: Fields, name: str) -> dict[str, Json]:
        spec: dict[str, Json] = {"restartPolicy": "Never", "containers": _containers(template, name)}
        if own := [_container(each) for each in template.each_item("initContainers")]:
            spec["initContainers"] = own
        if claims := template.raw("resourceClaims") or self.spec.raw("resourceClaims"):
            spec["resourceClaims"] = copied(claims)
        for field in _OF_WORKFLOW:
            holder = next((each for each in (template, boundary, self.spec) if each.raw(field)), None)
            if holder is not None:
                spec[field] = copied(holder.raw(field))
        if scheduler := template.text("schedulerName") or self.spec.text("schedulerName"):
            spec["schedulerName"] = scheduler
        if priority := template.text("priorityClassName") or self.spec.text("podPriorityClassName"):
            spec["priorityClassName"] = priority
        if self.spec.flag("hostNetwork"):
            spec["hostNetwork"] = True
        if (amounts := template.raw("podResources") or self.spec.raw("podResources")) is not None:
            spec["resources"] = copied(amounts)
        mounted = {
            mount.text("name")
            for kind in peaks.CONTAINERS
            for container in Fields(spec, template.path, []).each_item(kind)
            for mount in container.each_item("volumeMounts")
        }
        listed = [*template.each_item("volumes"), *self.spec.each_item("volumes")]
        volumes = [copied(each.given) for each in listed if each.text("name") in mounted]
        claims = [each.mapping("metadata").text("name") for each in self.spec.each_item("volumeClaimTemplates")]
        owner = self.values.get("workflow.name", "")
        volumes += [{"name": each, "persistentVolumeClaim": {"claimName": f"{owner}-{each}"}} for each in claims if each in mounted]
        if volumes:
            spec["volumes"] = volumes
        return spec


def _groups_of_steps(template: Fields) -> Iterator[list[Fields]]:
    """Yield the steps of a template that run at a time, in order; a group can be written as one step."""
    listed = template.raw("steps")
    for index, group in enumerate(listed if isinstance(listed, list) else ()):
        path = template.path.join(("steps", index))
        steps = group if isinstance(group, list) else [group]
        yield [Fields(each, path / number, template.errors) for number, each in enumerate(steps)]


def _dependencies(task: Fields) -> list[str]:
    """Return the names of the tasks that a *task* waits for."""
    if depends := task.text("depends"):
        return [each for each in _NAMES.findall(depends) if each not in _RESULTS]
    return task.texts("dependencies")


def _all_before(direct: list[set[int]], dag: Fields) -> list[frozenset[int]]:
    """Return all tasks that come before each, from those that it waits for."""
    before: list[frozenset[int] | None] = [None] * len(direct)
    left = set(range(len(direct)))
    while left:
        ready = [index for index in sorted(left) if all(before[each] is not None for each in direct[index])]
        if not ready:
            raise NotStaticError(f"the tasks of {dag.path} wait for each other")
        for index in ready:
            before[index] = frozenset(direct[index]).union(*(before[each] or () for each in direct[index]))
            left.discard(index)
    return [each or frozenset() for each in before]


def _containers(template: Fields, name: str) -> list[Json]:
    """Return the containers of a template's pod."""
    kind = next((each for each in ("container", "script", "containerSet", "resource") if each in template), "")
    if not kind:
        raise NotStaticError(f"template {name!r} has no kind that is known")
    own = template.mapping(kind)
    if kind == "resource":
        if own.text("action") in _CREATING:
            raise NotStaticError(f"what template {name!r} creates is written in a text, and not read")
        main: list[Json] = [{"name": "main", "image": _IMAGE}]
    elif kind == "containerSet":
        shared = [copied(each.given) for each in own.each_item("volumeMounts")]
        main = [_container(each, shared) for each in own.each_item("containers")]
    else:
        main = [{**{key: copied(value) for key, value in own.given.items() if key != "source"}, "name": "main"}]
    return [*main, *map(_container, template.each_item("sidecars"))]


def _container(given: Fields, mounts: Sequence[Json] = ()) -> dict[str, Json]:
    """Return a container without the fields that only Argo has, and with *mounts* besides its own."""
    container: dict[str, Json] = {key: copied(value) for key, value in given.given.items() if key not in _OF_ARGO}
    if mounts:
        own = container.get("volumeMounts")
        container["volumeMounts"] = [*(own if isinstance(own, list) else ()), *map(copied, mounts)]
    return container
