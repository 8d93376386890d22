"""Templates of a Workload, in plain JSON, from a resolved tree.

Fields are those of Kubernetes 1.37; absent values are omitted.  The tree must be valid: ``check`` runs before.
"""

from __future__ import annotations

from kubeapi.decode import Json
from workloadbuilder import workload_owner
from workloadbuilder.resolve import Resolved
from workloadbuilder.workload_item import PolicyKind, ResourceClaim, SchedulingConfig
from workloadbuilder.workload_owner import BuildOptions

LEAVES, COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"


def workload(root: Resolved, options: BuildOptions) -> dict[str, Json]:
    """Return the Workload whose only root template is that of *root*."""
    metadata: dict[str, Json] = {"name": options.workload_name}
    if options.namespace:
        metadata["namespace"] = options.namespace
    if references := workload_owner.owner_references(options.owner):
        metadata["ownerReferences"] = references
    return {
        "apiVersion": options.api_version,
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"controllerRef": workload_owner.controller_ref(options.owner), **spec(root)},
    }


def spec(root: Resolved) -> dict[str, Json]:
    """Return the list of templates in the spec of *root*'s Workload."""
    return {COMPOSITES if root.composite else LEAVES: [template(root)]}


def template(item: Resolved) -> dict[str, Json]:
    """Return the template of an item, with those of the items below it."""
    config = item.config
    content: dict[str, Json] = {"name": item.item.name, "schedulingPolicy": _policy(config, composite=item.composite)}
    if config.topology:
        content["schedulingConstraints"] = {"topology": [{"key": key} for key in config.topology]}
    if config.resource_claims:
        content["resourceClaims"] = [_claim(claim) for claim in config.resource_claims]
    if config.disruption_mode is not None:
        content["disruptionMode"] = {config.disruption_mode.value: {}}
    if item.item.priority_class_name:
        content["priorityClassName"] = item.item.priority_class_name
    if item.item.priority is not None:
        content["priority"] = item.item.priority
    for name, composite in ((LEAVES, False), (COMPOSITES, True)):
        if children := [template(child) for child in item.children if child.composite is composite]:
            content[name] = children
    return content


def _policy(config: SchedulingConfig, *, composite: bool) -> dict[str, Json]:
    if config.policy is None or config.policy.kind is PolicyKind.BASIC:
        return {"basic": {}}
    return {"gang": {"minGroupCount" if composite else "minCount": config.policy.minimum}}


def _claim(claim: ResourceClaim) -> dict[str, Json]:
    sources = {"resourceClaimName": claim.resource_claim_name, "resourceClaimTemplateName": claim.resource_claim_template_name}
    return {"name": claim.name, **{name: value for name, value in sources.items() if value is not None}}
