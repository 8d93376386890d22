"""Client configuration from a kubeconfig or a pod's service account.

Edge: kubernetes, which reads both.
"""

from __future__ import annotations

import os

from kubernetes import client, config

from apiserver import regular_files

_YAML_ERROR = config.kube_config.yaml.YAMLError  # type: ignore[attr-defined]
_UNUSABLE = (config.ConfigException, _YAML_ERROR, OSError, ValueError, TypeError, KeyError, AttributeError)
"""Exceptions of the client library for a kubeconfig: its own, those of the YAML parser, and those of a file of another shape."""


DEFAULT = "~/.kube/config"
"""Kubeconfig if none is named."""


class ConnectError(Exception):
    """No usable kubeconfig and no pod's service account; the text gives the reason."""


def configuration(kubeconfig: str | None = None, context: str | None = None) -> client.Configuration:
    """Return address, trust and credentials from *kubeconfig* and its *context*.

    Without both the sources are ``KUBECONFIG`` if set and not empty, the service account inside a pod, else ``~/.kube/config``.  The client
    library does not retry requests: only the caller knows whether a retry is safe.

    Raises:
        ConnectError: no source is usable.

    """
    if kubeconfig is None and context is None and not os.environ.get("KUBECONFIG") and "KUBERNETES_SERVICE_HOST" in os.environ:
        return service_account()
    listed = kubeconfig or os.environ.get("KUBECONFIG")
    if missing := _missing(listed or DEFAULT):
        raise ConnectError(missing)
    connection = client.Configuration()
    try:
        config.load_kube_config(listed or DEFAULT, context, connection, persist_config=False)  # type: ignore[no-untyped-call]
    except _UNUSABLE as error:
        raise ConnectError(_reason(error)) from None
    connection.retries = False
    return connection


def current_context(kubeconfig: str | None = None) -> str:
    """Return the name of the current context of the source that ``configuration`` uses; empty inside a pod, or if there is none."""
    listed = kubeconfig or os.environ.get("KUBECONFIG")
    if not listed and "KUBERNETES_SERVICE_HOST" in os.environ:
        return ""
    try:
        _, current = config.list_kube_config_contexts(listed or DEFAULT)  # type: ignore[no-untyped-call]
        return str(current["name"])
    except _UNUSABLE:
        return ""


def context_namespace(kubeconfig: str | None = None, context: str | None = None) -> str:
    """Return the namespace of *context*, or of the current one; empty if it names none, or inside a pod."""
    listed = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        contexts, current = config.list_kube_config_contexts(listed or DEFAULT)  # type: ignore[no-untyped-call]
        chosen = next(each for each in (contexts if context else [current]) if context in (None, each["name"]))
        return str(chosen["context"].get("namespace") or "")
    except (*_UNUSABLE, StopIteration):
        return ""


def _missing(listed: str) -> str:
    """Return a text that says which of the kubeconfigs *listed* do not exist; empty if one does."""
    paths = [os.path.expanduser(each) for each in listed.split(os.pathsep) if each]  # noqa: PTH111 - names are kept as given
    return "" if any(map(os.path.exists, paths)) else f"there is no file {listed}"


def service_account() -> client.Configuration:
    """Return address, trust and credentials of the pod that this runs in.  Raises ConnectError if it has no service account."""
    connection = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=connection, try_refresh_token=False)  # type: ignore[no-untyped-call]
    except _UNUSABLE as error:
        raise ConnectError(_reason(error)) from None
    connection.refresh_api_key_hook = _read_token  # type: ignore[assignment]
    connection.retries = False
    return connection


def _read_token(connection: client.Configuration) -> None:
    """Read the current token; the client library decides by the time of day, which may be set back by hours.

    Raises:
        ConfigException: the file is empty, that is, being written.
        OSError: the file cannot be read.

    """
    token = regular_files.read(config.incluster_config.SERVICE_TOKEN_FILENAME).decode()
    if not token:
        raise config.ConfigException("the file with the token is empty")
    connection.api_key["BearerToken"] = f"bearer {token}"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
