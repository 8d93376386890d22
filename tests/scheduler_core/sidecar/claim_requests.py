"""API server for the requests of the sidecar's writer of claims, one by one: each can be the last one of a process."""

from __future__ import annotations

import copy
import json
from typing import Any, Protocol

from scheduler_core.sidecar.client.errors import CONFLICT
from scheduler_core.sidecar.client.requests import ApiRequest, Paths
from scheduler_core.sidecar.writes import Ref, Write
from tests.scheduler_core.sidecar.histories import Json, Server, raw
from tests.scheduler_core.sidecar.world import TERMINATING, CrashError

PATHS = Paths({"Pod": "/api/v1/pods", "ResourceClaim": "/apis/resource.k8s.io/v1/resourceclaims"})
KINDS = {"pods": "Pod", "resourceclaims": "ResourceClaim"}
MOST_REQUESTS = 4
"""Requests of one write, without those that read."""


class LostResponseError(Exception):
    """A request was carried out, or was not; its sender does not get the response."""


class World(Protocol):
    server: Server
    store: Any
    killed_at: int
    requested: int

    def check_claim(self, before: Json, after: Json) -> None: ...
    def check_devices(self) -> None: ...


class ClaimRequests:
    """Sender of requests to the server of a world.

    Attributes:
        until_lost: requests until a response is lost; -1 for none.

    """

    until_lost = -1

    def __init__(self, world: World) -> None:
        self._world = world

    def get_object(self, write: Write, other: Ref | None = None) -> Any:
        ref: Any = other or write.target  # type: ignore[union-attr]
        return copy.deepcopy(self._world.server.objects.get((ref.kind, ref.namespace, ref.name)))

    def send_for_object(self, write: Write, request: ApiRequest) -> Any:
        text = self.send(request)
        # The cache gets what the API server returned.
        self._world.store.apply("ResourceClaim", "MODIFIED", text)
        return json.loads(text)

    def send(self, request: ApiRequest) -> bytes:
        world = self._world
        if world.killed_at == world.requested:
            world.killed_at = -1
            raise CrashError
        if self.until_lost == 0:
            raise LostResponseError
        world.requested += 1
        text = raw(self._carried_out(request))
        world.check_devices()
        self.until_lost -= self.until_lost > 0
        if self.until_lost == 0:
            raise LostResponseError
        return text

    def _carried_out(self, request: ApiRequest) -> Json:
        server, sent = self._world.server, json.loads(request.body or b"")
        parts = request.path.partition("/namespaces/")[2].split("/")
        if request.method == "POST":
            name = (KINDS[parts[1]], parts[0], sent["metadata"]["name"])
            assert name not in server.objects
            server.put(sent)
            return server.objects[name]
        name = (KINDS[parts[1]], parts[0], parts[2])
        before = server.objects[name]
        checked = sent["preconditions"] if request.method == "DELETE" else sent["metadata"]
        assert checked["uid"] in ("", before["metadata"]["uid"])
        assert checked.get("resourceVersion") in (None, before["metadata"]["resourceVersion"]), CONFLICT
        if request.method == "DELETE" and not before["metadata"].get("finalizers"):
            server.delete(name)
            return before
        after = copy.deepcopy(before)
        if request.method == "DELETE":
            after["metadata"]["deletionTimestamp"] = TERMINATING
        elif parts[3:] == ["status"]:
            after["status"] = sent["status"] if request.method == "PUT" else {**(before.get("status") or {}), **sent["status"]}
        else:
            after["metadata"]["finalizers"] = sent["metadata"]["finalizers"]
        if name[0] == "ResourceClaim":
            self._world.check_claim(before, after)
        server.put(after)
        return server.objects[name]
