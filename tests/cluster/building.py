"""Namespaces whose groups are built: objects of real controllers, and what must hold of their groups and pods."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubeapi.groups import TREE_KINDS
from kubeapi.pods import POD_GROUP_LABEL, group_in
from tests.cluster import controllers
from tests.cluster.api import NOT_FOUND, Api, ApiError
from tests.cluster.conftest import new_namespace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import VERSION, CustomApi, custom_plane
from tests.cluster.installed import installed
from tests.cluster.options import Options
from tests.cluster.programs import Programs
from tests.cluster.resources import RESOURCES, Manifest
from tests.cluster.waiting import until
from workloadbuilder.adapters import built_kinds
from workloadbuilder.adapters.built_kinds import BuiltKind
from workloadbuilder.adapters.group_objects import Desired, desired, steps
from workloadbuilder.adapters.members import MemberIndex, members_in
from workloadbuilder.adapters.shared.known_objects import Known

LABEL = {built_kinds.LABEL: built_kinds.BUILD}
RACK = "example.com/rack"
ALIVE = ("Pending", "Running")
GARBAGE = ("garbage-collector-controller",)
BUILT_IN_GARBAGE = (*GARBAGE, "podgroup-protection-controller")
NO_JOB_GROUPS = ("--feature-gates=WorkloadWithJob=false",)
"""The Job controller creates no groups."""


@contextlib.contextmanager
def building_plane(programs: Programs, folder: Path, *names: str, custom: bool) -> Iterator[ControlPlane]:
    """Run a control plane with the controllers of these *names*, and the webhooks by which pods join groups."""
    with (
        custom_plane(programs) if custom else ControlPlane(Options(), programs) as plane,
        controllers.running(plane, *names, beside=GARBAGE if custom else BUILT_IN_GARBAGE, flags=() if custom else NO_JOB_GROUPS),
        installed(plane, folder, overlay="join"),
    ):
        yield plane


@contextlib.contextmanager
def built_namespace(api: Api, *kinds: str) -> Iterator[str]:
    """Create a namespace whose groups are built; at the end the objects of *kinds*, by default Jobs, are deleted: no new pods come."""
    with new_namespace(api, LABEL) as name:
        yield name
        for kind in kinds or ("Job",):
            api.delete_all(kind, name, propagationPolicy="Background")


class Building:
    """The objects of a namespace, as far as they concern groups that are built."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane, self._api, self.namespace = plane, plane.api, namespace
        self._version = VERSION if isinstance(plane.api, CustomApi) else RESOURCES["Workload"][0]
        self._kinds = [each for each in built_kinds.KINDS if self._is_served(each)]

    def troubles(self, pods: int | None = None) -> list[str]:
        """Return what differs from a namespace in which all groups are built, and nodes are selected for all of their pods.

        *pods* is the number of pods that are expected.
        """
        wanted, there, running = self.wanted(), self.there(), self.pods()
        objects = [each for found in wanted for each in found.objects]
        left = steps(objects, there, lambda _: False, self._plane.programs.minor())
        result = [f"{each.kind} {each.name}" for each in left.writes]
        result += [f"ends: {_purpose(each)}" for each in there if "deletionTimestamp" in each["metadata"]]
        result += [f"twice: {name}" for name, count in collections.Counter(map(_purpose, there)).items() if count > 1]
        index = MemberIndex()
        for each in objects:
            if each["kind"] == "PodGroup":
                index.add(each["metadata"]["name"], members_in(each))
        result += [trouble for each in running for trouble in _troubles_of(each, index)]
        if pods is not None and len(running) != pods:
            result.append(f"{len(running)} pods: {[each['metadata']['name'] for each in running]}")
        return result

    def wanted(self) -> list[Desired]:
        """Return what should exist for each object that has groups of its own."""
        listed = [(kind, each) for kind in self._kinds for each in self._api.objects(kind.kind, self.namespace)]
        runtimes = [each for kind, each in listed if kind.only_read]
        asked = [each for _, each in listed if built_kinds.is_asked_for(each, {"metadata": {"labels": LABEL}})]
        roots = [each for each in asked if not built_kinds.has_built_owner(each)]
        return [found for each in roots if (found := desired(each, Known([each], runtimes), self._version)) is not None]

    def there(self) -> list[Manifest]:
        """Return Workloads and groups."""
        return [each for kind in TREE_KINDS for each in self._api.objects(kind, self.namespace)]

    def pods(self) -> list[Manifest]:
        """Return the pods that have not ended, and are not being deleted."""
        return [each for each in self.all_pods() if "deletionTimestamp" not in each["metadata"] and each["status"]["phase"] in ALIVE]

    def all_pods(self) -> list[Manifest]:
        """Return all pods."""
        return self._api.objects("Pod", self.namespace)

    def events(self) -> list[tuple[str, str, str]]:
        """Return type, reason and message of each event."""
        return [(each["type"], each["reason"], each.get("message", "")) for each in self._api.objects("Event", self.namespace)]

    def _is_served(self, kind: BuiltKind) -> bool:
        try:
            self._api.objects(kind.kind, self.namespace)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return False
        return True


def _purpose(manifest: Manifest) -> tuple[str, ...]:
    """Return what no two objects share: of groups, template and number are in the name, before a hash."""
    return manifest["kind"], manifest["metadata"]["name"].rpartition("-")[0]


def _troubles_of(pod: Mapping[str, Any], index: MemberIndex) -> Iterator[str]:
    metadata, spec = pod["metadata"], pod["spec"]
    labels = metadata.get("labels") or {}
    if (group := group_in(pod)) != (planned := index.group_of(labels)):
        yield f"{metadata['name']} is in group {group!r}, not in {planned!r}"
    if group and labels.get(POD_GROUP_LABEL) != group:
        yield f"{metadata['name']} lacks the label of its group"
    if built_kinds.WAITING in labels:
        yield f"{metadata['name']} waits for its group"
    if gates := spec.get("schedulingGates"):
        yield f"{metadata['name']} has gates {gates}"
    if group and not selected(pod):
        yield f"{metadata['name']} has no selected node"


def selected(pod: Mapping[str, Any]) -> str:
    """Return the node that is selected for a pod; empty while it has the gate."""
    gates = {each["name"] for each in pod["spec"].get("schedulingGates") or ()}
    return "" if gates else str((pod["spec"].get("nodeSelector") or {}).get("kubernetes.io/hostname", ""))


def apply(api: Api, namespace: str, *manifests: Manifest, **annotations: str) -> Manifest:
    """Create objects; return the last one, which gets the namespace and *annotations*.

    It is sent again while a controller's webhook refuses it because its cache does not show the others yet.
    """
    *others, last = manifests
    for each in others:
        if not api.exists(each["kind"], each["metadata"]["name"]):
            api.create(each)
    metadata = {**last["metadata"], "namespace": namespace, "annotations": {**(last["metadata"].get("annotations") or {}), **annotations}}

    created: list[Manifest] = []

    def create() -> list[Manifest]:
        try:
            created.append(api.create({**last, "metadata": metadata}))
        except ApiError as error:
            if not (others and "not found" in str(error)):
                raise
        return created

    until(create)
    return created[0]
