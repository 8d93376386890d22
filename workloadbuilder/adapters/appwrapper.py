"""Adapter for AppWrapper (workload.codeflare.dev): the objects that it wraps, with its label on their pods.

Kueue's admission of an AppWrapper is in ``podSetInfos``: labels, annotations, node selectors and tolerations that the pods get.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kubeapi.decode import Json
from kubeapi.json_path import JsonPath, parse_path
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared import kueue_annotations, kueue_podsets, object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Dependent, Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known, group_of
from workloadbuilder.adapters.shared.named_groups import is_of_other_scheduler
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.adapters.shared.pod_sets import PodSet
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.blueprint import copied

LABEL = "workload.codeflare.dev/appwrapper"
_WHOLE = "template"
"""First name of all paths in an AppWrapper: that of the wrapped object."""
_RAY = ("headGroupSpec.template", "workerGroupSpecs[*].template")
_INFERRED = {
    ("", "Pod"): ("template",),
    ("apps", "Deployment"): ("template.spec.template",),
    ("apps", "StatefulSet"): ("template.spec.template",),
    ("batch", "Job"): ("template.spec.template",),
    ("jobset.x-k8s.io", "JobSet"): ("template.spec.replicatedJobs[*].template.spec.template",),
    ("kubeflow.org", "PyTorchJob"): ("template.spec.pytorchReplicaSpecs[*].template",),
    ("ray.io", "RayCluster"): tuple(f"template.spec.{each}" for each in _RAY),
    ("ray.io", "RayJob"): tuple(f"template.spec.rayClusterSpec.{each}" for each in _RAY),
}
"""Paths of the pod templates of a wrapped object that declares none, by API group and kind."""
_MAPS = (("metadata", "annotations"), ("metadata", "labels"), ("spec", "nodeSelector"))
_LISTS = (("spec", "tolerations"), ("spec", "schedulingGates"))


def adapt(manifest: Json, known: Known) -> Reading:  # noqa: ARG001 - signature of adapters
    """Read an AppWrapper; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    object_identity.warn_if_suspended(spec, "AppWrapper", warnings, created="objects")
    components = [*spec.each_item("components")]
    if not components:
        errors.append(field.required(spec.path / "components", "an AppWrapper without a wrapped object creates nothing"))
    podsets: list[list[PodTemplate]] = [[] for _ in components]
    dependents = tuple(_dependent(each, about, own) for each, own in zip(components, podsets, strict=True))
    groups = [each for each in dependents if is_of_other_scheduler(each.manifest)]
    return Reading(
        about.owner,
        about.namespace,
        dependents=() if groups else dependents,
        skipped=f"it wraps a PodGroup of {group_of(groups[0].manifest['apiVersion'])}, whose members are not known" if groups else "",
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=(*kueue_annotations.queue(about.labels, about.annotations), *_shared_domains(podsets)),
    )


def _shared_domains(podsets: Sequence[Sequence[PodTemplate]]) -> Iterator[Loss]:
    """Yield a loss for each template of the *podsets* of a component that shares a domain with one of another component.

    The template loses its annotation, which the adapter of the wrapped object would refuse: only Kueue sees all pod sets.
    """
    groups = [{name for each in own if (name := each.annotations.get(kueue_annotations.GROUP))} for own in podsets]
    shared = {name for name, count in Counter(name for names in groups for name in names).items() if count > 1}
    for each in (template for own in podsets for template in own if template.annotations.get(kueue_annotations.GROUP) in shared):
        path = kueue_annotations.annotation_path(each, kueue_annotations.GROUP)
        each.content["metadata"]["annotations"].pop(kueue_annotations.GROUP, None)
        yield kueue_podsets.unexpressed_constraint(path, "its podsets are parts of several wrapped objects")


def _dependent(component: Fields, about: Subject, podsets: list[PodTemplate]) -> Dependent:
    """Return the object of a *component*, as the controller creates it; add the templates of its pod sets to *podsets*."""
    template = component.mapping("template")
    wrapped: dict[str, Json] = copied(template.given)
    metadata = template.mapping("metadata")
    if not template.text("kind") or not metadata.text("name"):
        missing = template.path / "kind" if not template.text("kind") else metadata.path / "name"
        component.errors.append(field.required(missing, "a wrapped object must have a kind and a name"))
    if namespace := metadata.text("namespace"):
        if namespace != (about.namespace or "default"):
            detail = f"must be the namespace of the AppWrapper, {about.namespace or 'default'}"
            component.errors.append(field.invalid(metadata.path / "namespace", namespace, detail))
    infos = [*component.each_item("podSetInfos")]
    declared = []
    for number, (path, count) in enumerate(_pod_set_paths(component, wrapped)):
        info = infos[number] if number < len(infos) else Fields({}, component.path, component.errors)
        _inject(path, wrapped, info, about.owner.name)
        name = f"{metadata.text('name')}-{number}"
        for place, value in path.matches({_WHOLE: wrapped}):
            own = pod_template.read_pod_template(Fields(value, component.path.join(place), component.errors))
            podsets.append(own)
            declared.append(PodSet(own, name, count, owner=about.owner).plan())
    labels = metadata.annotations("labels")
    wrapped["metadata"] = {**metadata.given, "labels": {LABEL: about.owner.name, **labels}}
    return Dependent(pod_sets.owned(wrapped, about.owner), template.path, pods=tuple(declared))


def _pod_set_paths(component: Fields, wrapped: Json) -> Iterator[tuple[JsonPath, int]]:
    """Yield the path of the pod template of each pod set and its number of pods: the declared ones, or those that the controller infers."""
    declared = [*component.each_item("podSets")]
    for each in declared:
        text = each.text("path")
        try:
            path = parse_path(text)
        except ValueError as error:
            component.errors.append(field.invalid(each.path / "path", text, str(error)))
            continue
        if not any(True for _ in path.matches({_WHOLE: wrapped})):
            component.errors.append(field.invalid(each.path / "path", text, "must be the path of a pod template in the wrapped object"))
        yield path, each.number("replicas", 1)
    key = (group_of(str(wrapped.get("apiVersion"))), str(wrapped.get("kind")))
    for text in _INFERRED.get(key, ()) if not declared else ():
        path = parse_path(text)
        for place, _ in path.matches({_WHOLE: wrapped}):
            yield path.with_entries(path.entries_of(place)), 1


def _inject(path: JsonPath, wrapped: Json, info: Fields, name: str) -> None:
    """Add to the pod template at *path* what Kueue has determined, and the label of the AppWrapper *name*."""
    for _, template in path.matches({_WHOLE: wrapped}):
        if not isinstance(template, dict):
            continue
        for part, key in _MAPS:
            added = {**info.annotations(key), **({LABEL: name} if key == "labels" else {})}
            if added and isinstance(holder := _holder(template, part), dict):
                given = holder.get(key)
                holder[key] = {**added, **given} if isinstance(given, dict) else added if given is None else given
        for part, key in _LISTS:
            listed = [each.given for each in info.each_item(key)]
            if listed and isinstance(holder := _holder(template, part), dict):
                given = holder.get(key)
                holder[key] = [*(given if isinstance(given, list) else ()), *(dict(each) for each in listed)]


def _holder(template: dict[str, Json], part: str) -> Json:
    if template.get(part) is None:
        template[part] = {}
    return template[part]
