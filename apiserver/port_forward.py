"""Requests to a port of a pod on its loopback address, as through ``kubectl port-forward``.

Edge: kubernetes and websocket-client, on which its port-forwarding is built.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import urllib.parse
from typing import Any

import websocket
from kubernetes import client
from kubernetes.stream import ws_client

from apiserver.api import CONNECT_SECONDS, LARGEST_ANSWER, READ_SECONDS, Api, reply_error

PROTOCOL = "v4.channel.k8s.io"


class ForwardError(OSError):
    """The pod does not answer at the port."""


def read_of_pod(api: Api, namespace: str, name: str, port: int, path: str) -> tuple[int, bytes]:
    """Return status and body of the response of a pod to a plain HTTP GET.  This needs the verbs get and create on ``pods/portforward``.

    Raises:
        ReplyError: the API server answers with an error.
        OSError: there is no answer.

    """
    url = f"{api.host}/api/v1/namespaces/{namespace}/pods/{name}/portforward?{urllib.parse.urlencode({'ports': port})}"
    try:
        forwarded = ws_client.PortForward(_open(api, url), [port])  # type: ignore[no-untyped-call]
    except websocket.WebSocketBadStatusException as error:
        raise reply_error(error.status_code, error.resp_body or b"") from None
    except websocket.WebSocketException as error:
        raise ForwardError(f"the port of pod {namespace}/{name} cannot be forwarded: {error}") from None
    connection = http.client.HTTPConnection("localhost", port)
    connection.sock = forwarded.socket(port)  # type: ignore[no-untyped-call]
    connection.sock.settimeout(READ_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(LARGEST_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        reason = " ".join(str(forwarded.error(port) or error).split())  # type: ignore[no-untyped-call]
        raise ForwardError(f"pod {namespace}/{name} does not answer at port {port}: {reason}") from None
    finally:
        with contextlib.suppress(OSError):
            connection.close()


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
