"""The topology level of a group is not wider than the levels of the groups above it."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import Group
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.object_lookup import Lookup
from validators.rules.base import GROUPS, About, Context, Example, Profile, Rule, Severity


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the child's topology key, if nodes are known."""
    key = _key(context.group)
    if not key:
        return
    above = next((parent_key for node in context.node.ancestors() if (parent_key := _key(node.group))), "")
    if not above or key == above:
        return
    widths = context.tree.widths
    if (key, above) not in widths:
        widths[key, above] = _wider(key, above, context.lookup)
    if widths[key, above]:
        yield field.invalid(
            SPEC.join(("schedulingConstraints", "topology", 0, "key")),
            key,
            f"must not be wider than {above!r}, the level of a group above; the labels of the nodes show that it is",
        )


def _key(group: Group) -> str:
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else ""


def _wider(key: str, other: str, lookup: Lookup) -> bool:
    """Return whether a domain of *key* contains several domains of *other*, and no domain of *other* several of *key*.

    Both directions, because labels such as ``rack-1`` may recur in every zone: then neither key is wider.
    """
    inside: dict[str, set[str]] = {}
    outside: dict[str, set[str]] = {}
    for node in lookup.list_kind("Node") or ():
        labels = node.metadata.labels or {}
        if key in labels and other in labels:
            inside.setdefault(labels[key], set()).add(labels[other])
            outside.setdefault(labels[other], set()).add(labels[key])
    return any(len(values) > 1 for values in inside.values()) and all(len(values) == 1 for values in outside.values())


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
    why="Constraints are resolved from the root down, each within the domain chosen above: a wider level has no effect or cannot be "
    "satisfied.",
    source="KEP-6012, Scheduling constraints",
    check=check,
    relevant_traits=traits.IN_TREE,
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
