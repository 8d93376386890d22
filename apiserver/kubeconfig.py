"""Kubeconfigs: files that say where API servers are and who calls them, read and merged as kubectl does.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/

Edge: PyYAML and msgspec, which read the files.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import os
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from apiserver import regular_files
from apiserver.connection import Connection
from apiserver.credentials import PLUGIN_VERSIONS, Certificate, Credentials, Fixed, Identity, Plugin, TokenFile, basic, bearer, header

LARGEST = 16 * 1024 * 1024
"""Limit for a file, in bytes."""
INTERACTIVE = ("Never", "IfAvailable", "Always")


class KubeconfigError(ValueError):
    """A kubeconfig that cannot be used; the text names the file or the entry, and has no secret."""


class _Cluster(msgspec.Struct, rename="kebab", kw_only=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str | None = None
    disable_compression: bool = False
    folder: str = ""
    """Directory of the file that has the entry: relative paths begin there."""


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class _Exec(msgspec.Struct, rename="camel", kw_only=True):
    command: str = ""
    args: list[str] | None = None
    env: list[_Variable] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _AuthProvider(msgspec.Struct):
    name: str = ""
    config: dict[str, str] | None = None


class _User(msgspec.Struct, kw_only=True):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    certificate: str = msgspec.field(default="", name="client-certificate")
    certificate_data: str = msgspec.field(default="", name="client-certificate-data")
    key: str = msgspec.field(default="", name="client-key")
    key_data: str = msgspec.field(default="", name="client-key-data")
    username: str = ""
    password: str = ""
    impersonated: str = msgspec.field(default="", name="as")
    impersonated_uid: str = msgspec.field(default="", name="as-uid")
    impersonated_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    impersonated_extra: dict[str, list[str]] | None = msgspec.field(default=None, name="as-user-extra")
    plugin: _Exec | None = msgspec.field(default=None, name="exec")
    auth_provider: _AuthProvider | None = msgspec.field(default=None, name="auth-provider")
    folder: str = ""


class Context(msgspec.Struct):
    """Cluster and user that belong together, and a namespace; each may be empty."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster


class _NamedUser(msgspec.Struct):
    name: str
    user: _User | None = None


class _NamedContext(msgspec.Struct):
    name: str
    context: Context | None = None


class _File(msgspec.Struct, rename="kebab"):
    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@dataclasses.dataclass(frozen=True)
class Kubeconfig:
    """Merged kubeconfigs.

    Attributes:
        source: names of the files, as they were given.
        current_context: name of the current context; empty if there is none.
        contexts: the contexts by name.

    """

    source: str
    current_context: str
    contexts: Mapping[str, Context]
    _clusters: Mapping[str, _Cluster]
    _users: Mapping[str, _User]

    def connection(self, name: str | None = None) -> Connection:
        """Return the connection of the context *name*, by default the current one.

        Raises:
            KubeconfigError: there is no such context, or what it refers to cannot be used.
            OSError: a file that an entry names cannot be read.

        """
        context = self._context(name)
        cluster = self._clusters.get(context.cluster)
        if cluster is None:
            raise KubeconfigError(f"{self.source}: there is no cluster {context.cluster!r}")
        at = f"{self.source}: cluster {context.cluster}"
        if not cluster.server:
            raise KubeconfigError(f"{at}: server must be given")
        user = self._users.get(context.user) if context.user else _User()
        if user is None:
            raise KubeconfigError(f"{self.source}: there is no user {context.user!r}")
        host = _with_scheme(cluster.server.rstrip("/"), secure=_is_secure(cluster, user))
        for field, url in (("server", host), ("proxy-url", cluster.proxy_url or "http://none")):
            _check_url(at, field, url)
        authority = _content(at, "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data, cluster.folder)
        return Connection(
            host=host,
            ca=authority.decode("ascii", "replace") if authority else None,
            verifies=not cluster.insecure_skip_tls_verify,
            server_name=cluster.tls_server_name,
            proxy=cluster.proxy_url or None,
            credentials=_credentials(f"{self.source}: user {context.user}", user, cluster, host, authority),
        )

    def _context(self, name: str | None) -> Context:
        named = self.current_context if name is None else name
        if not named:
            raise KubeconfigError(f"{self.source}: there is no current context; known are {_listed(self.contexts)}")
        context = self.contexts.get(named)
        if context is None:
            raise KubeconfigError(f"{self.source}: there is no context {named!r}; known are {_listed(self.contexts)}")
        return context


def read(listed: str) -> Kubeconfig:
    """Return what the files *listed*, with the separator of the system, say: of two entries of one name the first counts.

    A file that does not exist is left out.

    Raises:
        KubeconfigError: a file is not a kubeconfig, or has two entries of one name.
        OSError: a file cannot be read.

    """
    current = ""
    clusters: dict[str, _Cluster] = {}
    users: dict[str, _User] = {}
    contexts: dict[str, Context] = {}
    for path in (os.path.expanduser(each) for each in listed.split(os.pathsep) if each):  # noqa: PTH111 - names are kept as given
        try:
            file = _file(path)
        except FileNotFoundError:
            continue
        folder = str(Path(path).absolute().parent)
        current = current or file.current_context or ""
        of_file = {each.name: msgspec.structs.replace(each.cluster, folder=folder) for each in _once(path, "clusters", file.clusters)}
        clusters = of_file | clusters
        named = _once(path, "users", file.users)
        users = {each.name: msgspec.structs.replace(each.user or _User(), folder=folder) for each in named} | users
        contexts = {each.name: each.context or Context() for each in _once(path, "contexts", file.contexts)} | contexts
    return Kubeconfig(listed, current, contexts, clusters, users)


_Named = TypeVar("_Named", _NamedCluster, _NamedUser, _NamedContext)


def _once(path: str, kind: str, entries: list[_Named] | None) -> list[_Named]:
    seen: set[str] = set()
    for each in entries or ():
        if each.name in seen:
            raise KubeconfigError(f"{path}: {kind} has two entries with the name {each.name!r}")
        seen.add(each.name)
    return entries or []


def _file(path: str) -> _File:
    content = regular_files.read(path, LARGEST)
    if len(content) > LARGEST:
        raise KubeconfigError(f"{path}: a kubeconfig must have at most {LARGEST // 1024**2} MiB")
    try:
        document = yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - it is a safe loader
        return msgspec.convert(document if document is not None else {}, type=_File)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        # The whole text of the error quotes the line, which may have a secret.
        where = f":{mark.line + 1}" if mark is not None else ""
        raise KubeconfigError(f"{path}{where}: not valid YAML: {problem or 'it has characters that YAML does not allow'}") from None
    except (msgspec.ValidationError, RecursionError) as error:
        raise KubeconfigError(f"{path}: not a kubeconfig: {error}") from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:10]) or "none"


