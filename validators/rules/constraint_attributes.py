"""A constraint of a claim names an attribute of devices with its domain."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.resource_claims import MAX_IN_CLAIM
from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.field import FieldError
from validators.rules import checks
from validators.rules.base import CLAIMS, Context, Example, Rule

_LONGEST_DOMAIN = 63
_ONE_SLASH = Since(38, "a name with several slashes, which no attribute has, is refused")
_ONE_OF = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
"""Text of the API server, also if no field is set."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at constraints without an attribute, and at names of attributes."""
    path, devices = context.device_claim
    constraints = devices.constraints or ()
    for index, each in enumerate(constraints if len(constraints) <= MAX_IN_CLAIM else ()):
        at = path.join(("constraints", index))
        for name, attribute in (("matchAttribute", each.match_attribute), ("distinctAttribute", each.distinct_attribute)):
            if attribute is not None:
                yield from _qualified_name(at / name, attribute, one_slash=context.settings.minor >= _ONE_SLASH)
        if each.match_attribute is None and each.distinct_attribute is None:
            yield field.required(at, _ONE_OF)


def _qualified_name(path: FieldPath, attribute: str, *, one_slash: bool) -> Iterator[FieldError]:
    """Yield the errors of ``domain/name``; unless *one_slash*, a text with several slashes has none."""
    domain, *names = attribute.split("/")
    if not names:
        yield from checks.identifier(path, attribute)
        yield field.invalid(path, attribute, "a fully qualified name must be a domain and a name separated by a slash")
    elif len(names) == 1:
        if len(domain.encode()) > _LONGEST_DOMAIN:
            yield field.too_long(path, _LONGEST_DOMAIN)
        found = [f"prefix: {each}" for each in content.subdomain(domain, unit="characters")] if domain else ["prefix must not be empty"]
        for each in found:
            yield field.invalid(path, domain, each)
        yield from checks.identifier(path, names[0]) if names[0] else [field.invalid(path, "", "name must not be empty")]
    elif one_slash:
        yield field.invalid(path, attribute, "must not contain more than one slash")


_CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus-of-one-domain}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com, count: 2}}
    constraints:
    - matchAttribute: gpu.example.com/domain
"""

RULE = Rule(
    id="constraint-attributes",
    kinds=CLAIMS,
    why="The API server refuses an attribute without a domain, also if it is one of the domain of the driver.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of ResourceClaim",
    changes=(_ONE_SLASH,),
    check=check,
    good=(Example(_CLAIM),),
    bad=(
        Example(_CLAIM.replace("gpu.example.com/domain", "domain"), at=("spec.devices.constraints[0].matchAttribute",)),
        Example(_CLAIM.replace("matchAttribute: gpu.example.com/domain", "requests: [gpu]"), at=("spec.devices.constraints[0]",)),
    ),
)
