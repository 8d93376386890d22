"""Adapter for DaemonSet: one pod for each node in the input that it selects, bound to that node by affinity."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from validators.field import FieldError
from workloadbuilder.adapters.other_schedulers import volcano_owners
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import PodPlan, Positions, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.node_matching import DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION, node_name, runs_on
from workloadbuilder.adapters.shared.pod_sets import PodSet
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import WHOLE

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FIELDS = "matchFields"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a DaemonSet; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    template = pod_template.read_pod_template(top.mapping("spec").mapping("template"))
    first = PodSet(template, about.owner.name, 1, owner=about.owner).plan()
    result = pod_sets.one_by_one(about, [], errors, warnings)
    if errors:
        return result
    spec = _tolerating(first.make((), 0)["spec"])
    selected = [name for each in known.list_kind("", "Node") if (name := node_name(each)) and runs_on(spec, each)]

    def make(position: Positions, number: int) -> dict[str, Json]:
        pod = first.make(position, 0)
        pod["metadata"]["name"] = f"{about.owner.name}-{number}"
        pod["spec"] = _pinned(_tolerating(pod["spec"]), selected[number])
        return pod

    if not selected:
        return dataclasses.replace(result, skipped="it selects none of the nodes in the input")
    return volcano_owners.as_gang(dataclasses.replace(result, pods=(PodPlan("", len(selected), make),)), about, template)


def _tolerating(spec: dict[str, Json]) -> dict[str, Json]:
    given = spec.get("tolerations")
    added = (*DAEMON_TOLERATIONS, *((HOST_NETWORK_TOLERATION,) if spec.get("hostNetwork") is True else ()))
    return {**spec, "tolerations": [*(given if isinstance(given, list) else ()), *(dict(each) for each in added)]}


def _pinned(spec: dict[str, Json], node: str) -> dict[str, Json]:
    """Return *spec* with the affinity to one node that the controller sets; it replaces the terms of the required affinity."""
    errors: list[FieldError] = []
    affinity = Fields(spec, WHOLE, errors).mapping("affinity")
    given = affinity.mapping("nodeAffinity").given
    if errors:  # The reader of the pod reports them.
        return spec
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    of_nodes = {**given, _REQUIRED: {"nodeSelectorTerms": [{_FIELDS: [field]}]}}
    return {**spec, "affinity": copied({**affinity.given, "nodeAffinity": of_nodes})}
