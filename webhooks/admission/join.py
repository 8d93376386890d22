"""Pods join their group: label or field that name it, and the gate until it is placed.  Pure.

For pods of controllers that name no group.  The group is found by the labels of its members among watched PodGroups.  A pod whose group
is not known waits with a label and a gate, which the builder of groups replaces by the group.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from kubeapi import decode, kueue
from kubeapi.decode import Json, section
from kubeapi.pods import PLACEMENT_GATE, POD_GROUP_LABEL
from kubeapi.versions.api_versions import SCHEDULING
from validators.object_lookup import Lookup
from webhooks.admission import jsonpatch
from webhooks.admission.review import AdmissionRequest, Verdict
from webhooks.admission_options import Joining, PlacedBy
from workloadbuilder.adapters.built_kinds import UNKNOWN, WAITING, joins_group
from workloadbuilder.adapters.shared.named_groups import named_group, scheduler_of


@runtime_checkable
class Groups(Protocol):
    """Finds PodGroups by the labels of their members."""

    def group_of(self, namespace: str, labels: dict[str, str]) -> tuple[str, str] | None:
        """Return API group and name of the PodGroup whose members have *labels*; None if none is known, or more than one."""


def joined(request: AdmissionRequest, lookup: Lookup, joining: Joining) -> Verdict:
    """Return the verdict on a pod with its group, or with the label and the gate of a pod that waits for it, as a patch.

    A pod that is not of a built kind, that names a group, is bound, or belongs to another scheduler is left alone.  No pod is refused.

    Raises:
        NotJson: the object cannot be read.
    """
    if (request.group, request.kind, request.operation, request.subresource) != ("", "Pod", "CREATE", "") or request.new is None:
        return Verdict(allowed=True)
    pod = decode.parse(request.new)
    if not _is_ours(pod, joining):
        return Verdict(allowed=True)
    labels = {key: value for key, value in section(pod, "metadata", "labels").items() if isinstance(value, str)}
    group = lookup.group_of(request.namespace, labels) if isinstance(lookup, Groups) else None
    after = {**pod, "metadata": {**pod["metadata"], "labels": _labels(labels, group)}, "spec": _spec(section(pod, "spec"), group, joining)}
    return Verdict(allowed=True, patch=tuple(jsonpatch.diff(pod, after)))


def _is_ours(pod: Json, joining: Joining) -> bool:
    spec = section(pod, "spec")
    if not joins_group(pod) or named_group(pod) is not None or spec.get("nodeName"):
        return False
    return scheduler_of(pod) in {"", joining.scheduler_name} and kueue.POD_GROUP not in section(pod, "metadata", "labels")


def _labels(labels: dict[str, str], group: tuple[str, str] | None) -> dict[str, str]:
    if group is None:
        return {**labels, WAITING: UNKNOWN}
    return {**{key: value for key, value in labels.items() if key != WAITING}, POD_GROUP_LABEL: group[1]}


def _spec(spec: Any, group: tuple[str, str] | None, joining: Joining) -> dict[str, Any]:
    after = dict(spec)
    if joining.by is PlacedBy.SCHEDULER:
        after["schedulerName"] = joining.scheduler_name
    wanted = {PLACEMENT_GATE: joining.by is PlacedBy.GATE and after.get("schedulerName") != joining.scheduler_name, WAITING: group is None}
    before = [each for each in spec.get("schedulingGates") or () if isinstance(each, dict)]
    names = {each.get("name") for each in before}
    gates = [each for each in before if wanted.get(str(each.get("name")), True)]
    gates += [{"name": name} for name, is_wanted in wanted.items() if is_wanted and name not in names]
    if gates:
        after["schedulingGates"] = gates
    else:
        after.pop("schedulingGates", None)
    # A pod that came before its group never gets the field, and kube-scheduler would wait for it in vain among those with the field.  What
    # the gate holds is placed by the sidecar, which reads the label of all of them.
    if group is not None and group[0] == SCHEDULING and joining.by is not PlacedBy.GATE:
        after["schedulingGroup"] = {"podGroupName": group[1]}
    return after
