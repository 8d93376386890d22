"""Immutable fields of an existing Workload: everything but the minimum of a gang (KEP-6012; Kubernetes 1.37).

A controller that recreates the Workload instead uses ``update.changes``.
"""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from workloadbuilder.check import path_in_block
from workloadbuilder.check_tree import name_path
from workloadbuilder.resolve import Resolved
from workloadbuilder.workload_item import Block, PolicyKind

_FIXED = "field is immutable"


def check(new: Resolved, old: Resolved | None) -> Iterator[FieldError]:
    """Yield an error for each forbidden difference from *old*, at its path in the new object.

    Items are matched by name, level by level.  If *old* is None because it could not be resolved, there are no errors.
    """
    if old is None:
        return
    if new.item.name != old.item.name:
        detail = f'old root name "{old.item.name}" does not match new root name "{new.item.name}"'
        yield field.invalid_struct(name_path(new), detail)
        return
    yield from _item(new, old)


def _item(new: Resolved, old: Resolved) -> Iterator[FieldError]:
    yield from _blocks(new, old)
    if (new.item.priority_class_name, new.item.priority) != (old.item.priority_class_name, old.item.priority):
        yield field.invalid_struct(new.item.path, f"{_FIXED}: priority and priority class must be those of the existing Workload")
    before = {child.item.name: child for child in old.children}
    for child in new.children:
        if child.item.name in before:
            yield from _item(child, before.pop(child.item.name))
        else:
            yield field.forbidden(
                name_path(child), f"item may not be added: the existing Workload has no template {child.item.name!r} here"
            )
    for name in sorted(before):
        yield field.forbidden(new.item.path, f"item may not be removed: the existing Workload has a template {name!r} here")


def _blocks(new: Resolved, old: Resolved) -> Iterator[FieldError]:
    if _kind(new) is not _kind(old):
        yield field.invalid_struct(new.error_path(Block.POLICY), "the basic/gang policy variant is immutable after creation")
    if (new.config.topology or ()) != (old.config.topology or ()):
        yield field.invalid_struct(path_in_block(new, Block.TOPOLOGY, ()), _FIXED)
    if new.config.disruption_mode is not old.config.disruption_mode:
        yield field.invalid_struct(new.error_path(Block.DISRUPTION_MODE), _FIXED)
    if (new.config.resource_claims or ()) != (old.config.resource_claims or ()):
        yield field.invalid_struct(new.error_path(Block.RESOURCE_CLAIMS), _FIXED)


def _kind(item: Resolved) -> PolicyKind:
    return PolicyKind.BASIC if item.config.policy is None else item.config.policy.kind
