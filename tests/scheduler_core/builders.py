"""Builders of small clusters as manifests, and helpers that run the engine on them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kubeapi.gather import gather
from kubeapi.nodes import Taint
from kubeapi.resource_names import BUILT_IN
from muster.render import answer_json
from muster.render.answer import Answer
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, Result, queued, run_cycle
from scheduler_core.model.decision import Decision, GroupCondition
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.state import PlacementState
from scheduler_core.wording import decision_words
from scheduler_core.wording.conditions import conditions
from tests import builders
from tests.scheduler_core.oracle.strategies import Size, clusters

Json = dict[str, Any]
CASES: list[Json] = json.loads((Path(__file__).parents[1] / "cases" / "placement.json").read_text(encoding="utf-8"))
RACK, ZONE, HOST = "rack", "zone", builders.HOST
GPU = "example.com/gpu"
NO_OPTIONS, NO_PLUGINS = PlacingOptions(), Plugins()
SMALL = Size()
_age = itertools.count()


def cases(kind: str) -> list[Json]:
    """Return the cases of one kind from placement.json."""
    return [case for case in CASES if case["kind"] == kind]


def node(name: str, cpu: str = "4", memory: str = "16Gi", *, pods: int = 110, taints: Iterable[Json] = (), **more: Any) -> Json:
    """Return a node; *gpu* and *unschedulable* set the fields of that name, everything else in *more* is a label."""
    spec = {"unschedulable": more.pop("unschedulable", False), "taints": [*taints]}
    return builders.node(name, cpu, memory, pods=pods, resources={GPU: more.pop("gpu", "")}, labels=more, **spec)


def racks(counts: Mapping[str, int], cpu: str = "4", **more: Any) -> list[Json]:
    """Return *count* equal nodes for each rack: r1-0, r1-1, …."""
    return [node(f"{rack}-{number}", cpu, rack=rack, **more) for rack, count in counts.items() for number in range(count)]


def pod(name: str, group: str = "", cpu: str = "1", memory: str = "", *, on: str = "", nominated: str = "", **more: Any) -> Json:
    """Return a pod, pending unless *on* names its node; *gpu* and *host_port* set resources, the rest is of the spec."""
    port, resources = more.pop("host_port", 0), {GPU: more.pop("gpu", "")}
    container = {"ports": [{"containerPort": port, "hostPort": port}]} if port else {}
    metadata = {"labels": more.pop("labels", {})}
    status = {"nominatedNodeName": nominated} if nominated else {}
    return builders.pod(name, group, cpu, memory, on=on, resources=resources, container=container, metadata=metadata, status=status, **more)


def pods(group: str, count: int, cpu: str = "1", memory: str = "", **more: Any) -> list[Json]:
    """Return equal members of *group*: group-0, group-1, …."""
    return [pod(f"{group}-{number}", group, cpu, memory, **more) for number in range(count)]


def leaf(name: str, minimum: int = 0, key: str = "", parent: str = "", **more: Any) -> Json:
    """Return a PodGroup, basic without a minimum.  Later ones are younger."""
    return builders.pod_group(name, minimum, key, parent, metadata={"creationTimestamp": _created()}, **more)


def composite(name: str, minimum: int = 0, key: str = "", parent: str = "", **more: Any) -> Json:
    """Return a CompositePodGroup, basic without a minimum.  Later ones are younger."""
    return builders.composite_pod_group(name, minimum, key, parent, metadata={"creationTimestamp": _created()}, **more)


def _created() -> str:
    second = next(_age)
    return f"2026-08-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def taint(text: str) -> Json:
    """Parse a taint as kubectl writes it: ``key=value:effect``."""
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def toleration(text: str) -> Json:
    """Return the toleration of a taint as kubectl writes it."""
    return {**taint(text), "operator": "Equal"}


def run(objects: Iterable[Json], **options: Any) -> Result:
    """Run one cycle; *options* are those of CycleOptions or of PlacingOptions."""
    placing = {name: options.pop(name) for name in tuple(options) if name in PlacingOptions.__slots__}
    return run_cycle(load(objects), CycleOptions(placing=PlacingOptions(**placing), **options))


def decided(objects: Iterable[Json], **options: Any) -> Decision:
    """Return the only decision of a cycle."""
    (decision,) = run(objects, **options).decisions
    return decision


def message_of(decision: Decision) -> str:
    """Return the causes of a root in words."""
    return decision_words.message(decision)


def reasons_of(decision: Decision) -> dict[str, str]:
    """Return the causes of each pod without a node in words."""
    return decision_words.pending(decision.pending)


def conditions_of(decision: Decision) -> list[GroupCondition]:
    """Return the conditions of all groups after the cycle."""
    return [each for group in decision.groups for each in conditions(decision, group)]


def rendered(objects: Iterable[Json], **options: Any) -> str:
    """Return the answer as ``muster simulate --format json`` writes it."""
    result = run(objects, **options)
    return answer_json.render(Answer.from_decisions(result.decisions, result.pending, result.problems))


def placed(decision: Decision) -> dict[str, str]:
    """Return the assignments of a decision, with pod names without namespace."""
    return {key.partition("/")[2]: where for key, where in decision.assignments.items()}


def state(objects: Iterable[Json], options: PlacingOptions = NO_OPTIONS, plugins: Plugins = NO_PLUGINS) -> PlacementState:
    """Return the placement state of a cluster."""
    return PlacementState.from_snapshot(load(objects), options, (), plugins)


def entities(objects: Iterable[Json]) -> dict[str, Entity]:
    """Return the schedulable roots by name, in queue order."""
    return {entity.name.name: entity for entity in queued(load(objects), CycleOptions())}


def names(state: PlacementState, outcome: PlacementOutcome | None) -> list[str]:
    """Return the nodes of a leaf's pods in order; ``-`` for a pod without a node."""
    assert outcome is not None
    assert outcome.nodes is not None
    return ["-" if index < 0 else state.nodes.names[index] for index in outcome.nodes.tolist()]


