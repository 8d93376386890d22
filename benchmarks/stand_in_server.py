"""API server stand-in of any size: ``python -m benchmarks.stand_in_server FOLDER NODES PODS``.

It answers discovery, lists in pages with ``limit`` and ``continue``, watches with bookmarks from any version that has not expired, writes
with preconditions on the version, and bindings, over TLS.  FOLDER has the key pair.  The stand-in prints its port.  ``POST
/stand-in/changes?count=N`` changes N pods; ``GET /stand-in/bindings`` returns the times of all bindings.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import ssl
import sys
import threading
import time
import uuid
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.stand_in_objects import Collection, Json, Store
from certs import store as pairs

BATCH = 500
"""Maximum number of events that are sent at once."""
BOOKMARK_SECONDS, BEFORE_THE_END = 60.0, 2.0
"""Interval of bookmarks, and the time before the end of a watch at which the last one is sent."""
_GONE = "The provided continue parameter is too old to display a consistent list result"


class RefusedError(Exception):
    """Answer with an error status."""

    def __init__(self, code: HTTPStatus, message: str, reason: str) -> None:
        super().__init__(message)
        self.status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": int(code)}


class Server(ThreadingHTTPServer):
    """Server of a store; ``bindings`` has the time of each binding, by name of the pod."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, store: Store, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.store = store
        self.bindings: dict[str, float] = {}
        self.renewed: dict[str, float] = {}
        """Time of the last renewal by each holder of a lease."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing of a client that has ended, which ends its watches."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: Server

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = json.loads(self.rfile.read(length)) if length else {}
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        try:
            if "watch" in query:
                self._watch(self._collection(url.path), query)
                return
            code, body = HTTPStatus.OK, self._respond(url.path, query, content)
        except RefusedError as error:
            code, body = HTTPStatus(error.status["code"]), json.dumps(error.status).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = _any  # noqa: N815 - the library's names

    def _respond(self, path: str, query: dict[str, str], content: Json) -> bytes:
        store = self.server.store
        if path in store.collections and self.command == "GET":
            return _page(store, store.collections[path], query)
        return json.dumps(self._answer(path, query, content)).encode()

    def _answer(self, path: str, query: dict[str, str], content: Json) -> Json:
        resources = [each.rpartition("/")[2] for each in self.server.store.collections if each.rpartition("/")[0] == path]
        match path:
            case "/version":
                return {"major": "1", "minor": "37", "gitVersion": "v1.37.1"}
            case "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
                return {**content, "status": {"allowed": True}}
            case "/stand-in/changes":
                self.server.store.change_pods(int(query["count"]))
                return {}
            case "/stand-in/bindings":
                return {"bindings": self.server.bindings, "renewed": self.server.renewed}
            case _ if resources:
                return {"kind": "APIResourceList", "resources": [{"name": each} for each in (*resources, "pods/binding")]}
        return self._object(path, content)

    def _collection(self, path: str) -> Collection:
        try:
            return self.server.store.collections[path]
        except KeyError:
            raise RefusedError(HTTPStatus.NOT_FOUND, "the server could not find the requested resource", "NotFound") from None

    def _object(self, path: str, content: Json) -> Json:
        """Read, create, bind or change the object of a path in a namespace."""
        base, _, rest = path.partition("/namespaces/")
        namespace, resource, name, part = (*rest.split("/"), "", "", "")[:4]
        collection = self._collection(f"{base}/{resource}")
        known = collection.created.get((namespace, name))
        if not name:
            return self._create(collection, namespace, content)
        if known is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, f'{resource} "{name}" not found', "NotFound")
        if part == "binding":
            if known["spec"].get("nodeName"):
                raise RefusedError(HTTPStatus.CONFLICT, f"pod {name} is already assigned to a node", "Conflict")
            self.server.bindings[name] = time.monotonic()
            content = {"spec": {"nodeName": content["target"]["name"]}}
        elif self.command == "GET":
            return known
        version = content.get("metadata", {}).get("resourceVersion")
        if version not in (None, "", known["metadata"]["resourceVersion"]):
            raise RefusedError(HTTPStatus.CONFLICT, "the object has been modified", "Conflict")
        if collection.kind == "Lease":
            self.server.renewed[content["spec"].get("holderIdentity", "")] = time.monotonic()
        return self.server.store.create_or_update(collection, "MODIFIED", _merged(known, content))

    def _create(self, collection: Collection, namespace: str, content: Json) -> Json:
        metadata = content.setdefault("metadata", {})
        if (namespace, metadata["name"]) in collection.created:
            raise RefusedError(HTTPStatus.CONFLICT, "the object already exists", "AlreadyExists")
        metadata |= {"namespace": namespace, "uid": str(uuid.uuid4()), "creationTimestamp": f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"}
        return self.server.store.create_or_update(collection, "ADDED", content)

    def _watch(self, collection: Collection, query: dict[str, str]) -> None:
        """Send events until the time of the watch is over."""
        version = int(query["resourceVersion"])
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if version < collection.expired:
            gone = RefusedError(HTTPStatus.GONE, f"too old resource version: {version}", "Expired").status
            self._send([b'{"type":"ERROR","object":%s}\n' % json.dumps(gone).encode()])
        else:
            self._send_events(collection, version, time.monotonic() + float(query.get("timeoutSeconds", 1800)))
        self.wfile.write(b"0\r\n\r\n")

    def _send_events(self, collection: Collection, version: int, end: float) -> None:
        store = self.server.store
        with store.changed:
            place = collection.dropped + sum(1 for each in collection.history if each[0] <= version)
        bookmark = min(time.monotonic() + BOOKMARK_SECONDS, end - BEFORE_THE_END)
        self.wfile.flush()
        while (now := time.monotonic()) < end:
            with store.changed:
                if place == collection.dropped + len(collection.history):
                    store.changed.wait(max(0.0, (bookmark or end) - now))
                if place < collection.dropped:
                    return
                entries = collection.history[place - collection.dropped :][:BATCH]
                current = store.version
            place += len(entries)
            lines = [collection.line(each) for each in entries]
            if not entries and bookmark and time.monotonic() >= bookmark:
                lines = [collection.bookmark(current)]
                bookmark = min(bookmark + BOOKMARK_SECONDS, end - BEFORE_THE_END) if bookmark < end - BEFORE_THE_END else 0.0
            self._send(lines)

    def _send(self, lines: list[bytes]) -> None:
        # The API server sends each event as one chunk.
        self.wfile.write(b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in lines))
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing."""


