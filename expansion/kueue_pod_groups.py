"""Pod groups of Kueue, which admits the pods of a group when as many exist as they say.

Source: Kueue, "Run a group of Pods as a single unit".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from expansion.contents import Content, parsed
from expansion.created import Cluster, Expansion, identity
from expansion.notes import KueueGroupIncomplete
from kubeapi.content import whole_number
from kubeapi.decode import section
from kubeapi.gathered import GatheredObjects
from kubeapi.kueue import POD_GROUP, POD_GROUP_TOTAL
from kubeapi.names import Name
from kubeapi.problem import Problem

_LABEL = POD_GROUP.encode()


def incomplete_kueue_groups(result: Expansion, cluster: Cluster) -> Iterator[Problem]:
    """Yield the pod groups of Kueue with given or created pods of which fewer pods exist than they say: Kueue admits none of the pods."""
    own = {identity(each): each for each in (*_members(result.kinds["Pod"]), *result.objects) if each["kind"] == "Pod"}
    pods = {identity(each): each for each in _members(cluster.kinds.get("Pod", ()))} | own
    groups: dict[tuple[str, str], list[Name]] = {}
    for name, pod in pods.items():
        group = section(section(pod, "metadata"), "labels").get(POD_GROUP)
        if isinstance(group, str) and group and section(pod, "status").get("phase") != "Failed":
            groups.setdefault((name.namespace, group), []).append(name)
    for (_, group), members in groups.items():
        total = max(_total(pods[each]) for each in members)
        if len(members) < total and not own.keys().isdisjoint(members):
            yield Problem(KueueGroupIncomplete(group, len(members), total), tuple(members))


def _members(pods: Iterable[GatheredObjects]) -> Iterator[Content]:
    for each in pods:
        content = parsed(each) if _LABEL in bytes(each.text) else None
        if content is not None and section(content, "metadata").get("name"):
            yield content


def _total(pod: Content) -> int:
    """Return the number of pods that a pod says its group has; 0 if it says none."""
    return whole_number(str(section(section(pod, "metadata"), "annotations").get(POD_GROUP_TOTAL, ""))) or 0
