"""ValidatingAdmissionPolicies with their bindings that refuse, and the requests on which pods, groups, nodes or Muster depend."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from muster.doctor.manifests import Manifest, mapping_at, mappings_at, text_at, texts_at
from muster.doctor.refusals import dependencies
from muster.doctor.requests import Matched, Place, Request, condition_holds, matched
from muster.doctor.world import Item, World

_EVERY_RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}


@dataclasses.dataclass(frozen=True, slots=True)
class Bound:
    """Binding with the action Deny, its policy, and the requests that both surely match, by place."""

    binding: Item
    policy: Item
    requests: Mapping[Place, tuple[Request, ...]]

    def refused(self) -> dict[Place, tuple[Request, ...]]:
        """Return the requests for which a validation is false, whatever the object."""
        expressions = [text_at(each, "expression") for each in mappings_at(self.policy.content, "spec", "validations")]
        found = {
            place: tuple(each for each in requests if any(condition_holds(text, each, place) is False for text in expressions))
            for place, requests in self.requests.items()
        }
        return {place: requests for place, requests in found.items() if requests}


def bound_policies(world: World) -> Iterator[Bound]:
    """Yield the bindings that refuse and match such requests."""
    for binding in world.of_kind("ValidatingAdmissionPolicyBinding"):
        policy = world.named("ValidatingAdmissionPolicy", "", text_at(binding.content, "spec", "policyName"))
        if policy is None or "Deny" not in texts_at(binding.content, "spec", "validationActions"):
            continue
        criteria = [mapping_at(policy.content, "spec", "matchConstraints"), mapping_at(binding.content, "spec", "matchResources")]
        conditions = mappings_at(policy.content, "spec", "matchConditions")
        requests = {
            place: tuple(each for each in listed if _matches([*criteria, {"matchConditions": conditions}], each, place))
            for place, listed in dependencies(world)
        }
        if any(requests.values()):
            yield Bound(binding, policy, requests)


def _matches(criteria: list[Manifest], request: Request, place: Place) -> bool:
    return all(_meets(each, request, place) for each in criteria)


def _meets(criterion: Manifest, request: Request, place: Place) -> bool:
    """Return whether a request surely meets the rules, selectors and conditions; without rules, each request meets them."""
    # A rule for some names matches none of the requests surely.
    rules = [each for each in mappings_at(criterion, "resourceRules") if not each.get("resourceNames")]
    given = {**criterion, "rules": rules if "resourceRules" in criterion else [_EVERY_RULE]}
    excluded = {"rules": mappings_at(criterion, "excludeResourceRules")}
    return matched(given, request, place, {}) is Matched.YES and matched(excluded, request, place, {}) is Matched.NO
