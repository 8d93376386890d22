"""Adapter for StatefulSet: numbered pods without a group, each with its own claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from validators.field import FieldError
from validators.model.decode import Json
from workloadbuilder.adapters.group_instances import MAX_PODS
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Positions, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.pod_sets import PodSet
from workloadbuilder.blueprint import copied

INDEX, POD_NAME = "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"
_CLAIM = "PersistentVolumeClaim"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a StatefulSet; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    template = pod_template.read_pod_template(spec.mapping("template"))
    count, first = spec.number("replicas", 1), spec.mapping("ordinals").number("start", 0)
    claims = [*spec.each_item("volumeClaimTemplates")]
    pods = PodSet(template, about.owner.name, count, first=first, number_label=INDEX, owner=about.owner)
    named = [(each, each.mapping("metadata").text("name")) for each in claims]
    result = pod_sets.one_by_one(about, [pods], errors, warnings)
    (plan,) = result.pods

    def make(position: Positions, number: int) -> dict[str, Json]:
        pod = plan.make(position, number)
        name = pod["metadata"]["name"]
        pod["metadata"]["labels"][POD_NAME] = name
        volumes = [each for each in pod["spec"].get("volumes") or () if each.get("name") not in {claim for _, claim in named}]
        own = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for _, claim in named]
        if own:
            pod["spec"]["volumes"] = [*volumes, *own]
        return pod

    # More pods are refused when they are created, before any claim of theirs would fill the memory.
    names = [f"{about.owner.name}-{first + number}" for number in range(count)] if named and count <= MAX_PODS else []
    further = tuple(_claims(named, names, about.namespace, known))
    return dataclasses.replace(result, pods=(PodPlan("", count, make),), further=further)


def _claims(named: list[tuple[Fields, str]], pods: list[str], namespace: str, known: Known) -> Iterator[dict[str, Json]]:
    """Yield the claims of all pods that do not exist yet."""
    listed = (known.list_kind("", _CLAIM, each) for each in {namespace, namespace or "default"})
    existing = {object_identity.name_of(each) for claims in listed for each in claims}
    for pod in pods:
        for template, claim in named:
            if (name := f"{claim}-{pod}") not in existing:
                yield {"apiVersion": "v1", "kind": _CLAIM, "metadata": {"name": name}, "spec": copied(template.mapping("spec").given)}
