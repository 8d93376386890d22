"""The controllers of a gang's pods create as many pods as ``minCount`` requires."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import PodGroup
from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.rules.base import About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at ``minCount``, if a controller of the group's pods is known.  A warning only: other files may have more pods."""
    group = context.new
    if not isinstance(group, PodGroup) or group.spec.scheduling_policy.gang is None:
        return
    minimum = group.spec.scheduling_policy.gang.min_count
    pods = context.group_pods
    if pods is not None and pods.total < minimum:
        detail = f"must be at most {pods.total}, the number of pods of {', '.join(pods.controllers)}, unless other pods join the group"
        yield field.invalid(SPEC.join(("schedulingPolicy", "gang", "minCount")), minimum, detail)


_GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
---
"""
_DEPLOYMENT = f"""\
{_GROUP}apiVersion: apps/v1
kind: Deployment
metadata: {{name: serve}}
spec:
  replicas: 4
  template:
    spec:
      schedulingGroup: {{podGroupName: workers}}
"""
_JOB = f"""\
{_GROUP}apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  parallelism: 4
  completions: 4
  template:
    spec:
      schedulingGroup: {{podGroupName: workers}}
"""
_AT = ("spec.schedulingPolicy.gang.minCount",)

RULE = Rule(
    id="gang-enough-pods",
    kinds=frozenset({"PodGroup"}),
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="A gang with fewer pods than its minimum is never scheduled: kube-scheduler waits for the missing pods.",
    source="KEP-4671, Gang scheduling; Kubernetes 1.37.1, plugin GangScheduling",
    check=check,
    good=(Example(_DEPLOYMENT), Example(_JOB), Example(_DEPLOYMENT.replace("replicas: 4", "minReadySeconds: 4"))),
    bad=(
        Example(_DEPLOYMENT.replace("replicas: 4", "replicas: 3"), at=_AT),
        Example(_JOB.replace("parallelism: 4", "parallelism: 2"), at=_AT),
        Example(_JOB.replace("completions: 4", "completions: 3"), at=_AT),
    ),
)
