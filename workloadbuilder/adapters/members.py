"""Labels by which the pods of a controller's object are told apart by group.

The pods of a controller come without the name of a group.  What the adapters plan has the labels that the controller sets, so the labels
that all planned pods of a group share, and that no pod of another group has, are those of its members.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi.decode import Json, section
from kubeapi.pods import POD_GROUP_LABEL, group_in

Labels = Mapping[str, str]
Members = tuple[dict[str, str], ...]
"""Label sets; a pod with all labels of one of them is a member."""
MEMBERS = "muster.dev/members"
"""Annotation of a PodGroup: the label sets of its pods, as a JSON list of objects."""
_CHANGING = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "controller-revision-hash",
        *(f"jobset.sigs.k8s.io/{name}" for name in ("global-replicas", "group-replicas", "replicatedjob-replicas", "restart-attempt")),
        *(f"jobset.sigs.k8s.io/{name}" for name in ("job-global-index", "job-group-index")),
        "pod-template-hash",
    }
)
"""Labels whose values change while the groups of an object stay, or that only the controller computes."""


class NotToldApart(ValueError):
    """Pods of two groups have the same labels.

    Attributes:
        groups: the names of the groups; an empty one is that of pods without a group.

    """

    def __init__(self, *groups: str) -> None:
        super().__init__(*groups)
        self.groups = groups


def member_labels(pods: Iterable[Json]) -> dict[str, Members]:
    """Return the labels of the members of each group of planned *pods*, by the name of the group.

    Labels of a controller, whose keys have a prefix, are preferred: those of users change with the pod template.

    Raises:
        NotToldApart: a pod without the group has these labels too.
    """
    listed = [(group_in(each), _labels(each)) for each in pods]
    prefixed = _shared((group, {key: value for key, value in labels.items() if "/" in key}) for group, labels in listed)
    found = prefixed if _confused(prefixed, listed) is None else _shared(listed)
    if (pair := _confused(found, listed)) is not None:
        raise NotToldApart(*pair)
    return found


def _shared(pods: Iterable[tuple[str, Labels]]) -> dict[str, Members]:
    """Return the labels that the pods of each group share; pods that different controllers create share them among themselves.

    The pods of different controllers have different labels: those of a RayJob are of a RayCluster, and of a Job that submits.
    """
    alike: dict[str, dict[frozenset[str], dict[str, str]]] = {}
    for group, labels in pods:
        if group:
            by_owner = alike.setdefault(group, {})
            owner = frozenset(key.partition("/")[0] for key in labels)
            shared = by_owner.setdefault(owner, dict(labels))
            by_owner[owner] = dict(shared.items() & labels.items())
    return {group: _smallest(by_owner.values()) for group, by_owner in alike.items()}


def _smallest(found: Iterable[Labels]) -> Members:
    """Return label sets without those that another one includes."""
    distinct = [dict(sorted(each.items())) for each in found]
    kept = [each for each in distinct if not any(other.items() < each.items() for other in distinct)]
    return tuple(each for index, each in enumerate(kept) if each not in kept[:index])


def members_in(group: Mapping[str, Json]) -> Members:
    """Return the labels in the annotation of a PodGroup; none if it has no such annotation, or an unreadable one."""
    return read_members(section(group, "metadata", "annotations").get(MEMBERS, ""))


def written(members: Members) -> str:
    """Return the text of the annotation."""
    return json.dumps(members, separators=(",", ":"))


def read_members(text: Json) -> Members:
    """Return the labels that an annotation lists; none if it is unreadable."""
    if not text or not isinstance(text, str):
        return ()
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    is_readable = isinstance(listed, list) and all(
        isinstance(each, dict) and all(isinstance(value, str) for value in each.values()) for each in listed
    )
    return tuple(listed) if is_readable else ()


class MemberIndex:
    """Groups by the labels of their members; a pod's group is found in a time that does not grow with the number of groups.

    One thread may change it while others read it: they see each change of one group as before or after it.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, None]]] = {}
        """Names of groups by the sorted keys of their labels and the values of these."""

    def add(self, group: str, members: Members) -> None:
        """Add a group that is not in the index."""
        for labels in filter(None, members):
            keys = tuple(sorted(labels))
            self._groups.setdefault(keys, {}).setdefault(tuple(labels[key] for key in keys), {})[group] = None

    def remove(self, group: str, members: Members) -> None:
        """Remove a group that was added with these *members*."""
        for labels in members:
            keys = tuple(sorted(labels))
            values = tuple(labels[key] for key in keys)
            by_values = self._groups.get(keys, {})
            groups = by_values.get(values, {})
            groups.pop(group, None)
            if not groups and by_values.pop(values, None) is not None and not by_values:
                del self._groups[keys]

    def group_of(self, labels: Labels) -> str:
        """Return the group whose members have *labels*; empty if there is none, or more than one.

        Of several groups it is the one with the labels of all the others, and more: the leader of some workers, which differs from them
        by a label that they have too, with other values.
        """
        found = self._matching(labels)
        if len(names := {group for groups in found.values() for group in groups}) == 1:
            return names.pop()
        most = max(found, key=len, default=())
        groups = found.get(most, ())
        return groups[0] if len(groups) == 1 and all(set(keys) <= set(most) for keys in found) else ""

    def groups_of(self, labels: Labels) -> list[str]:
        """Return all groups whose members have *labels*."""
        return [group for groups in self._matching(labels).values() for group in groups]

    def _matching(self, labels: Labels) -> dict[tuple[str, ...], tuple[str, ...]]:
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        for keys, by_values in list(self._groups.items()):
            # A pod that lacks a key differs from one that has it empty.
            if all(key in labels for key in keys) and (groups := tuple(by_values.get(tuple(labels[key] for key in keys), ()))):
                found[keys] = groups
        return found


def _confused(members: Mapping[str, Members], pods: Iterable[tuple[str, Labels]]) -> tuple[str, str] | None:
    """Return a group with the group of a pod that is not its own and has the labels of its members; None if there is none."""
    index = MemberIndex()
    for group, listed in members.items():
        if not all(listed):
            return group, ""
        index.add(group, listed)
    for own, labels in pods:
        if index.group_of(labels) != own:
            return next((each for each in index.groups_of(labels) if each != own), ""), own
    return None


def _labels(pod: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a planned pod that tell its group for as long as the group exists; not the one that names it."""
    labels = pod["metadata"].get("labels") or {}
    return {key: value for key, value in labels.items() if isinstance(value, str) and key != POD_GROUP_LABEL and key not in _CHANGING}
