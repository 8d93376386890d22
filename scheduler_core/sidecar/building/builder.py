"""The threads of mode ``build``: watches of objects, and one that makes the writes of one object after the other.

Edge: the API server, threads and the clock.  A pass over an object compares what should exist with what exists, so it is repeated after
each change, after a failure, and by the next leader; a crash at any write loses nothing.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from apiserver.api import MERGE_PATCH, TRANSPORT, Api, ReplyError
from apiserver.discovery import base_path, path_of
from apiserver.watch import BOOKMARK, Watcher, WatchStatus
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from scheduler_core.sidecar.building import pods
from scheduler_core.sidecar.building.objects import Group, Json, Name, Objects, name_of, uid_of
from scheduler_core.sidecar.building.plan import TOLD, NotBuilt, Plan, Target, existing, is_ours, plan
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.writes import RecordEvent, Ref
from workloadbuilder.adapters import built_kinds
from workloadbuilder.adapters.group_objects import Step, StepKind, Steps, steps

LEVELS = ("Workload", "CompositePodGroup", "PodGroup")
FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0
IDLE_SECONDS = 1.0
CONFLICT, NOT_FOUND = 409, 404
_POD, _NAMESPACE = ("", "Pod"), ("", "Namespace")
Key = tuple[Group, Name]
Log = Callable[[str, str, Mapping[str, Any]], None]
_DECODE = msgspec.json.Decoder().decode


class GroupBuilder:
    """Creates, updates and deletes the Workloads and groups of objects, and lets pods join them, while *term* is not 0."""

    def __init__(
        self, api: Api, kubernetes: int, schedulers: frozenset[str], recorder: EventRecorder, term: Callable[[], int], log: Log
    ) -> None:
        self._api, self._kubernetes, self._schedulers = api, kubernetes, schedulers
        self._recorder, self._term, self._log = recorder, term, log
        self._objects = Objects(self._changed)
        self._paths: dict[Group, str] = {}
        self._listed: set[Group] = set()
        self._wake = threading.Condition()
        self._due: dict[Key, float] = {}
        self._waiting: set[str] = set()
        """Namespaces in which pods may join a group."""
        self._failures: dict[Key, int] = {}
        self._told: dict[Key, str] = {}
        self._stopped = False
        self._watchers = [*self._all_watchers()]

    def start(self) -> None:
        """Start the watches and the thread that writes."""
        for each in self._watchers:
            each.start()
        threading.Thread(target=self._run, name="build", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current write."""
        for each in self._watchers:
            each.stop()
        with self._wake:
            self._stopped = True
            self._wake.notify()

    def unsynced(self) -> tuple[str, ...]:
        """Return the kinds that are not listed yet; thread-safe."""
        return tuple(f"{kind} objects are not listed yet" for group, kind in sorted(self._watched) if (group, kind) not in self._listed)

    def _all_watchers(self) -> list[Watcher]:
        found = [((each.group, each.kind), each.plural, each.api_versions, "") for each in built_kinds.KINDS]
        for kind in LEVELS:
            found += [((each.group, kind), each.resource, each.api_versions, "") for each in served_versions.resources(kind)]
        found.append((_NAMESPACE, "namespaces", ("v1",), ""))
        found.append((_POD, "pods", ("v1",), f"{built_kinds.WAITING}={built_kinds.UNKNOWN}"))
        self._watched = frozenset(each[0] for each in found)
        return [self._watcher(*each) for each in found]

    def _watcher(self, group: Group, plural: str, api_versions: Sequence[str], labels: str) -> Watcher:
        def find() -> str:
            path = f"{base_path('v1')}/{plural}" if not group[0] else path_of(self._api, plural, api_versions)
            self._paths[group] = path
            return path

        return Watcher(self._api, find, _Sink(self, group), silence=90.0, name=f"build-{plural}", labels=labels)

    def listed(self, group: Group) -> None:
        """Record that all objects of a kind are known, or that the kind is not served."""
        with self._wake:
            self._listed.add(group)
            self._wake.notify()

    def api_version_of(self, group: Group) -> str:
        """Return the API version in which a kind is served; empty if it is not."""
        parts = self._paths.get(group, "").split("/")
        return "/".join(parts[2:-1])

    @property
    def objects(self) -> Objects:
        """The watched objects."""
        return self._objects

    def _changed(self, group: Group, manifest: Json) -> None:
        """Queue the objects that a changed one concerns."""
        namespace, name = name_of(manifest)
        with self._wake:
            if group == _POD:
                self._waiting.add(namespace)
            elif group == _NAMESPACE:
                for each in built_kinds.KINDS:
                    for other in self._objects.list_kind((each.group, each.kind), name):
                        self._queue(((each.group, each.kind), name_of(other)))
            elif group[1] in LEVELS:
                owners = (each for each in _controllers(manifest))
                self._waiting.add(namespace)
                for owner in owners:
                    self._queue((owner[0], (namespace, owner[1])))
            elif built_kinds.kind_of(manifest) is None:
                for each in built_kinds.KINDS:
                    if each.group == group[0]:
                        for other in self._objects.list_kind((each.group, each.kind)):
                            self._queue(((each.group, each.kind), name_of(other)))
            else:
                self._queue((group, (namespace, name)))
            self._wake.notify()

    def _queue(self, key: Key, at: float = 0.0) -> None:
        self._due[key] = min(at, self._due.get(key, at))

    def _run(self) -> None:
        term = 0
        while True:
            with self._wake:
                if self._stopped:
                    return
                now = time.monotonic()
                current = self._term()
                leads = current > 0 and self._watched <= self._listed
                if leads and current != term:
                    term = current
                    self._queue_all()
                key = (
                    min((each for each in self._due if self._due[each] <= now), key=self._due.__getitem__, default=None) if leads else None
                )
                namespaces = sorted(self._waiting) if leads and key is None else []
                if key is None and not namespaces:
                    self._wake.wait(IDLE_SECONDS)
                    continue
                if key is not None:
                    del self._due[key]
                else:
                    self._waiting.clear()
            if key is not None:
                self._attempt(key)
            for each in namespaces:
                self._join(each)

    def _queue_all(self) -> None:
        for each in built_kinds.KINDS:
            for manifest in self._objects.list_kind((each.group, each.kind)):
                self._queue(((each.group, each.kind), name_of(manifest)))

    def _attempt(self, key: Key) -> None:
        try:
            self._reconcile(key)
        except (ReplyError, ValueError, *TRANSPORT) as error:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            group, name = key
            reason = error.message if isinstance(error, ReplyError) else f"{type(error).__name__}: {error}"
            self._log("warning", "build", {"object": f"{group[1]} {'/'.join(name)}", "reason": reason[:300]})
            if isinstance(error, ReplyError) and error.code in (403, 422) and (manifest := self._objects.get(*key)) is not None:
                self._tell(key, manifest, "Warning", "GroupsNotCreated", reason)
            with self._wake:
                self._queue(key, time.monotonic() + min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(failures, 10)))
        else:
            self._failures.pop(key, None)

    def target(self) -> Target | None:
        """Return the API group that has all three kinds, the built-in one first; None if there is none."""
        for each in served_versions.resources("PodGroup"):
            versions = [self.api_version_of((each.group, kind)) for kind in LEVELS]
            if all(versions):
                return Target(versions[0], self._kubernetes, self._schedulers)
        return None

    def _reconcile(self, key: Key) -> None:
        manifest, target = self._objects.get(*key), self.target()
        if manifest is None:
            # The cluster deletes what it owned.
            self._told.pop(key, None)
            return
        if target is None:
            with self._wake:
                self._queue(key, time.monotonic() + LONGEST_RETRY)
            return
        found = plan(manifest, self._objects, target)
        there = existing(manifest, self._objects, target)
        if not found.wanted and not there:
            self._report(key, manifest, found)
            return
        namespace = name_of(manifest)[0]
        wanted = [_in_namespace(each, namespace) for each in found.wanted]
        if found.why is NotBuilt.INVALID:
            # What exists belongs to the object as it was: it stays until the object can be described again.
            wanted = [dict(each) for each in there]
        result = steps(wanted, there, lambda group: self._has_pods(namespace, group), target.kubernetes)
        uids = {(str(each["kind"]), name_of(each)[1]): uid_of(each) for each in there}
        for step in result.writes:
            self._write(namespace, step, target, uids.get(step.name, ""))
        self._report(key, manifest, found, result)

    def _report(self, key: Key, manifest: Json, found: Plan, result: Steps | None = None) -> None:
        """Record an event where the user has to know."""
        if found.why in TOLD:
            self._tell(key, manifest, "Warning", "GroupsNotCreated", _text(found))
        elif result is not None and result.outdated:
            named = ", ".join(f"{kind} {name}" for kind, name in result.outdated[:3])
            self._tell(key, manifest, "Warning", "GroupsOutdated", f"pods of the old groups exist: {named} change when they are gone")
        elif result is not None and any(each.kind is StepKind.CREATE for each in result.writes):
            self._tell(key, manifest, "Normal", "GroupsCreated", f"{len(found.wanted)} objects of {found.wanted[0]['apiVersion']} exist")
        else:
            self._told.pop(key, None)

    def _write(self, namespace: str, step: Step, target: Target, uid: str) -> None:
        kind, name = step.name
        path = self._path(kind, namespace, target)
        if step.kind is StepKind.CREATE:
            try:
                self._api.send("POST", path, json.dumps(step.body).encode())
            except ReplyError as error:
                if error.code != CONFLICT or not self._is_ours(f"{path}/{name}"):
                    raise
        elif step.kind is StepKind.PATCH:
            body = {**(step.body or {}), "metadata": {**(step.body or {}).get("metadata", {}), "uid": uid}}
            self._api.send("PATCH", f"{path}/{name}", json.dumps(body).encode(), content_type=MERGE_PATCH)
        else:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, "propagationPolicy": "Background"}
            try:
                self._api.send("DELETE", f"{path}/{name}", json.dumps(options).encode())
            except ReplyError as error:
                if error.code != NOT_FOUND:
                    raise

    def _path(self, kind: str, namespace: str, target: Target) -> str:
        base, _, plural = self._paths[target.api_version.rpartition("/")[0], kind].rpartition("/")
        return f"{base}/namespaces/{namespace}/{plural}"

    def _is_ours(self, path: str) -> bool:
        """Return whether an object that exists already is one of ours, which the watch has not shown yet."""
        return is_ours(_DECODE(self._api.read(path)))

    def _has_pods(self, namespace: str, group: str) -> bool:
        query = [
            ("labelSelector", f"{POD_GROUP_LABEL}={group}"),
            ("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),
            ("limit", "1"),
        ]
        return bool(_DECODE(self._api.read(f"/api/v1/namespaces/{namespace}/pods", query)).get("items"))

    def _join(self, namespace: str) -> None:
        """Let the waiting pods of a namespace join their groups."""
        waiting = self._objects.list_kind(_POD, namespace)
        target = self.target()
        if not waiting or target is None:
            return
        groups = self._objects.list_kind((target.api_version.rpartition("/")[0], "PodGroup"), namespace)
        uids = {name_of(each)[1]: uid_of(each) for each in waiting}
        for name, patch in pods.joins(waiting, groups).items():
            body = {**patch, "metadata": {**patch["metadata"], "uid": uids[name]}}
            try:
                self._api.send("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}", json.dumps(body).encode(), content_type=MERGE_PATCH)
            except (ReplyError, ValueError, *TRANSPORT) as error:
                if isinstance(error, ReplyError) and error.code in (NOT_FOUND, CONFLICT):
                    continue
                self._log("warning", "build", {"object": f"Pod {namespace}/{name}", "reason": str(error)[:300]})

    def _tell(self, key: Key, manifest: Json, type_: str, reason: str, message: str) -> None:
        """Record an event, each text once for an object."""
        text = f"{reason}: {message}"
        if self._told.get(key) == text:
            return
        self._told[key] = text
        namespace, name = name_of(manifest)
        event = RecordEvent(Ref(key[0][1], namespace, name, uid_of(manifest)), type_, reason, message)
        stamp = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        request = self._recorder.event_request(event, str(manifest["apiVersion"]), time.monotonic(), stamp)
        if request is None:
            return
        path = f"/apis/events.k8s.io/v1/namespaces/{request.namespace}/events"
        again = request.count > 1
        try:
            self._api.send(
                "PATCH" if again else "POST",
                f"{path}/{request.name}" if again else path,
                json.dumps(request.body).encode(),
                content_type=MERGE_PATCH if again else "application/json",
            )
        except (ReplyError, ValueError, *TRANSPORT):
            self._recorder.forget_event(event)


class _Sink:
    """``apiserver.watch.Sink`` of one kind."""

    def __init__(self, builder: GroupBuilder, group: Group) -> None:
        self._builder, self._group = builder, group

    def replace(self, objects: Sequence[msgspec.Raw], version: str) -> None:  # noqa: ARG002 - each pass reads all that is known
        """See Sink."""
        self._builder.objects.replace(self._group, [self._read(each) for each in objects])
        self._builder.listed(self._group)

    def change(self, event: str, content: msgspec.Raw, version: str) -> None:  # noqa: ARG002
        """See Sink."""
        if event == "DELETED":
            self._builder.objects.remove(self._group, self._read(content))
        elif event != BOOKMARK:
            self._builder.objects.add_or_update(self._group, self._read(content))

    def set_status(self, status: WatchStatus, reason: str) -> None:  # noqa: ARG002 - what is not listed is not built
        """See Sink."""
        if status is WatchStatus.NOT_SERVED:
            self._builder.objects.replace(self._group, [])
            self._builder.listed(self._group)

    def _read(self, content: msgspec.Raw) -> Json:
        """Return an object with its type, which items of lists do not state."""
        return {"apiVersion": self._builder.api_version_of(self._group), "kind": self._group[1], **_DECODE(content)}


def _text(found: Plan) -> str:
    """Return why no groups are created, with the fields of the object."""
    why = found.why.value if found.why is not None else ""
    told = [f"{each.path}: {each}" if each.path.parts else str(each) for each in found.errors] or [found.detail]
    return "; ".join(filter(None, (why, *told)))


def _controllers(manifest: Json) -> list[tuple[Group, str]]:
    """Return the kind and the name of the controller of an object."""
    owners = (manifest.get("metadata") or {}).get("ownerReferences") or ()
    return [
        ((str(each.get("apiVersion")).rpartition("/")[0], str(each.get("kind"))), str(each.get("name")))
        for each in owners
        if each.get("controller") is True
    ]


def _in_namespace(manifest: dict[str, Any], namespace: str) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
