"""Type checks of the items and configurations that a controller's code creates.

A type-checked program does not need them; any other program gets a message instead of a traceback.
"""

from __future__ import annotations

from kubeapi.field_path import FieldPath
from workloadbuilder.workload_item import (
    DisruptionMode,
    PolicyKind,
    ResourceClaim,
    SchedulingConfig,
    SchedulingPolicy,
    UserIntent,
    WorkloadItem,
)


def item_fault(item: object) -> str:
    """Return the reason why *item* is not a WorkloadItem with fields of the right types; empty if it is one."""
    if not isinstance(item, WorkloadItem):
        return "workload item cannot be nil" if item is None else f"must be a WorkloadItem, not a {type(item).__name__}"
    parts: tuple[tuple[str, object, type | tuple[type, ...]], ...] = (
        ("name", item.name, str),
        ("path", item.path, FieldPath),
        ("name_path", item.name_path, (FieldPath, type(None))),
        ("intent", item.intent, UserIntent),
        ("callbacks", item.callbacks, (tuple, list)),
        ("children", item.children, (tuple, list)),
        ("replicas", item.replicas, int),
        ("priority_class_name", item.priority_class_name, str),
        ("priority", item.priority, (int, type(None))),
    )
    for name, value, kind in parts:
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"{name} of workload item {item.name!r} must not be a {type(value).__name__}"
    paths: tuple[object, ...] = tuple(path for _, path in item.intent.paths)
    return "" if _tuple_of(paths, FieldPath) else f"the paths in the intent of workload item {item.name!r} must be FieldPaths"


def config_fault(config: object) -> str:
    """Return the reason why *config* is not a SchedulingConfig with fields of the right types; empty if it is one."""
    if not isinstance(config, SchedulingConfig):
        return f"it must be a SchedulingConfig, not {'None' if config is None else f'a {type(config).__name__}'}"
    claims: object = config.resource_claims
    checks = (
        (not isinstance(config.disruption_mode, (DisruptionMode, type(None))), "disruption_mode must be a DisruptionMode or None"),
        (config.topology is not None and not _tuple_of(config.topology, str), "topology must be a tuple of node label keys or None"),
        (claims is not None and not _tuple_of(claims, ResourceClaim), "resource_claims must be a tuple of ResourceClaim or None"),
    )
    if fault := _policy_fault(config.policy) or next((text for failed, text in checks if failed), ""):
        return fault
    names = ((each.name, each.resource_claim_name or "", each.resource_claim_template_name or "") for each in config.resource_claims or ())
    return "" if all(_tuple_of(each, str) for each in names) else "the names of a ResourceClaim must be strings"


def _policy_fault(policy: object) -> str:
    if policy is None:
        return ""
    if not isinstance(policy, SchedulingPolicy) or not isinstance(policy.kind, PolicyKind):
        return "policy must be a SchedulingPolicy of a PolicyKind or None"
    minimum: object = policy.minimum
    if minimum is not None and (isinstance(minimum, bool) or not isinstance(minimum, int)):
        return f"the minimum of a policy must be a whole number or None, not {minimum!r}"
    return "a basic policy has no minimum" if policy.kind is PolicyKind.BASIC and minimum is not None else ""


def _tuple_of(value: object, kind: type) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, kind) for each in value)
