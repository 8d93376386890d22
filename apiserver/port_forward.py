"""Connections and requests to a port of a pod on its loopback address, as through ``kubectl port-forward``.

Edge: kubernetes and websocket-client, on which its port-forwarding is built.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import urllib.parse
from collections.abc import Iterator
from typing import Any

import websocket
from kubernetes import client
from kubernetes.stream import ws_client

from apiserver.api import CONNECT_SECONDS, LARGEST_ANSWER, READ_SECONDS, Api, reply_error

PROTOCOL = "v4.channel.k8s.io"


class ForwardError(OSError):
    """The pod does not answer at the port."""


class _Forward(ws_client.PortForward):
    def _proxy(self) -> None:
        """Forward until one side ends; then end both.  The library leaves its socket open if the other side is first."""
        try:
            super()._proxy()  # type: ignore[no-untyped-call]
        except (websocket.WebSocketException, OSError, RuntimeError) as error:
            for each in self.local_ports.values():
                each.error = each.error or str(error)
        finally:
            for each in self.local_ports.values():
                each.python.close()
            self.websocket.shutdown()


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
    forward = _Forward(opened, [port])  # type: ignore[no-untyped-call]
    connection = forward.socket(port)  # type: ignore[no-untyped-call]
    connection.settimeout(seconds)
    try:
        yield connection
    except ssl.SSLCertVerificationError:
        raise
    except (OSError, http.client.HTTPException) as error:
        reason = " ".join(str(forward.error(port) or error).split())  # type: ignore[no-untyped-call]
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
    configuration = api.configuration
    headers = [f"{name}: {value}" for name, value in api.authorization().items()]
    options: dict[str, Any] = {"header": headers, "subprotocols": [PROTOCOL], "sslopt": _trust(configuration), "timeout": CONNECT_SECONDS}
    if configuration.proxy:
        options = ws_client.websocket_proxycare(options, configuration, url, {})  # type: ignore[no-untyped-call]
    opened = websocket.create_connection(ws_client.get_websocket_url(url), **options)  # type: ignore[no-untyped-call]
    opened.settimeout(None)
    return opened


def _trust(configuration: client.Configuration) -> dict[str, object]:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    named = {"server_hostname": configuration.tls_server_name} if configuration.tls_server_name else {}
    return {"context": context, **named}
