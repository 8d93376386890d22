"""Gangs that controllers make of all pods of one object: the minimum, and the pods that are created only after others.

The pods do not name the group in the object: the controller writes its name into them.  Sources: Trainer 2.3 (``coscheduling.go``,
``volcano.go``), MPI Operator 0.8 (``podgroup.go``), Training Operator 1.9 (``pkg/controller.v1/common``), Volcano 1.15
(``job_controller_actions.go``, ``pg_controller_handler.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.field_path import Key, Part
from kubeapi.meta import LARGEST_INT32, Struct
from validators.model.rolling_updates import VOLCANO_MINIMUM, new_before_ready, volcano_minimum
from validators.model.start_order import FIRST, LEADER, OTHERS, WORKER, Wait, items, start_order, task_name

TRAINER_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
"""Label of the replicated jobs of a runtime; that of the training nodes has the value ``trainer``."""

GANG_SCHEDULERS = ("coscheduling", "volcano")
"""Fields of a runtime's ``podGroupPolicy``, of which one may be set."""
ONE_SCHEDULER = (
    "must have only one of coscheduling and volcano: Trainer creates a PodGroup for each of them, and the pods, which name both, stay "
    "pending; remove the one whose scheduler is not installed"
)


KUBEFLOW_REPLICAS = {
    "MPIJob": "mpiReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
"""Field with the replicas of each role, by kind of Kubeflow."""


class OwnPods(Struct, frozen=True, gc=False):
    """Pods of one part of an object, or groups of them; *wait* is None if they are created with the object."""

    part: str
    count: int
    wait: Wait | None = None


class OwnGang(Struct, frozen=True, gc=False):
    """Gang of all pods of an object.

    Attributes:
        path: the field that requires it.
        minimum: number of the pods that it needs.
        pods: the pods by part.
        schedulers: the schedulers for which a group is created, if the object names some.
        renewed: the largest number of pods of a new group that an update creates before one of them is ready; None if an update makes
            no new group, or the number is unknown.

    """

    path: tuple[Part, ...]
    minimum: int
    pods: tuple[OwnPods, ...]
    schedulers: tuple[str, ...] = ()
    renewed: int | None = None

    @property
    def can_fail(self) -> bool:
        """True if rules have something to check: an order of creation, too few pods, also of an update, or several schedulers."""
        few = sum(each.count for each in self.pods) < self.minimum
        return few or len(self.schedulers) > 1 or any(each.wait is not None for each in self.pods) or self.hangs_when_updated

    @property
    def hangs_when_updated(self) -> bool:
        """True if a rolling update waits for the new gang, and this for pods that come later."""
        return self.renewed is not None and self.renewed < self.minimum <= sum(each.count for each in self.pods)


def own_gang(group: str, kind: str, content: Mapping[str, Any]) -> OwnGang | None:
    """Return the gang that the controller of an object makes of its pods; None if it makes none, or none that can fail."""
    read = _READERS.get((group, kind))
    if (group, kind) in _OF_VOLCANO:
        gang = _owner_for_volcano(content)
    elif (group, kind) == _LEADER_WORKER_SET:
        gang = _leader_worker_set(content)
    else:
        gang = None if read is None else read(section(content, "spec"))
    return gang if gang is not None and gang.can_fail else None


def _number(fields: Mapping[str, Any], name: str, default: int) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_INT32 else default


def _training_runtime(spec: Mapping[str, Any]) -> OwnGang | None:
    groups, jobs = section(spec, "podGroupPolicy"), section(spec, "template", "spec")
    named = [each for each in GANG_SCHEDULERS if groups.get(each) is not None]
    if not named:
        return None
    waits = start_order("jobset.x-k8s.io", "JobSet", jobs)
    pods, minimum = [], 0
    for job in items(jobs, "replicatedJobs"):
        name, policy = str(job.get("name")), section(spec, "mlPolicy")
        # The TrainJob sets the size of these.
        trains = section(job, "template", "metadata", "labels").get(TRAINER_STEP) == "trainer" or ("mpi" in policy and name == "node")
        shape = section(job, "template", "spec")
        parallelism = _number(policy, "numNodes", 1) if trains else _number(shape, "parallelism", 1)
        count = parallelism if trains else _number(job, "replicas", 1) * min(parallelism, _number(shape, "completions", parallelism))
        pods.append(OwnPods(name, count, waits.get(name)))
        minimum += parallelism
    return OwnGang(("spec", "podGroupPolicy", named[0]), minimum, tuple(pods), tuple(named))


def _kubeflow(kind: str, name: str) -> Callable[[Mapping[str, Any]], OwnGang | None]:
    def read(spec: Mapping[str, Any]) -> OwnGang | None:
        policy = section(spec, "runPolicy").get("schedulingPolicy")
        if not isinstance(policy, Mapping) or spec.get("elasticPolicy") is not None:
            return None
        waits = start_order("kubeflow.org", kind, spec)
        roles = {str(role).lower(): section(replicas) for role, replicas in section(spec, name).items()}
        pods = tuple(OwnPods(role, _number(replicas, "replicas", 1), waits.get(role)) for role, replicas in roles.items())
        given, path = _number(policy, "minAvailable", 0), ("spec", "runPolicy", "schedulingPolicy")
        return OwnGang((*path, "minAvailable") if given else path, given or sum(each.count for each in pods), pods)

    return read


def _volcano_job(spec: Mapping[str, Any]) -> OwnGang | None:
    waits = start_order("batch.volcano.sh", "Job", spec)
    pods, minimums = [], 0
    for index, task in enumerate(items(spec, "tasks")):
        name, replicas = task_name(task, index), _number(task, "replicas", 1)
        pods.append(OwnPods(name, replicas, waits.get(name)))
        minimums += _number(task, "minAvailable", replicas)
    given = _number(spec, "minAvailable", 0)
    return OwnGang(("spec", "minAvailable" if given else "tasks"), given or minimums, tuple(pods))


def _leader_worker_set(content: Mapping[str, Any]) -> OwnGang | None:
    spec = section(content, "spec")
    policy = section(spec, "scheduling", "schedulingPolicy")
    gang, size = policy.get("gang"), _number(section(spec, "leaderWorkerTemplate"), "size", 1)
    if not isinstance(gang, Mapping):
        return None
    groups = (LEADER, *([WORKER] if size > 1 else []))
    waits = start_order(*_LEADER_WORKER_SET, spec, section(content, "metadata", "annotations"))
    path = ("spec", "scheduling", "schedulingPolicy", "gang")
    return OwnGang(path, _number(gang, "minGroupCount", len(groups)), tuple(OwnPods(each, 1, waits.get(each)) for each in groups))


def _owner_for_volcano(content: Mapping[str, Any]) -> OwnGang | None:
    """Return the gang that Volcano makes of the pods of a ReplicaSet, a StatefulSet or a DaemonSet."""
    kind, spec = str(content.get("kind")), section(content, "spec")
    minimum = volcano_minimum(kind, section(content, "metadata", "annotations"), section(spec, "template"))
    path = ("metadata", "annotations", Key(VOLCANO_MINIMUM))
    if minimum <= 1 or "replicas" not in spec:
        # Without replicas, an autoscaler may set the number.
        return None
    number = _number(spec, "replicas", 1)
    waits = start_order("apps", "StatefulSet", spec) if kind == "StatefulSet" else {}
    pods = (OwnPods(FIRST, min(number, 1)), OwnPods(OTHERS, max(number - 1, 0), waits.get(OTHERS)))
    # The others keep their group when they are updated.
    return OwnGang(path, minimum, pods, renewed=new_before_ready(kind, spec) if kind == "Deployment" else None)


_READERS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], OwnGang | None]] = {
    ("trainer.kubeflow.org", "TrainingRuntime"): _training_runtime,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _training_runtime,
    **{("kubeflow.org", kind): _kubeflow(kind, name) for kind, name in KUBEFLOW_REPLICAS.items()},
    ("batch.volcano.sh", "Job"): _volcano_job,
}
_LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
GROUPS_AND_KINDS = frozenset({*_READERS, _LEADER_WORKER_SET})
"""API groups and kinds of the objects."""
_OF_VOLCANO = frozenset({("apps", "Deployment"), ("apps", "StatefulSet")})
"""Kinds of objects whose annotations ask Volcano for a gang."""
OWN_KINDS = {("batch.volcano.sh", "Job"): "VolcanoJob"}
"""Kinds of objects for rules, where another project has a kind of the same name."""
KINDS = frozenset(OWN_KINDS.get(each, each[1]) for each in (*GROUPS_AND_KINDS, *_OF_VOLCANO))
