"""A group's topology level is no wider than that of the groups above it."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.lookup import Lookup
from validators.model.group import Group
from validators.model.templates import SPEC
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Tells at the child's topology key.  Known only where nodes are given."""
    key = _key(context.group)
    if not key:
        return
    above = next((found for node in context.node.ancestors() if (found := _key(node.group))), "")
    if not above or key == above:
        return
    known = context.tree.widths
    if (key, above) not in known:
        known[key, above] = _wider(key, above, context.lookup)
    if known[key, above]:
        yield field.invalid(
            SPEC.join(("schedulingConstraints", "topology", 0, "key")),
            key,
            f"must not be wider than {above!r}, the level of a group above: the nodes show that it is",
        )


def _key(group: Group) -> str:
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else ""


def _wider(key: str, other: str, lookup: Lookup) -> bool:
    """Whether a domain of *key* holds several of *other*'s, and none of *other*'s holds several of *key*'s.

    Both ways, because labels such as ``rack-1`` may recur in every zone: then neither is known to be wider.
    """
    inside: dict[str, set[str]] = {}
    outside: dict[str, set[str]] = {}
    for node in lookup.everything("Node") or ():
        labels = node.metadata.labels or {}
        if key in labels and other in labels:
            inside.setdefault(labels[key], set()).add(labels[other])
            outside.setdefault(labels[other], set()).add(labels[key])
    return any(len(found) > 1 for found in inside.values()) and all(len(found) == 1 for found in outside.values())


_TREE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: replica-0
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: rack}]}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
  schedulingConstraints: {topology: [{key: zone}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {zone: a, rack: a1}}
---
apiVersion: v1
kind: Node
metadata: {name: node-2, labels: {zone: a, rack: a2}}
"""

RULE = Rule(
    id="topology-narrows",
    kinds=GROUPS,
    about=About.TREE,
    profile=Profile.KEP,
    at_admission=Severity.WARNING,
    why="Constraints are resolved from the root down, each inside the domain chosen above: a wider one below can only be void or impossible.",
    source="KEP-6012, Scheduling constraints",
    check=check,
    good=(Example(_TREE),),
    bad=(
        Example(
            _TREE.replace("[{key: rack}]", "[{key: swap}]")
            .replace("[{key: zone}]", "[{key: rack}]")
            .replace("[{key: swap}]", "[{key: zone}]"),
            at=("spec.schedulingConstraints.topology[0].key",),
        ),
    ),
)
