"""A Workload, PodGroup or CompositePodGroup of a name is in one API group."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from kubeapi.versions.conversion import CUSTOM_RESOURCE
from validators import field
from validators.field import FieldError
from validators.object_lookup import api_group_of, group_rank
from validators.rules.base import SHAPED, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield a warning at the name of an object that is ignored, because an object of another API group counts."""
    name = context.new.metadata.name
    other = context.lookup.get(context.new.kind, context.namespace, name) if name else None
    if other is not None and group_rank(other) < group_rank(context.new):
        used = api_group_of(other)
        detail = f"this object is ignored: {used} has a {context.new.kind} of the same name, and that one counts; delete one of the two"
        yield field.invalid(FieldPath("metadata", "name"), name, detail)


_GROUP = """\
apiVersion: scheduling.muster.dev/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
"""
_BUILT_IN = _GROUP.replace(CUSTOM, SCHEDULING)

RULE = Rule(
    id="one-api-group",
    kinds=SHAPED,
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    forms=frozenset({CUSTOM_RESOURCE}),
    why="Pods and groups name a group without its API group. If two API groups have one of that name, the built-in object counts.",
    source="The API group scheduling.muster.dev",
    check=check,
    good=(
        Example(_GROUP),
        Example(f"{_BUILT_IN}---\n{_GROUP}"),
        Example(f"{_GROUP}---\n{_BUILT_IN.replace('workers', 'drivers')}"),
    ),
    bad=(Example(f"{_GROUP}---\n{_BUILT_IN}", at=("metadata.name",)),),
)
