"""At most one priority class is the global default."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.priority import PriorityClass
from validators import field
from validators.field import FieldError
from validators.rules.base import CREATE_AND_UPDATE, About, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``globalDefault`` of each class after the first.

    At admission, the first class is the one with the lowest value, as in the API server.
    """
    new = context.new
    if not isinstance(new, PriorityClass) or not new.global_default:
        return
    defaults = [each for each in context.lookup.list_kind("PriorityClass") or () if isinstance(each, PriorityClass) and each.global_default]
    if not context.settings.linting:
        defaults.sort(key=lambda each: each.value)
    if not defaults or defaults[0] is new or (context.settings.linting and defaults[0].metadata.name == new.metadata.name):
        return
    first = defaults[0].metadata.name
    if context.settings.linting or context.creating or first != new.metadata.name:
        yield field.forbidden(FieldPath("globalDefault"), f"PriorityClass {first} is already marked as default. Only one default can exist")


_TWO = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: batch}
value: 10
globalDefault: true
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: normal}
value: 5
globalDefault: true
"""

RULE = Rule(
    id="one-global-default",
    kinds=frozenset({"PriorityClass"}),
    about=About.TREE,
    on=CREATE_AND_UPDATE,
    by_plugin=True,
    why="Groups and pods without a class get the priority of the default class; with two defaults, the lower value is used.",
    source="Kubernetes 1.37.1, admission plugin Priority",
    check=check,
    good=(Example(_TWO.replace("globalDefault: true\n", "", 1)),),
    bad=(Example(_TWO, at=("globalDefault",)),),
)
