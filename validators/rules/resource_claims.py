"""A leaf has at most 4 resource claims, each with a unique name and exactly one source."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.meta import deep_equal
from kubeapi.workloads import LeafShape
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the list, a claim, or a field of a claim.

    Claims are immutable, so on an update only the length of a changed list is validated, as in the API server.
    """
    for leaf in context.templates.validated_leaves:
        if not leaf.resource_claims:
            continue
        old = context.templates.old(leaf)
        path = context.templates.path(leaf) / "resourceClaims"
        if not isinstance(old, LeafShape):
            yield from checks.claims(path, leaf.resource_claims)
        elif not deep_equal(leaf.resource_claims, old.resource_claims):
            yield from checks.too_many_claims(path, leaf.resource_claims)


RULE = Rule(
    id="resource-claims",
    kinds=frozenset({"Workload", "PodGroup"}),
    why="Pods refer to a claim of their group by name, and each claim must have one source.",
    source="Kubernetes 1.37.1, PodGroupResourceClaim; KEP-6012, Non-Goals (no claims on composites)",
    check=check,
    relevant_traits=traits.RESOURCE_CLAIMS,
    on=CREATE_AND_UPDATE,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  resourceClaims:
  - name: fabric
    resourceClaimTemplateName: fabric
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
  resourceClaims:
  - name: fabric
    resourceClaimName: fabric-0
    resourceClaimTemplateName: fabric
""",
            at=("spec.resourceClaims[0]",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  resourceClaims:
  - {name: fabric, resourceClaimName: one}
  - {name: fabric, resourceClaimName: two}
""",
            at=("spec.resourceClaims[1]",),
        ),
    ),
)
