"""Domains that Kueue requires for pods whose template names their group.

Kueue places the pods, whatever their group is.  The group gets the domain, if it has no other members and no other domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from expansion import gangs
from expansion.contents import Content, parsed
from expansion.created import Cluster, ConfinedPods, Expansion, identity
from expansion.notes import NotExpressed, NotSimulated
from expansion.pod_owners import PodOwners
from kubeapi.decode import section
from kubeapi.gather import whole_name
from kubeapi.gathered import GatheredObjects
from kubeapi.names import Name
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.problem import Problem

_KIND = "PodGroup"
_names_group = re.compile(rb'"schedulingGroup"|' + re.escape(POD_GROUP_LABEL.encode())).search


def confine_named_groups(result: Expansion, cluster: Cluster) -> None:
    """Give the groups that confined pods name the domain of these; pods whose group cannot have it are not judged."""
    if not result.confined:
        return
    members: dict[Name, set[Name]] = {}
    for pod in _pods(result, cluster):
        if (group := _group_of(pod)) is not None:
            members.setdefault(group, set()).add(identity(pod))
    for confined in result.confined:
        if reason := _confine(confined, members, result, cluster):
            result.skipped.append(Problem.about(confined.origin, NotSimulated(f"{confined.field}: {reason}")))


def _confine(confined: ConfinedPods, members: dict[Name, set[Name]], result: Expansion, cluster: Cluster) -> str:
    """Give the group of *confined* pods their domain; return the reason if it cannot have it."""
    groups = {_group_of(pod) for pod in confined.pods}
    name = groups.pop() if len(groups) == 1 else None
    if name is None:
        return "Kueue obeys it, and no group expresses it: the pods name several groups" if groups else ""
    created = next((each for each in result.objects if each["kind"] == _KIND and identity(each) == name), None)
    given = _of_name(result.kinds[_KIND], name) if created is None else None
    group = created or given or _of_name(cluster.kinds.get(_KIND, ()), name)
    if group is None:
        # The pods wait for it, which is noted.
        return ""
    if members[name] != {*map(identity, confined.pods)}:
        return f"Kueue obeys it, and no group expresses it: PodGroup {name.name} has other members too"
    own = gangs.constraint_of(group)
    if own and own != confined.topology:
        return f"Kueue obeys it, and no group expresses it: PodGroup {name.name} has a domain of {own}"
    # A group must be equal to its template in a Workload: a changed one has no template.
    kept = {key: value for key, value in section(group, "spec").items() if own or key != "workloadRef"}
    spec = {**kept, "schedulingConstraints": {"topology": [{"key": confined.topology}]}}
    if created is not None:
        created["spec"] = spec
    else:
        (result.joined if given is None else result.objects).append({**group, "spec": spec})
    # Kueue admits all pods together, whatever the minimum is.
    result.minimums[name] = None
    if not own:
        result.notes.append(
            Problem.about(confined.origin, NotExpressed(confined.field, f"PodGroup {name.name} is judged with this domain"))
        )
    return ""


def _pods(result: Expansion, cluster: Cluster) -> Iterator[Content]:
    """Yield the pods that can name a group: the created and the given ones, and those that stay in the cluster."""
    created = [each for each in result.objects if each["kind"] == "Pod"]
    yield from created
    own = {*map(identity, created)}
    for each in result.kinds["Pod"]:
        if _names_group(each.text) and (content := parsed(each)) is not None and identity(content) not in own:
            yield content
    owners = PodOwners(result.controllers, cluster.kinds)
    given = {whole_name(each) for each in result.kinds["Pod"]}
    for each in cluster.kinds.get("Pod", ()):
        if _names_group(each.text) and whole_name(each) not in given and owners.owner(each) is None:
            if (content := parsed(each)) is not None and section(content, "status").get("phase") not in {"Succeeded", "Failed"}:
                yield content


def _group_of(pod: Content) -> Name | None:
    group = gangs.parent_of(pod)
    return None if group is None else Name(*group)


def _of_name(groups: Iterable[GatheredObjects], name: Name) -> Content | None:
    return next((parsed(each) for each in groups if whole_name(each) == (name.namespace, name.name)), None)
