"""Connections and requests to a port of a pod on its loopback address, as through ``kubectl port-forward``.

The API server carries the bytes of a port in the messages of a WebSocket: the first byte of each is its channel.  Channel 0 has the data,
channel 1 what went wrong; the first message of each has only the number of the port.

Edge: websocket-client.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

import websocket

from apiserver.api import CONNECT_SECONDS, READ_SECONDS, Api, reply_error
from apiserver.connection import proxy_headers
from apiserver.exchange import LARGEST_ANSWER

PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_CHUNK = 64 * 1024


class ForwardError(OSError):
    """The pod does not answer at the port."""


class _Forward:
    """Two threads that carry bytes between a WebSocket and one end of a pair of sockets, until one side ends; then both are closed.

    Attributes:
        error: what the API server says went wrong; empty if it says nothing.

    """

    def __init__(self, opened: websocket.WebSocket, end: socket.socket) -> None:
        self._websocket, self._end = opened, end
        self.error = ""
        self._ended = False
        for carry in (self._to_pod, self._from_pod):
            threading.Thread(target=self._carried, args=(carry,), name="muster-port-forward", daemon=True).start()

    def _carried(self, carry: Any) -> None:
        try:
            carry()
        except (websocket.WebSocketException, OSError, ValueError) as error:  # ValueError: the other thread has ended TLS
            self.error = self.error or str(error)
        finally:
            # The other thread may be reading, and closing would not wake it.
            for each in (self._end, self._websocket.sock):
                with contextlib.suppress(OSError):
                    if each is not None:
                        each.shutdown(socket.SHUT_RDWR)
            if self._ended:
                self._end.close()
                self._websocket.shutdown()  # type: ignore[no-untyped-call]
            self._ended = True

    def _to_pod(self) -> None:
        while chunk := self._end.recv(_CHUNK):
            self._websocket.send_binary(bytes([_DATA]) + chunk)

    def _from_pod(self) -> None:
        seen: set[int] = set()
        while True:
            operation, message = self._websocket.recv_data()
            if operation == websocket.ABNF.OPCODE_CLOSE or not message:
                return
            channel, content = message[0], message[1:]
            if channel not in seen:
                seen.add(channel)  # this message has the number of the port
            elif channel == _DATA:
                self._end.sendall(content)
            elif channel == _ERROR:
                self.error = content.decode("utf-8", "replace")


@contextlib.contextmanager
def forwarded(api: Api, namespace: str, name: str, port: int, seconds: float = READ_SECONDS) -> Iterator[socket.socket]:
    """Yield a connection to a port of a pod; *seconds* limits the time without data.

    This needs the verbs get and create on ``pods/portforward``.  If the pod does not answer, the connection ends, and the block ends
    with ForwardError; errors in the verification of a certificate stay as they are.

    Raises:
        ReplyError: the API server answers with an error.
        OSError: there is no answer.

    """
    url = f"{api.host}/api/v1/namespaces/{namespace}/pods/{name}/portforward?{urllib.parse.urlencode({'ports': port})}"
    try:
        opened = _open(api, url)
    except websocket.WebSocketBadStatusException as error:
        raise reply_error(error.status_code, error.resp_body or b"") from None
    except websocket.WebSocketException as error:
        raise ForwardError(f"the port of pod {namespace}/{name} cannot be forwarded: {error}") from None
    connection, end = socket.socketpair()
    forward = _Forward(opened, end)
    connection.settimeout(seconds)
    try:
        yield connection
    except ssl.SSLCertVerificationError:
        raise
    except (OSError, http.client.HTTPException) as error:
        reason = " ".join((forward.error or str(error)).split())
        raise ForwardError(f"pod {namespace}/{name} does not answer at port {port}: {reason}") from None
    finally:
        with contextlib.suppress(OSError):
            connection.close()


def read_of_pod(api: Api, namespace: str, name: str, port: int, path: str) -> tuple[int, bytes]:
    """Return status and body of the response of a pod to a plain HTTP GET.  Needs and raises the same as ``forwarded``."""
    with forwarded(api, namespace, name, port) as opened:
        connection = http.client.HTTPConnection("localhost", port)
        connection.sock = opened
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(LARGEST_ANSWER)


def _open(api: Api, url: str) -> websocket.WebSocket:
    connection, identity = api.connection, api.identity()
    options: dict[str, Any] = {
        "header": [f"{name}: {value}" for name, value in identity.headers],
        "subprotocols": [PROTOCOL],
        "timeout": CONNECT_SECONDS,
        "enable_multithread": True,
        **_proxy(connection.proxy_of_host()),
    }
    if api.host.startswith("https:"):
        named = {"server_hostname": connection.server_name} if connection.server_name else {}
        options["sslopt"] = {"context": connection.tls(identity.certificate), **named}
    opened = websocket.create_connection(f"ws{url.removeprefix('http')}", **options)
    opened.settimeout(None)
    return opened


def _proxy(proxy: str) -> dict[str, Any]:
    """Return the options of the library for a proxy; without one it may not look for one in the environment."""
    if not proxy:
        return {"http_no_proxy": ["*"]}
    url = urllib.parse.urlsplit(proxy)
    headers = proxy_headers(proxy)
    named = (urllib.parse.unquote(url.username or ""), urllib.parse.unquote(url.password or "")) if headers else None
    # Any name in http_no_proxy replaces those of the environment, which have been asked already.
    options = {"proxy_type": "http", "http_no_proxy": ["-"], "http_proxy_auth": named}
    return {**options, "http_proxy_host": url.hostname, "http_proxy_port": url.port or (443 if url.scheme == "https" else 80)}
