"""Pods of a gang that is a custom resource wait for Muster: by their scheduler, or by the scheduling gate `muster.dev/placement`."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import PodGroup
from kubeapi.pods import DEFAULT_SCHEDULER, PLACEMENT_GATE
from kubeapi.versions import served_versions
from validators import field
from validators.field import FieldError
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield a warning at the scheduler of each pod, and of each pod template, that kube-scheduler would place at once."""
    for pods in context.pods:
        scheduler, gates = pods.spec.scheduler_name or DEFAULT_SCHEDULER, pods.spec.scheduling_gates or ()
        if not pods.group or scheduler != DEFAULT_SCHEDULER or PLACEMENT_GATE in {each.name for each in gates} or pods.spec.node_name:
            continue
        group = context.lookup.get("PodGroup", context.namespace, pods.group)
        if isinstance(group, PodGroup) and served_versions.form_of(group.api_version).custom and _is_placed_together(group):
            detail = (
                f"kube-scheduler does not know PodGroup {pods.group}, a custom resource, and places its pods one by one: name the scheduler of "
                f"Muster's sidecar, or set the scheduling gate {PLACEMENT_GATE}"
            )
            yield field.invalid(pods.at / "schedulerName", scheduler, detail)


def _is_placed_together(group: PodGroup) -> bool:
    """Return whether it matters that the pods of *group* are placed as a group; its tree may be one of gangs."""
    spec = group.spec
    return spec.scheduling_policy.gang is not None or spec.scheduling_constraints is not None or bool(spec.parent_composite_pod_group_name)


_GROUP = """\
---
apiVersion: scheduling.muster.dev/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 1}}
"""
_POD = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: worker-0
  labels: {{scheduling.muster.dev/pod-group: workers}}
spec:
  schedulerName: muster
  containers: [{{name: main, image: train}}]
{_GROUP}"""
_JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  template:
    metadata:
      labels: {{scheduling.muster.dev/pod-group: workers}}
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: train}}]
{_GROUP}"""
_BY_DEFAULT = _POD.replace("  schedulerName: muster\n", "")

RULE = Rule(
    id="custom-group-scheduler",
    kinds=POD_TEMPLATES,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="kube-scheduler reads the built-in PodGroups only: a part of the gang would run and wait for pods that do not fit.",
    source="The API group scheduling.muster.dev; Kubernetes 1.37.1, GangScheduling of kube-scheduler",
    check=check,
    good=(
        Example(_POD),
        Example(_BY_DEFAULT.replace("spec:\n  containers", "spec:\n  schedulingGates: [{name: muster.dev/placement}]\n  containers")),
        Example(_BY_DEFAULT.replace("muster.dev/v1", "k8s.io/v1")),
        Example(_BY_DEFAULT.replace("gang: {minCount: 1}", "basic: {}")),
    ),
    bad=(
        Example(_BY_DEFAULT, at=("spec.schedulerName",)),
        Example(_JOB, at=("spec.template.spec.schedulerName",)),
    ),
)
