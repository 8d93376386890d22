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
MEMBERS = "muster.dev/members"
"""Annotation of a PodGroup: the labels of its pods, as a JSON object."""


class NotToldApart(ValueError):
    """Pods of two groups have the same labels.

    Attributes:
        groups: the names of the groups; an empty one is that of pods without a group.

    """

    def __init__(self, *groups: str) -> None:
        super().__init__(*groups)
        self.groups = groups


def member_labels(pods: Iterable[Json]) -> dict[str, dict[str, str]]:
    """Return the labels of the members of each group of planned *pods*, by the name of the group.

    Labels of a controller, whose keys have a prefix, are preferred: those of users change with the pod template.

    Raises:
        NotToldApart: a pod without the group has these labels too.
    """
    listed = [(group_in(each), _labels(each)) for each in pods]
    common: dict[str, dict[str, str]] = {}
    for group, labels in listed:
        if group:
            shared = common.setdefault(group, labels)
            common[group] = dict(shared.items() & labels.items()) if shared is not labels else labels
    prefixed = {group: {key: value for key, value in labels.items() if "/" in key} for group, labels in common.items()}
    found = prefixed if all(prefixed.values()) and _confused(prefixed, listed) is None else common
    if (pair := _confused(found, listed)) is not None:
        raise NotToldApart(*pair)
    return {group: dict(sorted(labels.items())) for group, labels in found.items()}


def group_of(labels: Labels, members: Mapping[str, Labels]) -> str:
    """Return the group whose members have *labels*; empty if there is none, or more than one."""
    found = [group for group, wanted in members.items() if wanted and wanted.items() <= labels.items()]
    return found[0] if len(found) == 1 else ""


def members_in(group: Mapping[str, Json]) -> dict[str, str]:
    """Return the labels in the annotation of a PodGroup; none if it has no such annotation, or an unreadable one."""
    return read_members(section(group, "metadata", "annotations").get(MEMBERS, ""))


def read_members(text: Json) -> dict[str, str]:
    """Return the labels that an annotation lists; none if it is unreadable."""
    if not text or not isinstance(text, str):
        return {}
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return labels if isinstance(labels, dict) and all(isinstance(value, str) for value in labels.values()) else {}


class MemberIndex:
    """Groups by the labels of their members: it gives what ``group_of`` gives, in a time that does not grow with the number of groups.

    One thread may change it while others read it: they see each change of one group as before or after it.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, None]]] = {}
        """Names of groups by the sorted keys of their labels and the values of these."""

    def add(self, group: str, labels: Labels) -> None:
        """Add a group that is not in the index."""
        keys = tuple(sorted(labels))
        if keys:
            self._groups.setdefault(keys, {}).setdefault(tuple(labels[key] for key in keys), {})[group] = None

    def remove(self, group: str, labels: Labels) -> None:
        """Remove a group that was added with these *labels*."""
        keys = tuple(sorted(labels))
        values = tuple(labels[key] for key in keys)
        by_values = self._groups.get(keys, {})
        groups = by_values.get(values, {})
        groups.pop(group, None)
        if not groups and by_values.pop(values, None) is not None and not by_values:
            del self._groups[keys]

    def group_of(self, labels: Labels) -> str:
        """Return the group whose members have *labels*; empty if there is none, or more than one."""
        found: list[str] = []
        for keys, by_values in list(self._groups.items()):
            # A pod that lacks a key cannot be confused with one that has it empty.
            if all(key in labels for key in keys):
                found += by_values.get(tuple(labels[key] for key in keys), ())
        return found[0] if len(found) == 1 else ""


def _confused(members: Mapping[str, Labels], pods: Iterable[tuple[str, Labels]]) -> tuple[str, str] | None:
    """Return a group with the group of a pod that is not its own and has the labels of its members; None if there is none."""
    by_keys: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
    for group, wanted in members.items():
        keys = tuple(sorted(wanted))
        other = by_keys.setdefault(keys, {}).setdefault(tuple(wanted[key] for key in keys), group)
        if other != group or not keys:
            return group, other if other != group else ""
    for own, labels in pods:
        for keys, groups in by_keys.items():
            found = groups.get(tuple(labels.get(key, "") for key in keys), own)
            if found != own:
                return found, own
    return None


def _labels(pod: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a planned pod that its controller sets: not the one that names its group."""
    labels = pod["metadata"].get("labels") or {}
    return {key: value for key, value in labels.items() if isinstance(value, str) and key != POD_GROUP_LABEL}
