"""Requests of mode ``build``: writes of groups, pods that join them, and events.

Each write has the uid of the object that it was decided for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apiserver.api import MERGE_PATCH, TRANSPORT, Api, ReplyError
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions.served_versions import other_group
from scheduler_core.sidecar.building.group_plan import Target, is_ours
from scheduler_core.sidecar.building.owned_objects import Json, name_of, uid_of
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writes import RecordEvent, Ref
from workloadbuilder.adapters.group_objects import Step, StepKind

CONFLICT, NOT_FOUND = 409, 404
EVENTS_PATH = "/apis/events.k8s.io/v1/namespaces"
_DECODE = msgspec.json.Decoder().decode
_RUNNING = "status.phase!=Succeeded,status.phase!=Failed"
POD = "Pod"


class GroupWriter:
    """Sends the requests; the *clock* returns seconds, and the time as RFC 3339."""

    def __init__(self, api: Api, paths: Paths, recorder: EventRecorder, clock: Callable[[], tuple[float, str]]) -> None:
        self._api, self._paths, self._recorder, self._clock = api, paths, recorder, clock

    def carry_out(self, namespace: str, step: Step, target: Target, uid: str) -> None:
        """Make one write; an object with this *uid* is patched or deleted.

        Raises:
            ReplyError: the server refused it, or an object of that name exists that is not ours.
            OSError, urllib3.exceptions.HTTPError, ValueError: there was no readable response.
        """
        kind, name = step.name
        path = self._paths.object_path(Ref(kind, namespace, name, uid, other_group(kind, target.group)))
        match step.kind:
            case StepKind.CREATE:
                self._create(path, step.body)
            case StepKind.PATCH:
                self._patch(path, step.body or {}, uid)
            case StepKind.DELETE:
                self._delete(path, uid)

    def _create(self, path: str, body: Any) -> None:
        try:
            self._api.send("POST", path.rpartition("/")[0], json.dumps(body).encode())
        except ReplyError as error:
            # The watch may not have shown yet what an earlier pass has created.
            if error.code != CONFLICT or not is_ours(_DECODE(self._api.read(path))):
                raise

    def _patch(self, path: str, body: Mapping[str, Any], uid: str) -> None:
        content = {**body, "metadata": {**body.get("metadata", {}), "uid": uid}}
        self._api.send("PATCH", path, json.dumps(content).encode(), content_type=MERGE_PATCH)

    def _delete(self, path: str, uid: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        try:
            self._api.send("DELETE", path, json.dumps(options).encode())
        except ReplyError as error:
            if error.code != NOT_FOUND:
                raise

    def has_pods(self, namespace: str, group: str) -> bool:
        """Return whether a PodGroup has pods that have not ended.  Raises as ``carry_out``."""
        query = [("labelSelector", f"{POD_GROUP_LABEL}={group}"), ("fieldSelector", _RUNNING), ("limit", "1")]
        collection = self._paths.object_path(Ref(POD, namespace, "")).rstrip("/")
        return bool(_DECODE(self._api.read(collection, query)).get("items"))

    def join(self, pod: Json, patch: Mapping[str, Any]) -> None:
        """Let a pod join its group; a pod that is gone, or another one of its name, is left alone.  Raises as ``carry_out``."""
        namespace, name = name_of(pod)
        try:
            self._patch(self._paths.object_path(Ref(POD, namespace, name)), patch, uid_of(pod))
        except ReplyError as error:
            if error.code not in (NOT_FOUND, CONFLICT):
                raise

    def record_event(self, manifest: Json, event: tuple[str, str, str]) -> None:
        """Record an event about an object, with type, reason and message; one that is not accepted is not repeated."""
        recorded = RecordEvent(Ref(str(manifest["kind"]), *name_of(manifest), uid_of(manifest)), *event)
        now, stamp = self._clock()
        request = self._recorder.event_request(recorded, str(manifest["apiVersion"]), now, stamp)
        if request is None:
            return
        collection, body = f"{EVENTS_PATH}/{request.namespace}/events", json.dumps(request.body).encode()
        try:
            if request.count > 1:
                self._api.send("PATCH", f"{collection}/{request.name}", body, content_type=MERGE_PATCH)
            else:
                self._api.send("POST", collection, body)
        except (ReplyError, ValueError, *TRANSPORT):
            self._recorder.forget_event(recorded)
