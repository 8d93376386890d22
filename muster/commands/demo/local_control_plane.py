"""The demonstration's control plane: the programs of KUBEBUILDER_ASSETS on free ports of the loopback, with Muster installed.

Muster is installed from the manifests of deploy/.  The containers of the Deployments are processes here, each with the name and the
permissions of its ServiceAccount.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from certs import store
from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from muster.commands.demo import child_processes
from muster.commands.demo.child_processes import HOST, ServerError, Shell
from muster.commands.demo.terminal import DATA, LEFT_OUT, Stage
from scheduler_core.sidecar import settings
from validators import gates
from validators.lint import documents

HERE, PLACEMENT = DATA / "cluster", DATA / "placement"
ASSETS = "KUBEBUILDER_ASSETS"
PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
CONTROLLERS = "kube-controller-manager"
"""Program that creates the pods of Jobs, if the folder has it."""
OLDEST_MINOR = 30
"""The first minor version of Kubernetes on which Muster runs."""
FIRST_WITH_KINDS = max(map(served_versions.served_since, ("Workload", "PodGroup", "CompositePodGroup")))
"""The first minor version that serves all three kinds; before, they are custom resources."""
DEFINITIONS = "custom-resources.yaml"
"""File with the definitions of the custom resources; there is none if the API server has the kinds."""
REQUIREMENT = f"{ASSETS} must name a folder with {', '.join(PROGRAMS[:-1])} and {PROGRAMS[-1]} of Kubernetes 1.{OLDEST_MINOR} or newer"
GATES = (gates.GENERIC_WORKLOAD, gates.TOPOLOGY, gates.COMPOSITE, gates.PREEMPTION_POLICY)
"""Feature gates that are switched on, if the version of the API server has them."""
NAMESPACE = "research"
"""Namespace of all contexts."""
USERS = {"admin": "admin"} | {name: f"system:serviceaccount:muster-system:muster-{name}" for name in ("webhook", "sidecar")}
"""Users by context; the first one is the administrator."""
WEBHOOKS = ("webhooks.yaml", "join.yaml")
"""Files with webhook configurations."""


def find() -> Path:
    """Return the folder of KUBEBUILDER_ASSETS.  Raises ServerError: it is not set, or the folder lacks one of PROGRAMS."""
    named = os.environ.get(ASSETS, "")
    if not named:
        raise ServerError(f"{REQUIREMENT}, and is not set; in a checkout of Muster, make cluster-assets builds one and prints its name")
    for name in PROGRAMS:
        if not os.access(Path(named) / name, os.X_OK):
            raise ServerError(f"{REQUIREMENT}; {named} has no executable {name}")
    return Path(named).absolute()


@contextlib.contextmanager
def installed(stage: Stage, programs: Path, folder: Path) -> Iterator[Shell]:
    """Context with a control plane on which Muster is installed, and whose files are in *folder*; its value is a shell for it.

    Raises ServerError: a process does not start.
    """
    manifests = folder / "manifests"
    copy_manifests(manifests)
    Shell(folder).run(child_processes.ISSUE)
    has_kinds = child_processes.minor_version(programs / "kube-apiserver") >= FIRST_WITH_KINDS
    gates_on = ", with the feature gates of workload groups on" if has_kinds else ""
    acting = "No controllers run but that of Jobs, and no kubelets" if has_controllers(programs) else "No kubelets and no controllers run"
    stage.paragraph(f"etcd and kube-apiserver are started{gates_on}. {acting}; the text says where one would act.")
    with running(programs, folder) as kubeconfig:
        shell = Shell(manifests, programs / "kubectl", kubeconfig)
        stage.run(shell, "kubectl version")
        if not has_kinds:
            _define_kinds(stage, shell)
        stage.paragraph("First the permissions, as on a cluster, with a role for each mode:")
        stage.command("kubectl apply -k deploy")
        stage.printed([*(line for line in shell.run("kubectl apply -k deploy") if "binding." not in line), LEFT_OUT])
        shell.run(f"kubectl create namespace {NAMESPACE}")
        serve = f"muster serve --cluster --placed-by scheduler{_version(programs)}"
        sidecar = f"muster sidecar --mode {settings.OPTIONS['modes'].default},build"
        tls = f"--tls-cert certs/{store.CERTIFICATE} --tls-key certs/{store.KEY}"
        with (
            child_processes.server(
                f"{serve} --bind {HOST}:0 --workers 1 {tls} --kubeconfig kubeconfig --context webhook", folder
            ) as reviews,
            child_processes.server(
                f"{sidecar} --settle 1 --probe-bind {HOST}:0 --kubeconfig kubeconfig --context sidecar", folder
            ) as probes,
        ):
            stage.paragraph("Then the processes of the two Deployments, each with only the permissions of its ServiceAccount:")
            stage.printed([f"{serve:<{len(sidecar)}}  https://{reviews}", f"{sidecar}  http://{probes}"])
            stage.paragraph("Then the webhooks. They are called by the server's address, because there are no Services here:")
            for name in WEBHOOKS:
                _call_by_url(manifests / name, f"https://{reviews}", (folder / "certs" / store.CA).read_bytes())
            stage.run(shell, f"kubectl apply {' '.join(f'-f {name}' for name in WEBHOOKS)}")
            # The API server needs a moment to load a new configuration.
            shell.run("kubectl create --dry-run=server -f refused.yaml", "is invalid", refused=True)
            with _controllers(programs, folder) if has_controllers(programs) else contextlib.nullcontext():
                yield shell


def has_controllers(programs: Path) -> bool:
    """Return whether the folder has the program of CONTROLLERS."""
    return os.access(programs / CONTROLLERS, os.X_OK)


def _controllers(programs: Path, folder: Path) -> contextlib.AbstractContextManager[None]:
    """Return a context with the controller of Jobs."""
    options = f"--kubeconfig={folder / 'kubeconfig'}", "--leader-elect=false", "--controllers=job-controller", "--secure-port=0"
    return child_processes.process([str(programs / CONTROLLERS), *options], folder / f"{CONTROLLERS}.log", "Starting job controller")


def _define_kinds(stage: Stage, shell: Shell) -> None:
    """Install the kinds as custom resources, and convert the manifests."""
    stage.paragraph("This version has no workload groups. They are installed as custom resources, and the manifests are converted:")
    for line in (f"muster schema --crd > {DEFINITIONS}", f"kubectl apply -f {DEFINITIONS}"):
        stage.run(shell, line)
    shell.run(f"kubectl wait --for=condition=Established -f {DEFINITIONS}")
    stage.run(shell, f"muster migrate --in-place --quiet --to {CUSTOM} .")


def _version(programs: Path) -> str:
    """Return the option of the version that the webhooks mirror; empty for the default."""
    minor = min(child_processes.minor_version(programs / "kube-apiserver"), kubernetes_releases.NEWEST)
    return f" --kubernetes {kubernetes_releases.name(minor)}" if minor > kubernetes_releases.TODAY else ""


def copy_manifests(folder: Path) -> None:
    """Copy the manifests of the demonstration to *folder*."""
    for source in (PLACEMENT, HERE):
        shutil.copytree(source, folder, dirs_exist_ok=True)


def _call_by_url(path: Path, server: str, ca: bytes) -> None:
    """Write the address of the server into the webhook configurations of a file."""
    parts = documents.parse(path.name, path.read_bytes()).parts
    configurations: list[dict[str, Any]] = [part.content for part in parts if isinstance(part, documents.Document)]
    for webhook in (each for configuration in configurations for each in configuration["webhooks"]):
        url = f"{server}{webhook['clientConfig']['service']['path']}"
        webhook["clientConfig"] = {"url": url, "caBundle": b64encode(ca).decode()}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": configurations}, indent=2), encoding="utf-8")


@contextlib.contextmanager
def running(programs: Path, folder: Path) -> Iterator[Path]:
    """Context with etcd and kube-apiserver, whose files are in *folder*; its value is a kubeconfig.

    Raises ServerError: one does not start, for example because it does not have all of GATES; with the last lines of its log.
    """
    sockets = [socket.create_server((HOST, 0)) for _ in range(3)]
    port, client, peer = (each.getsockname()[1] for each in sockets)
    for each in sockets:
        each.close()
    kubeconfig, etcd = _kubeconfig(folder, f"https://{HOST}:{port}"), f"http://{HOST}:{client}"
    with contextlib.ExitStack() as stack:
        for name, options, sign in (
            ("etcd", _etcd(etcd, f"http://{HOST}:{peer}"), "ready to serve client requests"),
            ("kube-apiserver", _apiserver(etcd, port, programs / "kube-apiserver"), "Serving securely on"),
        ):
            try:
                stack.enter_context(child_processes.process([str(programs / name), *options], folder / f"{name}.log", sign))
            except ServerError as error:
                raise ServerError(f"{REQUIREMENT}: {error}") from None
        Shell(folder, programs / "kubectl", kubeconfig).run("kubectl get --raw /readyz?verbose", "readyz check passed")
        yield kubeconfig


def _etcd(client: str, peer: str) -> Iterator[str]:
    yield from (f"--listen-client-urls={client}", f"--advertise-client-urls={client}", "--data-dir=etcd", "--unsafe-no-fsync")
    yield from (f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}")


def _apiserver(etcd: str, port: int, program: Path) -> Iterator[str]:
    yield from (f"--etcd-servers={etcd}", f"--bind-address={HOST}", f"--advertise-address={HOST}", f"--secure-port={port}")
    yield from ("--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.255.0.0/24", "--authorization-mode=RBAC")
    yield from (f"--tls-cert-file=certs/{store.CERTIFICATE}", f"--tls-private-key-file=certs/{store.KEY}", "--token-auth-file=tokens.csv")
    yield from (f"--service-account-key-file=certs/{store.CERTIFICATE}", f"--service-account-signing-key-file=certs/{store.KEY}")
    yield "--service-account-issuer=https://kubernetes.default.svc"
    # They need controllers, which do not run here.
    yield "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
    if (minor := child_processes.minor_version(program)) >= FIRST_WITH_KINDS:
        known = gates.names(minor)
        yield f"--feature-gates={','.join(f'{each}=true' for each in GATES if each in known)}"
        yield f"--runtime-config={','.join(f'{SCHEDULING}/{each}=true' for each in served_versions.WORKLOAD_VERSIONS)}"


def _kubeconfig(folder: Path, url: str) -> Path:
    """Write a token for each of USERS, and a kubeconfig with a context for each, readable by their owner only."""
    tokens = {name: secrets.token_urlsafe(24) for name in USERS}
    groups = dict.fromkeys(USERS, "") | {"admin": "system:masters"}
    rows = [f'{tokens[name]},{user},{user},"{groups[name]}"\n' for name, user in USERS.items()]
    store.replace(folder / "tokens.csv", "".join(rows).encode(), store.PRIVATE)
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "admin",
        "contexts": [{"name": name, "context": {"cluster": "demo", "user": name, "namespace": NAMESPACE}} for name in USERS],
        "clusters": [{"name": "demo", "cluster": {"server": url, "certificate-authority": str(folder / "certs" / store.CA)}}],
        "users": [{"name": name, "user": {"token": token}} for name, token in tokens.items()],
    }
    store.replace(folder / "kubeconfig", json.dumps(content).encode(), store.PRIVATE)
    return folder / "kubeconfig"
