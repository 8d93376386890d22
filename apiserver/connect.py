"""Connection to the API server that a kubeconfig or a pod's service account describes."""

from __future__ import annotations

import os
from pathlib import Path

from apiserver import kubeconfig as kubeconfigs
from apiserver import regular_files
from apiserver.connection import Connection
from apiserver.credentials import TokenFile
from apiserver.kubeconfig import Kubeconfig, KubeconfigError

DEFAULT = "~/.kube/config"
"""Kubeconfig if none is named."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Directory with the token and the authorities of a pod's service account."""


class ConnectError(Exception):
    """No usable kubeconfig and no pod's service account; the text gives the reason."""


def find_connection(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """Return address, trust and credentials from *kubeconfig* and its *context*.

    Without both the sources are ``KUBECONFIG`` if set and not empty, the service account inside a pod, else ``~/.kube/config``.

    Raises:
        ConnectError: no source is usable.

    """
    if kubeconfig is None and context is None and not os.environ.get("KUBECONFIG") and "KUBERNETES_SERVICE_HOST" in os.environ:
        return service_account()
    listed = _files(kubeconfig)
    if missing := _missing(listed):
        raise ConnectError(missing)
    try:
        made = kubeconfigs.read(listed).connection(context)
        made.pools(made.credentials.identity().certificate)
    except (KubeconfigError, OSError, ValueError) as error:
        raise ConnectError(_reason(error)) from None
    return made


def current_context(kubeconfig: str | None = None) -> str:
    """Return the name of the current context of the source that ``find_connection`` uses; empty inside a pod, or if there is none."""
    if not (kubeconfig or os.environ.get("KUBECONFIG")) and "KUBERNETES_SERVICE_HOST" in os.environ:
        return ""
    known = _known(kubeconfig)
    return known.current_context if known is not None and known.current_context in known.contexts else ""


def context_namespace(kubeconfig: str | None = None, context: str | None = None) -> str:
    """Return the namespace of *context*, or of the current one; empty if it names none, or inside a pod."""
    known = _known(kubeconfig)
    chosen = known.contexts.get(context or known.current_context) if known is not None else None
    return chosen.namespace if chosen is not None else ""


def _known(kubeconfig: str | None) -> Kubeconfig | None:
    try:
        return kubeconfigs.read(_files(kubeconfig))
    except (KubeconfigError, OSError):
        return None


def _files(kubeconfig: str | None) -> str:
    return kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT


def _missing(listed: str) -> str:
    """Return a text that says which of the kubeconfigs *listed* do not exist; empty if one does."""
    paths = [os.path.expanduser(each) for each in listed.split(os.pathsep) if each]  # noqa: PTH111 - names are kept as given
    return "" if any(map(os.path.exists, paths)) else f"there is no file {listed}"


def service_account() -> Connection:
    """Return address, trust and credentials of the pod that this runs in.  Raises ConnectError if it has no service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not (host and port):
        raise ConnectError("this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must name the cluster's API server")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    credentials = TokenFile(str(SERVICE_ACCOUNT / "token"))
    try:
        made = Connection(address, ca=regular_files.read(SERVICE_ACCOUNT / "ca.crt").decode("ascii", "replace"), credentials=credentials)
        made.pools(made.credentials.identity().certificate)
    except (OSError, ValueError) as error:
        raise ConnectError(f"the service account of this pod cannot be used: {_reason(error)}") from None
    return made


def _reason(error: Exception) -> str:
    where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
    text = f"{where}{error.strerror}" if where and isinstance(error, OSError) else str(error)
    return " ".join(text.split())[:300] or type(error).__name__
