"""Move of the custom resources of a live cluster to the built-in API group; it can be interrupted at every request and run again.

First all objects are created, parents first, each with its status; then other objects get the new owners; then the custom resources are
deleted, children first, without deleting what they own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.discovery import base_path
from kubeapi import decode
from kubeapi.base_structs import MutableRecord, record_field
from kubeapi.decode import section
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import Resource
from muster.commands.snapshot.live_cluster import ClusterError, list_resources
from validators.migrate import moves
from validators.migrate.moves import MoveAction
from validators.migrate.recreate import KINDS
from validators.migrate.stored_objects import Content, Name, name_of, references_of

_DEPENDENTS = ("Pod", "ResourceClaim", "PersistentVolumeClaim", "Job")
"""Kinds of other objects whose owners are read and changed; of further kinds, the garbage collector removes the owners that are deleted."""
_ENDED = frozenset({"Succeeded", "Failed"})
_GONE, _CONFLICT = 404, 409
_MERGE = "application/merge-patch+json"


class MovedObject(MutableRecord):
    """Custom resource with what is done with it; *problem* says why it is not moved, or not deleted yet."""

    source: Content
    target: Content | None = None
    actions: list[MoveAction] = record_field(default_factory=list)
    problem: str = ""


class LabelledPods(MutableRecord):
    """Pods that name a PodGroup by label only: their number, and the objects whose controllers create such pods."""

    pods: int = 0
    controllers: set[str] = record_field(default_factory=set)


class ClusterMove:
    """Move of all custom resources that a cluster stores.  Nothing is written in a *dry_run*.

    Attributes:
        objects: the custom resources, parents first.
        labelled: the pods that only have the label, by namespace and PodGroup.

    """

    def __init__(self, api: Api, *, dry_run: bool) -> None:
        self._api, self.dry_run = api, dry_run
        self._api_versions: dict[str, str] = {}
        """The version of the built-in API group that the cluster serves, by kind."""
        self._dependents: list[Content] = []
        self.labelled: dict[tuple[str, str], LabelledPods] = {}
        self.objects: list[MovedObject] = []
        self._built_in: dict[Name, Content] = {}
        self._owners: dict[str, Content] = {}
        """The objects in place of custom resources, by the uid of these."""

    def run(self) -> None:
        """Move the objects.

        Raises:
            ClusterError: the cluster cannot be read, or does not answer; the move can be run again.

        """
        self._read()
        try:
            for each in self.objects:
                self._attempt(each, self._create)
                if each.target is not None:
                    self._owners[_uid(each)] = each.target
            by_uid = {_uid(each): each for each in self.objects}
            for dependent in self._dependents:
                self._set_owners(dependent, by_uid)
            for each in reversed(self.objects):
                if each.target is not None and not each.problem:
                    self._attempt(each, self._delete)
        except (ValueError, *TRANSPORT) as error:
            raise ClusterError(f"{self._api.host} does not answer: {error}; run the command again, it goes on where it ended") from None

    def _read(self) -> None:
        sources: list[Content] = []
        for kind in KINDS:
            sources += (each for _, items in self._listed(served_versions.resource(kind, CUSTOM)) for each in items)
            for api_version, items in self._listed(served_versions.resource(kind)):
                self._api_versions[kind] = api_version
                self._built_in |= {name_of(each): each for each in items}
        self.objects = [MovedObject(each) for each in moves.parents_first(sources)]
        uids = {section(each, "metadata").get("uid") for each in sources}
        for kind in _DEPENDENTS:
            for _, items in self._listed(served_versions.resource(kind)):
                for each in items:
                    if kind == "Pod":
                        self._count_label(each)
                    if any(reference.get("uid") in uids for reference in references_of(each)):
                        self._dependents.append(each)
        self._dependents += (each for each in self._built_in.values() if any(owner.get("uid") in uids for owner in references_of(each)))

    def _listed(self, resource: Resource) -> Iterator[tuple[str, list[Content]]]:
        """Yield the pages of a resource: its apiVersion and the objects; none if the cluster does not serve it."""
        for text in list_resources(self._api, [resource], needed=(resource.kind,)).lists:
            content = decode.parse(text)
            head = {"apiVersion": content["apiVersion"], "kind": resource.kind}
            yield content["apiVersion"], [{**head, **each} for each in content["items"] or ()]

    def _count_label(self, pod: Content) -> None:
        name = section(pod, "metadata", "labels").get(POD_GROUP_LABEL)
        if not name or "schedulingGroup" in section(pod, "spec") or section(pod, "status").get("phase") in _ENDED:
            return
        _, namespace, _ = name_of(pod)
        counted = self.labelled.setdefault((namespace, str(name)), LabelledPods())
        counted.pods += 1
        counted.controllers |= {
            f"{each.get('kind')} {namespace}/{each.get('name')}" for each in references_of(pod) if each.get("controller")
        }

    def _attempt(self, moved: MovedObject, step: Callable[[MovedObject], None]) -> None:
        try:
            step(moved)
        except ReplyError as error:
            again = "; it has changed meanwhile: run the command again" if error.code == _CONFLICT else ""
            moved.problem = f"{error}{again}"

    def _create(self, moved: MovedObject) -> None:
        """Create the object in place of a custom resource, unless that is done already, and carry its status over."""
        kind, namespace, name = name_of(moved.source)
        moved.target = self._built_in.get((kind, namespace, name))
        if moved.target is not None:
            if fields := moves.differences(moved.source, moved.target):
                moved.problem = f"{_group(moved.target)} has a {kind} of this name that differs in {_fields(fields)}, and counts"
                return
        elif section(moved.source, "metadata").get("deletionTimestamp"):
            moved.problem = "it is being deleted"
            return
        elif kind not in self._api_versions:
            moved.problem = f"the API server has no {kind} of {served_versions.hub_of(kind).group}"
            return
        else:
            wanted = moves.replacement(moved.source, self._api_versions[kind], self._owners)
            moved.actions.append(MoveAction.CREATE)
            if self.dry_run:
                moved.target = wanted
                return
            body, path = decode.ENCODER.encode(wanted), self._collection(wanted)
            # What the API server would drop, because a feature gate is off, must not be lost.
            if fields := moves.differences(wanted, decode.parse(self._api.send("POST", path, body, query=[("dryRun", "All")]))):
                moved.actions.clear()
                moved.problem = f"the API server drops {_fields(fields)}: a feature gate is off"
                return
            moved.target = decode.parse(self._api.send("POST", path, body))
        self._set_status(moved, moved.target)

    def _set_status(self, moved: MovedObject, target: Content) -> None:
        if name_of(target)[0] == "Workload" or (status := moves.missing_status(moved.source, target)) is None:
            return
        moved.actions.append(MoveAction.SET_STATUS)
        if not self.dry_run:
            # With its resourceVersion, a status that a scheduler writes meanwhile is not overwritten.
            version = {"resourceVersion": section(target, "metadata").get("resourceVersion")}
            moved.target = self._patch(target, {"metadata": version, "status": status}, "/status")

    def _set_owners(self, dependent: Content, by_uid: Mapping[str, MovedObject]) -> None:
        if (references := moves.new_references(dependent, self._owners)) is None:
            return
        moved = [by_uid[uid] for each in references_of(dependent) if (uid := str(each.get("uid"))) in by_uid]
        for each in moved:
            each.actions.append(MoveAction.SET_OWNER)
        if self.dry_run:
            return
        version = section(dependent, "metadata").get("resourceVersion")
        try:
            self._patch(dependent, {"metadata": {"resourceVersion": version, "ownerReferences": references}})
        except ReplyError as error:
            if error.code != _GONE:
                for each in moved:
                    each.problem = f"{' '.join(name_of(dependent)[::2])} keeps it as owner: {error}; run the command again"

    def _delete(self, moved: MovedObject) -> None:
        """Delete a custom resource that has its replacement; what it owns is kept."""
        source = self._without_finalizers(moved)
        metadata = section(source, "metadata")
        if metadata.get("deletionTimestamp"):
            return
        moved.actions.append(MoveAction.DELETE)
        if self.dry_run:
            return
        # Only what has been read is deleted, not what has changed since.
        unchanged = {"uid": metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan", "preconditions": unchanged}
        try:
            self._api.send("DELETE", self._path(source), decode.ENCODER.encode(body))
        except ReplyError as error:
            if error.code != _GONE:
                raise

    def _without_finalizers(self, moved: MovedObject) -> Content:
        """Return a custom resource as it is without Muster's finalizers, which protect the object in its place by now."""
        source = moved.source
        if (kept := moves.kept_finalizers(source)) is None:
            return source
        moved.actions.append(MoveAction.REMOVE_FINALIZERS)
        if self.dry_run:
            return source
        version = {"resourceVersion": section(source, "metadata").get("resourceVersion")}
        try:
            return self._patch(source, {"metadata": {**version, "finalizers": kept or None}})
        except ReplyError as error:
            if error.code == _GONE:
                return {**source, "metadata": {**section(source, "metadata"), "deletionTimestamp": "gone"}}
            raise

    def _patch(self, content: Content, body: Mapping[str, Any], subresource: str = "") -> Content:
        answer = self._api.send("PATCH", self._path(content) + subresource, decode.ENCODER.encode(body), content_type=_MERGE)
        patched: Content = decode.parse(answer)
        return patched

    def _collection(self, content: Content) -> str:
        kind, namespace, _ = name_of(content)
        return f"{base_path(str(content['apiVersion']))}/namespaces/{namespace}/{served_versions.resource(kind).resource}"

    def _path(self, content: Content) -> str:
        return f"{self._collection(content)}/{name_of(content)[2]}"


def _uid(moved: MovedObject) -> str:
    return str(section(moved.source, "metadata").get("uid"))


def _group(content: Content) -> str:
    return str(content["apiVersion"]).rpartition("/")[0]


def _fields(names: Sequence[str]) -> str:
    return ", ".join(f"spec.{each}" for each in names)
