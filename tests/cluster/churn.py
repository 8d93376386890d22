"""Random changes of a cluster: groups and trees are created, run, end and are deleted; nodes are added and removed."""

from __future__ import annotations

import contextlib
import random

from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from tests.cluster.api import Api, ApiError
from tests.cluster.groups import LABEL, SCHEDULED, composite, condition_of
from tests.cluster.kubelet import node, pod, remove_pod
from tests.cluster.resources import Manifest
from tests.cluster.roots import ZONE, Root
from tests.cluster.take_effect import add_classes
from tests.scheduler_core.sidecar.gangs import wrong_reasons

RACKS, NODES_OF_A_RACK, RACKS_OF_A_ZONE, CPU = 8, 3, 2, 8
MOST_ROOTS = 40
PRIORITIES = {"churn-low": 10, "churn-high": 1000}
OPTIONS = SchedulerOptions(preempt=True).cycle
KINDS = ("Pod", "PodGroup", "CompositePodGroup", "Workload")


class Churn:
    """Random changes in one namespace, the same for the same *seed*."""

    def __init__(self, api: Api, namespace: str, seed: int) -> None:
        self._api, self._namespace, self._random = api, namespace, random.Random(seed)
        self._roots: list[Root] = []
        self._nodes = {each["metadata"]["name"]: each for each in _nodes()}
        self._down: list[str] = []
        self._replaced: set[str] = set()
        self.steps = 0

    def begin(self) -> None:
        """Create nodes and priority classes."""
        add_classes(self._api, PRIORITIES)
        self._api.create_all(self._nodes.values())

    def step(self) -> None:
        """Make one random change."""
        self.steps += 1
        create, go = (self._gang, self._gang, self._tree, self._wide, self._circle), (self._finish, self._delete)
        shaken = (self._replace_pod, self._replace_pod, self._node_goes, self._node_comes, self._cordon)
        enough = len(self._roots) >= MOST_ROOTS
        (action,) = self._random.choices((*create, *go, *shaken), [1 if enough else 6] * 2 + [3, 1, 1] + [6 if enough else 4] * 2 + [1] * 5)
        action()

    def end(self) -> None:
        """Delete everything, groups before their pods."""
        for kind in reversed(KINDS):
            self._api.delete_all(kind, self._namespace, gracePeriodSeconds=0)
        for name in self._nodes:
            self._api.delete("Node", name)
        for name in PRIORITIES:
            self._api.delete("PriorityClass", name)

    def partial(self) -> dict[str, int]:
        """Return gangs with all pods, of which some but too few have a node; with the number that have.

        Gangs that were scheduled before a pod was replaced are not included: the new pod may find no capacity.
        """
        there = {each["metadata"]["name"]: each for each in self._api.objects("Pod", self._namespace)}
        scheduled = self._scheduled()
        result = {}
        for root in self._roots:
            for group, names in root.pods.items():
                bound = sum(bool(there[name]["spec"].get("nodeName")) for name in names if name in there)
                leaving = any("deletionTimestamp" in there[name]["metadata"] for name in names if name in there)
                goes_on = group in self._replaced and group in scheduled
                if all(name in there for name in names) and not leaving and not goes_on and 0 < bound < len(names):
                    result[group] = bound
        return result

    def wrong_reasons(self) -> dict[str, tuple[str, str]]:
        """Return pending roots whose condition does not have the reason that is true of the objects; both reasons."""
        kinds = ((kind, self._namespace) for kind in ("PodGroup", "CompositePodGroup", "Pod"))
        listed = [self._api.objects(kind, namespace) for kind, namespace in (*kinds, ("Node", ""), ("PriorityClass", ""))]
        objects = {
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for some in listed for each in some
        }
        return {name: (has, want) for name, has, want in wrong_reasons(objects, OPTIONS)}

    def left(self) -> dict[str, list[str]]:
        """Return the names of remaining objects by kind, without kinds that have none."""
        result = {kind: sorted(each["metadata"]["name"] for each in self._api.objects(kind, self._namespace)) for kind in KINDS}
        return {kind: names for kind, names in result.items() if names}

    def _scheduled(self) -> set[str]:
        groups = self._api.objects("PodGroup", self._namespace)
        return {each["metadata"]["name"] for each in groups if condition_of(each, SCHEDULED["PodGroup"]).get("status") == "True"}

    def _gang(self) -> None:
        size = self._random.randint(2, 6)
        self._come([("PodGroup", f"gang-{self.steps}")], [f"gang-{self.steps}"], size, cpu=self._random.randint(1, 3))

    def _tree(self) -> None:
        top, size = f"tree-{self.steps}", self._random.randint(2, 4)
        leaves = [f"{top}-{letter}" for letter in "ab"]
        groups = [("CompositePodGroup", top), *(("PodGroup", leaf) for leaf in leaves)]
        self._come(groups, leaves, size, cpu=self._random.randint(1, 2))

    def _wide(self) -> None:
        """Create a root that fits nowhere."""
        name = f"wide-{self.steps}"
        self._come([("PodGroup", name)], [name], 5, cpu=CPU)

    def _circle(self) -> None:
        """Create composites that are each other's parents, which no API server refuses."""
        one, other = f"circle-{self.steps}-a", f"circle-{self.steps}-b"
        for name, parent in ((one, other), (other, one)):
            self._api.create(composite(name, self._namespace, parent=parent))
        self._roots.append(Root(self._namespace, [("CompositePodGroup", one), ("CompositePodGroup", other)], {}))

    def _come(self, groups: list[tuple[str, str]], leaves: list[str], size: int, *, cpu: int) -> None:
        root = Root(self._namespace, groups, {leaf: [f"{leaf}-{number}" for number in range(size)] for leaf in leaves})
        priority = self._random.choice(list(PRIORITIES))
        for each in root.manifests(priority):
            self._api.create(each)
        spec = {"schedulerName": "muster", "priorityClassName": priority}
        pods = [pod(name, self._namespace, group=group, spec=spec, cpu=cpu) for group, names in root.pods.items() for name in names]
        self._api.create_all(pods)
        self._roots.append(root)

    def _finish(self) -> None:
        """End a root's pods, then delete all of it."""
        if (root := self._taken()) is not None:
            root.finish(self._api, ApiError)
            root.delete(self._api, grace=0)

    def _delete(self) -> None:
        """Delete a root while its pods run or wait."""
        if (root := self._taken()) is not None:
            root.delete(self._api, grace=30)

    def _taken(self) -> Root | None:
        return self._roots.pop(self._random.randrange(len(self._roots))) if self._roots else None

    def _replace_pod(self) -> None:
        """Replace a pod by another of its name, as controllers do."""
        roots = [each for each in self._roots if each.pods]
        if not roots:
            return
        group, names = self._random.choice(sorted(self._random.choice(roots).pods.items()))
        name = self._random.choice(names)
        remove_pod(self._api, name, self._namespace)
        self._replaced.add(group)
        with contextlib.suppress(ApiError):
            created = self._api.get("PodGroup", group, self._namespace)
            spec = {"schedulerName": "muster", "priorityClassName": created["spec"]["priorityClassName"]}
            self._api.create(pod(name, self._namespace, group=group, spec=spec, cpu=1))

    def _node_goes(self) -> None:
        """Delete a node with its pods."""
        up = sorted(set(self._nodes) - set(self._down))
        if len(self._down) < RACKS:
            name = self._random.choice(up)
            self._down.append(name)
            self._api.delete("Node", name)
            for each in self._api.objects("Pod", self._namespace, fieldSelector=f"spec.nodeName={name}"):
                remove_pod(self._api, each["metadata"]["name"], self._namespace)

    def _node_comes(self) -> None:
        if self._down:
            self._api.create(self._nodes[self._down.pop(0)])

    def _cordon(self) -> None:
        """Cordon a node, or uncordon it."""
        name = self._random.choice(sorted(set(self._nodes) - set(self._down)))
        with contextlib.suppress(ApiError):
            there = self._api.get("Node", name)["spec"].get("unschedulable", False)
            self._api.patch("Node", name, body={"spec": {"unschedulable": None if there else True}})


def _nodes() -> list[Manifest]:
    return [
        node(f"churn-{rack}-{number}", {LABEL: f"rack-{rack}", ZONE: f"zone-{rack // RACKS_OF_A_ZONE}"}, cpu=CPU)
        for rack in range(RACKS)
        for number in range(NODES_OF_A_RACK)
    ]
