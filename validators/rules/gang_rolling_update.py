"""A rolling update of a gang creates all pods that the new gang requires before one of them is ready."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath, Part
from kubeapi.groups import PodGroup
from validators import field
from validators.field import FieldError
from validators.model.controllers import Controller, TemplatePods
from validators.rules.base import About, Context, Example, Profile, Rule, Severity

_MENDS = {
    "Deployment": "set spec.strategy.rollingUpdate.maxSurge to 100%, or spec.strategy.type to Recreate",
    "StatefulSet": "set spec.updateStrategy.rollingUpdate.maxUnavailable to 100%",
    "DaemonSet": "set spec.updateStrategy.rollingUpdate.maxUnavailable to 100%",
    "LeaderWorkerSet": "set spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable to 100%",
}


def check(context: Context) -> Iterator[FieldError]:
    """Yield an error at each name of a gang, or at the field for which a controller makes one."""
    controller = context.new
    if not isinstance(controller, Controller) or controller.kind not in _MENDS:
        return
    if controller.gang is not None and controller.gang.renewed is not None and controller.gang.hangs_when_updated:
        yield _error(controller, controller.gang.path, controller.gang.minimum, controller.gang.minimum, controller.gang.renewed)
    templates: dict[str, list[TemplatePods]] = {}
    for each in controller.pods:
        if each.group:
            templates.setdefault(each.group, []).append(each)
    for name, pods in templates.items():
        minimum, renewed = _minimum(context, name), sum(each.renewed or 0 for each in pods)
        if any(each.renewed is None for each in pods) or renewed >= minimum:
            continue
        if any(each.count is None for each in pods) or sum(each.count or 0 for each in pods) >= minimum:
            yield _error(controller, pods[0].group_path.parts, name, minimum, renewed)


def _minimum(context: Context, name: str) -> int:
    """Return the minimum of a gang; 0 if it is not known, if it is no gang, or if it has pods of other controllers too."""
    group = context.lookup.get("PodGroup", context.namespace, name)
    if not isinstance(group, PodGroup) or group.spec.scheduling_policy.gang is None:
        return 0
    members = {(each.kind, each.metadata.name) for each in context.lookup.children("Pod", context.namespace, name)}
    alone = members <= {(context.new.kind, context.new.metadata.name)}
    return group.spec.scheduling_policy.gang.min_count if alone else 0


def _error(controller: Controller, path: tuple[Part, ...], value: object, minimum: int, renewed: int) -> FieldError:
    detail = (
        f"must not be a gang of {minimum} with this update strategy: an update creates {renewed} new {'pod' if renewed == 1 else 'pods'}, and "
        f"the next only when one is ready, which waits for the gang; {_MENDS[controller.kind]}"
    )
    return field.invalid(FieldPath(*path), value, detail)


_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxSurge: 1}}
  template:
    spec:
      schedulingGroup: {podGroupName: serve-v2}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: serve-v2}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
"""
_OF_VOLCANO = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: serve
  annotations: {scheduling.volcano.sh/group-min-member: "3"}
spec:
  replicas: 4
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}
  template:
    spec: {schedulerName: volcano}
"""
_DAEMON_SET = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cache}
spec:
  updateStrategy: {rollingUpdate: {maxUnavailable: 1}}
  template:
    spec:
      schedulingGroup: {podGroupName: cache-v2}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: cache-v2}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
"""

RULE = Rule(
    id="gang-rolling-update",
    kinds=frozenset(_MENDS),
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why=(
        "The controller creates the next new pods when the first ones are ready, and the scheduler holds the first ones until the gang "
        "has its minimum. Old pods are in the gang of the old revision."
    ),
    source="KEP-4671, Gang scheduling; rolling updates of Deployment, StatefulSet, DaemonSet and LeaderWorkerSet; Volcano, PodGroup controller",
    check=check,
    good=(
        Example(_DEPLOYMENT.replace("maxSurge: 1", "maxSurge: 100%")),
        Example(_OF_VOLCANO.replace("maxSurge: 1", "maxSurge: 2")),
        Example(_DAEMON_SET.replace("maxUnavailable: 1", "maxUnavailable: 2")),
    ),
    bad=(
        Example(_DEPLOYMENT, at=("spec.template.spec.schedulingGroup.podGroupName",)),
        Example(_OF_VOLCANO, at=("metadata.annotations[scheduling.volcano.sh/group-min-member]",)),
        Example(_DAEMON_SET, at=("spec.template.spec.schedulingGroup.podGroupName",)),
    ),
)
