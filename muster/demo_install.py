"""Muster installed on the demonstration's control plane, from the manifests of deploy/: rights, webhooks, the sidecar.

Each process has the name, and so the rights, of its ServiceAccount.
"""

from __future__ import annotations

import contextlib
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from muster import demo_plane, demo_server
from muster.demo_kubectl import Cluster, Object, manifests, until
from muster.demo_stage import DATA, Stage

HERE = DATA / "cluster"
NAMESPACE, RESEARCH = "muster-system", "research"
WEBHOOK, SIDECAR = (f"system:serviceaccount:{NAMESPACE}:muster-{name}" for name in ("webhook", "sidecar"))
MODES = "validate,place,preempt,protect"
SETTLE_SECONDS = 1


@contextlib.contextmanager
def installed(stage: Stage, folder: Path) -> Iterator[Cluster]:
    """A control plane on which all of Muster is installed; its files are in *folder*.

    Raises:
        ServerError: there is no control plane to be started, or a process does not start.
    """
    plane_folder, certificates = folder / "plane", folder / "certs"
    plane_folder.mkdir()
    with demo_plane.running(plane_folder, (WEBHOOK, SIDECAR)) as plane:
        stage.say(f"kube-apiserver 1.{plane.minor} on {plane.url}, and etcd")
        cluster = Cluster(plane.api())
        for each in _installation():
            cluster.create(each)
        names = [f"--name={each}" for each in ("localhost", demo_server.HOST)]
        demo_server.run("certs", "issue", "--out", str(certificates), *names)
        serving = ("--workers", "1", "--cluster", "--kubeconfig", str(plane.kubeconfigs[WEBHOOK]))
        with demo_server.running(certificates, *serving) as client, _sidecar(plane.kubeconfigs[SIDECAR], folder / "sidecar.log"):
            stage.say(f"muster serve --cluster on https://{client.address}")
            stage.say(f"muster sidecar --mode {MODES}")
            for each in manifests(HERE / "webhooks.yaml"):
                cluster.create(_by_url(each, f"https://{client.address}", (certificates / "ca.crt").read_bytes()))
            _await_webhooks(cluster)
            yield cluster


def _installation() -> Iterator[Object]:
    """Namespaces and rights, as deploy/ has them."""
    yield from manifests(HERE / "namespace.yaml")
    for file in ("webhook-rbac.yaml", "sidecar-rbac.yaml"):
        for each in manifests(HERE / file):
            if each["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
                each["metadata"]["namespace"] = NAMESPACE
            for subject in each.get("subjects", ()):
                subject["namespace"] = NAMESPACE
            yield each
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RESEARCH}}


def _by_url(configuration: Object, server: str, ca: bytes) -> Object:
    """There is no Service network here: the API server calls the loopback."""
    for each in configuration["webhooks"]:
        path = each["clientConfig"]["service"]["path"]
        each["clientConfig"] = {"url": f"{server}{path}", "caBundle": b64encode(ca).decode()}
    return configuration


@contextlib.contextmanager
def _sidecar(kubeconfig: Path, log: Path) -> Iterator[None]:
    options = (f"--kubeconfig={kubeconfig}", f"--mode={MODES}", f"--settle={SETTLE_SECONDS}", f"--probe-bind={demo_server.HOST}:0")
    command = demo_server.command("sidecar", *options)

    def leads() -> bool:
        whole = log.read_text(encoding="utf-8").rpartition("\n")[0]
        lines = [line for line in whole.splitlines() if line.startswith("{")]
        return any(str(json.loads(line).get("message", "")).endswith(" leads") for line in lines)

    with demo_server.process(command, log, leads):
        yield


def _await_webhooks(cluster: Cluster) -> None:
    """The API server heeds a new configuration after a moment."""
    (unfit,) = manifests(HERE / "refused.yaml")
    until("the effect of the webhooks", lambda: cluster.refusal(unfit))
