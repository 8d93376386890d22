"""A template or group has at most one topology constraint, and its key is a label key."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.workloads import MAX_TOPOLOGY
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import SHAPED, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the list or at the key."""
    templates = context.templates
    malformed = {key for key in templates.topology_keys if key and content.label_key(key)}
    for shape, topology in templates.constrained:
        if len(topology) > MAX_TOPOLOGY or topology[0].key in malformed:
            yield from checks.topology(templates.path(shape) / "schedulingConstraints", shape.scheduling_constraints)


RULE = Rule(
    id="topology-single",
    kinds=SHAPED,
    why="The scheduler resolves one topology level for each group; more levels are expressed by nesting groups.",
    source="KEP-5732, API; KEP-6012, Scheduling constraints",
    check=check,
    relevant_traits=traits.INVALID_KEY | traits.SEVERAL_CONSTRAINTS,
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
