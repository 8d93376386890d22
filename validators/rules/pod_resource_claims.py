"""Resource claims of a pod have unique names and one source each, and its containers name only these claims, each once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.pods import ContainerClaim, PodResourceClaim
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules import checks
from validators.rules.base import PODS, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at a claim, its name or its source, and at the claims of containers."""
    spec, path = context.pod_spec, context.pod_path
    claims = spec.resource_claims or ()
    yield from _claims(path / "resourceClaims", claims)
    names = frozenset(each.name for each in claims if each.name)
    for field_name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers or ()):
            used = (container.resources and container.resources.claims) or ()
            yield from _container(path.join((field_name, index, "resources", "claims")), used, names)


def _claims(path: FieldPath, claims: Sequence[PodResourceClaim]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = path / index
        if not claim.name:
            yield field.required(at / "name")
        elif claim.name in seen:
            yield field.duplicate(at / "name", claim.name, "must be unique among the resource claims of the pod")
        else:
            yield from checks.messages(at / "name", claim.name, content.label)
        seen.add(claim.name)
        name, template = claim.resource_claim_name, claim.resource_claim_template_name
        if name is not None and template is not None:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield field.invalid(at, f"{{{name}, {template}}}", detail)
        elif name is None and template is None:
            yield field.invalid(at, claim.name, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for key, value in (("resourceClaimName", name), ("resourceClaimTemplateName", template)):
            if value is not None:
                yield from checks.messages(at / key, value, content.subdomain)


def _container(path: FieldPath, used: Sequence[ContainerClaim], names: frozenset[str]) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(used):
        if not claim.name:
            yield field.required(path / index)
            continue
        key = claim.name, claim.request
        before = {each for each in seen if each[0] == claim.name}
        if key in seen or (claim.name, "") in seen or (not claim.request and before):
            yield field.duplicate(path / index, "/".join(filter(None, key)), "the container has these devices by another entry")
        seen.add(key)
        if claim.name not in names:
            known = f": {', '.join(sorted(names))}" if names else " which is empty"
            yield field.not_found(path / index, claim.name, f"must be one of the names in pod.spec.resourceClaims{known}")


_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  containers:
  - name: main
    image: train
    resources:
      claims: [{name: gpu}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
"""

RULE = Rule(
    id="pod-resource-claims",
    kinds=PODS,
    why="Containers refer to a claim of their pod by name, and each claim must have one source.",
    source="Kubernetes 1.37.1, validation of Pod",
    check=check,
    relevant_traits=traits.RESOURCE_CLAIMS,
    good=(Example(_POD),),
    bad=(
        Example(_POD.replace("claims: [{name: gpu}]", "claims: [{name: gpus}]"), at=("spec.containers[0].resources.claims[0]",)),
        Example(_POD.replace("[{name: gpu}]", "[{name: gpu, request: a}, {name: gpu}]"), at=("spec.containers[0].resources.claims[1]",)),
        Example(_POD.replace("gpu, resourceClaimT", "gpu, resourceClaimName: gpu-0, resourceClaimT"), at=("spec.resourceClaims[0]",)),
        Example(f"{_POD}  - {{name: gpu, resourceClaimName: gpu-0}}\n", at=("spec.resourceClaims[1].name",)),
    ),
)
