"""The scheduling policy stays basic or gang; only the size of a gang may change."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.versions.kubernetes_releases import FIRST_WITH_MUTABLE_COMPOSITES
from validators import field
from validators.field import FieldError
from validators.rules.base import SHAPED, UPDATE_ONLY, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``basic`` and ``gang``; another rule reports policies that are immutable as a whole."""
    if context.policy_is_fixed:
        return
    for shape in context.templates.validated:
        before = context.templates.old(shape)
        if before is None:
            continue
        new, old = shape.scheduling_policy, before.scheduling_policy
        if (new.basic is None, new.gang is None) == (old.basic is None, old.gang is None):
            continue  # only the size can differ; computing a path costs time
        path = context.templates.path(shape) / "schedulingPolicy"
        if (new.basic is None) is not (old.basic is None):
            yield field.invalid_struct(path / "basic", "field is immutable: the kind of policy is chosen once")
        if old.gang is None and new.gang is not None:
            yield field.invalid_struct(path / "gang", "field cannot be set once created: the kind of policy is chosen once")
        if old.gang is not None and new.gang is None:
            yield field.invalid_struct(path / "gang", "field cannot be cleared once set: the kind of policy is chosen once")


_GANG = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""

RULE = Rule(
    id="policy-kind-fixed",
    kinds=SHAPED,
    why="Pods already wait or run under this policy; a different policy would not match how they were scheduled.",
    source="Kubernetes 1.37.1, PodGroupSchedulingPolicy; KEP-6012, Scheduling policy",
    check=check,
    changes=(FIRST_WITH_MUTABLE_COMPOSITES,),
    on=UPDATE_ONLY,
    good=(Example(_GANG.replace("4", "2"), old=_GANG),),
    bad=(
        Example(
            _GANG.replace("{gang: {minCount: 4}}", "{basic: {}}"),
            old=_GANG,
            at=("spec.schedulingPolicy.basic", "spec.schedulingPolicy.gang"),
        ),
    ),
)
