"""Move of the custom resources of a live cluster to the built-in API group; it can be interrupted at every request and run again.

First all objects are created, parents first, each with its status; then other objects get the new owners; then the custom resources are
deleted, children first, without deleting what they own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.discovery import minor_version
from kubeapi.base_structs import MutableRecord, record_field
from kubeapi.decode import section
from kubeapi.groups import TREE_KINDS
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import CUSTOM
from muster.commands.migrate.cluster_objects import CONFLICT, GONE, ClusterObjects, is_owned
from muster.commands.snapshot.live_cluster import FORBIDDEN, ClusterError, ForbiddenError
from validators.migrate import moves
from validators.migrate.moves import MoveAction
from validators.migrate.stored_objects import Content, Name, ObjectsToUpgrade, name_of, references_of
from validators.rules.base import Operation

_ENDED = frozenset({"Succeeded", "Failed"})
_INVALID = 422


class MovedObject(MutableRecord):
    """Custom resource with what is done with it; *problem* says why it is not moved, or not deleted yet.

    *waits_for* has the finalizers of one that an earlier run has deleted.
    """

    source: Content
    target: Content | None = None
    actions: list[MoveAction] = record_field(default_factory=list)
    problem: str = ""
    waits_for: tuple[str, ...] = ()

    @property
    def has_replacement(self) -> bool:
        """True if the object is moved, or would be in a dry run."""
        return self.target is not None and not self.problem


class LabelledPods(MutableRecord):
    """Pods that name a PodGroup by label only: their number, and the objects whose controllers create such pods."""

    pods: int = 0
    controllers: set[str] = record_field(default_factory=set)


class ClusterMove:
    """Move of all custom resources that a cluster stores.  Nothing is written in a *dry_run*.

    Attributes:
        objects: the custom resources, parents first.
        labelled: the pods that only have the label, by namespace and PodGroup, of the PodGroups that are moved.

    """

    def __init__(self, api: Api, *, dry_run: bool) -> None:
        self._api, self.dry_run = api, dry_run
        self._cluster = ClusterObjects(api)
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
        try:
            self._read()
            for each in self.objects:
                self._attempt(each, self._create)
                if each.target is not None and not each.problem:
                    self._owners[_uid(each)] = each.target
            # What is not moved gets the new owners as well.
            for dependent in (*self._dependents, *(each.source for each in self.objects if each.problem)):
                self._set_owners(dependent)
            for each in reversed(self.objects):
                if each.has_replacement:
                    self._attempt(each, self._delete)
        except ReplyError as error:
            kind = ForbiddenError if error.code == FORBIDDEN else ClusterError
            raise kind(f"{self._api.host} cannot be read: {error}") from None
        except (ValueError, *TRANSPORT) as error:
            raise ClusterError(f"{self._api.host} does not answer: {error}; run the command again, it continues the move") from None
        moved = {name_of(each.source)[1:] for each in self.objects if each.has_replacement and name_of(each.source)[0] == "PodGroup"}
        self.labelled = {name: each for name, each in self.labelled.items() if name in moved}

    def _read(self) -> None:
        sources: list[Content] = []
        for kind in TREE_KINDS:
            sources += (each for _, items in self._cluster.listed(served_versions.resource(kind, CUSTOM)) for each in items)
            for api_version, items in self._cluster.listed(served_versions.resource(kind)):
                self._api_versions[kind] = api_version
                self._built_in |= {name_of(each): each for each in items}
        self.objects = [MovedObject(each) for each in moves.parents_first(sources)]
        if not sources:
            return
        uids = {_uid(each) for each in self.objects}
        for _, items in self._cluster.listed(served_versions.resource("Pod")):
            for each in items:
                self._count_label(each)
                if is_owned(each, uids):
                    self._dependents.append(each)
        self._dependents += self._cluster.owned(uids)
        self._dependents += (each for each in self._built_in.values() if is_owned(each, uids))

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
            again = "; it has changed meanwhile: run the command again" if error.code == CONFLICT else ""
            moved.problem = f"{error}{again}"

    def _create(self, moved: MovedObject) -> None:
        """Create the object in place of a custom resource, unless that is done already, and carry its status over."""
        name = name_of(moved.source)
        if (target := self._built_in.get(name)) is not None:
            self._complete(moved, target)
        elif section(moved.source, "metadata").get("deletionTimestamp"):
            moved.problem = "it is being deleted"
        elif name[0] not in self._api_versions:
            moved.problem = f"the API server has no {name[0]} of {served_versions.hub_of(name[0]).group}"
        else:
            self._replace(moved, moves.replacement(moved.source, self._api_versions[name[0]], self._owners))
            if moved.target is not None:
                self._set_status(moved, moved.target)

    def _complete(self, moved: MovedObject, target: Content) -> None:
        """Use an existing object in place of a custom resource, with the metadata and the status of both."""
        moved.target = target
        moved.problem = _obstacle(moved.source, target)
        if moved.problem:
            return

        def write(current: Content) -> Content:
            metadata = moves.missing_metadata(moved.source, current, self._owners)
            return self._cluster.patch(current, {"metadata": metadata}) if metadata else current

        if moves.missing_metadata(moved.source, target, self._owners):
            if not self.dry_run:
                target = moved.target = self._cluster.retried(target, write)
            moved.actions.append(MoveAction.SET_METADATA)
        self._set_status(moved, target)

    def _replace(self, moved: MovedObject, wanted: Content) -> None:
        """Create *wanted*, unless the API server would refuse it, or would drop a field because a feature gate is off."""
        try:
            tried = self._cluster.create(wanted, dry_run=True)
        except ReplyError as error:
            if error.code != _INVALID or not self._is_valid(wanted):
                raise
            moved.problem = f"the API server drops a field that the rest needs: a feature gate is off ({error})"
            return
        if fields := moves.differences(wanted, tried):
            moved.problem = f"the API server drops {_fields(fields)}: a feature gate is off"
            return
        moved.target = tried if self.dry_run else self._cluster.create(wanted, dry_run=False)
        moved.actions.append(MoveAction.CREATE)

    def _is_valid(self, content: Content) -> bool:
        """Return whether the API server would accept an object if all feature gates were on."""
        minor = max(kubernetes_releases.OLDEST, min(minor_version(self._api), kubernetes_releases.TODAY + 1))
        return not ObjectsToUpgrade([content], minor).errors(content, Operation.CREATE)

    def _set_status(self, moved: MovedObject, target: Content) -> None:
        if name_of(target)[0] == "Workload" or moves.missing_status(moved.source, target) is None:
            return

        def write(current: Content) -> Content:
            # A status that a scheduler writes meanwhile is not overwritten: that is a conflict.
            status = moves.missing_status(moved.source, current)
            return self._cluster.patch(current, {"status": status}, "/status") if status is not None else current

        if not self.dry_run:
            moved.target = self._cluster.retried(target, write)
        moved.actions.append(MoveAction.SET_STATUS)

    def _set_owners(self, dependent: Content) -> None:
        if moves.new_references(dependent, self._owners) is None:
            return
        uids = {str(each.get("uid")) for each in references_of(dependent)}
        owners = [each for each in self.objects if _uid(each) in uids and each.has_replacement]

        def write(current: Content) -> None:
            if (references := moves.new_references(current, self._owners)) is not None:
                self._cluster.patch(current, {"metadata": {"ownerReferences": references}})

        try:
            if not self.dry_run:
                self._cluster.retried(dependent, write)
        except ReplyError as error:
            if error.code != GONE:
                for each in owners:
                    kind, _, name = name_of(dependent)
                    each.problem = f"it stays the owner of {kind} {name}: {error}"
            return
        for each in owners:
            each.actions.append(MoveAction.SET_OWNER)

    def _delete(self, moved: MovedObject) -> None:
        """Delete a custom resource that has its replacement; what it owns is kept."""
        if self._cluster.unread:
            first, *more = self._cluster.unread
            moved.problem = f"what it owns is not known: {first}{f', and {len(more)} more resources' if more else ''}"
            return
        try:
            self._cluster.retried(moved.source, lambda source: self._delete_source(moved, source))
        except ReplyError as error:
            if error.code != GONE:
                raise

    def _delete_source(self, moved: MovedObject, source: Content) -> None:
        """Delete a custom resource as it is, without Muster's finalizers, which protect the object in its place by now."""
        if not self.dry_run and moved.target is not None:
            # Both can have changed since they were read.
            moved.source = source
            self._complete(moved, self._cluster.get(moved.target))
            if moved.problem:
                return
        if (kept := moves.kept_finalizers(source)) is not None:
            if not self.dry_run:
                source = self._cluster.patch(source, {"metadata": {"finalizers": kept or None}})
            moved.actions.append(MoveAction.REMOVE_FINALIZERS)
        metadata = section(source, "metadata")
        if metadata.get("deletionTimestamp"):
            moved.waits_for = tuple(map(str, metadata.get("finalizers") or ()))
            return
        if not self.dry_run:
            self._cluster.delete(source)
        moved.actions.append(MoveAction.DELETE)


def _obstacle(source: Content, target: Content) -> str:
    """Return why *target* cannot take the place of *source*; empty if it can."""
    kind, group = name_of(target)[0], str(target["apiVersion"]).rpartition("/")[0]
    if section(target, "metadata").get("deletionTimestamp"):
        return f"the {kind} of {group} with this name is being deleted: run the command again when it is gone"
    fields = moves.conflicts(source, target)
    return f"{group} has a {kind} of this name that differs in {', '.join(fields)}, and counts" if fields else ""


def _uid(moved: MovedObject) -> str:
    return str(section(moved.source, "metadata").get("uid"))


def _fields(names: Sequence[str]) -> str:
    return ", ".join(f"spec.{each}" for each in names)
