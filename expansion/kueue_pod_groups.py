"""Pod groups of Kueue, which admits the pods of a group when as many exist as they say, in the domains that they require.

Source: Kueue, "Run a group of Pods as a single unit".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from expansion.admission import validation
from expansion.contents import Content, items, parsed
from expansion.created import Cluster, ConfinedPods, Expansion, Place, identity
from expansion.gangs import is_member
from expansion.marked_pods import KUEUE_GROUP, marked_pods
from expansion.notes import KueueGroupIncomplete, NotExpressed, NotSimulated, RefusedByKueue
from expansion.pod_creation import PodCreation
from kubeapi.content import whole_number
from kubeapi.decode import section
from kubeapi.gathered import ObjectList
from kubeapi.kueue import POD_GROUP, POD_GROUP_INDEX, POD_GROUP_TOTAL, QUEUE, is_gate
from kubeapi.names import Name
from kubeapi.problem import Problem
from kubeapi.workloads import MAX_DEPTH
from workloadbuilder.adapters.compiled import CompileOptions, compile_reading, confined_pods
from workloadbuilder.adapters.kueue_pod_group import read_pod_group
from workloadbuilder.adapters.shared.adapter_result import Reading
from workloadbuilder.adapters.shared.known_objects import Known

_OPTIONS = CompileOptions(groups=True, pods=True, judged=True, distinct=True)


def join_kueue_groups(result: Expansion, cluster: Cluster, creation: PodCreation, place: Place | None) -> None:
    """Make the new pods of complete pod groups of Kueue members of groups, if they require domains; note the incomplete groups."""
    own = {identity(each): each for each in (*_members(result.kinds["Pod"]), *result.objects) if each["kind"] == "Pod"}
    pods = {identity(each): each for each in _members(cluster.kinds.get("Pod"))} | own
    groups: dict[Name, list[Name]] = {}
    for name, pod in pods.items():
        group = section(section(pod, "metadata"), "labels").get(POD_GROUP)
        if isinstance(group, str) and group and section(pod, "status").get("phase") != "Failed":
            groups.setdefault(Name("Pod", name.namespace, group), []).append(name)
    known: Known | None = None
    for group, members in groups.items():
        total = max(_total(pods[each]) for each in members)
        if own.keys().isdisjoint(members):
            continue
        if len(members) < total:
            queued = any(_is_queued(pods[each]) for each in members)
            (result.refused if queued else result.notes).append(
                Problem(KueueGroupIncomplete(group.name, len(members), total), tuple(members))
            )
        elif creation.gang is None:
            known = known or _known(result, cluster, creation)
            _join(
                group, {each: pods[each] for each in sorted(members, key=lambda each: _rank(pods[each]))}, own.keys(), known, result, place
            )


def _join(group: Name, members: Mapping[Name, Content], own: Iterable[Name], known: Known, result: Expansion, place: Place | None) -> None:
    """Add the groups of a complete pod group, and its pods as their members, if they require a domain."""
    reading = read_pod_group(group, [*members.values()], known)
    first = next(iter(members))
    for error in reading.refused:
        at = place(members[first], error.path) if place is not None else ""
        result.refused.append(Problem.about(first, RefusedByKueue(validation.described(error), at)))
    result.notes += [Problem.about(first, NotExpressed(str(each.path), each.detail)) for each in reading.losses if not each.required]
    if reading.root is None:
        return
    new = {*own}
    if any(name not in new or section(pod, "spec").get("nodeName") for name, pod in members.items()):
        detail = f"pods of Kueue's pod group {group.name} are in the cluster: the domain that the group requires is not judged"
        result.skipped.append(Problem(NotSimulated(detail), tuple(members)))
        return
    if any(map(is_member, members.values())):
        _confine(reading, first, result)
        return
    compiled = compile_reading(reading, known, _OPTIONS)
    required = [each.detail for each in compiled.losses if each.required]
    if compiled.errors or required:
        detail = "; ".join([*map(validation.described, compiled.errors), *required])
        result.skipped.append(Problem(NotSimulated(detail), tuple(members)))
        return
    _add(compiled.objects, members, first, result)


def _confine(reading: Reading, first: Name, result: Expansion) -> None:
    """Record the domains of pods that name their group themselves."""
    confined = confined_pods(reading)
    paths = {each.path for each in confined}
    left = [path for _, _, path in reading.origins if path not in paths]
    if left:
        detail = "Kueue obeys it, and no group expresses it: the pods name a PodGroup of their own"
        result.skipped.append(Problem.about(first, NotSimulated(f"{left[0]}: {detail}")))
        return
    for each in confined:
        plans = (reading.pods[index] for index in sorted(each.pod_sets))
        pods = [plan.make((0,) * MAX_DEPTH, number) for plan in plans for number in range(plan.count)]
        result.confined.append(ConfinedPods(first, str(each.path), each.topology, pods))


def _add(objects: Sequence[Content], members: Mapping[Name, Content], first: Name, result: Expansion) -> None:
    created = {identity(each) for each in result.objects}
    for each in objects:
        name = identity(each)
        if each["kind"] != "Pod":
            result.origins[name] = first
            result.objects.append(dict(each))
        elif name in created:
            members[name]["spec"] = each["spec"]
        else:
            result.objects.append(each)


def _known(result: Expansion, cluster: Cluster, creation: PodCreation) -> Known:
    others = [content for listed in (result.others, cluster.others) for each in listed if (content := parsed(each)) is not None]
    return Known((), others, creation.levels, creation.kubernetes, creation.gates)


def _members(pods: ObjectList | None) -> Iterator[Content]:
    for each in marked_pods(pods, KUEUE_GROUP):
        content = parsed(each)
        if content is not None and section(content, "metadata").get("name"):
            yield content


def _is_queued(pod: Content) -> bool:
    """Return whether Kueue holds a pod until it admits it."""
    gates = (str(each.get("name")) for each in items(section(pod, "spec"), "schedulingGates"))
    return QUEUE in section(section(pod, "metadata"), "labels") or any(map(is_gate, gates))


def _total(pod: Content) -> int:
    """Return the number of pods that a pod says its group has; 0 if it says none."""
    return whole_number(str(section(section(pod, "metadata"), "annotations").get(POD_GROUP_TOTAL, ""))) or 0


def _rank(pod: Content) -> tuple[int, str]:
    """Return what a pod of a group is sorted by: its index in the group, and its name."""
    metadata = section(pod, "metadata")
    return whole_number(str(section(metadata, "labels").get(POD_GROUP_INDEX, ""))) or 0, str(metadata.get("name"))
