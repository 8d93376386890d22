"""A tree of groups is at most 4 levels deep."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.workloads import MAX_DEPTH
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``parentCompositePodGroupName`` of each group below the fourth level.

    At admission, a group may be created above existing groups: the levels below it count too.
    """
    node = context.node
    if not node.depth:
        return
    parent = context.group.spec.parent_composite_pod_group_name
    if node.depth > MAX_DEPTH:
        yield field.invalid(
            SPEC / "parentCompositePodGroupName", parent, f"must be at most {MAX_DEPTH} levels deep; this group is on level {node.depth}"
        )
    elif not context.settings.linting and (lowest := node.depth + node.height() - 1) > MAX_DEPTH:
        path = SPEC / "parentCompositePodGroupName" if parent else FieldPath("metadata", "name")
        yield field.invalid(
            path,
            parent or context.group.metadata.name,
            f"must be at most {MAX_DEPTH} levels deep; the groups below would reach level {lowest}",
        )


def _chain(levels: int) -> str:
    documents = []
    for level in range(levels, 0, -1):
        parent = f"  parentCompositePodGroupName: level-{level - 1}\n" if level > 1 else ""
        documents.append(
            f"apiVersion: scheduling.k8s.io/v1alpha3\nkind: CompositePodGroup\nmetadata: {{name: level-{level}}}\nspec:\n{parent}"
            f"  workloadRef: {{workloadName: train, templateName: level-{level}}}\n  schedulingPolicy: {{basic: {{}}}}\n"
        )
    return "---\n".join(documents)


RULE = Rule(
    id="tree-depth",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    why="The API server limits the depth of templates, but groups are created one by one: only the scheduler detects a deeper tree, "
    "and does not schedule it.",
    source="KEP-6012, Group hierarchy; Notes/Constraints/Caveats",
    check=check,
    relevant_traits=traits.IN_TREE,
    good=(Example(_chain(4)),),
    bad=(Example(_chain(5), at=("spec.parentCompositePodGroupName",)),),
)
