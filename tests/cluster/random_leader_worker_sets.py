"""Random LeaderWorkerSets with their updates, and how these end in other orders of the groups that wait."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import expansion
from expansion.contents import full_name
from expansion.rollouts.play import Played, PodName, Update
from tests.cluster.kubelet import node
from tests.cluster.random_rollouts import POOL, TOO_LARGE, RandomRollout, RolloutDrawing, cpus
from tests.cluster.resources import Manifest

_KIND = "LeaderWorkerSet"
GROUP = "leaderworkerset.x-k8s.io"
_ANY = "any"
_MOST_STEPS = 100


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


class _Places:
    """Cluster in which each leader takes a CPU, and workers none; leaders that wait get one in any order."""

    def __init__(self, objects: Sequence[Manifest], chance: random.Random) -> None:
        pods = [each for each in objects if each["kind"] == "Pod"]
        self._free = sum(int(each["status"]["allocatable"]["cpu"]) for each in objects if each["kind"] == "Node")
        self._free -= sum(cpus(each) for each in pods if "nodeName" in each["spec"])
        self._waiting = {full_name(each): cpus(each) for each in pods if "nodeName" not in each["spec"]}
        self._placed: dict[PodName, str] = {}
        self._chance = chance

    def place(self, deleted: Sequence[Manifest], created: Sequence[Manifest]) -> Mapping[PodName, str]:
        """Delete pods, create others, and place what can be placed."""
        for each in deleted:
            self._placed.pop(full_name(each), None)
            if self._waiting.pop(full_name(each), None) is None:
                self._free += cpus(each)
        self._waiting |= {full_name(each): cpus(each) for each in created}
        for name in self._chance.sample([*self._waiting], len(self._waiting)):
            if self._waiting[name] <= self._free:
                self._free -= self._waiting.pop(name)
                self._placed[name] = _ANY
        return self._placed


def other_orders(objects: Sequence[Manifest], rollout: RandomRollout, number: int) -> Iterator[Played]:
    """Yield how an update ends if groups that wait are placed in another order: which one gets a node is a race."""
    for update in expansion.expand([rollout.new], objects).rollouts:
        for seed in range(number):
            places = _Places(objects, random.Random(seed))
            yield Update(update.strategy(), update.situation()).play(places.place, most=_MOST_STEPS)