def as_values(outcome: PlacementOutcome | None) -> Any:
    """Return an outcome as plain values, to compare two that share no objects."""
    if outcome is None:
        return None
    where = outcome.placement
    return (
        (outcome.status, outcome.reason, outcome.placed, outcome.holds, outcome.tried),
        (where.key, where.value, where.nodes.tolist()),
        None if outcome.nodes is None else outcome.nodes.tolist(),
        [(load.shape.serial, load.nodes.tolist()) for load in outcome.loads],
        [as_values(child) for child in outcome.children],
    )


def place_root(
    objects: Iterable[Json], root: str, options: PlacingOptions = NO_OPTIONS
) -> tuple[PlacementState, PlacementRequest, PlacementOutcome]:
    """Return the outcome of placing one root in the unchanged cluster."""
    objects = [*objects]
    here = state(objects, options)
    greedy = Greedy(here)
    request = greedy.request(entities(objects)[root])
    return here, request, greedy.place(request)


def table(
    labels: Iterable[Mapping[str, str]],
    cpu: Iterable[int] | int = 4000,
    memory: Iterable[int] | int = 2**34,
    pods: Iterable[int] | int = 110,
    taints: Iterable[tuple[Taint, ...]] | None = None,
) -> NodeTable:
    """Return nodes n000, n001, … with these labels; millicores, bytes and pod slots for each node or for all."""
    labels = [*labels]
    allocatable = np.zeros((len(BUILT_IN), len(labels)), dtype=np.int64)
    for row, amount in ((0, cpu), (1, memory), (3, pods)):
        allocatable[row] = amount if isinstance(amount, int) else [*amount]
    marked = [()] * len(labels) if taints is None else [*taints]
    return NodeTable([f"n{number:03}" for number in range(len(labels))], labels, marked, [False] * len(labels), BUILT_IN, allocatable)


def shape(cpu: int = 0, memory: int = 0, *, serial: int = 0, **more: Any) -> PodShape:
    """Return a shape with these requests in millicores and bytes; scored as 100m and 200 MiB if it requests none."""
    amounts = tuple((row, amount) for row, amount in ((0, cpu), (1, memory), (3, 1)) if amount)
    return PodShape(serial, amounts, (cpu or 100, memory or 200 * 2**20), **more)


def record(name: str, what: PodShape, *, node: int = -1, nominated: int = -1, priority: int = 0, group: str = "") -> PodRecord:
    """Return a pod as the engine's record."""
    return PodRecord(
        key=f"default/{name}",
        namespace="default",
        shape=what,
        labels={},
        priority=priority,
        node=node,
        group=group,
        scheduler="default-scheduler",
        preempts=True,
        created="",
        started="",
        terminating=False,
        gates=(),
        nominated=nominated,
    )


@st.composite
def promising(draw: st.DrawFn, size: Size = SMALL, *, apart: bool = False) -> list[Json]:
    """Draw a cluster of the oracle in which some pending pods are nominated and some running pods are being preempted.

    *apart*: some pods have anti-affinity, which the oracle does not read.
    """
    objects = draw(clusters(size))
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    for each in objects:
        if each["kind"] != "Pod":
            continue
        if not each["spec"].get("nodeName"):
            if draw(st.integers(0, 3)) == 0:
                each["status"] = {"nominatedNodeName": draw(st.sampled_from(names))}
        elif draw(st.integers(0, 15)) == 0:
            each["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:00Z"
            each["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
        if apart and draw(st.integers(0, 5)) == 0:
            term = {"topologyKey": draw(st.sampled_from([HOST, RACK])), "labelSelector": {"matchLabels": {"app": "a"}}}
            affinity = each["spec"].setdefault("affinity", {})
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return objects


def cluster_of(objects: Iterable[Json]) -> Cluster:
    """Return the cluster of *objects*."""
    objects = [*objects]
    return Cluster(load(objects), gather(objects)[0])


def with_objects(snapshot: ClusterSnapshot, *objects: Json) -> ClusterSnapshot:
    """Return the snapshot of the same cluster to which *objects* were applied."""
    cluster = Cluster(snapshot)
    cluster.apply(*objects)
    return cluster.snapshot()


def contents(table: NodeTable) -> tuple[object, ...]:
    """Return what a node table says of its nodes, to be compared."""
    return (
        table.names,
        table.labels,
        table.taints,
        table.unschedulable.tolist(),
        table.resources,
        table.allocatable.tolist(),
        table.kept,
        table.images,
    )
