"""A resolved tree as the templates of a Workload, in plain JSON.

Field names and shapes as Kubernetes 1.37 has them; what is absent is left out.  Nothing is judged here: ``check`` has
found the tree sound before.
"""

from __future__ import annotations

from validators.model.decode import Json
from validators.versions.table import SCHEDULING
from workloadbuilder import identity
from workloadbuilder.identity import BuildOptions
from workloadbuilder.item import PolicyKind, ResourceClaim, SchedulingConfig
from workloadbuilder.resolve import Resolved

LEAVES, COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"


def workload(root: Resolved, options: BuildOptions) -> dict[str, Json]:
    """The Workload whose one root template is that of *root*."""
    metadata: dict[str, Json] = {"name": options.workload_name}
    if options.namespace:
        metadata["namespace"] = options.namespace
    if references := identity.owner_references(options.owner):
        metadata["ownerReferences"] = references
    return {
        "apiVersion": f"{SCHEDULING}/{options.version}",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"controllerRef": identity.controller_ref(options.owner), **spec(root)},
    }


def spec(root: Resolved) -> dict[str, Json]:
    """The one list of templates that a Workload of *root* has."""
    return {COMPOSITES if root.composite else LEAVES: [template(root)]}


def template(item: Resolved) -> dict[str, Json]:
    """The template of an item, with those of the items below it."""
    config = item.config
    made: dict[str, Json] = {"name": item.item.name, "schedulingPolicy": _policy(config, composite=item.composite)}
    if config.topology:
        made["schedulingConstraints"] = {"topology": [{"key": key} for key in config.topology]}
    if config.resource_claims:
        made["resourceClaims"] = [_claim(claim) for claim in config.resource_claims]
    if config.disruption_mode is not None:
        made["disruptionMode"] = {config.disruption_mode.value: {}}
    if item.item.priority_class_name:
        made["priorityClassName"] = item.item.priority_class_name
    if item.item.priority is not None:
        made["priority"] = item.item.priority
    for name, below in ((LEAVES, False), (COMPOSITES, True)):
        if children := [template(child) for child in item.children if child.composite is below]:
            made[name] = children
    return made


def _policy(config: SchedulingConfig, *, composite: bool) -> dict[str, Json]:
    if config.policy is None or config.policy.kind is PolicyKind.BASIC:
        return {"basic": {}}
    return {"gang": {"minGroupCount" if composite else "minCount": config.policy.minimum}}


def _claim(claim: ResourceClaim) -> dict[str, Json]:
    sources = {"resourceClaimName": claim.resource_claim_name, "resourceClaimTemplateName": claim.resource_claim_template_name}
    return {"name": claim.name, **{name: value for name, value in sources.items() if value is not None}}
