"""The minimum of a gang does not count pods that are created only after other pods of the gang run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from validators import field
from validators.field import FieldError
from validators.hierarchy.creation_order import Level, PodBatch, created
from validators.hierarchy.group_pods import created_pods, group_pods
from validators.hierarchy.tree import GroupNode
from validators.model import own_gangs
from validators.model.controllers import Controller
from validators.model.own_gangs import OwnGang
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at the minimum of a group, or at the field for which a controller makes one.

    A warning only: other files may have more pods.
    """
    if isinstance(context.new, Controller):
        if context.new.gang is not None:
            yield from _own(context.new.gang)
        return
    group = context.group
    if not group.metadata.name:
        return
    if isinstance(group, CompositePodGroup):
        if group.spec.scheduling_policy.gang is not None:
            yield from _children(context, group.spec.scheduling_policy.gang.min_group_count)
    elif group.spec.scheduling_policy.gang is not None:
        minimum = group.spec.scheduling_policy.gang.min_count
        pods = context.group_pods
        if pods is not None and pods.first < minimum <= pods.total and (first := _created(context)[group.metadata.name]) < minimum:
            detail = f"must be at most {first}, the number of pods that are created first: {pods.awaited}, and that waits for the gang"
            yield field.invalid(SPEC.join(("schedulingPolicy", "gang", "minCount")), minimum, detail)


def _own(gang: OwnGang) -> Iterator[FieldError]:
    batches = [PodBatch("", each.part, "", each.count, each.wait) for each in gang.pods]
    made = created(batches, {"": Level(gang.minimum)})
    first = sum(batches[index].count for index in made)
    late = next((each for index, each in enumerate(gang.pods) if index not in made and each.count), None)
    if first < gang.minimum <= sum(each.count for each in gang.pods) and late is not None and late.wait is not None:
        detail = (
            f"must not require {gang.minimum}: {first} {'is' if first == 1 else 'are'} created first, and {late.count} ({late.part}) only when "
            f"{late.wait.words}, which waits for the gang; let all start together, or require at most {first}"
        )
        yield field.invalid_struct(FieldPath(*gang.path), detail)


def _children(context: Context, minimum: int) -> Iterator[FieldError]:
    children = context.node.children if context.node.depth else []
    events = {id(each): event for each in children if (event := _event(context, each))}
    if not len(children) - len(events) < minimum <= len(children):
        return
    counts = _created(context)
    late = [each for each in children if id(each) in events and not any(counts[leaf] for leaf in _leaves(each))]
    first = len(children) - len(late)
    if first < minimum:
        event = events[id(late[0])]
        detail = f"must be at most {first}, the number of groups whose pods are created first: {event}, and that waits for the gang"
        yield field.invalid(SPEC.join(("schedulingPolicy", "gang", "minGroupCount")), minimum, detail)


def _created(context: Context) -> Mapping[str, int]:
    """Return the number of pods of each PodGroup of the tree that are created."""
    return created_pods(context.node.root or context.node, context.lookup)


def _leaves(child: GroupNode) -> Iterator[str]:
    waiting = [child]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if isinstance(node.group, PodGroup):
            yield node.group.metadata.name


def _event(context: Context, child: GroupNode) -> str:
    """Return the first event before which neither a group nor its descendants have pods; empty if there is none."""
    event, waiting = "", [child]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        if isinstance(node.group, PodGroup):
            pods = group_pods(context.lookup, context.namespace, node.group.metadata.name)
            if pods is None or pods.first or not pods.awaited:
                return ""
            event = event or pods.awaited
        elif not node.children:
            return ""
    return event


_LEADER_AND_WORKERS = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: replica-0}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve}
spec:
  replicas: 1
  startupPolicy: LeaderCreated
  leaderWorkerTemplate:
    size: 4
    workerTemplate:
      spec:
        schedulingGroup: {podGroupName: replica-0}
"""
_IN_RACKS = "{name: serve, annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: example.com/rack}}"
_TREE = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: train}
spec:
  workloadRef: {workloadName: train, templateName: train}
  schedulingPolicy: {gang: {minGroupCount: 2}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: driver}
spec:
  parentCompositePodGroupName: train
  workloadRef: {workloadName: train, templateName: driver}
  schedulingPolicy: {gang: {minCount: 1}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  parentCompositePodGroupName: train
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  startupPolicy: {startupPolicyOrder: AnyOrder}
  replicatedJobs:
  - name: driver
    template: {spec: {template: {spec: {schedulingGroup: {podGroupName: driver}}}}}
  - name: workers
    replicas: 2
    template: {spec: {parallelism: 2, template: {spec: {schedulingGroup: {podGroupName: workers}}}}}
"""
_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch}
spec:
  podGroupPolicy: {coscheduling: {}}
  template:
    spec:
      replicatedJobs:
      - {name: dataset-initializer, template: {spec: {template: {spec: {}}}}}
      - {name: node, template: {spec: {parallelism: 2, template: {spec: {}}}}}
"""
_MPI_JOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {schedulingPolicy: {minAvailable: 4}}
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {}}}
    Worker: {replicas: 4, template: {spec: {}}}
"""
_DEEPER_TREE = (
    _TREE.replace("  parentCompositePodGroupName: train\n", "  parentCompositePodGroupName: middle\n").replace("middle", "train", 1)
    + """\
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: middle}
spec:
  parentCompositePodGroupName: train
  workloadRef: {workloadName: train, templateName: middle}
  schedulingPolicy: {basic: {}}
"""
)

RULE = Rule(
    id="gang-waits-for-later",
    kinds=GROUPS | own_gangs.KINDS,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="The controller creates the later pods when the first ones run, and kube-scheduler holds the first ones until the later pods exist.",
    source="KEP-4671, Gang scheduling; startup policies of LeaderWorkerSet and JobSet, dependsOn of JobSet and Volcano, Trainer, KubeRay, MPIJob",
    check=check,
    good=(Example(_LEADER_AND_WORKERS), Example(_TREE), Example(_DEEPER_TREE), Example(_RUNTIME), Example(_MPI_JOB)),
    bad=(
        Example(_LEADER_AND_WORKERS.replace("LeaderCreated", "LeaderReady"), at=("spec.schedulingPolicy.gang.minCount",)),
        Example(_LEADER_AND_WORKERS.replace("{name: serve}", _IN_RACKS), at=("spec.schedulingPolicy.gang.minCount",)),
        Example(_TREE.replace("AnyOrder", "InOrder"), at=("spec.schedulingPolicy.gang.minGroupCount",)),
        Example(_DEEPER_TREE.replace("AnyOrder", "InOrder"), at=("spec.schedulingPolicy.gang.minGroupCount",)),
        Example(
            _RUNTIME.replace("{name: node,", "{name: node, dependsOn: [{name: dataset-initializer, status: Complete}],"),
            at=("spec.podGroupPolicy.coscheduling",),
        ),
        Example(_MPI_JOB.replace("minAvailable: 4", "minAvailable: 5"), at=("spec.runPolicy.schedulingPolicy.minAvailable",)),
    ),
)
