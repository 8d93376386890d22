"""Random groups, trees, pods, nodes and devices of a world.  What a step does is drawn from its number; requests that fail are left."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Sequence

import urllib3

from tests.cluster.api import CONFLICT, Api, ApiError
from tests.cluster.groups import LABEL, pod_group
from tests.cluster.kubelet import node, pod, remove_pod
from tests.cluster.resources import Manifest
from tests.cluster.roots import ZONE, Root
from tests.cluster.take_effect import add_classes
from tests.reliability.world.history import Key, key_of
from tests.reliability.world.invariants import NEVER
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, template

FAILED = (ApiError, OSError, urllib3.exceptions.HTTPError)
"""Errors of a request to a server that is attacked."""
RACKS, NODES_OF_A_RACK, CPU, PODS, DEVICES = 3, 3, 8, 8, 2
MOST_ROOTS = 26
PRIORITIES = {"world-low": 10, "world-middle": 100, "world-high": 1000}
NAMESPACES = ("world-a", "world-b", "world-c")
CLUSTER = ("Node", "PriorityClass", "DeviceClass", "ResourceSlice")
NAMESPACED = ("Pod", "PodGroup", "CompositePodGroup", "ResourceClaim", "ResourceClaimTemplate")


class Population:
    """Changes of the objects that users create, the same for the same *seed* as far as the requests succeed."""

    def __init__(self, api: Api, seed: int) -> None:
        self._api, self._seed = api, seed
        self._random, self._lock = random.Random(), threading.Lock()
        self._roots: list[Root] = []
        self.nodes = {each["metadata"]["name"]: each for each in _nodes()}
        self.steps = 0

    def begin(self) -> None:
        """Create namespaces, nodes, devices and priority classes."""
        add_classes(self._api, PRIORITIES)
        self._api.create_all([*self.nodes.values(), device_class()])
        self._api.create_all(
            [device_slice(name, *(f"d{number}" for number in range(DEVICES))) for name in self.nodes if name.endswith("0")]
        )
        for each in NAMESPACES:
            self.furnish(each)

    def furnish(self, namespace: str) -> None:
        """Create a namespace with a template of claims, as far as they are missing."""
        claims = template()
        claims["metadata"]["namespace"] = namespace
        for each in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, claims):
            try:
                self._api.create(each)
            except ApiError as error:
                if error.code != CONFLICT:
                    raise

    def step(self) -> None:
        """Make one random change; for several threads."""
        with self._lock:
            self._step()

    def _step(self) -> None:
        self.steps += 1
        self._random.seed(f"{self._seed}/{self.steps}")
        come: tuple[Callable[[], None], ...] = (self._gang, self._tree, self._single, self._wide, self._refused)
        go: tuple[Callable[[], None], ...] = (self._finish, self._delete, self._replace_pod)
        enough = len(self._roots) >= MOST_ROOTS
        (action,) = self._random.choices((*come, *go), [4, 2, 2, 0, 1, 3, 3, 1] if enough else [9, 4, 3, 1, 1, 1, 1, 1])
        with contextlib.suppress(*FAILED):
            action()

    def objects(self) -> dict[Key, Manifest]:
        """Return all objects of the world as they are now."""
        listed = [self._api.objects(kind) for kind in CLUSTER]
        listed += [self._api.objects(kind, namespace) for kind in NAMESPACED for namespace in NAMESPACES]
        return {key_of(each): each for some in listed for each in some}

    def end(self) -> None:
        """Delete groups, then their pods."""
        for namespace in NAMESPACES:
            for kind in ("CompositePodGroup", "PodGroup", "Pod"):
                self._api.delete_all(kind, namespace, gracePeriodSeconds=0)

    def _gang(self) -> None:
        name, size = f"gang-{self.steps}", self._random.randint(2, 5)
        self._come([("PodGroup", name)], {name: size}, cpu=self._random.randint(1, 3), devices=self._random.random() < 0.25)

    def _tree(self) -> None:
        top, size = f"tree-{self.steps}", self._random.randint(2, 3)
        leaves = [f"{top}-{letter}" for letter in "ab"]
        self._come([("CompositePodGroup", top), *(("PodGroup", leaf) for leaf in leaves)], dict.fromkeys(leaves, size), cpu=1)

    def _single(self) -> None:
        self._come([], {"": 1}, cpu=self._random.randint(1, 4), devices=self._random.random() < 0.3)

    def _wide(self) -> None:
        """Create a gang that fits nowhere."""
        self._come([("PodGroup", f"wide-{self.steps}")], {f"wide-{self.steps}": NODES_OF_A_RACK + 1}, cpu=CPU)

    def _refused(self) -> None:
        """Create a group that only the webhooks refuse."""
        unfit = pod_group(f"{NEVER}{self.steps}", self._random.choice(NAMESPACES), disruptionMode={"all": {}})
        self._api.create(unfit)

    def _come(self, groups: Sequence[tuple[str, str]], sizes: dict[str, int], *, cpu: int, devices: bool = False) -> None:
        namespace, priority = self._random.choice(NAMESPACES), self._random.choice(list(PRIORITIES))
        late = self._random.random() < 0.2
        pods = {group: [f"{group or 'single'}-{self.steps}-{number}" for number in range(size)] for group, size in sizes.items()}
        root = Root(namespace, [*groups], pods)
        self._roots.append(root)
        created = [*root.manifests(priority)]
        for group, names in pods.items():
            created += [self._pod(name, namespace, group, priority, cpu, devices=devices) for name in names]
        if late:
            # Pods before their groups.
            created.reverse()
        for each in created:
            self._api.create(each)

    def _pod(self, name: str, namespace: str, group: str, priority: str, cpu: int, *, devices: bool) -> Manifest:
        spec: Manifest = {"schedulerName": "muster", "priorityClassName": priority}
        if devices:
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
        return pod(name, namespace, group=group, spec=spec, cpu=cpu)

    def _finish(self) -> None:
        """End a root's pods, then delete all of it."""
        if (root := self._taken()) is not None:
            root.finish(self._api, *FAILED)
            root.delete(self._api, 0, *FAILED)

    def _delete(self) -> None:
        """Delete a root while its pods run or wait."""
        if (root := self._taken()) is not None:
            root.delete(self._api, 30, *FAILED)

    def _taken(self) -> Root | None:
        index = self._random.random()
        return self._roots.pop(int(index * len(self._roots))) if self._roots else None

    def _replace_pod(self) -> None:
        """Replace a pod by another of its name, as controllers do."""
        roots = [each for each in self._roots if "" not in each.pods]
        if not roots:
            return
        root = self._random.choice(roots)
        group, names = self._random.choice(sorted(root.pods.items()))
        name = self._random.choice(names)
        there = self._api.get("Pod", name, root.namespace)
        remove_pod(self._api, name, root.namespace)
        self._api.create(self._pod(name, root.namespace, group, there["spec"]["priorityClassName"], 1, devices=False))


def _nodes() -> list[Manifest]:
    return [
        node(f"world-{rack}-{number}", {LABEL: f"rack-{rack}", ZONE: f"zone-{rack // 2}"}, cpu=CPU, pods=PODS)
        for rack in range(RACKS)
        for number in range(NODES_OF_A_RACK)
    ]
