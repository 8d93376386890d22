"""Where the API server is, and who we are to it: a kubeconfig, or a pod's service account.

Edge: kubernetes, for its reading of both.
"""

from __future__ import annotations

import os
import pathlib

from kubernetes import client, config

_YAML_ERROR = config.kube_config.yaml.YAMLError  # type: ignore[attr-defined]
_UNUSABLE = (config.ConfigException, _YAML_ERROR, OSError, ValueError, TypeError, KeyError, AttributeError)
"""What the client library raises for a kubeconfig: its own error, that of its YAML, and what it stumbles over in one of another shape."""


class ConnectError(Exception):
    """There is neither a kubeconfig that can be used nor a pod's service account; the text says why."""


def configuration(kubeconfig: str | None = None, context: str | None = None) -> client.Configuration:
    """Address, trust and credentials, from *kubeconfig* and its *context*.

    Without both that is ``KUBECONFIG`` if set, the service account inside a pod, and ``~/.kube/config`` elsewhere.  Requests
    are not repeated below us: whoever makes one knows whether it may be.

    Raises:
        ConnectError: nothing of it can be used.

    """
    if kubeconfig is None and context is None and "KUBECONFIG" not in os.environ and "KUBERNETES_SERVICE_HOST" in os.environ:
        return service_account()
    found = client.Configuration()
    try:
        config.load_kube_config(kubeconfig, context, found, persist_config=False)  # type: ignore[no-untyped-call]
    except _UNUSABLE as error:
        raise ConnectError(_reason(error)) from None
    found.retries = False
    return found


def service_account() -> client.Configuration:
    """Address, trust and credentials of the pod that this runs in.  Raises ConnectError: it is no pod, or has none."""
    found = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=found, try_refresh_token=False)  # type: ignore[no-untyped-call]
    except _UNUSABLE as error:
        raise ConnectError(_reason(error)) from None
    found.refresh_api_key_hook = _read_token  # type: ignore[assignment]
    found.retries = False
    return found


def _read_token(found: client.Configuration) -> None:
    """The token as it is now: the client library reads it anew by the time of day, which may be set back by hours.

    Raises:
        ConfigException: it is just being written.
        OSError: it cannot be read.

    """
    token = pathlib.Path(config.incluster_config.SERVICE_TOKEN_FILENAME).read_text(encoding="utf-8")
    if not token:
        raise config.ConfigException("the file with the token is empty")
    found.api_key["BearerToken"] = f"bearer {token}"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
