"""Groups of pods that came before their groups, and pods that need not wait for one; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.pods import PLACEMENT_GATE, POD_GROUP_LABEL, group_in
from scheduler_core.causes.built_groups import NotBuiltReason
from scheduler_core.sidecar.building.group_plan import GroupPlan
from scheduler_core.sidecar.building.owned_objects import Objects, is_deleted, name_of, uid_of
from workloadbuilder.adapters.built_kinds import LWS_LABEL, WAITING, controller_of, has_built_owner
from workloadbuilder.adapters.members import MemberIndex, members_in

Json = Mapping[str, Any]
_RELEASED = frozenset(
    {NotBuiltReason.NOT_ASKED, NotBuiltReason.MADE_BY_CONTROLLER, NotBuiltReason.OTHER_SCHEDULER, NotBuiltReason.NO_GROUP}
)
"""Reasons for which an object gets no groups however long its pods wait.  The user corrects others, or resumes the object."""
RELEASE_SECONDS = 10.0
"""Time after which a pod may be released: its object and namespace, as they were when it was created, are known by then."""
_LWS = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")


def joins(pods: Iterable[Json], groups: Iterable[Json]) -> dict[str, dict[str, Any]]:
    """Return the merge patch of each of *pods*, by name, for which exactly one of *groups* is found; all are of one namespace."""
    index = MemberIndex()
    for each in _staying(groups):
        index.add(name_of(each)[1], members_in(each))
    patches = {}
    for pod in pods:
        if not group_in(pod) and (group := index.group_of(section(pod, "metadata", "labels"))):
            patches[name_of(pod)[1]] = _without_gates(pod, frozenset({WAITING}), {POD_GROUP_LABEL: group, WAITING: None})
    return patches


def releases(
    pods: Iterable[Json], objects: Objects, plan_of: Callable[[Json], GroupPlan], groups: Iterable[Json]
) -> dict[str, dict[str, Any]]:
    """Return the merge patch of each of *pods*, by name, that need not wait for a group; they are placed without one.

    The pods are those of one namespace that have waited for RELEASE_SECONDS, and for which ``joins`` has no patch.  A pod need not wait if
    its object never gets groups, or if all PodGroups of its object are among *groups* and none is its own, such as the pod that submits a
    RayJob.  Unknown objects are waited for, and groups that are created again when the old ones are gone.
    """
    patches, there = {}, {name_of(each)[1] for each in _staying(groups)}
    for pod in pods:
        root = root_of(pod, objects)
        if root is None or group_in(pod):
            continue
        found = plan_of(root)
        wanted = {str(each["metadata"]["name"]) for each in found.wanted if each["kind"] == "PodGroup"}
        if (found.why is not None and found.why.why in _RELEASED) or (wanted and wanted <= there):
            patches[name_of(pod)[1]] = _without_gates(pod, frozenset({WAITING, PLACEMENT_GATE}), {WAITING: None})
    return patches


def _staying(groups: Iterable[Json]) -> Iterator[Json]:
    return (each for each in groups if not is_deleted(each))


def root_of(pod: Json, objects: Objects) -> Json | None:
    """Return the topmost watched object to which a pod belongs; None if its controller is not known."""
    found = _first(pod, objects)
    above = found
    while above is not None:
        found = above
        above = _controller(found, objects)
        if above is None and has_built_owner(found):
            # The object that decides is not listed yet, or is deleted.
            return None
    return found


def _first(pod: Json, objects: Objects) -> Json | None:
    """Return the lowest watched object to which a pod belongs: ReplicaSets, and leaders that own StatefulSets, are not watched."""
    namespace, labels = name_of(pod)[0], section(pod, "metadata", "labels")
    if (lws := labels.get(LWS_LABEL)) is not None:
        return objects.get(_LWS, (namespace, str(lws)))
    owner = controller_of(pod)
    if owner is not None and (owner.group, owner.kind) == ("apps", "ReplicaSet"):
        return objects.get(("apps", "Deployment"), (namespace, owner.name.rpartition("-")[0]))
    return _controller(pod, objects)


def _controller(manifest: Json, objects: Objects) -> Json | None:
    if (owner := controller_of(manifest)) is None:
        return None
    found = objects.get((owner.group, owner.kind), (name_of(manifest)[0], owner.name))
    return found if found is not None and uid_of(found) == owner.uid else None


def _without_gates(pod: Json, gates: frozenset[str], labels: dict[str, str | None]) -> dict[str, Any]:
    """Return the patch that changes *labels* and removes *gates*; it fails if the pod has changed, as a patch replaces all gates."""
    before = section(pod, "spec").get("schedulingGates") or []
    after = [each for each in before if each.get("name") not in gates]
    patch: dict[str, Any] = {"metadata": {"labels": labels, "resourceVersion": section(pod, "metadata").get("resourceVersion")}}
    if len(after) < len(before):
        patch["spec"] = {"schedulingGates": after or None}
    return patch
