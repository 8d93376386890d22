"""A pod's ``schedulingGroup`` names a PodGroup, and is not combined with ``evictionResponders``."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``schedulingGroup`` and ``schedulingGroup.podGroupName``, its only member so far."""
    for pods in context.pods:
        pod, path = pods.spec, pods.at / "schedulingGroup"
        if pod.scheduling_group is None:
            continue
        if pod.scheduling_group.pod_group_name is None:
            yield field.invalid(path / "podGroupName", None, "must specify one of: `podGroupName`")
        if pod.eviction_responders:
            yield field.forbidden(path, "may not be set when evictionResponders is set")


RULE = Rule(
    id="schema-union",
    kinds=POD_TEMPLATES,
    about=About.SHAPE,
    why="A union without a member has no meaning.",
    source="Kubernetes 1.37.1, PodSchedulingGroup; KEP-6012, Changes to the PodGroup API",
    check=check,
    good=(
        Example("""\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {podGroupName: workers}
  containers: [{name: main, image: train}]
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {}
  containers: [{name: main, image: train}]
""",
            at=("spec.schedulingGroup.podGroupName",),
        ),
    ),
)
