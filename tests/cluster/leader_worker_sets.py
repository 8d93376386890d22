"""The controller of LeaderWorkerSets with its webhooks, and random LeaderWorkerSets with their updates."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.cluster.control_plane import READY_SECONDS, ControlPlane
from tests.cluster.kubelet import node
from tests.cluster.process import Process, free_port
from tests.cluster.random_rollouts import POOL, TOO_LARGE, RandomRollout, RolloutDrawing
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until

GROUP, PLURAL = "leaderworkerset.x-k8s.io", "leaderworkersets"
CONTROLLERS = ("statefulset-controller", "garbage-collector-controller")
"""Those of Kubernetes that LeaderWorkerSets need: the workers of a leader that is deleted are garbage."""
_KIND = "LeaderWorkerSet"


def start(plane: ControlPlane, program: Path, crds: Path) -> None:
    """Create the kind on *plane* and start its controller, which ends with the plane."""
    definition = crds / f"{GROUP}_{PLURAL}.yaml"
    plane.kubectl("create", "-f", str(definition), check=True)
    until(lambda: _is_served(plane))
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


def _is_served(plane: ControlPlane) -> bool:
    conditions = plane.api.get("CustomResourceDefinition", f"{PLURAL}.{GROUP}")["status"].get("conditions") or ()
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


class RandomLeaderWorkerSet(RandomRollout):
    """LeaderWorkerSet with its update."""

    def number(self, manifest: Manifest) -> int:
        """Return the number of pods."""
        spec = manifest["spec"]
        return int(spec["replicas"] * spec["leaderWorkerTemplate"]["size"])

    def template(self, manifest: Manifest) -> Manifest:
        """Return the template of the workers."""
        template: Manifest = manifest["spec"]["leaderWorkerTemplate"]["workerTemplate"]
        return template


class LeaderWorkerSetDrawing(RolloutDrawing):
    """One LeaderWorkerSet with its update, as drawn from *seed*."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.name, self.kind = f"groups-{seed}", _KIND

    def rollout(self) -> RandomLeaderWorkerSet:
        """Return the drawn object."""
        size, number = self.random.randint(1, 3), self.random.randint(1, 5)
        sizes = [self.random.randint(1, 3) for _ in range(self.random.randint(1, 4))]
        sizes += [number - sum(sizes)] if sum(sizes) < number else []
        nodes = [node(f"{self.name}-n{place}", {POOL: self.name}, cpu=cpu) for place, cpu in enumerate(sizes)]
        changed = max(1, number + self.random.choice((0, 0, 0, -1, 1)))
        old, new = self._set(1, 1, number, size, changed), self._set(3, 1, changed, size, changed)
        begun = None
        if self.random.random() < 0.25:
            begun = self._set(2, TOO_LARGE, number, size, number)
            new = self._set(3, 1, number, size, number)
        elif self.random.random() < 0.15:
            begun, new = self._set(2, 1, number, size, number), self._set(2, 1, number, size, number)
        full = self.random.random() < 0.4
        free = {each["metadata"]["name"]: 0 if full else self.random.randint(0, 3) for each in nodes}
        return RandomLeaderWorkerSet(_KIND, self.name, nodes, old, begun, new, free, None)

    def _set(self, revision: int, cpu: int, number: int, size: int, most: int) -> Manifest:
        spec = {
            "replicas": number,
            "leaderWorkerTemplate": self._groups(revision, cpu, size),
            "rolloutStrategy": self._strategy_of_groups(most),
        }
        metadata = {"name": self.name, "namespace": self.name}
        return {"apiVersion": f"{GROUP}/v1", "kind": _KIND, "metadata": metadata, "spec": spec}

    def _groups(self, revision: int, cpu: int, size: int) -> Manifest:
        """Return groups of which only the leaders take resources: of two groups that wait, each could get a part of what one needs."""
        leader, worker = (self._template(revision, each) for each in (cpu, 0))
        return {"size": size, "leaderTemplate": leader, "workerTemplate": worker}

    def _template(self, revision: int, cpu: int) -> Manifest:
        container = {"name": "main", "image": f"example.com/main:{revision}", "resources": {"requests": {"cpu": str(cpu)}}}
        return {"metadata": {"labels": {"app": self.name}}, "spec": {"nodeSelector": {POOL: self.name}, "containers": [container]}}

    def _strategy_of_groups(self, number: int) -> Manifest:
        surge, unavailable = self.random.choice(
            ((0, 1), (0, 2), (1, 0), (1, 0), (1, 1), (2, 0), (2, 1), ("50%", "50%"), (0, "100%"), ("100%", 0))
        )
        rolling: Manifest = {"maxSurge": surge, "maxUnavailable": unavailable}
        if self.random.random() < 0.25:
            rolling["partition"] = self.random.randint(1, number)
        return {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}
