"""Small client of the API server for tests; objects are dictionaries, as in JSON.

A failed request raises ApiError with the Status that the server sent.  Waiting is done on a watch, with a deadline.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import ssl
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

from tests.cluster.resources import PATCHES, RESOURCES, Manifest, path
from tests.cluster.waiting import WAIT_SECONDS

REQUEST_SECONDS = 90.0
"""Shorter than the server's own timeout of 60."""
AT_ONCE = 8
CONFLICT, NOT_FOUND, GONE, TOO_MANY_REQUESTS = 409, 404, 410, 429


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, code: int, status: Manifest, warnings: tuple[str, ...] = ()) -> None:
        super().__init__(f"{code}: {status.get('message', status)}")
        self.code, self.status, self.warnings = code, status, warnings

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """Return (field, reason, message) of each cause, in the server's order."""
        result = (self.status.get("details") or {}).get("causes") or ()
        return [(each.get("field", ""), each.get("reason", ""), each.get("message", "")) for each in result]


class WaitError(AssertionError):
    """The expected state was not reached in time; the message has the last state."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """Successful response."""

    code: int
    content: Any
    warnings: tuple[str, ...]


def _identity(manifest: Manifest) -> tuple[str, str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("name", ""), metadata.get("namespace", ""), manifest["apiVersion"]


class Api:
    """Requests as the user of a kubeconfig; may be used by several threads."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        content = json.loads(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        self.server: str = cluster["server"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
                pair.flush()
                context.load_cert_chain(pair.name)
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._pool = urllib3.PoolManager(maxsize=AT_ONCE, ssl_context=context, retries=False)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def send(
        self,
        method: str,
        url: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send one request.  Raises ApiError unless the response is a success."""
        response = self._pool.request(
            method,
            f"{self.server}{url}{_query(query)}",
            body=None if body is None else body if isinstance(body, (bytes, str)) else json.dumps(body),
            headers={**self._headers, "Content-Type": content_type, "Accept": "application/json"},
            timeout=REQUEST_SECONDS,
        )
        warnings = tuple(each.partition('"')[2].rpartition('"')[0].replace('\\"', '"') for each in response.headers.getlist("Warning"))
        content = _decoded(response.data)
        if response.status >= 400:
            raise ApiError(response.status, content if isinstance(content, dict) else {"message": content}, warnings)
        return Answer(response.status, content, warnings)

    def path(self, kind: str, name: str = "", namespace: str = "", subresource: str = "", *, version: str = "") -> str:
        """Return the path of an object, or without *name* of the list; see ``resources.path``."""
        return path(kind, name, namespace, subresource, version=version)

    def create(self, manifest: Manifest, **query: object) -> Manifest:
        """Create an object; keywords go into the query, as ``dryRun="All"``."""
        kind, _, namespace, version = _identity(manifest)
        created: Manifest = self.send("POST", self.path(kind, namespace=namespace, version=version), manifest, query=query).content
        return created

    def create_all(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """Create objects, several at once; return the responses in the order of the manifests."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(self.create, manifests))

    def get(self, kind: str, name: str, namespace: str = "", *, version: str = "") -> Manifest:
        """Return an object as it is now."""
        result: Manifest = self.send("GET", self.path(kind, name, namespace, version=version)).content
        return result

    def exists(self, kind: str, name: str, namespace: str = "", *, version: str = "") -> bool:
        """Return true if the object exists."""
        try:
            self.get(kind, name, namespace, version=version)
        except ApiError as error:
            if error.code == NOT_FOUND:
                return False
            raise
        return True

    def objects(self, kind: str, namespace: str = "", *, version: str = "", **query: object) -> list[Manifest]:
        """Return all objects of a kind; keywords go into the query, as ``labelSelector="a=b"``."""
        return self.listed(kind, namespace, version=version, **query)[0]

    def listed(self, kind: str, namespace: str = "", *, version: str = "", **query: object) -> tuple[list[Manifest], str]:
        """Return the same as ``objects``, and the resourceVersion of the list, from which a watch can start."""
        content = self.send("GET", self.path(kind, namespace=namespace, version=version), query=query).content
        items = [{"apiVersion": content["apiVersion"], "kind": kind, **each} for each in content.get("items") or ()]
        return items, content["metadata"]["resourceVersion"]

    def replace(self, manifest: Manifest, *, subresource: str = "", **query: object) -> Manifest:
        """PUT an object, or with *subresource* "status" its status."""
        kind, name, namespace, version = _identity(manifest)
        replaced: Manifest = self.send("PUT", self.path(kind, name, namespace, subresource, version=version), manifest, query=query).content
        return replaced

    def patch(
        self,
        kind: str,
        name: str,
        namespace: str = "",
        *,
        body: object,
        how: str = "merge",
        subresource: str = "",
        version: str = "",
        **query: object,
    ) -> Manifest:
        """Patch an object; *how* is a key of PATCHES (an apply needs the keyword fieldManager)."""
        url = self.path(kind, name, namespace, subresource, version=version)
        patched: Manifest = self.send("PATCH", url, body, query=query, content_type=PATCHES[how]).content
        return patched

    def set_status(self, kind: str, name: str, namespace: str = "", *, status: Manifest, version: str = "") -> Manifest:
        """Merge *status* into the status of an object."""
        return self.patch(kind, name, namespace, body={"status": status}, subresource="status", version=version)

    def delete(self, kind: str, name: str, namespace: str = "", *, version: str = "", **options: object) -> None:
        """Delete an object; keywords are those of DeleteOptions.  An object that does not exist is ignored."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        try:
            self.send("DELETE", self.path(kind, name, namespace, version=version), body)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    def delete_all(self, kind: str, namespace: str = "", *, version: str = "", **options: object) -> None:
        """Delete all objects of a kind, in one request."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        self.send("DELETE", self.path(kind, namespace=namespace, version=version), body)

    def bind(self, name: str, namespace: str, node: str) -> None:
        """Bind a pod to a node, as a scheduler does."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace}, "target": target}
        self.send("POST", self.path("Pod", name, namespace, "binding"), body)

    def evict(self, name: str, namespace: str) -> None:
        """Request a pod's eviction.  Raises ApiError 429 if a disruption budget does not allow it."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        self.send("POST", self.path("Pod", name, namespace, "eviction"), body)

    def watch(
        self, kind: str, namespace: str = "", *, since: str = "", seconds: float = WAIT_SECONDS, version: str = "", **query: object
    ) -> Iterator[tuple[str, Manifest]]:
        """Yield (type, object) of each change after resourceVersion *since*, for *seconds*.  Raises ApiError on an ERROR event."""
        end = time.monotonic() + seconds
        requested = {**query, "watch": "true", "resourceVersion": since, "timeoutSeconds": int(seconds) + 1}
        url = f"{self.server}{self.path(kind, namespace=namespace, version=version)}{_query(requested)}"
        timeout = urllib3.Timeout(connect=REQUEST_SECONDS, read=seconds)
        # A server that has much to do may be late with the first byte too.
        with contextlib.suppress(urllib3.exceptions.ReadTimeoutError), contextlib.ExitStack() as opened:
            response = self._pool.request("GET", url, headers=self._headers, timeout=timeout, preload_content=False)
            opened.callback(response.close)
            if response.status >= 400:
                raise ApiError(response.status, _decoded(response.data))
            for line in _lines(response):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", 0), event["object"])
                yield event["type"], event["object"]
                if time.monotonic() > end:
                    return

    def wait(
        self,
        kind: str,
        name: str,
        namespace: str = "",
        *,
        until: Callable[[Manifest | None], bool],
        seconds: float = WAIT_SECONDS,
        version: str = "",
    ) -> Manifest | None:
        """Return the object once *until* holds of it; None stands for a missing object.  Raises WaitError."""
        result = self.wait_all(kind, namespace, until=lambda all_: until(all_.get(name)), seconds=seconds, version=version, only=name)
        return result.get(name)

    def wait_all(
        self,
        kind: str,
        namespace: str = "",
        *,
        until: Callable[[dict[str, Manifest]], bool],
        seconds: float = WAIT_SECONDS,
        version: str = "",
        only: str = "",
    ) -> dict[str, Manifest]:
        """Return the objects of a kind by name (``namespace/name`` over all namespaces) once *until* holds.  Raises WaitError."""
        end = time.monotonic() + seconds
        query = {"fieldSelector": f"metadata.name={only}"} if only else {}
        _, _, namespaced = RESOURCES[kind]
        many = namespaced and not namespace

        def key(each: Manifest) -> str:
            return f"{each['metadata']['namespace']}/{each['metadata']['name']}" if many else str(each["metadata"]["name"])

        there: dict[str, Manifest] = {}
        while (remaining := end - time.monotonic()) > 0:
            listed, since = self.listed(kind, namespace, version=version, **query)
            there = {key(each): each for each in listed}
            if until(there):
                return there
            try:
                for what, each in self.watch(kind, namespace, since=since, seconds=remaining, version=version, **query):
                    if what == "DELETED":
                        there.pop(key(each), None)
                    else:
                        there[key(each)] = each
                    if until(there):
                        return there
            except ApiError as error:
                if error.code != GONE:
                    raise
        raise WaitError(f"{kind} {namespace}/{only}: not as waited for after {seconds:g} s; last seen: {json.dumps(there)[:4000]}")


def _query(query: Mapping[str, object] | None) -> str:
    return f"?{urlencode(query)}" if query else ""


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    # Chunks as they come: reading by size would wait for more.
    for chunk in response.read_chunked():
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (each for each in whole if each)
