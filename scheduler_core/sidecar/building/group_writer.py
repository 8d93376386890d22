"""Requests of mode ``build``: writes of groups, pods that join them, and events.

Each write has the uid of the object that it was decided for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from apiserver.api import TRANSPORT, Api, ReplyError
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions.served_versions import other_group
from scheduler_core.sidecar.building.group_plan import Target, is_ours
from scheduler_core.sidecar.building.owned_objects import Json, name_of, uid_of
from scheduler_core.sidecar.client import requests
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import ApiRequest, Paths
from scheduler_core.sidecar.writes import RecordEvent, Ref, WriteOutcome
from workloadbuilder.adapters.group_objects import Step, StepKind

CONFLICT, NOT_FOUND = 409, 404
REFUSALS = frozenset({403, 409, 422})
"""Statuses of errors that the user of an object can mend."""
_UID = "metadata.uid"
_DECODE = msgspec.json.Decoder().decode
_RUNNING = "status.phase!=Succeeded,status.phase!=Failed"
POD = "Pod"


class GoneError(ValueError):
    """The object to change is gone, and another one may have its name: the watch has not told it yet."""


class GroupWriter:
    """Sends the requests; the *clock* returns seconds, and the time as RFC 3339."""

    def __init__(
        self,
        api: Api,
        paths: Paths,
        recorder: EventRecorder,
        clock: Callable[[], tuple[float, str]],
        written: Callable[[str, WriteOutcome], None],
    ) -> None:
        """*written* is called with the name of each write and its outcome."""
        self._api, self._paths, self._recorder, self._clock, self._written = api, paths, recorder, clock, written

    def carry_out(self, namespace: str, step: Step, target: Target, uid: str) -> None:
        """Make one write; an object with this *uid* is patched or deleted.

        Raises:
            ReplyError: the server refused it, or an object of that name exists that is not ours.
            GoneError: there is no object of that name with that uid.
            OSError, urllib3.exceptions.HTTPError, ValueError: there was no readable response.
        """
        kind, name = step.name
        ref = Ref(kind, namespace, name, uid, other_group(kind, target.group))
        with self._counted(f"{step.kind.value.capitalize()}{kind}"):
            match step.kind:
                case StepKind.CREATE:
                    self._create(ref, step.body or {})
                case StepKind.PATCH:
                    self._change(requests.merge(ref, step.body or {}, self._paths))
                case StepKind.DELETE:
                    self._change(requests.delete(ref, ref.uid, self._paths))

    def _create(self, ref: Ref, body: Mapping[str, Any]) -> None:
        try:
            self._send(requests.create(ref, body, self._paths))
        except ReplyError as error:
            # The watch may lag behind what an earlier pass has created.
            if error.code != CONFLICT or not is_ours(_DECODE(self._api.read(self._paths.object_path(ref)))):
                raise

    def _change(self, request: ApiRequest) -> None:
        try:
            self._send(request)
        except ReplyError as error:
            # A patch with another uid is a conflict or an invalid value.
            if error.code in (NOT_FOUND, CONFLICT) or _UID in error.fields:
                raise GoneError(error.message) from error
            raise

    def has_pods(self, namespace: str, group: str) -> bool:
        """Return whether a PodGroup has pods that have not ended.  Raises as ``carry_out``."""
        query = [("labelSelector", f"{POD_GROUP_LABEL}={group}"), ("fieldSelector", _RUNNING), ("limit", "1")]
        collection = self._paths.object_path(Ref(POD, namespace, "")).rstrip("/")
        return bool(_DECODE(self._api.read(collection, query)).get("items"))

    def join(self, pod: Json, patch: Mapping[str, Any]) -> bool:
        """Let a pod join its group, or go on without one; return whether it was changed.  Raises as ``carry_out``.

        A pod that is gone or has changed, or another one of its name, is left alone.
        """
        with self._counted("JoinPod"):
            try:
                self._change(requests.merge(Ref(POD, *name_of(pod), uid_of(pod)), patch, self._paths))
            except GoneError:
                return False
        return True

    def record_event(self, manifest: Json, event: tuple[str, str, str]) -> None:
        """Record an event about an object, with type, reason and message; one that is not accepted is not repeated."""
        recorded = RecordEvent(Ref(str(manifest["kind"]), *name_of(manifest), uid_of(manifest)), *event)
        request = self._recorder.event_request(recorded, str(manifest["apiVersion"]), *self._clock())
        if request is None:
            return
        try:
            with self._counted(RecordEvent.__name__):
                self._send(requests.record_event(request))
        except (ReplyError, ValueError, *TRANSPORT):
            self._recorder.forget_event(recorded)

    @contextlib.contextmanager
    def _counted(self, write: str) -> Iterator[None]:
        try:
            yield
        except ReplyError as error:
            self._written(write, WriteOutcome.REFUSED if error.code in REFUSALS else WriteOutcome.FAILED)
            raise
        except GoneError:
            self._written(write, WriteOutcome.GONE)
            raise
        except (ValueError, *TRANSPORT):
            self._written(write, WriteOutcome.FAILED)
            raise
        self._written(write, WriteOutcome.DONE)

    def _send(self, request: ApiRequest) -> None:
        self._api.send(request.method, request.path, request.body, content_type=request.content_type)
