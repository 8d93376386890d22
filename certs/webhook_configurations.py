"""Secret, webhook configurations and replicas on a live cluster.

Edge: the API server.  Every write names the resourceVersion that was read, so it fails if another writer was first.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime as dt
import email.utils
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apiserver.api import JSON_PATCH, MERGE_PATCH, Api, ReplyError
from certs.rotation_steps import Changes, RotationError, State
from certs.store import CERTIFICATE, KEY

KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
MANAGED = "cert-manager.io/certificate-name"
"""Annotation of a Secret that cert-manager writes."""
FORBIDDEN, NOT_FOUND = 403, 404
LARGEST = 16 * 1024 * 1024
"""Limit for one answer, in bytes."""
LATER = frozenset({"muster-join"})
"""Configurations that were added after the first release: the role of an older one does not grant them, and has not created them."""
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
    """Objects of one installation.  Methods raise ReplyError and the exceptions of TRANSPORT.

    With *create*, the Secret and the webhook configurations can be missing; the first write creates the Secret.

    Attributes:
        pods: namespace and name of the pod at each address that ``replicas`` has returned last, if it is that of a pod.

    """

    def __init__(self, api: Api, place: Place, *, create: bool = False) -> None:
        self._api, self._place, self._create = api, place, create
        self._secrets = f"/api/v1/namespaces/{place.namespace}/secrets"
        self.pods: dict[str, tuple[str, str]] = {}

    def read(self) -> Reading:
        """Return the current state.

        Raises:
            RotationError: an object is missing, or cert-manager manages the Secret.
        """
        where = f"{self._place.namespace}/{self._place.secret}"
        secret, now = self._get(f"{self._secrets}/{self._place.secret}")
        if secret is None and not self._create:
            raise RotationError(f"there is no Secret {where}: create it with `muster certs issue`, or give --secret")
        metadata = (secret or {}).get("metadata", {})
        if MANAGED in (metadata.get("annotations") or {}):
            raise RotationError(f"cert-manager manages {where}, and renews it: cmctl renew")
        configurations = []
        for kind, name in itertools.product(KINDS, self._place.configurations):
            path = f"{_ADMISSION}/{kind}/{name}"
            try:
                content, moment = self._get(path)
            except ReplyError as error:
                if error.code == FORBIDDEN and name in LATER:
                    continue
                raise
            now = now or moment
            if content is not None:
                configurations.append(_configuration(path, content))
        if not configurations and not self._create:
            names = " or ".join(self._place.configurations)
            raise RotationError(f"there is no webhook configuration {names}: install the webhooks first, or give --configuration")
        data = {name: _decoded(value) for name, value in ((secret or {}).get("data") or {}).items()}
        return Reading(data, metadata.get("resourceVersion", ""), tuple(configurations), now)

    def write_secret(self, reading: Reading, changes: Changes) -> None:
        """Change the data of the Secret in one write, or create it if there was none."""
        data = {name: None if value is None else base64.b64encode(value).decode() for name, value in changes.items()}
        if reading.version:
            body = {"metadata": {"resourceVersion": reading.version}, "data": data}
            self._api.send("PATCH", f"{self._secrets}/{self._place.secret}", json.dumps(body).encode(), content_type=MERGE_PATCH)
            return
        # Secrets of type TLS must have these two keys.
        given = {CERTIFICATE: "", KEY: "", **{name: value for name, value in data.items() if value is not None}}
        metadata = {"name": self._place.secret, "labels": {"app.kubernetes.io/part-of": "muster"}}
        created = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": given}
        self._api.send("POST", self._secrets, json.dumps(created).encode())

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
        """Return HOST:PORT of each address of the Service, ready or not.

        A replica that is not ready now can become ready with the certificate that it has loaded before.  One that terminates cannot.
        """
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self._place.namespace}/endpointslices"
        query = (("labelSelector", f"kubernetes.io/service-name={self._place.service}"),)
        slices = json.loads(self._api.read(path, query))["items"]
        running = {address: pod for each in slices for address, pod in _running(each)}
        self.pods = {address: (self._place.namespace, pod) for address, pod in running.items() if pod}
        return tuple(sorted(running))

    def _get(self, path: str) -> tuple[dict[str, Any] | None, dt.datetime | None]:
        """Return an object, None if it does not exist, and the time of the API server."""
        try:
            response = self._api.open(path)
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return None, None
            raise
        try:
            content = json.loads(response.read(LARGEST, decode_content=True))
        finally:
            response.release_conn()
        return content, _moment(response.headers.get("Date"))


def _configuration(path: str, content: Mapping[str, Any]) -> Configuration:
    bundles = tuple(_decoded(each["clientConfig"].get("caBundle") or "") for each in content.get("webhooks") or ())
    return Configuration(path, content["metadata"]["resourceVersion"], bundles)


def _running(endpoint_slice: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the address and the pod of each endpoint that does not terminate; the pod is empty if it is something else."""
    ports = [each["port"] for each in endpoint_slice.get("ports") or () if each.get("port")]
    for each in endpoint_slice.get("endpoints") or ():
        if not (each.get("conditions") or {}).get("terminating"):
            target = each.get("targetRef") or {}
            pod = target.get("name", "") if target.get("kind") == "Pod" else ""
            hosts = [f"[{address}]" if ":" in address else address for address in each["addresses"]]
            yield from ((f"{host}:{port}", pod) for host in hosts for port in ports)


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