def _page(store: Store, collection: Collection, query: dict[str, str]) -> bytes:
    """Return a page of a list; the token has the version of the list and the place of the next page."""
    start, version = 0, store.version
    if "continue" in query:
        start, version = json.loads(base64.b64decode(query["continue"]))
        if version < collection.expired:
            raise RefusedError(HTTPStatus.GONE, _GONE, "Expired")
    limit = int(query.get("limit") or len(collection))
    texts = list(collection.texts(start, limit, version))
    metadata: Json = {"resourceVersion": str(version)}
    if start + limit < len(collection) and len(texts) == limit:
        metadata["continue"] = base64.b64encode(json.dumps([start + limit, version]).encode()).decode()
        metadata["remainingItemCount"] = len(collection) - start - limit
    head = json.dumps({"kind": f"{collection.kind}List", "apiVersion": collection.api_version, "metadata": metadata})
    return head[:-1].encode() + b',"items":[' + b",".join(texts) + b"]}"


def _merged(known: Json, patch: Json) -> Json:
    """Return *known* with a merge patch; conditions are merged by their types."""
    merged = dict(known)
    for name, value in patch.items():
        if name == "conditions":
            others = {each["type"]: each for each in known.get(name) or ()}
            for each in value:
                others[each["type"]] = each
            merged[name] = [each for each in others.values() if "$patch" not in each]
        elif value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(known.get(name) or {}, value) if isinstance(value, dict) else value
    return merged


def main() -> None:
    """Serve until standard input ends."""
    folder, nodes, pods = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / pairs.CERTIFICATE, folder / pairs.KEY)
    server = Server(Store(nodes, pods), context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
