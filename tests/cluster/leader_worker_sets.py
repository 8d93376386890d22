"""The controller of LeaderWorkerSets, with its webhooks, on a control plane."""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path

from tests.cluster.control_plane import READY_SECONDS, ControlPlane
from tests.cluster.process import Process, free_port
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until

GROUP, PLURAL = "leaderworkerset.x-k8s.io", "leaderworkersets"
CONTROLLERS = ("statefulset-controller", "garbage-collector-controller")
"""Those of Kubernetes that LeaderWorkerSets need: the workers of a leader that is deleted are garbage."""


def start(plane: ControlPlane, program: Path, crds: Path) -> Process:
    """Create the kinds on *plane* and start their controllers; return the process, which ends with the plane."""
    for name in (f"{PLURAL}.{GROUP}", "disaggregatedsets.disaggregatedset.x-k8s.io"):
        plural, _, group = name.partition(".")
        plane.kubectl("create", "-f", str(crds / f"{group}_{plural}.yaml"), check=True)
        until(functools.partial(_is_served, plane, name))
    port, health = free_port(), free_port()
    file = plane.folder / "lws.json"
    file.write_text(json.dumps(_configuration(_certificates(plane), port, health)), encoding="utf-8")
    manager = Process("lws", plane.folder / "lws.log")
    plane.companions.append(manager)
    manager.start([program, f"--config={file}", f"--kubeconfig={plane.write_kubeconfig('lws', groups=('system:masters',))}"], {})
    manager.await_answer(lambda: "Serving webhook server" in manager.tail(1000), READY_SECONDS)
    authority = base64.b64encode(plane.authority.certificate).decode()
    set_path = f"{GROUP.replace('.', '-')}-v1-leaderworkerset"
    for verb, kind, paths in (
        ("mutate", "MutatingWebhookConfiguration", {"/mutate--v1-pod": ("", "pods"), f"/mutate-{set_path}": (GROUP, PLURAL)}),
        ("validate", "ValidatingWebhookConfiguration", {f"/validate-{set_path}": (GROUP, PLURAL)}),
    ):
        webhooks = [_webhook(path, group, plural, f"https://127.0.0.1:{port}{path}", authority) for path, (group, plural) in paths.items()]
        version = "admissionregistration.k8s.io/v1"
        plane.api.create({"apiVersion": version, "kind": kind, "metadata": {"name": f"lws-{verb}"}, "webhooks": webhooks})
    return manager


def _is_served(plane: ControlPlane, name: str) -> bool:
    conditions = plane.api.get("CustomResourceDefinition", name)["status"].get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _certificates(plane: ControlPlane) -> Path:
    folder = plane.folder / "lws"
    folder.mkdir()
    for name, content in zip(("tls.crt", "tls.key"), plane.authority.serving(), strict=True):
        (folder / name).write_bytes(content)
    return folder


def _configuration(certificates: Path, port: int, health: int) -> Manifest:
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certificates)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "clientConnection": {"qps": 500, "burst": 1000},
    }


def _webhook(path: str, group: str, plural: str, url: str, authority: str) -> Manifest:
    verbs = ["CREATE"] if plural == "pods" else ["CREATE", "UPDATE"]
    return {
        "name": f"{path.strip('/')}.example.com",
        "clientConfig": {"url": url, "caBundle": authority},
        "rules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": verbs, "resources": [plural]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
