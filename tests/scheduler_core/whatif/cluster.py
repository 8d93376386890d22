"""Small cluster, and edits applied to it as kubectl would."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision, Remedy, Step
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.whatif.remedies.remedies import advise
from scheduler_core.wording.changes import remedy_text
from tests import builders

ZONE, RACK = "zone", "rack"
COMPLETE = CycleOptions(strategy="complete")
Objects = list[dict[str, Any]]


def node(name: str, rack: str = "r1", cpu: int = 4, **spec: Any) -> dict[str, Any]:
    return builders.node(name, cpu, "64Gi", labels={ZONE: "z1", RACK: rack}, **spec)


def pod(name: str, group: str = "", on: str = "", cpu: int = 2, owner: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {"ownerReferences": [{"kind": owner, "name": "o"}]} if owner else {}
    return builders.pod(name, group, cpu, on=on, metadata=metadata, **spec)


def gang(name: str, minimum: int, key: str = RACK, *, parent: str = "", template: str = "t", **spec: Any) -> dict[str, Any]:
    return builders.pod_group(name, minimum, key, parent, workloadRef={"workloadName": "w", "templateName": template}, **spec)


def tree(name: str, minimum: int, key: str = "", *, template: str = "top", **spec: Any) -> dict[str, Any]:
    return builders.composite_pod_group(name, minimum, key, workloadRef={"workloadName": "w", "templateName": template}, **spec)


def waiting(group: str, count: int, **spec: Any) -> Objects:
    return [pod(f"{group}-{number}", group, **spec) for number in range(count)]


def named(content: dict[str, Any]) -> tuple[str, str, str]:
    kind, metadata = content["kind"], content["metadata"]
    return kind, "" if kind == "Node" else metadata.get("namespace") or "default", metadata["name"]


def after(objects: Iterable[dict[str, Any]], steps: Iterable[Step]) -> Objects:
    """Return the objects after *steps*."""
    remaining = {named(each): each for each in objects}
    for step in steps:
        if step.apply is not None:
            remaining[named(dict(step.apply))] = dict(step.apply)
        elif step.delete is not None:
            del remaining[step.delete["kind"], step.delete["namespace"], step.delete["name"]]
    return [*remaining.values()]


def decided(objects: Objects, options: CycleOptions = COMPLETE) -> dict[Name, Decision]:
    return {each.root: each for each in run_cycle(load(objects), options).decisions}


def not_placed(objects: Objects, options: CycleOptions = COMPLETE) -> list[Decision]:
    return [each for each in decided(objects, options).values() if each.status is not Status.SUCCESS]


def remedies(objects: Objects, snapshot: ClusterSnapshot, decision: Decision, options: CycleOptions, **more: int) -> tuple[Remedy, ...]:
    """Return only the remedies; see ``advise``."""
    return advise(objects, snapshot, decision, options, **more).remedies


def helped(objects, options=COMPLETE):
    """Return the remedies of the only root that is not placed; each is applied and verified."""
    (decision,) = not_placed(objects, options)
    result = remedies(objects, load(objects), decision, options)
    for each in result:
        assert decided(after(objects, each.steps), options)[decision.root].status is each.then is Status.SUCCESS, remedy_text(each)
    return [remedy_text(each) for each in result]
