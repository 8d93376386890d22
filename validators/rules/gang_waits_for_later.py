"""The minimum of a gang does not count pods that are created only after other pods of the gang run."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import CompositePodGroup, PodGroup
from validators import field
from validators.field import FieldError
from validators.hierarchy.group_pods import group_pods
from validators.hierarchy.tree import GroupNode
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at the minimum of a group.  A warning only: other files may have more pods."""
    group = context.group
    if not group.metadata.name:
        return
    if isinstance(group, CompositePodGroup):
        if group.spec.scheduling_policy.gang is not None:
            yield from _children(context, group.spec.scheduling_policy.gang.min_group_count)
    elif group.spec.scheduling_policy.gang is not None:
        minimum = group.spec.scheduling_policy.gang.min_count
        pods = context.group_pods
        if pods is not None and pods.first < minimum <= pods.total:
            detail = f"must be at most {pods.first}, the number of pods that are created first: {pods.awaited}, and that waits for the gang"
            yield field.invalid(SPEC.join(("schedulingPolicy", "gang", "minCount")), minimum, detail)


def _children(context: Context, minimum: int) -> Iterator[FieldError]:
    children = context.node.children if context.node.depth else []
    events = [event for each in children if (event := _event(context, each))]
    first = len(children) - len(events)
    if first < minimum <= len(children):
        detail = f"must be at most {first}, the number of groups whose pods are created first: {events[0]}, and that waits for the gang"
        yield field.invalid(SPEC.join(("schedulingPolicy", "gang", "minGroupCount")), minimum, detail)


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
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="The controller creates the later pods when the first ones run, and kube-scheduler holds the first ones until the later pods exist.",
    source="KEP-4671, Gang scheduling; startup policies of LeaderWorkerSet and JobSet, dependsOn of JobSet, KubeRay, MPIJob",
    check=check,
    good=(Example(_LEADER_AND_WORKERS), Example(_TREE), Example(_DEEPER_TREE)),
    bad=(
        Example(_LEADER_AND_WORKERS.replace("LeaderCreated", "LeaderReady"), at=("spec.schedulingPolicy.gang.minCount",)),
        Example(_TREE.replace("AnyOrder", "InOrder"), at=("spec.schedulingPolicy.gang.minGroupCount",)),
        Example(_DEEPER_TREE.replace("AnyOrder", "InOrder"), at=("spec.schedulingPolicy.gang.minGroupCount",)),
    ),
)
