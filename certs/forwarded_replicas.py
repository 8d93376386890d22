"""Connections to replicas that cannot be reached from here: through the API server, by port-forwarding to their pods.

Edge: the API server.  Only commands use it: the replicas reach each other.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from apiserver.api import Api, ReplyError
from apiserver.port_forward import forwarded
from certs.replicas import HANDSHAKE_SECONDS, Connect, connect_directly
from certs.webhook_configurations import Cluster


def connect_through(api: Api, cluster: Cluster) -> Connect:
    """Return the function that connects to an address: to the pod there by port-forwarding, and directly if that is not possible.

    The direct connection is the second choice: at the address of a pod, something else may answer in another network.
    """

    def connect(address: str) -> contextlib.AbstractContextManager[socket.socket]:
        pod = cluster.pods.get(address)
        return connect_directly(address) if pod is None else _to_pod(api, pod, address)

    return connect


@contextlib.contextmanager
def _to_pod(api: Api, pod: tuple[str, str], address: str) -> Iterator[socket.socket]:
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(forwarded(api, *pod, int(address.rpartition(":")[2]), HANDSHAKE_SECONDS))
        except (ReplyError, OSError) as error:
            connection = stack.enter_context(_instead(address, error))
        yield connection


def _instead(address: str, reason: Exception) -> socket.socket:
    try:
        return connect_directly(address)
    except OSError as error:
        raise OSError(f"{error}; its port is not forwarded: {reason}") from None
