"""The request that a container names is a request of its claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.field_path import FieldPath
from kubeapi.pods import PodResourceClaim
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.views import Container, DeviceClaim, ResourceClaim, ResourceClaimTemplate
from validators.rules.base import POD_TEMPLATES, About, Context, Example, Profile, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``request``.  No errors for claims and templates that are not known."""
    for pods in context.pods:
        path, spec = pods.at, pods.spec
        claims = {each.name: each for each in spec.resource_claims or ()}
        for field_name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
            for index, container in enumerate(containers or ()) if claims else ():
                yield from _of_container(context, path.join((field_name, index)), container, claims)


def _of_container(context: Context, path: FieldPath, container: Container, claims: Mapping[str, PodResourceClaim]) -> Iterator[FieldError]:
    for number, used in enumerate((container.resources and container.resources.claims) or ()):
        devices = _devices(context, claims[used.name]) if used.request and used.name in claims else None
        if devices is not None:
            names = sorted(each.name for each in devices.requests or ())
            if used.request not in names:
                at = path.join(("resources", "claims", number, "request"))
                yield field.not_found(at, used.request, f"must be a request of claim {used.name}: {', '.join(names)}")


def _devices(context: Context, entry: PodResourceClaim) -> DeviceClaim | None:
    """Return the devices that the claim of *entry* requests; None if it is not known."""
    claim = context.lookup.get("ResourceClaim", context.namespace, entry.resource_claim_name or "")
    if isinstance(claim, ResourceClaim):
        return claim.spec.devices
    template = context.lookup.get("ResourceClaimTemplate", context.namespace, entry.resource_claim_template_name or "")
    return template.spec.spec.devices if isinstance(template, ResourceClaimTemplate) else None


_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  containers:
  - name: main
    image: train
    resources:
      claims: [{name: devices, request: gpu}]
  resourceClaims:
  - {name: devices, resourceClaimTemplateName: gpu-and-nic}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu-and-nic}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
      - {name: nic, exactly: {deviceClassName: nic.example.com}}
"""

RULE = Rule(
    id="container-claim-request",
    kinds=POD_TEMPLATES,
    about=About.TREE,
    profile=Profile.KEP,
    why="The kubelet does not start a container with an unknown request: the pod keeps its node and its devices without running.",
    source="Kubernetes 1.37.1, ResourceClaim of a container; kubelet, cm/dra",
    check=check,
    relevant_traits=traits.RESOURCE_CLAIMS,
    good=(Example(_POD),),
    bad=(Example(_POD.replace("request: gpu", "request: gpus"), at=("spec.containers[0].resources.claims[0].request",)),),
)
