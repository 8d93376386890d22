"""Carries out one write once, with its requests in order.

Edge: the API server, and the wall clock for timestamps.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from apiserver.api import TRANSPORT, Api, ReplyError, micro_time
from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.sidecar.client import requests
from scheduler_core.sidecar.client.errors import NOT_FOUND, outcome_from_object
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import ApiRequest, Paths
from scheduler_core.sidecar.writer.claim_writer import ClaimWriter
from scheduler_core.sidecar.writes import (
    AddFinalizer,
    AllocateClaim,
    AllocateExtended,
    Bind,
    ClearSelectedNode,
    DeleteExtended,
    Evict,
    EvictionMethod,
    Nominate,
    RecordEvent,
    Ref,
    ReleaseClaim,
    Remove,
    RemoveFinalizer,
    ReserveVolume,
    SelectNode,
    SetCondition,
    Ungate,
    Write,
    WriteOutcome,
)

REQUEST_SECONDS = 10.0
_SHORTEST_SECONDS = 0.1

_DECODE = msgspec.json.Decoder().decode


_ByContent = Ungate | AddFinalizer | RemoveFinalizer | ReserveVolume | SelectNode | ClearSelectedNode | SetCondition
"""Writes that depend on the current object."""


class NotLeadingError(Exception):
    """The lease has expired, so another replica may lead: the request was not sent."""


ObjectHandler = Callable[[str, bytes], None]
"""Called with the kind and the JSON text of each ResourceClaim that the API server returned, from a worker thread."""


class Executor:
    """Sends the requests of writes; *remaining* returns the seconds left to write, which limit the timeout of each request."""

    def __init__(
        self,
        api: Api,
        paths: Paths,
        recorder: EventRecorder,
        remaining: Callable[[], float],
        on_object: ObjectHandler = lambda _kind, _text: None,
    ) -> None:
        self._api, self._paths, self._recorder, self._remaining = api, paths, recorder, remaining
        self._on_object = on_object
        self._claims = ClaimWriter(paths, self, micro_time)
        self._recording = threading.Lock()
        self.requests = 0
        """Approximate number of requests so far."""

    def execute(self, write: Write, *, dry_run: bool) -> tuple[WriteOutcome, str]:
        """Carry out *write*; with *dry_run*, send an eviction as a dry run.

        Raises:
            ReplyError: the server refused the write.
            OSError, urllib3.exceptions.HTTPError, ValueError: there was no readable response.
            KeyError: the kind is not served.
            NotLeadingError: the lease expired before the last necessary request.

        """
        match write:
            case Bind():
                self.send(requests.bind(write, self._paths))
            case Nominate():
                self.send(requests.nominate(write, self._paths))
            case SetCondition() if _reports_not_placed(write) or requests.is_custom(write.target, self._paths):
                return self._by_content(write)
            case SetCondition():
                self.send(requests.set_condition(write, self._paths, micro_time()))
            case Evict() | Remove():
                self._evict_or_delete(write, dry_run=dry_run)
            case RecordEvent():
                self._record_event(write)
            case AllocateClaim() | ReleaseClaim() | AllocateExtended() | DeleteExtended():
                return self._claims.execute(write)
            case Ungate() | AddFinalizer() | RemoveFinalizer() | ReserveVolume() | SelectNode() | ClearSelectedNode():
                return self._by_content(write)
        return WriteOutcome.DONE, ""

    def _evict_or_delete(self, write: Evict | Remove, *, dry_run: bool) -> None:
        """Evict or delete a pod.  The eviction API sets its own condition, which ours replaces; a deletion sets no condition."""
        eviction, condition = (
            requests.evict_or_delete(write, self._paths, dry_run=dry_run),
            requests.disruption_target(write, self._paths, micro_time()),
        )
        if dry_run:
            self.send(eviction)
        elif isinstance(write, Evict) and write.method is EvictionMethod.EVICT:
            self.send(eviction)
            with contextlib.suppress(ReplyError, NotLeadingError):
                # The eviction has succeeded without the condition, and the pod can already be gone.
                self.send(condition)
        else:
            self.send(condition)
            self.send(eviction)

    def _by_content(self, write: _ByContent) -> tuple[WriteOutcome, str]:
        """Carry out a write that depends on the current object: read it, and change it only at that resourceVersion."""
        content = self.get_object(write)
        ref = write.target
        if content is None or (ref.uid and content["metadata"].get("uid") != ref.uid):
            return WriteOutcome.GONE, "the object no longer exists"
        if isinstance(write, ReserveVolume | SelectNode) and (outcome := outcome_from_object(write, content)) is not None:
            return outcome
        request = _request(write, content, self._paths)
        if request is not None:
            self.send(request)
        return WriteOutcome.DONE, ""

    def get_object(self, write: Write, other: Ref | None = None) -> Any:
        """Return the target of *write*, or *other*, parsed; None if it does not exist."""
        try:
            return self.send_for_object(write, ApiRequest("GET", self._paths.object_path(other or write.target)))
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def send_for_object(self, write: Write, request: ApiRequest) -> Any:
        """Return the object that the API server returns for *request*, parsed.

        The cache gets each claim before the result of its write: other claims must not get its devices until the watch shows it.
        """
        text = self.send(request)
        content = _DECODE(text)
        if not isinstance(content, dict) or not isinstance(content.get("metadata"), dict):
            # The response can be from a proxy.
            raise ValueError("the response is not an API object")  # noqa: TRY004 - the response is wrong, not an argument
        if isinstance(write, AllocateClaim | ReleaseClaim):
            self._on_object(write.target.kind, text)
        return content

    def _record_event(self, event: RecordEvent) -> None:
        version = self._paths.api_version(event.target.resource)
        with self._recording:
            event_request = self._recorder.event_request(event, version, time.monotonic(), micro_time())
        if event_request is None:
            return
        try:
            self.send(requests.record_event(event_request))
        except (ReplyError, NotLeadingError, ValueError, *TRANSPORT):
            # The event may not exist, so its count must not be increased next time.
            with self._recording:
                self._recorder.forget_event(event)
            raise

    def send(self, request: ApiRequest) -> bytes:
        """Send one request and return the response; errors as in ``execute``."""
        if (left := self._remaining()) <= 0:
            raise NotLeadingError
        self.requests += 1
        return self._api.send(
            request.method,
            request.path,
            request.body,
            content_type=request.content_type,
            query=[("dryRun", "All")] if request.dry_run else [],
            seconds=max(_SHORTEST_SECONDS, min(REQUEST_SECONDS, left)),
        )


def _request(write: _ByContent, content: Any, paths: Paths) -> ApiRequest | None:
    """Return the request of *write* for the current object; None if nothing is to do."""
    match write:
        case Ungate():
            return requests.ungate(write, content, paths)
        case ReserveVolume():
            return requests.reserve_volume(write, content, paths)
        case SelectNode() | ClearSelectedNode():
            return requests.select_node(write, content, paths)
        case SetCondition():
            return _condition(write, content, paths)
        case _:
            return _finalizers(write, content, paths)


def _reports_not_placed(write: SetCondition) -> bool:
    """Return whether the write reports a group, or a pod that could not be bound, as not placed: it may have been placed since.

    The removal of such a report counts too.
    """
    condition, kind = write.condition, write.target.kind
    if kind == "Pod":
        return (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "SchedulerError")
    return condition.status != "True" and condition.type == INITIALLY_SCHEDULED.get(kind)


def _condition(write: SetCondition, content: Any, paths: Paths) -> ApiRequest | None:
    """Return the request that sets or removes the condition.

    None for a report that a group or pod is not placed if the condition is True, which is final for any writer, or if it is no longer the
    one to remove.
    """
    wanted = write.condition
    for each in (content.get("status") or {}).get("conditions") or () if _reports_not_placed(write) else ():
        if each.get("type") != wanted.type:
            continue
        replaced = not wanted.status and wanted.message and each.get("message") != wanted.message
        if replaced or each.get("status") == "True":
            return None
    if requests.is_custom(write.target, paths):
        return requests.replace_conditions(write, content, paths, micro_time())
    return requests.set_condition(write, paths, micro_time(), content["metadata"].get("resourceVersion") or "")


def _finalizers(write: AddFinalizer | RemoveFinalizer, content: Any, paths: Paths) -> ApiRequest | None:
    """Return the request that adds or removes the finalizer; None if it is not needed or not allowed."""
    metadata = content["metadata"]
    current = tuple(metadata.get("finalizers") or ())
    terminating = bool(metadata.get("deletionTimestamp"))
    adding = isinstance(write, AddFinalizer)
    # The server refuses new finalizers on an object that is being deleted.  Any other object must keep its finalizer.
    if adding in (write.finalizer in current, terminating):
        return None
    wanted = (*current, write.finalizer) if adding else tuple(each for each in current if each != write.finalizer)
    return requests.finalizers(write.target, content, wanted, paths)
