"""Credentials of a caller of the API server: a token, a file with one, a name and password, a client certificate, a credential plugin.

The plugins are those of ``client.authentication.k8s.io``, as kubectl runs them.
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from apiserver import regular_files

PLUGIN_GROUP = "client.authentication.k8s.io"
PLUGIN_VERSIONS = (f"{PLUGIN_GROUP}/v1", f"{PLUGIN_GROUP}/v1beta1")
INFO = "KUBERNETES_EXEC_INFO"
"""Environment variable from which a plugin reads what is wanted of it."""
PLUGIN_SECONDS = 60.0
"""Time for a plugin that cannot ask a person."""
EXPIRY_MARGIN = dt.timedelta(seconds=10)
_SHOWN = 300


class CredentialsError(OSError):
    """There are no usable credentials now; the text gives the reason, and no secret."""


@dataclasses.dataclass(frozen=True)
class Certificate:
    """Client certificate: its chain and its key in PEM."""

    chain: bytes
    key: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Identity:
    """Headers of every request to the API server, and the client certificate of its connection."""

    headers: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    certificate: Certificate | None = None


class Credentials(Protocol):
    """Source of an identity, which may change: tokens and certificates are renewed."""

    def identity(self) -> Identity:
        """Return the current identity.  Raises CredentialsError."""
        ...

    def refused(self) -> None:
        """Forget what the API server answered with 401."""
        ...


class Anonymous:
    """No credentials."""

    def identity(self) -> Identity:
        """Return the identity of nobody."""
        return Identity()

    def refused(self) -> None:
        """Do nothing: there is nothing to forget."""


class Fixed(Anonymous):
    """Credentials that do not change: a client certificate, a name and password, a token."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def identity(self) -> Identity:
        """Return the identity."""
        return self._identity


class TokenFile(Anonymous):
    """File with a token that others renew, such as the kubelet for a service account; *others* are shown beside it."""

    def __init__(self, path: str, others: Identity | None = None, fallback: str = "") -> None:
        self._path, self._others, self._token = path, others or Identity(), fallback

    def identity(self) -> Identity:
        """Return the identity with the token that the file has now, or had when it was last readable.

        Raises:
            CredentialsError: the file could never be read, or was empty, that is, being written.

        """
        try:
            token = regular_files.read(self._path).decode("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            if not self._token:
                raise CredentialsError(f"the file with the token cannot be read: {self._path}: {reason}") from None
            token = ""
        if not (token or self._token):
            raise CredentialsError(f"the file with the token is empty: {self._path}")
        self._token = token or self._token
        return dataclasses.replace(self._others, headers=(*self._others.headers, bearer(self._token)))


def header(name: str, value: str) -> tuple[str, str]:
    """Return a header.

    Raises:
        CredentialsError: the value has characters that no header can have, such as a line break.

    """
    if not (value.isascii() and value.isprintable()):
        raise CredentialsError(f"the credentials have a character that the header {name} cannot have: only printable ASCII is allowed")
    return name, value


def bearer(token: str) -> tuple[str, str]:
    """Return the header with a *token*.  Raises as ``header``."""
    return header("Authorization", f"Bearer {token}")


def basic(name: str, password: str) -> tuple[str, str]:
    """Return the header with a *name* and a *password*."""
    return "Authorization", f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: dt.datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


class Plugin:
    """Credential plugin: a program that is run when there are no credentials, when they expire, and after a 401.

    Attributes:
        command: the program and its arguments.

    """

    def __init__(
        self,
        command: list[str],
        *,
        api_version: str,
        environment: Mapping[str, str],
        interactive: str,
        cluster: Mapping[str, object] | None,
        hint: str,
        others: Identity,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self.command = command
        self._api_version, self._environment, self._interactive = api_version, environment, interactive
        self._cluster, self._hint, self._others, self._now = cluster, hint, others, now
        self._lock = threading.Lock()
        self._current: Identity | None = None
        self._expires: dt.datetime | None = None

    def identity(self) -> Identity:
        """Return the identity that the program gave; the program is run if it gave none, or one that has expired.

        Raises:
            CredentialsError: the program cannot be run, fails, or gives no credentials.

        """
        with self._lock:
            if self._current is None or (self._expires is not None and self._now() >= self._expires - EXPIRY_MARGIN):
                status = self._run()
                headers = (*self._others.headers, *([bearer(status.token)] if status.token else ()))
                certificate = self._others.certificate
                if status.client_certificate_data:
                    certificate = Certificate(status.client_certificate_data.encode(), status.client_key_data.encode())
                self._current, self._expires = Identity(headers, certificate), status.expiration_timestamp
            return self._current

    def refused(self) -> None:
        """Run the program again when credentials are wanted next."""
        self._current = None

    def _run(self) -> _Status:
        may_ask = self._may_ask()
        spec: dict[str, object] = {"interactive": may_ask, **({"cluster": self._cluster} if self._cluster is not None else {})}
        info = {"apiVersion": self._api_version, "kind": "ExecCredential", "spec": spec}
        try:
            # What it writes on standard error is for the person who runs the command: a page to log in at, a reason.
            done = subprocess.run(  # noqa: S603 - the user names the program
                self.command,
                env={**os.environ, **self._environment, INFO: json.dumps(info)},
                stdin=None if may_ask else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=None if may_ask else PLUGIN_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._failed(f"did not answer within {PLUGIN_SECONDS:g} s") from None
        except FileNotFoundError:
            raise self._failed(f"does not exist{f'; {self._hint}' if self._hint else ''}") from None
        except (OSError, ValueError) as error:
            raise self._failed(f"cannot be run: {error}") from None
        if done.returncode:
            raise self._failed(f"ended with exit status {done.returncode}")
        return self._status(done.stdout)

    def _may_ask(self) -> bool:
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if self._interactive == "Always" and not terminal:
            raise self._failed("needs a terminal (interactiveMode: Always)")
        return self._interactive != "Never" and terminal

    def _status(self, output: bytes) -> _Status:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self._failed("did not print an ExecCredential in JSON") from None
        if (answer.api_version, answer.kind) != (self._api_version, "ExecCredential"):
            raise self._failed(f"must print an ExecCredential of {self._api_version}")
        status = answer.status or _Status()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("printed a certificate without a key, or a key without a certificate")
        if not (status.token or status.client_certificate_data):
            raise self._failed("printed neither a token nor a certificate")
        return status

    def _failed(self, what: str) -> CredentialsError:
        return CredentialsError(f"the credential plugin {Path(self.command[0]).name} {what}"[:_SHOWN])
