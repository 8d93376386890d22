"""The last decision of the sidecar on a root, from ``/explain``: at a given address, or of the leader through the API server.

The leader is asked at its loopback address by port-forwarding, which needs no token and no open port.  Without that permission it is
asked through the API server's proxy, which removes the credentials of a request, so the token is in a header of its own.
"""

from __future__ import annotations

import base64
import binascii
import os
import urllib.error
import urllib.request
from typing import Any

from apiserver.api import TRANSPORT, Api, ReplyError, reply_error
from apiserver.port_forward import read_of_pod
from kubeapi import decode
from kubeapi.content import subdomain
from scheduler_core.sidecar.settings import EXPLAIN_SECRET, EXPLAIN_TOKEN_HEADER, LEASE_NAME, LEASE_NAMESPACE, NAMESPACE_VARIABLE

PORT = 8080
SECONDS = 10.0
OK, FORBIDDEN = 200, 403
LARGEST = 64 * 1024 * 1024
"""Limit for one answer, in bytes."""


class NoExplanationError(Exception):
    """There is no explanation; the message has the reason."""


def of_address(address: str, namespace: str, name: str) -> dict[str, Any]:
    """Return the answer of the sidecar at *address*, such as ``http://127.0.0.1:8080``.  Raises NoExplanationError."""
    url = f"{address.rstrip('/')}/explain/{namespace}/{name}"
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as response:  # noqa: S310 - the option takes http and https only
            return _parsed(response.read(LARGEST))
    except urllib.error.HTTPError as error:
        raise NoExplanationError(f"{url}: {_parsed(error.read(LARGEST)).get('error') or error}") from None
    except (OSError, ValueError) as error:
        raise NoExplanationError(f"{url} cannot be read: {error}") from None


def of_leader(api: Api, sidecar_namespace: str | None, namespace: str, name: str) -> dict[str, Any]:
    """Return the answer of the sidecar that holds the Lease in *sidecar_namespace*, by default that of its settings.

    Raises:
        NoExplanationError: there is none.

    """
    own = sidecar_namespace or os.environ.get(NAMESPACE_VARIABLE) or LEASE_NAMESPACE
    try:
        lease = decode.parse(api.read(f"/apis/coordination.k8s.io/v1/namespaces/{own}/leases/{LEASE_NAME}"))
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        if not holder:
            raise NoExplanationError("no sidecar holds the Lease")
        if subdomain(holder):
            raise NoExplanationError(f"the Lease is held by {holder!r}, which is no pod: give --explain with its address")
        return _parsed(_read_of_leader(api, own, holder, f"/explain/{namespace}/{name}"))
    except ReplyError as error:
        raise NoExplanationError(f"the sidecar cannot be asked: {error}") from None
    except (ValueError, AttributeError, *TRANSPORT) as error:
        raise NoExplanationError(f"the sidecar cannot be asked: {type(error).__name__}: {error}") from None


def _read_of_leader(api: Api, own: str, holder: str, path: str) -> bytes:
    try:
        status, content = read_of_pod(api, own, holder, PORT, path)
    except (ReplyError, OSError) as error:
        forwarded: Exception = error
    else:
        if status != OK:
            raise reply_error(status, content)
        return content
    token = _token(api, own)
    try:
        proxy = f"/api/v1/namespaces/{own}/pods/{holder}:{PORT}/proxy"
        return api.read(f"{proxy}{path}", headers={EXPLAIN_TOKEN_HEADER: token} if token else {})
    except ReplyError as error:
        if error.code == getattr(forwarded, "code", 0) == FORBIDDEN:
            # Of two missing permissions, name that which needs no token and no open port.
            reason = str(forwarded).rstrip(": ")
            raise NoExplanationError(f"the sidecar cannot be asked: {reason}; the Role muster-why has the permissions") from None
        raise


def _token(api: Api, own: str) -> str:
    """Return the token for ``/explain``; empty if there is none, or it must not be read."""
    try:
        secret = decode.parse(api.read(f"/api/v1/namespaces/{own}/secrets/{EXPLAIN_SECRET}"))
        return base64.b64decode((secret.get("data") or {}).get("token") or "").decode("ascii").strip()
    except (ReplyError, binascii.Error, UnicodeDecodeError):
        return ""


def _parsed(content: bytes) -> dict[str, Any]:
    """Return a JSON object; empty if *content* is none."""
    try:
        answer = decode.parse(content)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
