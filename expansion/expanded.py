"""Objects with the groups and pods that their controllers create, as the API server admits them, and the rest of the cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion import controllers, generated_names
from expansion.admission import new_values
from expansion.admission.admission_plugins import plugins_of_servers
from expansion.admission.new_objects import Admitted, admit_new_objects
from expansion.admission.quota_charges import Rest
from expansion.contents import Content, full_name, namespace_of, parsed
from expansion.created import Cluster, Expansion, Place, identity
from expansion.kueue.admitted_jobs import admit_jobs, objects_of_kueue
from expansion.kueue.queued_jobs import queued_pods
from expansion.managed_clusters import MANAGED_CLUSTERS
from expansion.notes import PlatformNotAssumed, PluginsAssumed, PluginsOn, RefusedByServer
from expansion.pod_creation import UNCHANGED, PodCreation
from expansion.pod_owners import OWNED_BY_WORKLOAD, PodOwners
from expansion.rollouts.group_updates import grouped_as, has_gang_of_volcano, joined_to_groups, surge
from expansion.rollouts.later import later_update
from expansion.rollouts.running import KINDS, Rollout, is_played, selects
from expansion.rollouts.strategies import RollingDeployment
from kubeapi.base_structs import replaced
from kubeapi.content import int_or_percent
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from kubeapi.gather import gather, whole_name, written_name
from kubeapi.gathered import GatheredObjects, Given, NameSearch
from kubeapi.names import Name
from kubeapi.problem import Problem


def _nowhere(_content: Mapping[str, Any], _path: FieldPath) -> str:
    return ""


@dataclasses.dataclass(slots=True)
class Expanded:
    """Objects as they arise in a cluster.

    Attributes:
        objects: the given objects of the kinds that placement reads, and the groups, pods and claims that arise, as admitted.
        others: the given objects of other kinds.
        origins: the given object of each created object.
        skipped: given objects that create pods, or may create pods, and were not expanded, with the reason.
        notes: what is said about the others, such as parts that groups cannot express.
        remaining: the objects of the cluster that these do not replace.
        names: names of the given and the created objects, before the admission; empty if nothing is known of a cluster.
        refused: given objects that the API server refuses, or whose pods it refuses, with the reason.
        minimums: the field of the given object with the minimum of a created group, unless that is in scheduling blocks; None if no field has it.
        invalid: given objects with a value that no API server accepts, which are left out.
        unread: objects of the cluster that cannot be read, or not in full.
        rollouts: updates of running objects of the cluster.
        later: the next updates of objects that do not run yet, of which some can hang; only of a strict expansion.

    """

    objects: list[Given]
    others: list[Given]
    origins: Mapping[Name, Name]
    skipped: list[Problem]
    notes: list[Problem]
    remaining: list[Given] = dataclasses.field(default_factory=list)
    names: frozenset[Name] = frozenset()
    refused: list[Problem] = dataclasses.field(default_factory=list)
    minimums: Mapping[Name, str | None] = dataclasses.field(default_factory=dict)
    invalid: list[Problem] = dataclasses.field(default_factory=list)
    unread: list[Problem] = dataclasses.field(default_factory=list)
    rollouts: list[Rollout] = dataclasses.field(default_factory=list)
    later: list[Rollout] = dataclasses.field(default_factory=list)

    def manifests(self) -> Iterator[dict[str, Any]]:
        """Yield ``objects`` as parsed JSON, by kind."""
        kinds, _ = gather(self.objects)
        return (content for listed in kinds.values() for each in listed if (content := parsed(each)) is not None)


def expand(
    objects: Iterable[Given],
    cluster: Iterable[Given] | None = None,
    creation: PodCreation = UNCHANGED,
    *,
    strict: bool = False,
    place: Place = _nowhere,
) -> Expanded:
    """Return *objects* with the groups and pods that arise from them in a cluster.

    They replace objects of the same name in the cluster, and what their controllers created there.

    Args:
        objects: JSON text (bytes) or parsed JSON of objects or of lists, or gathered objects.
        cluster: the same of the objects of the cluster; None if nothing is known of one.
        creation: what is changed about the creation of pods.
        strict: *objects* and *cluster* are all that there is.  New objects are validated in full, as the API server does; a name that no
            object has is an error.  Otherwise new objects may lack fields, such as images, and only the values that decide on placement
            are validated.
        place: for a parsed object and the path of a field, returns where the field is written, such as a file with a line, for errors of a
            strict expansion.

    """
    known = Cluster.from_sources(cluster or ())
    place_if_strict = place if strict else None
    plugins, plugin_notes = _plugins(known, creation)
    creation = replaced(creation, admission_plugins=plugins)
    created = controllers.create_objects(generated_names.named(objects), known, creation, place_if_strict)
    # Sorted once: a cluster has a great many objects.
    own = _with_created((each for listed in created.kinds.values() for each in listed.given()), created.objects)
    result, rest = Expanded(own, [*created.others], created.origins, created.skipped, created.notes), Rest()
    result.minimums = created.minimums
    replacing = _Replaced(own, created, known) if cluster is not None else None
    if replacing is not None:
        result.remaining, rest = (
            _with_created(replacing.remaining(), created.joined) if created.joined else replacing.remaining(),
            replacing.rest,
        )
        result.names = frozenset(_names(own))
    result.notes += plugin_notes
    if not strict:
        result.objects = [*new_values.without_invalid(own, result.invalid, creation.kubernetes)]
    admitted = admit_new_objects(created, rest, place_if_strict)
    result.refused += [*admitted.refused, *created.refused]
    result.notes += admitted.notes
    result.unread += [*known.problems, *admitted.unread]
    _admit_to_queues(result, created, known, admitted, replacing, creation)
    if replacing is not None:
        result.refused += replacing.with_changed_selectors()
        result.rollouts = replacing.rollouts(creation)
        result.later = [*replacing.later(creation, result.rollouts)] if strict else []
    return result


def _plugins(known: Cluster, creation: PodCreation) -> tuple[frozenset[str], list[Problem]]:
    """Return the admission plugins that are on, and notes about those that the caller did not name."""
    seen, on = plugins_of_servers(known.kinds["Pod"]), creation.admission_plugins
    notes = [Problem(PluginsOn(tuple(sorted(seen))), place="kube-apiserver")] if seen else []
    if not creation.platform:
        return on | (seen or frozenset()), notes
    platform = MANAGED_CLUSTERS[creation.platform]
    if seen is not None:
        return on | seen, [*notes, Problem(PlatformNotAssumed(), place=platform.title)]
    assumed = PluginsAssumed(tuple(sorted(platform.plugins)), platform.source, platform.as_of)
    return on | platform.plugins, [Problem(assumed, place=platform.title)]


def _admit_to_queues(
    result: Expanded, created: Expansion, known: Cluster, admitted: Admitted, replaced: _Replaced | None, creation: PodCreation
) -> None:
    """Add to *result* which jobs Kueue admits, and the pods that are *admitted* by the API server, without those that do not start."""
    of_kueue = objects_of_kueue((*created.others, *known.others))
    changed = admitted.changed
    if of_kueue:
        pods = {full_name(each): each for each in admitted.changed if each["kind"] == "Pod"}
        # A large input has a great many pods.
        queued = {full_name(each): pods.get(full_name(each), each) for each in queued_pods(created)}
        changed = [*changed, *(each for name, each in queued.items() if name not in pods)]
        namespaces = (each for kinds in (created.kinds, known.kinds) for each in kinds.get("Namespace", ()))
        gone = (whole_name(each) for each in (replaced.rest.replaced if replaced is not None else ()))

        def surging() -> set[Name]:
            updates = replaced.rollouts(creation) if replaced is not None else ()
            return {each.origin for each in updates if _creates_first(each)}

        jobs = admit_jobs(created, queued.values(), of_kueue, filter(None, map(parsed, namespaces)), filter(None, gone), surging)
        result.objects = _without(result.objects, jobs.left_out)
        result.refused += jobs.refused
        result.skipped += jobs.skipped
        result.unread += jobs.unread
        result.notes = [each for each in result.notes if not jobs.tells(each)] + jobs.notes
    result.objects = _with_created(result.objects, changed)


def _creates_first(rollout: Rollout) -> bool:
    """Return whether an update creates a pod before it deletes one."""
    strategy = rollout.strategy()
    return isinstance(strategy, RollingDeployment) and not strategy.unavailable


def _without(objects: list[Given], left_out: Collection[int]) -> list[Given]:
    """Return *objects* without those created ones of which *left_out* has the identity."""
    return [each for each in objects if id(each) not in left_out] if left_out else objects


class _Replaced:
    """Objects of *cluster* that *own*, with what their controllers *created*, replace."""

    def __init__(self, own: Iterable[Given], created: Expansion, cluster: Cluster) -> None:
        self._own, self._created, self._cluster = {*_names(own)}, created, cluster
        self._short_names = {each.name for each in self._own}
        selecting = {each: section(content, "spec", "selector") for each, content in created.given() if each.kind == "Deployment"}
        self._owners = PodOwners(created.controllers, cluster.kinds, selecting)
        self._running: dict[Name, list[Content]] = {}
        self._kept: set[Name] = set()
        self.rest = Rest(cluster.kinds, others=cluster.others)
        """The rest of the cluster, with the replaced pods."""

    def remaining(self) -> list[Given]:
        """Return the objects that are not replaced; created pods with the name of one of another controller get another name."""
        mentioned = NameSearch((*self._short_names, *self._owners.names))
        remaining = [
            each
            for kind, listed in self._cluster.kinds.items()
            for each in listed.given(self._is_replaced, None if kind in OWNED_BY_WORKLOAD else mentioned)
        ]
        self._created.rename(self._kept)
        return remaining

    def _is_replaced(self, stored: GatheredObjects) -> bool:
        """Return whether *stored* is replaced; a pod is added to ``rest``."""
        # Read once, and most are excluded by their text: a cluster has a great many objects.
        text = stored.text
        if written_name(text)[1] not in self._short_names and not self._owners.mentions(text):
            return False
        gathered = GatheredObjects(stored.kind, stored.api_version, text)
        name = _name(gathered)
        if name in self._own and name in self._created.origins and self._owners.has_other_owner(gathered):
            self._kept.add(name)
            return False
        owner = self._owners.owner(gathered)
        if name not in self._own and owner is None:
            return False
        if gathered.kind == "Pod":
            self.rest.replaced.append(stored)
            self.rest.owners |= {owner} if owner is not None else set()
            if owner is not None and owner.kind in KINDS and (content := parsed(stored)) is not None and not _is_leaving(content):
                self._running.setdefault(owner.object, []).append(content)
        return True

    def rollouts(self, creation: PodCreation) -> list[Rollout]:
        """Return the updates of objects whose running pods are replaced by other ones."""
        found = []
        for controller, manifest in self._created.given():
            old, created = self._running.get(controller.object, []), self._created.pod_sets.get(controller.object)
            new = [*created.pods] if created is not None else []
            if is_played(controller.kind, old, new, grouped=has_gang_of_volcano(manifest)):
                old = joined_to_groups(manifest, sorted(old, key=full_name), new)
                sets = self._of_namespace("ReplicaSet", controller.namespace) if controller.kind == "Deployment" else ()
                further = grouped_as(manifest, old, self._beyond(manifest, creation))
                update = Rollout(controller.object, manifest, old, grouped_as(manifest, old, new), further=further, sets=sets)
                found.append(self._with_quotas(update))
        return found

    def with_changed_selectors(self) -> Iterator[Problem]:
        """Yield the objects whose selectors do not match their running pods."""
        for controller, manifest in self._created.given():
            if not all(selects(manifest, each) for each in self._running.get(controller.object, ())):
                yield Problem.about(controller.object, RefusedByServer("spec.selector: Invalid value: field is immutable"))

    def later(self, creation: PodCreation, rollouts: Iterable[Rollout]) -> Iterator[Rollout]:
        """Yield the next updates of objects that are not updated now, if they can hang."""
        updated = {each.origin for each in rollouts}
        groups: dict[Name, list[Content]] = {}
        for each in self._created.objects:
            if each["kind"] != "Pod" and (origin := self._created.origins.get(identity(each))) is not None:
                groups.setdefault(origin, []).append(each)
        for controller, manifest in self._created.given():
            sets = self._created.pod_sets.get(controller.object)
            if sets is not None and controller.object not in updated:
                beyond = self._beyond(manifest, creation)
                update = later_update(controller.object, manifest, sets.pods, groups.get(controller.object, ()), beyond)
                if update is not None:
                    yield self._with_quotas(update)

    def _with_quotas(self, update: Rollout) -> Rollout:
        namespace = update.origin.namespace
        quotas = self._of_namespace("ResourceQuota", namespace)
        others = self._of_namespace("Pod", namespace, {*map(full_name, update.old)}) if quotas else []
        return replaced(update, quotas=quotas, others=others)

    def _beyond(self, manifest: Content, creation: PodCreation) -> list[Content]:
        """Return the groups and pods beyond the number of an object that exist only during its update, as the API server admits them."""
        spec = section(manifest, "spec")
        number = int_or_percent(spec.get("replicas"), 0, default=1, up=False)
        if not (more := surge(manifest, number)):
            return []
        larger = {**manifest, "spec": {**spec, "replicas": number + more}}
        created = controllers.create_objects([larger], self._cluster, creation)
        admit_new_objects(created, self.rest)
        return [each for each in created.objects if identity(each) not in self._created.origins]

    def _of_namespace(self, kind: str, namespace: str, besides: Collection[tuple[str, str]] = ()) -> list[Content]:
        """Return the objects of a kind in a namespace, by name; those at PATH are used in place of those of the cluster."""
        both = (
            content for kinds in (self._cluster.kinds, self._created.kinds) for each in kinds.get(kind, ()) if (content := parsed(each))
        )
        found = {full_name(each): each for each in both if namespace_of(each) == namespace}
        return [each for name, each in sorted(found.items()) if name not in besides]


def _is_leaving(pod: Content) -> bool:
    """Return whether a pod is being deleted, or has ended: its controller replaces it whatever it does."""
    return bool(section(pod, "metadata").get("deletionTimestamp")) or section(pod, "status").get("phase") in {"Failed", "Succeeded"}


def _with_created(objects: Iterable[Given], created: Sequence[Given]) -> list[Given]:
    """Return *objects* and those *created*, which replace those of the same name."""
    names = {*_names(created)}
    if not names:
        return [*objects, *created]
    kinds, _ = gather(objects)
    return [*(each for listed in kinds.values() for each in listed.given(lambda each: _name(each) in names)), *created]


def _names(objects: Iterable[Given]) -> Iterator[Name]:
    kinds, _ = gather(objects)
    return (_name(gathered) for listed in kinds.values() for gathered in listed)


def _name(gathered: GatheredObjects) -> Name:
    return Name(gathered.kind, *(whole_name(gathered) or ("", "")))
