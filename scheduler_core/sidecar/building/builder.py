"""The threads of mode ``build``: watches of objects, and one that brings one object after the other to its plan.

Edge: threads and the clock.  A pass over an object compares what should exist with what exists, so it is repeated after each change, after
a failure, and by the next leader; a crash at any write loses nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from apiserver.api import TRANSPORT, Api, ReplyError, micro_time
from apiserver.discovery import base_path, path_of
from apiserver.pages import Page
from apiserver.watch import BOOKMARK, Watcher, WatchStatus
from kubeapi.groups import TREE_KINDS
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import SCHEDULING
from kubeapi.versions.served_versions import other_group
from scheduler_core.causes.built_groups import (
    EXPECTED,
    GroupsCause,
    GroupsCreated,
    GroupsOutdated,
    GroupsRefused,
    NotBuiltReason,
)
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.sidecar.building import waiting_pods
from scheduler_core.sidecar.building.build_results import BuildMetrics, BuildResult, BuildResults, Key, Result
from scheduler_core.sidecar.building.group_plan import GroupPlan, Target, existing, plan_groups
from scheduler_core.sidecar.building.group_writer import POD, REFUSALS, GroupWriter
from scheduler_core.sidecar.building.owned_objects import Group, Json, Objects, created_seconds, name_of, uid_of
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writes import Ref
from scheduler_core.wording import built_group_words
from workloadbuilder.adapters import built_kinds
from workloadbuilder.adapters.group_objects import StepKind, Steps, steps

FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0
IDLE_SECONDS = 1.0
PUBLISH_SECONDS = 1.0
"""Minimum interval between updates of metrics."""
USED_RETRY = 10.0
"""Time in seconds after which groups that are to go are looked at again, while they have pods."""
TELL_AGAIN = 1800.0
"""Time in seconds after which an event is repeated while its cause lasts: API servers keep events for an hour."""
_PODS, _NAMESPACES = ("", POD), ("", "Namespace")
Log = Callable[[str, str, Mapping[str, Any]], None]
_DECODE = msgspec.json.Decoder().decode


class GroupBuilder:
    """Creates, updates and deletes the Workloads and groups of objects, and lets pods join them, while *term* is not 0."""

    def __init__(
        self,
        api: Api,
        kubernetes: int,
        schedulers: frozenset[str],
        recorder: EventRecorder,
        *,
        term: Callable[[], int],
        log: Log,
        silence: float,
        metrics: BuildMetrics,
    ) -> None:
        """*silence* is the time in seconds after which a watch without events is restarted."""
        self._api, self._kubernetes, self._schedulers = api, kubernetes, schedulers
        self._term, self._log, self._silence = term, log, silence
        self.objects = Objects(self._changed)
        self._collections: dict[str, str] = {}
        self._paths = Paths(self._collections)
        self._metrics = metrics
        self._writer = GroupWriter(api, self._paths, recorder, lambda: (time.monotonic(), micro_time()), metrics.written)
        self.results = BuildResults()
        self._published = 0.0
        self._wake = threading.Condition()
        self._listed: set[Group] = set()
        self._due: dict[Key, float] = {}
        self._joining: dict[str, float] = {}
        """Namespaces in which pods may join a group, with the time from which on."""
        self._seen: dict[str, float] = {}
        """Time at which each waiting pod was first found without a group, by uid."""
        self._failures: dict[Key, int] = {}
        self._told: dict[Key, tuple[GroupsCause, float]] = {}
        """The last cause of an event about each object, and its time."""
        self._stopped = False
        self._watchers = dict(self._all_watchers())

    def start(self) -> None:
        """Start the watches and the thread that writes."""
        for each in self._watchers.values():
            each.start()
        threading.Thread(target=self._run, name="build", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current write."""
        for each in self._watchers.values():
            each.stop()
        with self._wake:
            self._stopped = True
            self._wake.notify()

    def unlisted(self) -> tuple[str, ...]:
        """Return the kinds that are not listed yet, with their API group; thread-safe."""
        with self._wake:
            return tuple(resource_name(each) for each in sorted(self._watchers.keys() - self._listed))

    def results_for(self, namespace: str, name: str) -> list[tuple[ObjectName, Result, GroupsCause | None]]:
        """Return the results for the objects of that name, and for that of a waiting pod of that name; thread-safe."""
        groups = [(each.group, each.kind) for each in built_kinds.KINDS if not each.only_read]
        found = [self.objects.get(each, (namespace, name)) for each in groups]
        if (pod := self.objects.get(_PODS, (namespace, name))) is not None:
            found.append(waiting_pods.root_of(pod, self.objects))
        results = []
        for manifest in filter(None, found):
            kind, own = built_kinds.kind_of(manifest), name_of(manifest)
            known = self.results.get(((kind.group, kind.kind), own)) if kind is not None else None
            if kind is not None and known is not None:
                results.append((ObjectName(kind.kind, *own), *known))
        return results

    def listed(self, group: Group) -> None:
        """Record that all objects of a kind are known, or that the kind is not served."""
        with self._wake:
            self._listed.add(group)
            self._wake.notify()

    def api_version(self, group: Group) -> str:
        """Return the API version in which a kind is served; empty if it is not."""
        name = resource_name(group)
        return self._paths.api_version(name) if self._collections.get(name) else ""

    def _all_watchers(self) -> Iterator[tuple[Group, Watcher]]:
        for kind in built_kinds.KINDS:
            yield self._watcher((kind.group, kind.kind), kind.plural, kind.api_versions)
        for level in TREE_KINDS:
            for each in served_versions.resources(level):
                yield self._watcher((each.group, level), each.resource, each.api_versions)
        yield self._watcher(_NAMESPACES, "namespaces")
        yield self._watcher(_PODS, "pods", selector=f"{built_kinds.WAITING}={built_kinds.UNKNOWN}")

    def _watcher(self, group: Group, plural: str, api_versions: Sequence[str] = (), selector: str = "") -> tuple[Group, Watcher]:
        def find() -> str:
            path = path_of(self._api, plural, api_versions) if api_versions else f"{base_path('v1')}/{plural}"
            self._collections[resource_name(group)] = path
            return path

        return group, Watcher(self._api, find, _Sink(self, group), silence=self._silence, name=f"build-{plural}", labels=selector)

    def _changed(self, group: Group, manifest: Json) -> None:
        """Queue the objects that a changed one concerns."""
        keys = [*self._concerned(group, manifest)]
        with self._wake:
            if group == _PODS and self.objects.get(*(group, name_of(manifest))) is None:
                self._seen.pop(uid_of(manifest), None)
            elif group == _PODS or group[1] in TREE_KINDS:
                self._joining[name_of(manifest)[0]] = 0.0
            for each in keys:
                self._due[each] = 0.0
            self._wake.notify()

    def _concerned(self, group: Group, manifest: Json) -> Iterator[Key]:
        """Yield the objects whose groups a changed object concerns: itself, its owner, those of a namespace or of a runtime."""
        namespace, name = name_of(manifest)
        if group[1] in TREE_KINDS:
            if (owner := built_kinds.controller_of(manifest)) is not None:
                yield (owner.group, owner.kind), (namespace, owner.name)
        elif built_kinds.kind_of(manifest) is not None:
            yield group, (namespace, name)
        elif group != _PODS:
            for each in (each for each in built_kinds.KINDS if group == _NAMESPACES or each.group == group[0]):
                others = self.objects.list_kind((each.group, each.kind), name if group == _NAMESPACES else None)
                yield from (((each.group, each.kind), name_of(other)) for other in others)

    def _run(self) -> None:
        term = 0
        while True:
            with self._wake:
                if self._stopped:
                    return
                current = self._term() if self._watchers.keys() <= self._listed else 0
                if current and current != term:
                    self._due |= dict.fromkeys(self._all_keys(), 0.0)
                if not current:
                    self.results.forget_all()
                term = current
                key, namespaces = self._next(time.monotonic()) if term else (None, ())
                if key is None and not namespaces:
                    self._wake.wait(IDLE_SECONDS)
            if key is not None:
                self._attempt(key)
            for each in namespaces:
                self._join(each)
            self._publish(time.monotonic())

    def _publish(self, now: float) -> None:
        """Update the metrics; those of a replica that does not lead are 0."""
        if now - self._published < PUBLISH_SECONDS:
            return
        self._published = now
        waiting = self.objects.list_kind(_PODS) if self._term() else ()
        times = [each for each in map(created_seconds, waiting) if each]
        oldest = max(0.0, time.time() - min(times)) if times else 0.0
        self._metrics.built(self.results.counts(), len(waiting), oldest)

    def _next(self, now: float) -> tuple[Key | None, Sequence[str]]:
        """Remove and return the object that is due, or else the namespaces in which pods may join a group."""
        key = min((each for each, due in self._due.items() if due <= now), key=lambda each: (self._due[each], each), default=None)
        if key is not None:
            del self._due[key]
            return key, ()
        namespaces = sorted(each for each, due in self._joining.items() if due <= now)
        for each in namespaces:
            del self._joining[each]
        return None, namespaces

    def _all_keys(self) -> Iterator[Key]:
        for each in built_kinds.KINDS:
            group = each.group, each.kind
            yield from ((group, name_of(manifest)) for manifest in self.objects.list_kind(group))

    def _attempt(self, key: Key) -> None:
        try:
            self._reconcile(key)
        except (ReplyError, ValueError, *TRANSPORT) as error:
            self._failed(key, error)
        else:
            self._failures.pop(key, None)

    def _failed(self, key: Key, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        reason = error.message if isinstance(error, ReplyError) else repr(error)
        self._log("warning", "build", {"kind": key[0][1], "namespace": key[1][0], "name": key[1][1], "reason": reason[:300]})
        manifest, cause = self.objects.get(*key), GroupsRefused(reason)
        is_refused = isinstance(error, ReplyError) and error.code in REFUSALS
        if manifest is not None:
            self.results.set(key, BuildResult.REFUSED if is_refused else BuildResult.FAILED, cause)
            if is_refused:
                self._tell(key, manifest, cause)
        self._retry(key, min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(failures, 10)))

    def _retry(self, key: Key, seconds: float) -> None:
        with self._wake:
            self._due.setdefault(key, time.monotonic() + seconds)

    def target(self) -> Target | None:
        """Return the API group that has all three kinds, the built-in one first; None if there is none."""
        for each in served_versions.resources("PodGroup"):
            versions = [self.api_version((each.group, level)) for level in TREE_KINDS]
            if all(versions):
                with_built_in = bool(self.api_version((SCHEDULING, "Workload")))
                return Target(versions[0], self._kubernetes, self._schedulers, with_built_in=with_built_in)
        return None

    def _reconcile(self, key: Key) -> None:
        """Bring one object to its plan.  What it owned is deleted by the cluster, when it is gone."""
        manifest, target = self.objects.get(*key), self.target()
        if manifest is None:
            self._told.pop(key, None)
            self.results.forget(key)
            return
        if target is None:
            self._retry(key, LONGEST_RETRY)
            return
        found, there = plan_groups(manifest, self.objects, target), existing(manifest, self.objects, target)
        namespace = name_of(manifest)[0]
        wanted = [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in found.wanted]
        if found.why is not None and found.why.why is NotBuiltReason.INVALID:
            # What exists describes the object as it was: it stays until the object can be described again.
            wanted = [dict(each) for each in there]
        result = steps(wanted, there, lambda group: self._writer.has_pods(namespace, group), target.kubernetes)
        uids = {(str(each["kind"]), name_of(each)[1]): uid_of(each) for each in there}
        for step in result.writes:
            self._writer.carry_out(namespace, step, target, uids.get(step.name, ""))
        if result.outdated or result.surplus:
            # No watch tells when their pods are gone.
            self._retry(key, USED_RETRY)
        self._report(key, manifest, found, result, target)

    def _report(self, key: Key, manifest: Json, found: GroupPlan, result: Steps, target: Target) -> None:
        """Keep the result, and record an event where the user has to know."""
        if found.why is not None:
            if found.why.why in (NotBuiltReason.NOT_ASKED, NotBuiltReason.OWNED):
                self.results.forget(key)
            else:
                self.results.set(key, found.why.why, found.why)
            if found.why.why not in EXPECTED:
                self._tell(key, manifest, found.why)
                self._retry(key, TELL_AGAIN)
        elif result.outdated:
            outdated = tuple(ObjectName(kind, key[1][0], name) for kind, name in result.outdated)
            self.results.set(key, BuildResult.OUTDATED, GroupsOutdated(outdated))
            self._tell(key, manifest, GroupsOutdated(outdated))
        else:
            self.results.set(key, BuildResult.BUILT)
            if any(each.kind is StepKind.CREATE for each in result.writes):
                self._tell(key, manifest, GroupsCreated(len(found.wanted) - 1, target.group))

    def _tell(self, key: Key, manifest: Json, cause: GroupsCause) -> None:
        before, when = self._told.get(key, (None, 0.0))
        if before != cause or time.monotonic() - when >= TELL_AGAIN:
            self._told[key] = cause, time.monotonic()
            self._writer.record_event(manifest, built_group_words.event(cause))

    def _join(self, namespace: str) -> None:
        """Let the waiting pods of a namespace join their groups, or go on without one if there is none for them."""
        waiting, target = self.objects.list_kind(_PODS, namespace), self.target()
        if not waiting or target is None:
            return
        groups = self.objects.list_kind((target.group, "PodGroup"), namespace)
        joining = waiting_pods.joins(waiting, groups)
        late = [each for each in waiting if name_of(each)[1] not in joining and self._waits_long(each)]
        patches = joining | waiting_pods.releases(late, self.objects, lambda each: plan_groups(each, self.objects, target), groups)
        for pod in waiting:
            if (patch := patches.get(name_of(pod)[1])) is not None:
                try:
                    if self._writer.join(pod, patch):
                        self._metrics.pod_left("joined" if name_of(pod)[1] in joining else "released")
                except (ReplyError, ValueError, *TRANSPORT) as error:
                    self._log(
                        "warning", "build", {"kind": POD, "namespace": namespace, "name": name_of(pod)[1], "reason": repr(error)[:300]}
                    )
        with self._wake:
            # Pods that wait longer may be released, and failed writes are repeated.
            self._joining.setdefault(namespace, time.monotonic() + waiting_pods.RELEASE_SECONDS)

    def _waits_long(self, pod: Json) -> bool:
        since = self._seen.setdefault(uid_of(pod), time.monotonic())
        return time.monotonic() - since >= waiting_pods.RELEASE_SECONDS


class _Sink:
    """``apiserver.watch.Sink`` of one kind."""

    def __init__(self, builder: GroupBuilder, group: Group) -> None:
        self._builder, self._group = builder, group

    def replace(self, pages: Iterable[Page]) -> None:
        """See Sink."""
        self._builder.objects.set_all(self._group, [self._read(each) for page in pages for each in page.items or ()])
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
            self._builder.objects.set_all(self._group, [])
            self._builder.listed(self._group)

    def _read(self, content: msgspec.Raw) -> Json:
        """Return an object with its type, which items of lists do not state."""
        return {"apiVersion": self._builder.api_version(self._group), "kind": self._group[1], **_DECODE(content)}


def resource_name(group: Group) -> str:
    """Return the name of a kind in an API group: the kind alone if it is in the core group or in that of its hub."""
    api_group, kind = group
    other = other_group(kind, api_group) if kind in TREE_KINDS else api_group
    return Ref(kind, "", "", group=other).resource
