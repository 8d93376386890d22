"""A template or group has at most one topology constraint, and its key is a label key."""

from __future__ import annotations

from collections.abc import Iterator

from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import SHAPED, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Tells at the list, or at the key."""
    seen: set[str] = set()
    for shape in context.templates.judged_leaves + context.templates.judged_composites:
        constraints = shape.scheduling_constraints
        if constraints is None or not constraints.topology:
            continue
        key = constraints.topology[0].key
        # Trees repeat the same few keys: one that was well once is well again.
        if len(constraints.topology) == 1 and key in seen:
            continue
        found = list(checks.topology(context.templates.path(shape) / "schedulingConstraints", constraints))
        if not found:
            seen.add(key)
        yield from found


RULE = Rule(
    id="topology-single",
    kinds=SHAPED,
    why="The scheduler resolves one topology level for each group; more levels are expressed by nesting groups.",
    source="KEP-5732, API; KEP-6012, Scheduling constraints",
    check=check,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: topology.kubernetes.io/rack}]}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints:
    topology:
    - key: topology.kubernetes.io/zone
    - key: topology.kubernetes.io/rack
""",
            at=("spec.schedulingConstraints.topology",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: the rack}]}
""",
            at=("spec.schedulingConstraints.topology[0].key",),
        ),
    ),
)
