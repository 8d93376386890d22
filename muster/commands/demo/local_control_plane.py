"""The demonstration's control plane: the programs of KUBEBUILDER_ASSETS, on free ports of the loopback.

Their files are in a directory that the caller gives; no process outlives ``running``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import http.client
import json
import os
import re
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.connect import configuration
from certs import issue, pair, store
from kubeapi.versions import served
from kubeapi.versions.table import SCHEDULING
from muster.commands.demo import webhook_server
from muster.commands.demo.webhook_server import ServerError

ASSETS = "KUBEBUILDER_ASSETS"
PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
HOST = webhook_server.HOST
OLDEST_MINOR = max(map(served.served_since, ("Workload", "PodGroup", "CompositePodGroup")))
"""The first minor version of Kubernetes that serves all three kinds."""
GATES = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy")
NEEDING_CONTROLLERS = ("ServiceAccount", "TaintNodesByCondition")
"""Admission plugins that need controllers, which do not run here."""
VERSION_SECONDS = 30.0
LONGEST_VERSION = 80
ADMIN = "demo"
NAMESPACE = "research"
"""Namespace of all contexts."""
MASTERS = "system:masters"


@dataclasses.dataclass(frozen=True, slots=True)
class Programs:
    """A folder with all of PROGRAMS, and the version of its kube-apiserver, such as ``v1.37.1``."""

    folder: Path
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Plane:
    """A running control plane: its address, and a kubeconfig for each user."""

    url: str
    kubeconfigs: Mapping[str, Path]


def find() -> Programs:
    """Return the programs in the folder of KUBEBUILDER_ASSETS.

    Raises:
        ServerError: it is not set, or the folder lacks a program, or has an older Kubernetes.

    """
    requirement = f"{ASSETS} must name a folder with {', '.join(PROGRAMS[:-1])} and {PROGRAMS[-1]} of Kubernetes 1.{OLDEST_MINOR} or newer"
    named = os.environ.get(ASSETS, "")
    if not named:
        raise ServerError(f"{requirement}, and is not set; in a checkout of Muster, make cluster-assets builds one and prints its name")
    folder = Path(named).absolute()
    if not folder.is_dir():
        raise ServerError(f"{requirement}; there is no folder {named}")
    for name in PROGRAMS:
        if not os.access(folder / name, os.X_OK):
            raise ServerError(f"{requirement}; {named} has no executable {name}")
    printed = _version(folder / "kube-apiserver")
    version = re.search(r"v1\.(\d+)\.\S+", printed)
    if version is None or int(version[1]) < OLDEST_MINOR:
        raise ServerError(f"{requirement}; kube-apiserver of {named} prints {printed!r}")
    return Programs(folder, version[0])


def _version(program: Path) -> str:
    """Return the first line that the program prints about its version."""
    try:
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_SECONDS, check=False)  # noqa: S603 - a program that the user names
    except (OSError, subprocess.TimeoutExpired) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise ServerError(f"{ASSETS} must name a folder with programs that run here; {program} does not: {why}") from None
    return (done.stdout + done.stderr).decode("utf-8", "replace").strip().partition("\n")[0][:LONGEST_VERSION]


@contextlib.contextmanager
def running(programs: Programs, directory: Path, users: Sequence[str]) -> Iterator[Plane]:
    """Context with a control plane whose files are in *directory*, for an administrator and *users*.

    Raises:
        ServerError: a program does not start; with the last lines of its log.

    """
    folder = programs.folder
    ports = _free_ports(3)
    url = f"https://{HOST}:{ports[2]}"
    kubeconfigs = _files(directory, url, (ADMIN, *users))
    etcd = [str(folder / "etcd"), *_etcd(directory, ports[0], ports[1])]
    apiserver = [str(folder / "kube-apiserver"), *_apiserver(directory, ports[0], ports[2])]
    client_configuration = configuration(str(kubeconfigs[ADMIN]))
    client_configuration.proxy = None
    api = Api(client_configuration)
    with (
        webhook_server.process(etcd, directory / "etcd.log", lambda: _healthy(ports[0])),
        webhook_server.process(apiserver, directory / "kube-apiserver.log", lambda: _ready(api)),
    ):
        yield Plane(url, kubeconfigs)


def _etcd(directory: Path, port: int, peers: int) -> list[str]:
    client, peer = f"http://{HOST}:{port}", f"http://{HOST}:{peers}"
    return [
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        "--name=demo",
        f"--initial-cluster=demo={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(directory: Path, etcd: int, port: int) -> list[str]:
    certificate, key = directory / store.CERTIFICATE, directory / store.KEY
    return [
        f"--etcd-servers=http://{HOST}:{etcd}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={port}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--token-auth-file={directory / _TOKENS}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={certificate}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.255.0.0/24",
        f"--disable-admission-plugins={','.join(NEEDING_CONTROLLERS)}",
        f"--feature-gates={','.join(f'{each}=true' for each in GATES)}",
        f"--runtime-config={','.join(f'{SCHEDULING}/{each}=true' for each in served.WORKLOAD_VERSIONS)}",
    ]


_TOKENS = "tokens.csv"


def _files(directory: Path, url: str, users: Sequence[str]) -> dict[str, Path]:
    """Write the certificate, a token for each user, and the kubeconfigs, readable by their owner only; return the kubeconfigs by user."""
    now = dt.datetime.now(dt.UTC)
    certificate = issue.leaf(issue.authority(now), pair.names_of((HOST,)), now)
    store.write(directory, certificate)
    tokens = {user: secrets.token_urlsafe(24) for user in users}
    rows = (f'{token},{user},{user},"{MASTERS if user == ADMIN else ""}"\n' for user, token in tokens.items())
    _write(directory / _TOKENS, "".join(rows))
    kubeconfigs = {}
    for number, (user, token) in enumerate(tokens.items()):
        kubeconfigs[user] = directory / f"{number}.kubeconfig"
        _write(kubeconfigs[user], json.dumps(_kubeconfig(url, directory / store.CA, token)))
    return kubeconfigs


def _kubeconfig(url: str, ca: Path, token: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "demo",
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo", "namespace": NAMESPACE}}],
        "clusters": [{"name": "demo", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "users": [{"name": "demo", "user": {"token": token}}],
    }


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, store.PRIVATE), "w", encoding="utf-8") as stream:
        stream.write(text)


def _free_ports(count: int) -> list[int]:
    """Return free ports, all bound until the last one is known."""
    with contextlib.ExitStack() as sockets:
        probes = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in probes:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in probes]


def _healthy(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=2)) as connection:
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False


def _ready(api: Api) -> bool:
    try:
        api.read("/readyz")
    except (ReplyError, *TRANSPORT):
        return False
    return True
