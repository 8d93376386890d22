"""Spec of the JobSet that Kubeflow's Trainer creates from a TrainJob and its runtime, as far as scheduling needs it.

The trainer step has as many pods as the TrainJob's ``numNodes``, or else that of the runtime's ``mlPolicy``; with MPI these are
the pods of the replicated job ``node``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.decode import Json
from validators import field
from validators.model.own_gangs import GANG_SCHEDULERS, ONE_SCHEDULER
from workloadbuilder.adapters.jobset.jobset import OneGang
from workloadbuilder.adapters.other_schedulers import scheduler_groups
from workloadbuilder.adapters.shared.adapter_result import Loss
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.trainjob.runtime_patches import apply_patches
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import WHOLE

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER, _NODE, _LAUNCHER = "trainer", "node", "launcher"


@dataclasses.dataclass(frozen=True, slots=True)
class Composed:
    """A JobSet's *spec* and annotations.  With the runtime's ``podGroupPolicy``, *gang* is the group of all its pods.

    *sized* are the names of the replicated jobs with as many pods as the TrainJob's ``numNodes``.
    """

    spec: dict[str, Json]
    annotations: dict[str, str]
    gang: OneGang | None
    losses: tuple[Loss, ...]
    sized: frozenset[str]


def compose(runtime: Fields, train: Fields, known: Known) -> Composed:
    """Return the JobSet for a TrainJob with the spec *train* and a runtime with the spec *runtime*; *known* has levels of topologies."""
    policy, trainer = runtime.mapping("mlPolicy"), train.mapping("trainer")
    template = runtime.mapping("template")
    spec: dict[str, Json] = copied(template.mapping("spec").given)
    annotations = {**template.mapping("metadata").annotations(), **apply_patches(spec, train)}
    if "suspend" in train:
        spec["suspend"] = train.raw("suspend")
    mpi = policy.mapping("mpi")
    as_node = mpi.flag("runLauncherAsNode")
    nodes = trainer.count("numNodes", None)
    runtime_nodes = policy.number("numNodes", 1)
    sized: set[str] = set()
    replicated_jobs = spec.get("replicatedJobs")
    for entry in replicated_jobs if isinstance(replicated_jobs, list) else ():
        if not isinstance(entry, dict):
            continue
        name, step = entry.get("name"), _step(entry)
        if step == _TRAINER:
            _set_size(entry, runtime_nodes if nodes is None or "mpi" in policy else nodes)
        if "mpi" in policy and name == _NODE:
            _set_size(entry, runtime_nodes if nodes is None else max(nodes - 1, 1) if as_node else nodes)
        if nodes is not None and (name == _NODE and not as_node if "mpi" in policy else step == _TRAINER):
            sized.add(str(name))
        if trainer.raw("resourcesPerNode"):
            _set_resources(entry, trainer.raw("resourcesPerNode"), launcher=as_node)
    losses = [*_losses(runtime, policy)]
    return Composed(spec, annotations, _one_gang(runtime.mapping("podGroupPolicy"), known, losses), tuple(losses), frozenset(sized))


def _one_gang(policy: Fields, known: Known, losses: list[Loss]) -> OneGang | None:
    """Return the gang of all pods that Trainer creates for the ``podGroupPolicy`` of a runtime; None if it creates none.

    If several schedulers are named, Trainer creates a group for each of them, and no scheduler places the pods.
    """
    named = [each for each in GANG_SCHEDULERS if each in policy]
    if len(named) > 1:
        policy.errors.append(field.invalid_struct(policy.path, ONE_SCHEDULER))
    if not named:
        return None
    topology = scheduler_groups.highest_tier(policy.mapping("volcano"), known, losses)
    return OneGang(policy.path / named[0], topology)


def _step(entry: dict[str, Json]) -> str:
    labels = Fields(entry, WHOLE, []).mapping("template").mapping("metadata").annotations("labels")
    return labels.get(STEP, "")


def _set_size(entry: dict[str, Json], count: int) -> None:
    """Set one Job of *count* pods."""
    entry["replicas"] = 1
    job = _job(entry)
    job["parallelism"] = job["completions"] = count


def _set_resources(entry: dict[str, Json], resources: Json, *, launcher: bool) -> None:
    """Set the resources of the training containers to the TrainJob's ``resourcesPerNode``."""
    template = _job(entry).get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    for each in containers if isinstance(containers, list) else ():
        if isinstance(each, dict) and (each.get("name") == _NODE or (launcher and each.get("name") == _LAUNCHER)):
            each["resources"] = copied(resources)


def _job(entry: dict[str, Json]) -> dict[str, Json]:
    """Return the spec of a replicated job's Job template; create it if it is absent."""
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