def _is_secure(cluster: _Cluster, user: _User) -> bool:
    return any((cluster.certificate_authority, cluster.certificate_authority_data, cluster.insecure_skip_tls_verify)) or any(
        (user.certificate, user.certificate_data)
    )


def _with_scheme(server: str, *, secure: bool) -> str:
    return server if "://" in server else f"{'https' if secure else 'http'}://{server}"


def _check_url(at: str, field: str, url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        # The address itself is not shown: it can have a password.
        raise KubeconfigError(f"{at}: {field} must be https://HOST:PORT or http://HOST:PORT")


def _content(at: str, field: str, path: str, data: str, folder: str) -> bytes:
    """Return what ``FIELD-data`` has in base64, else the content of the file that ``FIELD`` names; nothing if both are empty."""
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise KubeconfigError(f"{at}: {field}-data must be base64") from None
    return regular_files.read(_path(folder, path)) if path else b""


def _path(folder: str, path: str) -> str:
    return os.path.join(folder, path)  # noqa: PTH118 - of an absolute path it returns this


def _credentials(at: str, user: _User, cluster: _Cluster, host: str, authority: bytes) -> Credentials:
    """Return the credentials of a user; if it has several, kubectl's order decides."""
    chain = _content(at, "client-certificate", user.certificate, user.certificate_data, user.folder)
    key = _content(at, "client-key", user.key, user.key_data, user.folder)
    if bool(chain) != bool(key):
        raise KubeconfigError(f"{at}: client-certificate and client-key must be given together")
    others = Identity(_impersonation(at, user), Certificate(chain, key) if chain else None)
    if user.plugin is not None:
        return _plugin(at, user.plugin, user.folder, _cluster_info(cluster, host, authority), others)
    if user.token_file:
        return TokenFile(_path(user.folder, user.token_file), others, user.token)
    headers = others.headers
    if user.token:
        headers += (bearer(user.token),)
    elif user.username:
        headers += (basic(user.username, user.password),)
    elif user.auth_provider is not None:
        headers += (bearer(_id_token(at, user.auth_provider)),)
    return Fixed(dataclasses.replace(others, headers=headers))


def _id_token(at: str, provider: _AuthProvider) -> str:
    """Return the token that a login wrote into the kubeconfig; it is not renewed."""
    token = (provider.config or {}).get("id-token", "")
    if provider.name != "oidc" or not token:
        name = provider.name or "without a name"
        raise KubeconfigError(f"{at}: the auth-provider {name} is not supported: use a credential plugin (exec), such as kubelogin")
    return token


def _impersonation(at: str, user: _User) -> tuple[tuple[str, str], ...]:
    groups, extra = user.impersonated_groups or (), user.impersonated_extra or {}
    if not user.impersonated and (groups or extra or user.impersonated_uid):
        raise KubeconfigError(f"{at}: as-groups, as-uid and as-user-extra need as")
    return (
        *((header("Impersonate-User", user.impersonated),) if user.impersonated else ()),
        *((header("Impersonate-Uid", user.impersonated_uid),) if user.impersonated_uid else ()),
        *(header("Impersonate-Group", group) for group in groups),
        *(header(f"Impersonate-Extra-{urllib.parse.quote(key, safe='')}", value) for key, values in extra.items() for value in values),
    )


def _cluster_info(cluster: _Cluster, host: str, authority: bytes) -> dict[str, Any]:
    """Return a cluster as a credential plugin with ``provideClusterInfo`` reads it."""
    info: dict[str, Any] = {"server": host}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if authority:
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    return info


def _plugin(at: str, plugin: _Exec, folder: str, cluster: Mapping[str, object], others: Identity) -> Plugin:
    if not plugin.command:
        raise KubeconfigError(f"{at}: exec.command must be given")
    if plugin.api_version not in PLUGIN_VERSIONS:
        raise KubeconfigError(f"{at}: exec.apiVersion must be {' or '.join(PLUGIN_VERSIONS)}, not {plugin.api_version!r}")
    mode = plugin.interactive_mode or "IfAvailable"
    if mode not in INTERACTIVE:
        raise KubeconfigError(f"{at}: exec.interactiveMode must be {', '.join(INTERACTIVE[:-1])} or {INTERACTIVE[-1]}, not {mode!r}")
    # A name without a slash is looked for in PATH.
    command = _path(folder, plugin.command) if os.sep in plugin.command else plugin.command
    return Plugin(
        [command, *(plugin.args or ())],
        api_version=plugin.api_version,
        environment={each.name: each.value for each in plugin.env or ()},
        interactive=mode,
        cluster=cluster if plugin.provide_cluster_info else None,
        hint=plugin.install_hint,
        others=others,
    )
