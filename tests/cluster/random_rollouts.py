"""Random Deployments, StatefulSets and DaemonSets with their updates, each on nodes of its own, for the comparison of `fit` with controllers."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Mapping, Sequence

from tests.cluster.kubelet import node, pod
from tests.cluster.resources import Manifest

POOL, HALF = "example.com/pool", "example.com/half"
"""Node labels: the name of an object, and whether the node is one of those to which a DaemonSet can be confined."""
KINDS = ("Deployment", "Deployment", "StatefulSet", "DaemonSet")
"""Deployments have more to decide than the others."""
TOO_LARGE = 50
"""CPUs of a pod that no node has room for."""


@dataclasses.dataclass(frozen=True)
class RandomRollout:
    """Object with its update.

    Attributes:
        kind: its kind; ``name`` is its name, and that of its namespace and pool.
        nodes: its nodes; only its pods fit there.
        old: the object before the update.
        begun: an earlier update, which is under way; None if there was none.
        new: the object with the update, which can take back the earlier one, or be that one with another strategy.
        free: for each node the CPUs that are left free, at most.
        quota: the resource of a quota, and how much is left of it; None without a quota.

    """

    kind: str
    name: str
    nodes: Sequence[Manifest]
    old: Manifest
    begun: Manifest | None
    new: Manifest
    free: Mapping[str, int]
    quota: tuple[str, int] | None

    def number(self, manifest: Manifest) -> int:
        """Return the number of pods that a revision of the object has at its end."""
        if self.kind != "DaemonSet":
            replicas: int = manifest["spec"]["replicas"]
            return replicas
        selected = manifest["spec"]["template"]["spec"]["nodeSelector"].items()
        return sum(selected <= each["metadata"]["labels"].items() for each in self.nodes)

    def template(self, manifest: Manifest) -> Manifest:
        """Return the template of the pods."""
        template: Manifest = manifest["spec"]["template"]
        return template

    def fillers(self, pods: Iterable[Manifest]) -> list[Manifest]:
        """Return pods that take what the nodes have beside *pods*, except what is left free."""
        taken = dict.fromkeys(self.free, 0)
        for each in pods:
            if (on := each["spec"].get("nodeName")) in taken:
                taken[on] += cpus(each)
        size = {each["metadata"]["name"]: int(each["status"]["allocatable"]["cpu"]) for each in self.nodes}
        left = {name: size[name] - taken[name] - self.free[name] for name in self.free}
        return [pod(f"filler-{name}", self.name, spec={"nodeName": name}, cpu=cpu) for name, cpu in left.items() if cpu > 0]

    def quotas(self, pods: Sequence[Manifest]) -> list[Manifest]:
        """Return the quota, which *pods* have used but for what is left."""
        if self.quota is None:
            return []
        resource, left = self.quota
        used = len(pods) if resource == "pods" else sum(map(cpus, pods))
        metadata = {"name": "quota", "namespace": self.name}
        return [{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {resource: str(used + left)}}}]


def cpus(found: Manifest) -> int:
    """Return the CPUs of a pod."""
    return sum(int(each["resources"]["requests"]["cpu"]) for each in found["spec"]["containers"])


class RolloutDrawing:
    """One object with its update, as drawn from *seed*."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.name, self.kind = f"rollout-{seed}", self.random.choice(KINDS)

    def rollout(self) -> RandomRollout:
        """Return the drawn object."""
        sizes = [self.random.randint(2, 4) for _ in range(self.random.randint(2, 6))]
        halves = ["a", *(self.random.choice("ab") for _ in sizes[1:])]
        labels = [{POOL: self.name, HALF: half} for half in halves]
        nodes = [node(f"{self.name}-n{number}", labels[number], cpu=cpu) for number, cpu in enumerate(sizes)]
        cpu = self.random.choice((1, 1, 2))
        later = self.random.choice((cpu, cpu, cpu, 1, 2))
        number = self.random.randint(2, max(2, min(8, sum(size // cpu for size in sizes))))
        changed = max(1, number + self.random.choice((0, 0, 0, 0, -1, 1, 2)))
        quota = (self.random.choice(("pods", "requests.cpu")), self.random.randint(0, 2)) if self.random.random() < 0.25 else None
        if self.kind == "Deployment" and quota is not None:
            # It first makes its old ReplicaSet larger, and whose pods the quota then refuses is a race of that and the new one.
            changed = min(changed, number)
        strategy = self._strategy(changed)
        old, new = self._object(1, cpu, number, strategy), self._object(3, later, changed, strategy)
        begun, chance = None, self.random.random()
        if chance < 0.3:
            begun, new = self._object(2, TOO_LARGE, number, strategy), self._object(3, later, number, strategy)
        if chance < 0.1:
            new = self._object(1, cpu, number, strategy)
        elif chance < 0.2:
            other = {**self._strategy(number), "podManagementPolicy": strategy.get("podManagementPolicy")}
            begun, new = self._object(2, later, number, strategy), self._object(2, later, number, other)
        elif self.kind == "DaemonSet" and self.random.random() < 0.4:
            for each in self.random.choice(((old, begun), (new,))):
                if each is not None:
                    each["spec"]["template"]["spec"]["nodeSelector"][HALF] = "a"
        if begun is not None and self.kind == "Deployment" and quota is None:
            # It is shared among the ReplicaSets.
            new["spec"]["replicas"] = max(1, number + random.Random(self.name).choice((-2, -1, 0, 0, 1, 3)))
        full = self.random.random() < 0.5
        free = {each["metadata"]["name"]: 0 if full else self.random.randint(0, 3) for each in nodes}
        return RandomRollout(self.kind, self.name, nodes, old, begun, new, free, quota)

    def _object(self, revision: int, cpu: int, number: int, strategy: Manifest) -> Manifest:
        labels = {"app": self.name}
        container = {"name": "main", "image": f"example.com/main:{revision}", "resources": {"requests": {"cpu": str(cpu)}}}
        template = {"metadata": {"labels": labels}, "spec": {"nodeSelector": {POOL: self.name}, "containers": [container]}}
        spec = {"selector": {"matchLabels": labels}, "template": template, **strategy}
        spec |= {} if self.kind == "DaemonSet" else {"replicas": number}
        return {"apiVersion": "apps/v1", "kind": self.kind, "metadata": {"name": self.name, "namespace": self.name}, "spec": spec}

    def _strategy(self, number: int) -> Manifest:
        return {"Deployment": self._of_deployment, "StatefulSet": self._of_stateful_set, "DaemonSet": self._of_daemon_set}[self.kind](
            number
        )

    def _of_deployment(self, number: int) -> Manifest:
        del number
        if self.random.random() < 0.15:
            return {"strategy": {"type": "Recreate"}}
        numbers = (
            None,
            (1, 0),
            (1, 0),
            (0, 1),
            (2, 0),
            (1, 1),
            (0, 2),
            ("50%", 0),
            (0, "50%"),
            ("100%", 0),
            ("10%", "10%"),
            ("34%", "34%"),
        )
        chosen = self.random.choice(numbers)
        return {} if chosen is None else {"strategy": {"rollingUpdate": {"maxSurge": chosen[0], "maxUnavailable": chosen[1]}}}

    def _of_stateful_set(self, number: int) -> Manifest:
        spec: Manifest = {"podManagementPolicy": "Parallel"} if self.random.random() < 0.4 else {}
        if self.random.random() < 0.1:
            return {**spec, "updateStrategy": {"type": "OnDelete"}}
        rolling: Manifest = {}
        if self.random.random() < 0.35:
            rolling["partition"] = self.random.randint(1, number + 1)
        if self.random.random() < 0.35:
            rolling["maxUnavailable"] = self.random.choice((2, 3, "34%", "50%", "100%"))
        return {**spec, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}

    def _of_daemon_set(self, number: int) -> Manifest:
        del number
        if self.random.random() < 0.1:
            return {"updateStrategy": {"type": "OnDelete"}}
        numbers = (None, (0, 2), (0, "50%"), (0, "100%"), (1, 0), (2, 0), ("50%", 0), ("100%", 0))
        chosen = self.random.choice(numbers)
        return {} if chosen is None else {"updateStrategy": {"rollingUpdate": {"maxSurge": chosen[0], "maxUnavailable": chosen[1]}}}
