"""Small clusters, and the diagnosis of the one root that waits in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from scheduler_core import diagnosis
from scheduler_core.causes.groups import PodCause
from scheduler_core.causes.searches import PlacementMissed
from scheduler_core.cluster.load import load
from scheduler_core.model.names import Name
from scheduler_core.model.options import PlacingOptions
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.queueing import scheduling_queue
from scheduler_core.wording.decision_words import cause_words
from tests import builders
from tests.scheduler_core.builders import taint

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
RACK = "topology.example/rack"
HOST = "kubernetes.io/hostname"


def node(name: str, cpu: str = "4", *, rack: str = "", taints: tuple[str, ...] = (), cordoned: bool = False, **capacity: str) -> Object:
    """Return a node; *taints* as kubectl writes them, all other keywords are labels or resources."""
    labels, marks = {RACK: rack} if rack else {}, [taint(each) for each in taints]
    return builders.node(name, cpu, resources=capacity, labels=labels, unschedulable=cordoned, taints=marks)


def labelled(made: Object, **labels: str) -> Object:
    made["metadata"]["labels"].update(labels)
    return made


def pod(name: str, group: str = "", cpu: str = "1", *, on: str = "", requests: Object | None = None, **spec: Any) -> Object:
    """Return a pending pod, or with *on* a running one; its number in the group is its age."""
    metadata = {"labels": {"app": group}, "creationTimestamp": "2026-09-01T00:00:00Z"}
    container = {"ports": spec.pop("ports", [])}
    return builders.pod(name, group, cpu, on=on, resources=requests, container=container, metadata=metadata, **spec)


def pods(group: str, count: int, cpu: str = "1", **spec: Any) -> list[Object]:
    return [pod(f"{group}-{number}", group, cpu, **dict(spec)) for number in range(count)]


def group(name: str, gang: int = 0, *, key: str = "", parent: str = "", kind: str = "PodGroup", age: int = 0) -> Object:
    """Return a PodGroup or a CompositePodGroup, basic if *gang* is 0."""
    metadata, workload = {"creationTimestamp": f"2026-09-01T00:00:{age:02}Z"}, {"workloadName": "w", "templateName": name}
    return builders.group(kind, name, gang, key, parent, metadata=metadata, workloadRef=workload)


def composite(name: str, gang: int = 0, *, key: str = "", parent: str = "", age: int = 0) -> Object:
    return group(name, gang, key=key, parent=parent, kind="CompositePodGroup", age=age)


def outcomes(
    objects: list[Object], options: PlacingOptions | None = None, plugins: Plugins | None = None
) -> list[tuple[Greedy, PlacementRequest, PlacementOutcome]]:
    """Return the outcome of each schedulable root, each tried on the unchanged cluster."""
    snapshot = load(objects)
    greedy = Greedy(PlacementState.from_snapshot(snapshot, options or PlacingOptions(), plugins=plugins or Plugins()))
    placement_requests = [greedy.request(entity) for entity in scheduling_queue.build(snapshot, scheduling_queue.QueueOptions()).ready]
    return [(greedy, request, greedy.place(request)) for request in placement_requests]


@dataclasses.dataclass(frozen=True)
class Worded:
    """Diagnosis in words."""

    message: str
    groups: dict[Name, str]
    pods: dict[str, str]
    uncertain: str


def worded(found: diagnosis.Diagnosis) -> Worded:
    groups = {name: cause_words(cause) for name, cause in found.groups.items()}
    uncertain = cause_words(PlacementMissed(found.limits)) if found.limits else ""
    return Worded(cause_words(found.cause) if found.cause is not None else "", groups, pods_words(found.pods), uncertain)


def pods_words(pods: Mapping[str, PodCause]) -> dict[str, str]:
    """Return the cause of each pod in words."""
    return {pod: cause_words(cause) for pod, cause in pods.items()}


def diagnosed(objects: list[Object], **how: Any) -> Worded:
    """Return the diagnosis of the only root in words."""
    [(greedy, request, outcome)] = outcomes(objects, **how)
    return worded(diagnosis.explain(greedy, request, outcome))


def named(groups: Any) -> dict[str, str]:
    return {name.name: text for name, text in groups.items()}


def greedy_trap() -> list[Object]:
    """Return two racks of five slots; packing the first two children into one rack leaves none for the fourth."""
    created = [labelled(node(f"r{rack}-{number}", "1", rack=f"r{rack}"), zone="z1") for rack in (1, 2) for number in range(5)]
    created.append(composite("trap", 4, key="zone"))
    for number, size in enumerate((2, 2, 3, 3), 1):
        created += [group(f"g{number}", size, key=RACK, parent="trap", age=number), *pods(f"g{number}", size)]
    return created


ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "g"}}}]
    }
}
SPREAD = [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "g"}}}]
