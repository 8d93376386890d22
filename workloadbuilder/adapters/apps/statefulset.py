"""Adapter for StatefulSet: numbered pods without a group, each with its own claims."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from validators.field import FieldError
from validators.model.start_order import FIRST, OTHERS, start_order
from workloadbuilder.adapters.other_schedulers import volcano_owners
from workloadbuilder.adapters.shared import kueue_podsets, object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS, PodPlan, Positions, Reading
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_podsets import PlannedPods
from workloadbuilder.adapters.shared.pod_claims import PodClaims
from workloadbuilder.adapters.shared.pod_sets import PodSet

ROOT = "main"
"""Name of the template of the only podset that Kueue makes of a StatefulSet."""
INDEX, POD_NAME = "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a StatefulSet; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    template = pod_template.read_pod_template(spec.mapping("template"))
    count, first = spec.number("replicas", 1), spec.mapping("ordinals").number("start", 0)
    claims = PodClaims.read(spec.each_item("volumeClaimTemplates"))
    labels = pod_template.revision_label(about.owner.name, template)
    pods = PodSet(template, about.owner.name, count, labels, first=first, number_label=INDEX, owner=about.owner)
    result = pod_sets.one_by_one(about, [pods], errors, warnings)
    (plan,) = result.pods

    def make(position: Positions, number: int) -> dict[str, Json]:
        pod = plan.make(position, number)
        name = pod["metadata"]["name"]
        pod["metadata"]["labels"][POD_NAME] = name
        claims.mount(pod, name)
        return pod

    # More pods are refused when they are created, before any claim of theirs would fill the memory.
    names = [f"{about.owner.name}-{first + number}" for number in range(count)] if count <= MAX_PODS else []
    further = tuple(claims.objects(names, about.namespace, known))
    waits = start_order("apps", "StatefulSet", spec.given)
    ahead = min(count, 1) if waits else count
    plans = (PodPlan("", ahead, make, part=FIRST), PodPlan("", count - ahead, lambda at, number: make(at, ahead + number), part=OTHERS))
    result = dataclasses.replace(result, pods=tuple(each for each in plans if each.count), further=further, waits=waits)
    return volcano_owners.as_gang(kueue_podsets.grouped(result, [PlannedPods(template, ROOT, result.pods)], ROOT, known), about, template)
