"""What the demonstration asks of its API server, and how it shows the answers: much as kubectl would."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from apiserver.api import JSON, MERGE_PATCH, TRANSPORT, Api, ReplyError
from muster.demo_server import ServerError
from validators.lint import documents

WAIT_SECONDS = 30.0
ASK_EVERY = 0.1
NOT_FOUND = 404

Object = dict[str, Any]


class Cluster:
    """Objects of the API server.  Every method raises ServerError where it does not answer as it should."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def create(self, manifest: Object) -> str:
        """Create it; what kubectl would say."""
        kind, metadata = manifest["kind"], manifest["metadata"]
        group = manifest["apiVersion"].rpartition("/")[0]
        self._send("POST", _path(manifest["apiVersion"], kind, metadata.get("namespace", "")), manifest)
        return f"{kind.lower()}{f'.{group}' if group else ''}/{metadata['name']} created"

    def refusal(self, manifest: Object) -> str:
        """What kubectl would say of an object that is refused; empty for one that would be created.  Nothing is."""
        path = _path(manifest["apiVersion"], manifest["kind"], manifest["metadata"].get("namespace", ""))
        try:
            self._request("POST", path, manifest, dry_run=True)
        except ReplyError as error:
            return f"Error from server ({error.reason}): {str(error).partition(': ')[2]}"
        return ""

    def delete(self, api_version: str, kind: str, name: str, namespace: str) -> None:
        """Delete it at once; no matter if it is gone."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        try:
            self._request("DELETE", f"{_path(api_version, kind, namespace)}/{name}", options)
        except ReplyError as error:
            if error.code != NOT_FOUND:
                raise ServerError(f"the API server does not delete {name}: {error}") from None

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> Object | None:
        """The object; None if it is not there."""
        try:
            return self._request("GET", f"{_path(api_version, kind, namespace)}/{name}", None)
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return None
            raise ServerError(f"the API server does not tell of {name}: {error}") from None

    def list(self, api_version: str, kind: str, namespace: str) -> list[Object]:
        """All objects of a kind, by name."""
        found = self._send("GET", _path(api_version, kind, namespace), None).get("items") or []
        return sorted(found, key=lambda each: each["metadata"]["name"])

    def set_status(self, manifest: Object, status: Object) -> None:
        """Merge *status* into the status of an object that is there."""
        metadata = manifest["metadata"]
        path = f"{_path(manifest['apiVersion'], manifest['kind'], metadata.get('namespace', ''))}/{metadata['name']}/status"
        self._send("PATCH", path, {"status": status})

    def _send(self, method: str, path: str, body: Object | None) -> Object:
        try:
            return self._request(method, path, body)
        except ReplyError as error:
            raise ServerError(f"the API server does not {method} {path}: {error}") from None

    def _request(self, method: str, path: str, body: Object | None, *, dry_run: bool = False) -> Object:
        content = None if body is None else json.dumps(body).encode()
        written, query = MERGE_PATCH if method == "PATCH" else JSON, [("dryRun", "All")] if dry_run else []
        try:
            answer = self._api.send(method, path, content, content_type=written, query=query)
        except TRANSPORT as error:
            raise ServerError(f"the API server does not answer: {error}") from None
        found: Object = json.loads(answer)
        return found


def _path(api_version: str, kind: str, namespace: str) -> str:
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    return "/".join(["", "apis" if "/" in api_version else "api", api_version, *(["namespaces", namespace] if namespace else ()), plural])


def manifests(path: Path) -> list[Object]:
    """The objects of a file of ours."""
    parts = documents.parse(path.name, path.read_bytes()).parts
    return [dict(part.content) for part in parts if isinstance(part, documents.Document)]


def until(what: str, look: Callable[[], Any]) -> Any:
    """What *look* finds, once it finds something.  Raises ServerError: *what* has not come."""
    end = time.monotonic() + WAIT_SECONDS
    while not (found := look()):
        if time.monotonic() > end:
            raise ServerError(f"{what} has not come after {WAIT_SECONDS:g} s")
        time.sleep(ASK_EVERY)
    return found


def condition(found: Object | None, kind: str) -> Object:
    """A condition of an object; empty if it has none of that type."""
    held = ((found or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in held if each["type"] == kind), {})


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under each other, the first being the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
