"""Self-check of permissions: at the start, after each write that the API server forbids, and regularly while a permission is missing.

Edge: a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator

from apiserver.api import TRANSPORT, Api, ReplyError
from kubeapi.versions.served_versions import Resource, hub_of, resources
from scheduler_core.sidecar.cache.optional_watches import reads_of
from scheduler_core.sidecar.client.access_review import Permission, is_granted
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import Deviations, EvictionMethod

RECHECK_SECONDS = 10.0
"""Interval between checks while a permission is missing or could not be checked."""
MIN_INTERVAL_SECONDS = 5.0
"""Minimum interval: while writes are forbidden, each of them requests a check."""
_LONGEST = 300
_EVENTS = tuple(Permission("events", verb, "events.k8s.io") for verb in ("create", "patch"))
_DEVICES = hub_of("ResourceClaim").group
_PLACE = (
    Permission("pods", "get"),
    Permission("pods/binding", "create"),
    Permission("pods", "delete"),
    Permission("persistentvolumeclaims", "get"),
    Permission("persistentvolumeclaims", "patch"),
    Permission("persistentvolumes", "get"),
    Permission("persistentvolumes", "patch"),
    Permission("resourceclaims", "get", _DEVICES),
    Permission("resourceclaims", "patch", _DEVICES),
    Permission("resourceclaims", "create", _DEVICES),
    Permission("resourceclaims", "delete", _DEVICES),
    Permission("resourceclaims/status", "update", _DEVICES),
    Permission("resourceclaims/binding", "update", _DEVICES),
)
"""Permissions of mode ``place``: binds, undone gangs, and volumes and devices that are bound before their pods.

The API server checks ``resourceclaims/binding`` for changes of the allocation or the reservations of a claim, from 1.36.
"""
_UNGATE = tuple(Permission("pods", verb) for verb in ("get", "patch"))
_UNDO = (Permission("pods", "delete"), Permission("pods/status", "patch"))
"""Permissions of mode ``ungate`` with ``--deviations undo``: a pod gets a condition before it is deleted."""
_GROUP_KINDS = ("CompositePodGroup", "PodGroup")


def needed_permissions(settings: Settings, served: Container[str]) -> tuple[Permission, ...]:
    """Return the permissions that the modes of *settings* need.

    *served* are the names of the resources that the API server serves; kinds that several API groups have are needed in those in which
    it serves PodGroups.  Permissions to list and watch kinds from the start are omitted: the informers report them if they are missing.
    Kinds that can be needed later are included: if a permission is missing then, pods that need the kind are not placed.
    """
    groups = [each for kind in _GROUP_KINDS for each in resources(kind) if each.name in served]
    used = {each.group for each in resources("PodGroup") if each.name in served}
    by_mode = (permission for mode in settings.modes for permission in _mode(mode, settings, groups))
    later = (each for kind in reads_of(settings).kinds() for each in resources(kind) if each.group in used or len(resources(kind)) == 1)
    read = (Permission(each.resource, verb, each.group) for each in later for verb in ("list", "watch"))
    return tuple(sorted({*_common(settings, groups), *by_mode, *read}))


def _common(settings: Settings, groups: Iterable[Resource]) -> Iterator[Permission]:
    for each in groups:
        yield Permission(each.resource, "get", each.group)
    if settings.lease is not None:
        namespace, name = settings.lease
        yield Permission("leases", "create", "coordination.k8s.io", namespace)
        for verb in ("get", "patch"):
            yield Permission("leases", verb, "coordination.k8s.io", namespace, name)


def _mode(mode: Mode, settings: Settings, groups: Iterable[Resource]) -> Iterator[Permission]:  # noqa: C901 - a case for each mode
    match mode:
        case Mode.PROTECT:
            for each in groups:
                yield Permission(each.resource, "patch", each.group)
            return
        case Mode.BUILD:
            yield from _build({each.group for each in groups})
            return
        case Mode.PLACE:
            yield from _PLACE
        case Mode.UNGATE:
            yield from _UNGATE
            yield from _UNDO if settings.deviations is Deviations.UNDO else ()
        case Mode.PREEMPT if settings.eviction_method is EvictionMethod.EVICT:
            yield Permission("pods/eviction", "create")
        case Mode.PREEMPT:
            yield Permission("pods", "delete")
        case Mode.VALIDATE:
            pass
    yield from _EVENTS
    if mode in (Mode.PLACE, Mode.PREEMPT):
        yield Permission("pods/status", "patch")
    for each in groups:
        yield Permission(f"{each.resource}/status", "patch", each.group)


def _build(api_groups: Container[str]) -> Iterator[Permission]:
    yield from _EVENTS
    yield Permission("pods", "patch")
    for each in (each for kind in ("Workload", *_GROUP_KINDS) for each in resources(kind) if each.group in api_groups):
        yield from (Permission(each.resource, verb, each.group) for verb in ("create", "patch", "delete"))


class PermissionCheck:
    """Thread that checks the permissions that *needed* returns; *log* is called with the level and the text of each new result."""

    def __init__(self, api: Api, needed: Callable[[], tuple[Permission, ...]], log: Callable[[str, str], None]) -> None:
        self._api, self._needed, self._log = api, needed, log
        self._missing: tuple[str, ...] = ()
        self._last_result = ""
        self._requested, self._stopped = threading.Event(), threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="permissions", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current check."""
        self._stopped.set()
        self._requested.set()

    def recheck(self) -> None:
        """Request another check; thread-safe."""
        self._requested.set()

    def missing(self) -> tuple[str, ...]:
        """Return a reason for each missing permission; thread-safe."""
        return self._missing

    def check(self) -> bool:
        """Check all permissions now; return False if one is missing or could not be checked."""
        try:
            missing = tuple(f"missing permission: {permission}" for permission in self._needed() if not is_granted(self._api, permission))
            result = "; ".join(missing)
        except (ReplyError, ValueError, *TRANSPORT) as error:
            # A server that does not serve this API, or cannot be reached, which the informers report: the last result stays.
            missing, result = self._missing, f"permissions cannot be checked: {type(error).__name__}: {error}"[:_LONGEST]
        if result != self._last_result:
            self._log("warning" if result else "info", result or "all permissions are granted")
        self._missing, self._last_result = missing, result
        return not result

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._requested.clear()
            complete = self.check()
            self._stopped.wait(MIN_INTERVAL_SECONDS)
            self._requested.wait(None if complete else RECHECK_SECONDS)
