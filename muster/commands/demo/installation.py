"""Muster installed on the demonstration's control plane, from the manifests of deploy/: permissions, webhooks, the sidecar.

The containers of the Deployments are processes here, each with the name and the permissions of its ServiceAccount.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from muster.commands.demo import local_control_plane, webhook_server, wording
from muster.commands.demo.kubectl_shell import Shell
from muster.commands.demo.terminal import DATA, LEFT_OUT, Stage
from scheduler_core.sidecar import settings
from validators.lint import documents

HERE, PLACEMENT = DATA / "cluster", DATA / "placement"
DEPLOY = ("kustomization.yaml", "namespace.yaml", "webhook-rbac.yaml", "sidecar-rbac.yaml")
WEBHOOKS = "webhooks.yaml"
NAMESPACE = "muster-system"
WEBHOOK, SIDECAR = (f"system:serviceaccount:{NAMESPACE}:muster-{name}" for name in ("webhook", "sidecar"))
MODES = settings.default_value("modes")
SETTLE_SECONDS = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Installed:
    """A control plane with Muster: its shell, and the address of the sidecar as ``host:port``."""

    shell: Shell
    sidecar: str


@contextlib.contextmanager
def installed(stage: Stage, programs: local_control_plane.Programs, folder: Path) -> Iterator[Installed]:
    """Context with a control plane on which Muster is installed; its files are in *folder*.

    Raises:
        ServerError: the control plane cannot be started, or a process does not start.

    """
    plane_folder, workdir, certificates = (folder / name for name in ("plane", "workdir", "certs"))
    plane_folder.mkdir()
    _copy_manifests(workdir)
    names = [f"--name={each}" for each in ("localhost", webhook_server.HOST)]
    webhook_server.run("certs", "issue", "--out", str(certificates), *names)
    stage.paragraph(
        f"etcd and kube-apiserver {programs.version} are started, with the feature gates of workload groups on. No kubelets and no "
        "controllers run; the text says where one would act. First the permissions, as on a cluster, with a role for each mode:"
    )
    with local_control_plane.running(programs, plane_folder, (WEBHOOK, SIDECAR)) as plane:
        shell = Shell(programs.folder / "kubectl", plane.kubeconfigs[local_control_plane.ADMIN], workdir)
        _apply_permissions(stage, shell)
        serving = ("--workers", "1", "--cluster", "--kubeconfig", str(plane.kubeconfigs[WEBHOOK]))
        with (
            webhook_server.running(certificates, *serving) as client,
            _sidecar(plane.kubeconfigs[SIDECAR], folder / "sidecar.log") as sidecar,
        ):
            _show_processes(stage, client.address, sidecar)
            (workdir / WEBHOOKS).write_text(_by_url(f"https://{client.address}", (certificates / "ca.crt").read_bytes()), encoding="utf-8")
            stage.command(f"kubectl apply -f {WEBHOOKS}")
            stage.printed(shell.sure(f"kubectl apply -f {WEBHOOKS}"))
            # The API server needs a moment to load a new configuration.
            shell.until(("is invalid",), "kubectl create --dry-run=server -f refused.yaml")
            yield Installed(shell, sidecar)


def _apply_permissions(stage: Stage, shell: Shell) -> None:
    stage.command("kubectl apply -k deploy")
    lines = shell.sure("kubectl apply -k deploy")
    stage.printed([*(line for line in lines if "binding." not in line), LEFT_OUT])
    shell.sure(f"kubectl create namespace {local_control_plane.NAMESPACE}")


def _show_processes(stage: Stage, server: str, sidecar: str) -> None:
    stage.paragraph("Then the processes of the two Deployments, each with only the permissions of its ServiceAccount:")
    rows = (("muster serve --cluster", f"https://{server}"), (f"muster sidecar --mode {MODES}", f"http://{sidecar}"))
    stage.printed(wording.columns(rows))
    stage.paragraph("Then the webhooks. They are called by the server's address, because there are no Services here:")


def _copy_manifests(workdir: Path) -> None:
    """Copy the manifests to *workdir*, those of deploy/ into a subfolder."""
    shutil.copytree(PLACEMENT, workdir)
    for each in sorted(HERE.iterdir()):
        target = workdir / "deploy" if each.name in DEPLOY else workdir
        target.mkdir(exist_ok=True)
        shutil.copyfile(each, target / each.name)


def _by_url(server: str, ca: bytes) -> str:
    """Return the webhook configurations with the address of the server, as one List."""
    configurations: list[dict[str, Any]] = []
    for part in documents.parse(WEBHOOKS, (HERE / WEBHOOKS).read_bytes()).parts:
        if isinstance(part, documents.Document):
            webhooks: Any = part.content["webhooks"]
            configurations.append({**part.content, "webhooks": [_called(each, server, ca) for each in webhooks]})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": configurations}, indent=2)


def _called(webhook: dict[str, Any], server: str, ca: bytes) -> dict[str, Any]:
    path = webhook["clientConfig"]["service"]["path"]
    return {**webhook, "clientConfig": {"url": f"{server}{path}", "caBundle": b64encode(ca).decode()}}


@contextlib.contextmanager
def _sidecar(kubeconfig: Path, log: Path) -> Iterator[str]:
    """Context with the sidecar as leader; its value is the address of the sidecar."""
    options = (f"--kubeconfig={kubeconfig}", f"--mode={MODES}", f"--settle={SETTLE_SECONDS}", f"--probe-bind={webhook_server.HOST}:0")

    def logged(event: str) -> list[dict[str, Any]]:
        whole = log.read_text(encoding="utf-8").rpartition("\n")[0]
        lines = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("event") == event]

    def leads() -> bool:
        return any(line["leading"] for line in logged("lease"))

    with webhook_server.process(webhook_server.command("sidecar", *options), log, leads):
        yield str(logged("listening")[0]["address"])
