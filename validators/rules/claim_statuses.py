"""Each entry of ``status.resourceClaimStatuses`` names a claim of the spec, only once, with a valid ResourceClaim name."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.groups import PodGroup
from kubeapi.meta import deep_equal
from kubeapi.pods import PodResourceClaimStatus
from kubeapi.workloads import MAX_CLAIMS
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import UPDATE_ONLY, Context, Example, Rule

_PATH = FieldPath("status", "resourceClaimStatuses")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the list, an entry, or a field of an entry."""
    if not isinstance(context.new, PodGroup):
        return
    new = context.new.status.resource_claim_statuses or ()
    old = (context.old.status.resource_claim_statuses if isinstance(context.old, PodGroup) else None) or ()
    # An update of the status does not change the spec: the claims are those of the stored spec.
    spec = context.old.spec if isinstance(context.old, PodGroup) else context.new.spec
    claims = {claim.name for claim in spec.resource_claims or ()}
    for index, status in enumerate(new):
        if status.name not in claims:
            yield field.invalid(_PATH.join((index, "name")), status.name, "must match the name of an entry in `spec.resourceClaims`")
    if not deep_equal(new, old):
        yield from _entries(new, old)


def _entries(new: tuple[PodResourceClaimStatus, ...], old: tuple[PodResourceClaimStatus, ...]) -> Iterator[FieldError]:
    if len(new) > MAX_CLAIMS:
        yield field.too_many(_PATH, len(new), MAX_CLAIMS)
        return
    before: dict[str, PodResourceClaimStatus] = {}
    for status in old:
        before.setdefault(status.name, status)
    seen: set[str] = set()
    for index, status in enumerate(new):
        if status.name in seen:
            yield field.duplicate(_PATH / index, status.name, "must be the only status of its claim")
        seen.add(status.name)
        previous = before.get(status.name)
        if status.resource_claim_name is not None and (previous is None or previous.resource_claim_name != status.resource_claim_name):
            yield from checks.messages(_PATH.join((index, "resourceClaimName")), status.resource_claim_name, content.subdomain)


_GOOD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  resourceClaims:
  - name: fabric
    resourceClaimTemplateName: fabric
status:
  resourceClaimStatuses:
  - name: fabric
    resourceClaimName: fabric-x7k2p
"""
_BEFORE = _GOOD.partition("status:")[0]

RULE = Rule(
    id="claim-statuses",
    kinds=frozenset({"PodGroup"}),
    on=UPDATE_ONLY,
    status=True,
    why="The kubelet uses this list to find the ResourceClaim that was created for a group.",
    source="Kubernetes 1.37.1, PodGroupResourceClaimStatus",
    check=check,
    relevant_traits=traits.STATUS,
    good=(Example(_GOOD, old=_BEFORE, status=True),),
    bad=(
        Example(
            _GOOD.replace("  - name: fabric\n    resourceClaimName", "  - name: network\n    resourceClaimName"),
            old=_BEFORE,
            at=("status.resourceClaimStatuses[0].name",),
            status=True,
        ),
    ),
)
