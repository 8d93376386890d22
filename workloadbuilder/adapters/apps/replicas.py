"""Adapter for Deployment, ReplicaSet and ReplicationController: equal pods without a group.

A Deployment gets the ReplicaSet of its current template: kube-scheduler reads its selector for the default topology spread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.decode import Json
from validators.field import FieldError
from workloadbuilder.adapters.other_schedulers import volcano_owners
from workloadbuilder.adapters.shared import kueue_podsets, object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Reading
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.pod_sets import PodSet
from workloadbuilder.workload_item import Owner

HASH = "pod-template-hash"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read one of these objects; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    template = pod_template.read_pod_template(spec.mapping("template"))
    pods = PodSet(template, about.owner.name, spec.number("replicas", 1), owner=about.owner)
    if about.owner.kind != "Deployment":
        parent = about.controller
        if parent is not None and known.compiles(parent.group, parent.kind, about.namespace, parent.name):
            detail = f"its pods are created with those of its controller, {object_identity.display_name(parent)}"
            return Reading(about.owner, about.namespace, skipped=detail, errors=tuple(errors))
        result = kueue_podsets.alone(pod_sets.one_by_one(about, [pods], errors, warnings), template, known)
        return volcano_owners.as_gang(result, about, template)
    digest = pod_template.template_hash(template)
    name = f"{about.owner.name}-{digest}"
    labels = {HASH: digest}
    owned = dataclasses.replace(pods, prefix=name, labels=labels, owner=Owner("apps/v1", "ReplicaSet", name))
    result = kueue_podsets.alone(pod_sets.one_by_one(about, [owned], errors, warnings), template, known)
    selector = spec.mapping("selector").given
    result = dataclasses.replace(result, further=(_replica_set(name, selector, labels, about.owner),))
    return volcano_owners.as_gang(result, about, template)


def _replica_set(name: str, selector: Mapping[str, Json], labels: Mapping[str, str], owner: Owner) -> dict[str, Json]:
    """Return the ReplicaSet with its selector only."""
    matched = selector.get("matchLabels")
    with_hash = {**selector, "matchLabels": {**(matched if isinstance(matched, Mapping) else {}), **labels}}
    manifest = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": {"selector": with_hash}}
    return pod_sets.owned(manifest, owner)
