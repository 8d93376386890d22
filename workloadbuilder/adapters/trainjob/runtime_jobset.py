"""The JobSet's spec that a TrainJob and its runtime amount to, as far as it bears on scheduling.

As Kubeflow's Trainer composes it: the step that trains has as many pods as the TrainJob wants nodes, or the runtime's
``mlPolicy`` has; with MPI these are the pods of the replicated job ``node``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from validators.model.decode import Json
from workloadbuilder.adapters.shared.adapter_result import Loss
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.blueprint import copied
from workloadbuilder.item import WHOLE

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER, _NODE, _LAUNCHER = "trainer", "node", "launcher"


@dataclasses.dataclass(frozen=True, slots=True)
class Composed:
    """A JobSet's *spec*; of the replicated jobs in *gangs* each Job is a gang, as the runtime's other scheduler would have it."""

    spec: dict[str, Json]
    gangs: frozenset[str]
    losses: tuple[Loss, ...]


def compose(runtime: Fields, train: Fields) -> Composed:
    """The JobSet of the TrainJob with the spec *train*, whose runtime has the spec *runtime*."""
    policy, trainer = runtime.mapping("mlPolicy"), train.mapping("trainer")
    spec: dict[str, Json] = copied(runtime.mapping("template").mapping("spec").given)
    if "suspend" in train:
        spec["suspend"] = train.raw("suspend")
    mpi = policy.mapping("mpi")
    as_node = mpi.flag("runLauncherAsNode")
    nodes = trainer.count("numNodes", None)
    own = policy.number("numNodes", 1)
    trains: set[str] = set()
    listed = spec.get("replicatedJobs")
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict):
            continue
        name, step = entry.get("name"), _step(entry)
        if step == _TRAINER:
            _sized(entry, own if nodes is None or "mpi" in policy else nodes)
        if "mpi" in policy and name == _NODE:
            _sized(entry, own if nodes is None else max(nodes - 1, 1) if as_node else nodes)
        if step == _TRAINER or ("mpi" in policy and name == _NODE):
            trains.add(str(name))
        if trainer.raw("resourcesPerNode"):
            _equip(entry, trainer.raw("resourcesPerNode"), launcher=as_node)
    gangs = frozenset(trains) if runtime.mapping("podGroupPolicy").given else frozenset()
    return Composed(spec, gangs, tuple(_losses(runtime, policy)))


def _step(entry: dict[str, Json]) -> str:
    labels = Fields(entry, WHOLE, []).mapping("template").mapping("metadata").annotations("labels")
    return labels.get(STEP, "")


def _sized(entry: dict[str, Json], count: int) -> None:
    """One Job of *count* pods."""
    entry["replicas"] = 1
    job = _job(entry)
    job["parallelism"] = job["completions"] = count


def _equip(entry: dict[str, Json], resources: Json, *, launcher: bool) -> None:
    """Give the containers that train the resources that the TrainJob wants for each node."""
    template = _job(entry).get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    for each in containers if isinstance(containers, list) else ():
        if isinstance(each, dict) and (each.get("name") == _NODE or (launcher and each.get("name") == _LAUNCHER)):
            each["resources"] = copied(resources)


def _job(entry: dict[str, Json]) -> dict[str, Json]:
    """The spec of the Job template of a replicated job, made where there is none."""
    template = entry.setdefault("template", {})
    if not isinstance(template, dict):
        return {}
    job = template.setdefault("spec", {})
    return job if isinstance(job, dict) else {}


def _losses(runtime: Fields, policy: Fields) -> Iterator[Loss]:
    if policy.mapping("torch").raw("elasticPolicy"):
        yield Loss(policy.path.join(("torch", "elasticPolicy")), "the number of pods changes while it runs; the group's minimum does not")
    groups = runtime.mapping("podGroupPolicy")
    if "coscheduling" in groups:
        yield Loss(groups.path / "coscheduling", "a group waits without a time limit")
    if groups.mapping("volcano").raw("networkTopology"):
        path = groups.path.join(("volcano", "networkTopology"))
        yield Loss(path, "tiers of HyperNodes are no node labels: name the label in the JobSet's scheduling instead")
