"""Random clusters full of groups that run, of both disruption modes, with one pending gang or tree of up to three levels.

Trees are those that every version accepts: below a gang there are only gangs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.cluster.groups import LABEL, composite, pod_group
from tests.cluster.kubelet import pod
from tests.cluster.random_clusters import ZONE, Drawing
from tests.cluster.resources import Manifest

FEATURES = ("deep", "single", "whole", "budget", "optional", "alone")
_PRIORITIES = {"low": 10, "middle": 100}


class GroupsDrawing(Drawing):
    """One cluster in which the root often fits only after pods or whole groups are evicted."""

    drawn_from: Sequence[str] = FEATURES

    def __init__(self, seed: int, namespace: str, features: Sequence[str] | None = None, scheduler: str = "default-scheduler") -> None:
        super().__init__(seed, namespace, features, scheduler)
        for name, value in _PRIORITIES.items():
            metadata = {"name": self._name(name)}
            self.shared.append({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value})
        self._running: list[Manifest] = []

    def _nodes(self) -> None:
        super()._nodes()
        nodes = [each["metadata"]["name"] for each in self.nodes]
        modes = [mode for mode, feature in (("single", "single"), ("all", "whole")) if feature in self.features] or ["single", "all"]
        for number in range(self.random.randint(1, 3)):
            mode, class_ = self.random.choice(modes), self._name(self.random.choice([*_PRIORITIES]))
            name, size = f"run{number}", self.random.randint(1, 3)
            policy = {"gang": {"minCount": size}} if mode == "all" else {"basic": {}}
            group = pod_group(name, self.namespace, schedulingPolicy=policy, disruptionMode={mode: {}}, priorityClassName=class_)
            self._running.append(group)
            for member in range(size):
                self._running.append(self._member(f"{name}-{member}", self.random.choice(nodes), class_, name))
        for number in range(self.random.randint(1, 4) if "alone" in self.features else 1):
            self._running.append(self._member(f"alone-{number}", self.random.choice(nodes), self._name(self.random.choice([*_PRIORITIES]))))
        if "budget" in self.features:
            spec = {"minAvailable": self.random.randint(1, 4), "selector": {"matchLabels": {"app": "b"}}}
            metadata = {"name": "budget", "namespace": self.namespace}
            self._running.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
        self.present += self._running

    def _member(self, name: str, node: str, priority_class: str, group: str = "") -> Manifest:
        spec = {
            "nodeName": node,
            "schedulerName": self.scheduler,
            "terminationGracePeriodSeconds": 3000,
            "priorityClassName": priority_class,
        }
        cpu, memory = self.random.randint(700, 2600), self.random.randint(300, 4000)
        labels = {"app": self.random.choice("ab")}
        return pod(name, self.namespace, group=group, spec=spec, labels=labels, cpu=f"{cpu}m", memory=f"{memory}Mi")

    def _groups(self) -> list[Manifest]:
        if self.random.random() < 0.3:
            key = self.random.choice(("", LABEL, ZONE))
            return [pod_group("g0", self.namespace, minimum=self.random.randint(2, 5), key=key, **self._priority())]
        children = self.random.randint(2, 3)
        minimum = children - 1 if "optional" in self.features else children
        groups = [composite("root", self.namespace, minimum=minimum, key=self.random.choice(("", "", ZONE)), **self._priority())]
        for number in range(children):
            if "deep" in self.features and self.random.random() < 0.6:
                middle = f"m{number}"
                key = self.random.choice(("", LABEL))
                groups.append(composite(middle, self.namespace, minimum=1, key=key, parent="root", **self._priority()))
                groups += [self._leaf(f"g{number}{each}", middle) for each in range(self.random.randint(1, 2))]
            else:
                groups.append(self._leaf(f"g{number}", "root"))
        return groups

    def _leaf(self, name: str, parent: str) -> Manifest:
        key = self.random.choice(("", LABEL))
        return pod_group(name, self.namespace, minimum=self.random.randint(1, 2), key=key, parent=parent, **self._priority())
