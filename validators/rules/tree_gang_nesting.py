"""Every direct child of a group with a gang policy has a gang policy too."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule
from validators.rules.checks import gang_of_one


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the child's ``schedulingPolicy``."""
    node = context.node
    if not node.depth or node.parent is None:
        return
    parent = node.parent.group
    if parent.spec.scheduling_policy.gang is not None and context.group.spec.scheduling_policy.gang is None:
        error = field.invalid_struct(
            SPEC / "schedulingPolicy",
            f'must have "gang" scheduling policy, as the parent CompositePodGroup {parent.metadata.name} has: '
            "kube-scheduler places no group of a tree in which a gang has another child",
        )
        yield dataclasses.replace(error, fix=gang_of_one(context.group.spec.scheduling_policy))


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {gang: {minGroupCount: 1}}
"""

RULE = Rule(
    id="tree-gang-nesting",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    since=38,
    why="The API server compares the templates, but groups are created one by one: only the scheduler detects the contradiction, and does "
    "not schedule the tree.",
    source="Kubernetes 1.38.0-beta.0, validation of trees in kube-scheduler",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_TREE, kubernetes="1.38"),),
    bad=(
        Example(
            _TREE.replace("{gang: {minCount: 4}}", "{basic: {}}"),
            at=("spec.schedulingPolicy",),
            kubernetes="1.38",
            fixed=_TREE.replace("minCount: 4", "minCount: 1"),
        ),
    ),
)
