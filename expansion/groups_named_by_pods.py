"""Groups that pods name and that are not created for them: those of other schedulers in the cluster, and missing ones.

A pod, or a pod template, can name a PodGroup, of Kubernetes or of another scheduler.  The pods are members of that group, wherever
the group is, and wait for it if it is nowhere.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator

from expansion.contents import Content, namespace_of, parsed
from expansion.created import Cluster, Expansion, identity
from expansion.marked_pods import GROUP_KEYS, marked_pods
from expansion.notes import GroupMissing, WhyNotSimulated
from expansion.pod_creation import PodCreation
from expansion.pod_owners import PodOwners
from kubeapi.decode import section
from kubeapi.gather import whole_name
from kubeapi.gathered import GatheredObjects
from kubeapi.names import Name
from kubeapi.problem import Problem
from kubeapi.versions.api_versions import SCHEDULING
from validators.gates import GENERIC_WORKLOAD
from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known, group_of, similar_name
from workloadbuilder.adapters.shared.named_groups import NamedGroup, named_group

_POD_GROUP = "PodGroup"
_ENDED = frozenset({"Succeeded", "Failed"})


class GroupsNamedByPods:
    """Groups that the pods of *result* name, and that are looked up among its given objects and in the *cluster*."""

    def __init__(self, result: Expansion, cluster: Cluster, creation: PodCreation) -> None:
        self._result, self._cluster, self._creation = result, cluster, creation
        self.created = {identity(each): each for each in result.objects if each["kind"] == "Pod"}
        """Pods that are created so far, by name."""
        self._given = {identity(each): each for each in _members(marked_pods(result.kinds["Pod"], GROUP_KEYS))}
        self._stored = {identity(each): each for each in self._rest_of_cluster()}

    def known(self, manifests: Iterable[Content] = ()) -> Known:
        """Return what the adapters of other schedulers' PodGroups look up: all pods that can name one, and topologies."""
        pods = (*self.created.values(), *self._given.values(), *self._stored.values())
        others = (content for each in self._cluster.others if (content := parsed(each)) is not None)
        return Known(
            manifests,
            [*pods, *others],
            self._creation.levels,
            self._creation.kubernetes,
            self._creation.gates,
            self._creation.pod_templates,
        )

    def is_named(self, manifest: Content) -> bool:
        """Return whether a created pod names a PodGroup of another scheduler."""
        own = identity(manifest)
        full = group_of(str(manifest.get("apiVersion"))), own.namespace, own.name
        return any((named.group, name.namespace, named.name) == full for name, pod in self.created.items() if (named := named_group(pod)))

    def join(self, why_skipped: Callable[[Compiled], WhyNotSimulated | None]) -> None:
        """Make pods members of the groups that they name and that are not among the given objects, which are compiled by now.

        *why_skipped* returns the reason why the objects of a group are not used; None if they are.
        """
        known: Known | None = None
        for (namespace, named), pods in self._wanted().items():
            if named.group == SCHEDULING:
                self._note_missing(namespace, named.name, pods)
            elif _of_name(self._result.others, namespace, named) is None:
                content = _of_name(self._cluster.others, namespace, named)
                if content is None:
                    self._wait(Name(_POD_GROUP, namespace, named.name), named.group, pods)
                    continue
                known = known or self.known()
                compiled = self._compiled(content, known)
                if compiled is not None and (reason := why_skipped(compiled)) is not None:
                    self._result.skipped.append(Problem.about(Name(_POD_GROUP, namespace, named.name), reason))
                elif compiled is not None:
                    self._add_members(compiled, Name(_POD_GROUP, namespace, named.name))

    def _wanted(self) -> dict[tuple[str, NamedGroup], list[Content]]:
        """Return the pods by the group that they name; of the given pods those whose group is one of another scheduler."""
        wanted: dict[tuple[str, NamedGroup], list[Content]] = {}
        for name, pod in (self._given | self.created).items():
            named = named_group(pod)
            if named is not None and (name in self.created or named.group != SCHEDULING):
                wanted.setdefault((name.namespace, named), []).append(pod)
        return wanted

    def _wait(self, group: Name, api_group: str, pods: Iterable[Content]) -> None:
        """Let those of *pods* that have no node wait for a group of another scheduler, which does not exist."""
        # A group of Kubernetes that has the name is another one.
        name = f"{group.name}.{api_group}" if (group.namespace, group.name) in self._names_of_groups else group.name
        for pod in pods:
            if section(pod, "spec").get("nodeName"):
                continue
            self._tell(pod, GroupMissing(group, api_group=api_group))
            spec = {**section(pod, "spec"), "schedulingGroup": {"podGroupName": name}}
            if identity(pod) in self.created:
                pod["spec"] = spec
            else:
                self._result.objects.append({**pod, "spec": spec})

    def _compiled(self, content: Content, known: Known) -> Compiled | None:
        options = CompileOptions(groups=True, pods=True)
        compiled = compile_object(content, known, options)
        if compiled is None or all(identity(each) not in self._result.origins for each in compiled.objects if each["kind"] != "Pod"):
            return compiled
        return compile_object(content, known, dataclasses.replace(options, distinct=True))

    def _add_members(self, compiled: Compiled, group: Name) -> None:
        """Add a group of the cluster that is *compiled*, with its members."""
        self._result.add_minimums(compiled.objects, compiled.minimums)
        for each in compiled.objects:
            name = identity(each)
            if name.kind != "Pod":
                self._result.joined.append(dict(each))
                self._result.origins[name] = group
            elif name in self.created:
                self.created[name]["spec"] = each["spec"]
            elif name in self._given:
                self._result.objects.append(_as_member(self._given[name], each))
            else:
                self._result.joined.append(_as_member(self._stored[name], each))

    def _note_missing(self, namespace: str, name: str, pods: Iterable[Content]) -> None:
        """Note a group of Kubernetes that does not exist; *pods* name it."""
        names = self._names_of_groups
        if (namespace, name) in names or not self._creation.gates.enabled(GENERIC_WORKLOAD):
            return
        others = sorted(each for space, each in names if space == namespace)
        for pod in pods:
            self._tell(pod, GroupMissing(Name(_POD_GROUP, namespace, name), similar_name(name, others)))

    @functools.cached_property
    def _names_of_groups(self) -> set[tuple[str, str]]:
        """Return the namespaces and names of the groups of Kubernetes, which are all known by now: only their members are added."""
        created = {(name.namespace, name.name) for each in self._result.objects if (name := identity(each)).kind == _POD_GROUP}
        given = map(whole_name, (each for kinds in (self._result.kinds, self._cluster.kinds) for each in kinds.get(_POD_GROUP, ())))
        return created | {each for each in given if each is not None}

    def _tell(self, pod: Content, missing: GroupMissing) -> None:
        note = Problem.about(self._result.origins.get(identity(pod), identity(pod)), missing)
        if note not in self._result.notes:
            self._result.notes.append(note)

    def _rest_of_cluster(self) -> Iterator[Content]:
        """Yield the pods of the cluster that stay there and can name such a group."""
        marked = [*marked_pods(self._cluster.kinds.get("Pod"), GROUP_KEYS)]
        owners = PodOwners(self._result.controllers, self._cluster.kinds) if marked else None
        own = {whole_name(each) for each in self._result.kinds["Pod"]} if marked else set()
        yield from _members(each for each in marked if whole_name(each) not in own and (owners is None or owners.owner(each) is None))


def _of_name(objects: Iterable[GatheredObjects], namespace: str, named: NamedGroup) -> Content | None:
    for each in objects:
        if each.kind == _POD_GROUP and group_of(each.api_version) == named.group and (content := parsed(each)) is not None:
            if namespace_of(content) == namespace and section(content, "metadata").get("name") == named.name:
                return content
    return None


def _members(pods: Iterable[GatheredObjects]) -> Iterator[Content]:
    """Yield those of *pods* that can be members of a group: they have not ended."""
    for each in pods:
        content = parsed(each)
        if content is not None and section(content, "spec") and section(content, "metadata").get("name"):
            if section(content, "status").get("phase") not in _ENDED:
                yield content


def _as_member(pod: Content, member: Content) -> Content:
    """Return *pod* with the group of *member*, its copy as a new member; it keeps its node."""
    if not section(pod, "spec").get("nodeName"):
        return {**pod, "spec": member["spec"]}
    return {**pod, "spec": {**section(pod, "spec"), "schedulingGroup": member["spec"]["schedulingGroup"]}}
