"""Secret, webhook configurations and replicas on a live cluster.

Edge: the API server.  Every write names the resourceVersion that was read, so it fails if another writer was first.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime as dt
import email.utils
import json
from collections.abc import Callable, Mapping
from typing import Any

from apiserver.api import JSON_PATCH, MERGE_PATCH, Api, ReplyError
from certs.rotation import Changes, RotationError, State

KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
MANAGED = "cert-manager.io/certificate-name"
"""Annotation of a Secret that cert-manager writes."""
NOT_FOUND = 404
LARGEST = 16 * 1024 * 1024
"""Limit for one answer, in bytes."""
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Names of the objects; configurations that do not exist are left out."""

    namespace: str
    secret: str
    service: str
    configurations: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Configuration:
    """One webhook configuration: its path, resourceVersion, and the caBundle of each webhook."""

    path: str
    version: str
    bundles: tuple[bytes, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """State of the cluster at one moment, which is *now* on the clock of the API server; None if it sends no time."""

    secret: Mapping[str, bytes]
    version: str
    configurations: tuple[Configuration, ...]
    now: dt.datetime | None

    @property
    def state(self) -> State:
        """Return the state for the state machine."""
        return State(self.secret, tuple(bundle for each in self.configurations for bundle in each.bundles))


class Cluster:
    """Objects of one installation.  Methods raise ReplyError and the exceptions of TRANSPORT."""

    def __init__(self, api: Api, place: Place) -> None:
        self._api, self._place = api, place
        self._core = f"/api/v1/namespaces/{place.namespace}/secrets/{place.secret}"

    def read(self) -> Reading:
        """Return the current state.

        Raises:
            RotationError: an object is missing, or cert-manager manages the Secret.
        """
        secret, now = self._secret()
        metadata = secret["metadata"]
        if MANAGED in (metadata.get("annotations") or {}):
            raise RotationError(f"cert-manager manages {self._place.namespace}/{self._place.secret}, and renews it: cmctl renew")
        found = [self._configuration(kind, name) for kind in KINDS for name in self._place.configurations]
        configurations = tuple(each for each in found if each is not None)
        if not configurations:
            names = " or ".join(self._place.configurations)
            raise RotationError(f"there is no webhook configuration {names}: install the webhooks first, or give --configuration")
        data = {name: _decoded(value) for name, value in (secret.get("data") or {}).items()}
        return Reading(data, metadata["resourceVersion"], configurations, now)

    def write_secret(self, reading: Reading, changes: Changes) -> None:
        """Change the data of the Secret in one write."""
        data = {name: None if value is None else base64.b64encode(value).decode() for name, value in changes.items()}
        body = {"metadata": {"resourceVersion": reading.version}, "data": data}
        self._api.send("PATCH", self._core, json.dumps(body).encode(), content_type=MERGE_PATCH)

    def write_bundles(self, reading: Reading, change: Callable[[bytes], bytes]) -> None:
        """Replace each caBundle by the result of *change*; configurations without a difference are not written."""
        for each in reading.configurations:
            new = [change(bundle) for bundle in each.bundles]
            operations = [
                {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": base64.b64encode(value).decode()}
                for number, value in enumerate(new)
                if value != each.bundles[number]
            ]
            if operations:
                version = {"op": "replace", "path": "/metadata/resourceVersion", "value": each.version}
                self._api.send("PATCH", each.path, json.dumps([version, *operations]).encode(), content_type=JSON_PATCH)

    def replicas(self) -> tuple[str, ...]:
        """Return HOST:PORT of each ready address of the Service."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self._place.namespace}/endpointslices"
        query = (("labelSelector", f"kubernetes.io/service-name={self._place.service}"),)
        slices = json.loads(self._api.read(path, query))["items"]
        return tuple(sorted({address for each in slices for address in _ready(each)}))

    def _secret(self) -> tuple[dict[str, Any], dt.datetime | None]:
        try:
            response = self._api.open(self._core)
        except ReplyError as error:
            if error.code == NOT_FOUND:
                where = f"{self._place.namespace}/{self._place.secret}"
                raise RotationError(f"there is no Secret {where}: create it with `muster certs issue`, or give --secret") from None
            raise
        try:
            content = json.loads(response.read(LARGEST, decode_content=True))
        finally:
            response.release_conn()
        return content, _moment(response.headers.get("Date"))

    def _configuration(self, kind: str, name: str) -> Configuration | None:
        path = f"{_ADMISSION}/{kind}/{name}"
        try:
            content = json.loads(self._api.read(path))
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return None
            raise
        bundles = tuple(_decoded(each["clientConfig"].get("caBundle") or "") for each in content.get("webhooks") or ())
        return Configuration(path, content["metadata"]["resourceVersion"], bundles)


def _ready(endpoint_slice: Mapping[str, Any]) -> list[str]:
    ports = [each["port"] for each in endpoint_slice.get("ports") or () if each.get("port")]
    # An unset condition counts as ready, as in the API.
    ready = [each for each in endpoint_slice.get("endpoints") or () if (each.get("conditions") or {}).get("ready") is not False]
    hosts = [f"[{address}]" if ":" in address else address for each in ready for address in each["addresses"]]
    return [f"{host}:{port}" for host in hosts for port in ports]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def _moment(text: str | None) -> dt.datetime | None:
    """Return the time of a header ``Date``; None if there is none or it cannot be read."""
    try:
        moment = email.utils.parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
