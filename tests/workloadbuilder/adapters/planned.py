"""The group of a pod that exists, among those that were compiled."""

from __future__ import annotations

from workloadbuilder.adapters.members import MemberIndex, member_labels


def planned_group(pod, compiled):
    """Return the name of the group of *pod*, by its labels; None if it has none."""
    index = MemberIndex()
    for group, members in member_labels(each for each in compiled.objects if each["kind"] == "Pod").items():
        index.add(group, members)
    return index.group_of(pod["metadata"].get("labels") or {}) or None
