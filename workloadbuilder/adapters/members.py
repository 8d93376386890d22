"""Labels by which the pods of a controller's object are told apart by group.

The pods of a controller come without the name of a group.  What the adapters plan has the labels that the controller sets, so the labels
that all planned pods of a group share, and that no pod of another group has, are those of its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi.decode import Json
from kubeapi.pods import json_group_name

Labels = Mapping[str, str]


class NotToldApart(ValueError):  # noqa: N818 - a statement, which the caller reports
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
    shared: dict[str, dict[str, str]] = {}
    listed = [(json_group_name(each), _labels(each)) for each in pods]
    for group, labels in listed:
        known = shared.setdefault(group, dict(labels))
        for key in [key for key, value in known.items() if labels.get(key) != value]:
            del known[key]
    result = {}
    for group, common in shared.items():
        if group:
            prefixed = {key: value for key, value in common.items() if "/" in key}
            result[group] = prefixed if prefixed and not _strangers(group, prefixed, listed) else common
            for other in _strangers(group, result[group], listed):
                raise NotToldApart(group, other)
    return result


def group_of(labels: Labels, members: Mapping[str, Labels]) -> str:
    """Return the group whose members have *labels*; empty if there is none, or more than one."""
    found = [group for group, wanted in members.items() if wanted and wanted.items() <= labels.items()]
    return found[0] if len(found) == 1 else ""


def _strangers(group: str, wanted: Labels, pods: Iterable[tuple[str, Labels]]) -> Iterator[str]:
    """Yield the groups of pods that are not of *group* and have the *wanted* labels."""
    return (other for other, labels in pods if other != group and wanted.items() <= labels.items())


def _labels(pod: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in (pod["metadata"].get("labels") or {}).items() if isinstance(value, str)}
