"""The PodGroup of a pod is set at creation and does not change."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model.templates import SPEC
from validators.model.views import Pod
from validators.rules import checks
from validators.rules.base import UPDATE_ONLY, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``spec``, as the API server does for all immutable fields of a pod."""
    new, old = context.new, context.old
    if isinstance(new, Pod) and isinstance(old, Pod) and new.spec.scheduling_group != old.spec.scheduling_group:
        yield field.forbidden(
            SPEC,
            "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, "
            "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations), "
            "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative): "
            "`spec.schedulingGroup` must stay as it was",
        )
        if new.spec.scheduling_group is not None:
            yield from checks.pod_group_name(SPEC.join(("schedulingGroup", "podGroupName")), new.spec.scheduling_group.pod_group_name)


_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  schedulingGroup: {podGroupName: workers}
  containers: [{name: main, image: train}]
"""

RULE = Rule(
    id="scheduling-group-immutable",
    kinds=frozenset({"Pod"}),
    on=UPDATE_ONLY,
    why="A pod that changes its PodGroup would be missing in one gang and join another that was placed without it.",
    source="KEP-4671, Associating Pod into PodGroups; Kubernetes 1.37.1, pod updates",
    check=check,
    good=(Example(_POD.replace("image: train", "image: other"), old=_POD),),
    bad=(Example(_POD.replace("podGroupName: workers", "podGroupName: drivers"), old=_POD, at=("spec",)),),
)
