"""Validation of the blocks of a resolved tree; all errors at once, with paths in the user's object.

The messages are those of Kubernetes 1.37's workloadbuilder if it has the same rule.  Some checks are stricter, as KEP-6089 and
KEP-6012 require: nested disruption modes, depth and width, and mode All without any policy, which means Basic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath, Part
from kubeapi.pods import PodResourceClaim
from kubeapi.workloads import MAX_TOPOLOGY
from validators import field
from validators.field import FieldError
from validators.rules import checks
from workloadbuilder.resolve import Resolved, Source
from workloadbuilder.shapes import MOST
from workloadbuilder.workload_item import Block, DisruptionMode, PolicyKind
from workloadbuilder.workload_owner import BuildOptions

_BLOCK_WORDS = {
    Block.POLICY: "policy",
    Block.TOPOLOGY: "constraints",
    Block.DISRUPTION_MODE: "disruptionMode",
    Block.RESOURCE_CLAIMS: "resourceClaims",
}


def check_blocks(root: Resolved, options: BuildOptions | None, *, strict: bool) -> Iterator[FieldError]:
    """Yield the errors in the blocks of each item.

    Without *options*, any policy and mode is allowed.  If *strict*, consequences of blocks that could not be read are errors too.
    """
    stack: list[tuple[Resolved, Resolved | None]] = [(root, None)]
    while stack:
        item, parent = stack.pop()
        unread = () if strict else item.item.intent.unread
        yield from _level(item)
        if options is not None:
            yield from _allowed(item, options)
        yield from _minimum(item, unread)
        yield from _topology(item)
        yield from _claims(item)
        yield from _modes(item, parent, unread)
        stack.extend((child, item) for child in item.children)


def path_in_block(item: Resolved, block: Block, parts: Iterable[Part]) -> FieldPath:
    """Return the path of *parts* inside the user's *block*; the item's path if the user did not set the block."""
    path = item.user_path(block)
    return item.item.path if path is None else path.join(parts)


def count_path(item: Resolved) -> FieldPath:
    """Return the path of the minimum of the item's gang."""
    return path_in_block(item, Block.POLICY, ("gang", "minGroupCount" if item.composite else "minCount"))


def _level(item: Resolved) -> Iterator[FieldError]:
    """Yield an error for each block of the other level."""
    name, intent = item.item.name, item.item.intent
    if intent.composite is not None and intent.composite is not item.composite:
        level, other = ("composite", "leaf") if item.composite else ("leaf", "composite")
        for block, path in intent.paths:
            yield field.invalid_struct(path, f'{level} workload item "{name}" sets {other} building block: {_BLOCK_WORDS[block]}')
    elif item.composite and item.config.resource_claims:
        yield field.invalid_struct(
            item.error_path(Block.RESOURCE_CLAIMS), f'composite workload item "{name}" sets leaf building block: resourceClaims'
        )


def _allowed(item: Resolved, options: BuildOptions) -> Iterator[FieldError]:
    policy, mode = item.config.policy, item.config.disruption_mode
    if policy is not None and policy.kind not in options.allowed_policies:
        yield field.forbidden(item.error_path(Block.POLICY), f"{policy.kind} scheduling policy is not supported by this controller")
    if mode is not None and mode not in options.allowed_disruption_modes:
        yield field.forbidden(item.error_path(Block.DISRUPTION_MODE), f"the disruptionMode `{mode}` is not supported by this controller")


def _minimum(item: Resolved, unread: tuple[Block, ...]) -> Iterator[FieldError]:
    policy = item.config.policy
    if policy is None or policy.kind is not PolicyKind.GANG:
        return
    minimum = policy.minimum
    if minimum is None:
        if Block.POLICY not in unread:
            kind, name = ("composite gang", "minGroupCount") if item.composite else ("gang", "minCount")
            yield field.required(count_path(item), f"{kind} scheduling requires {name} to be set after resolution")
    elif minimum < 1:
        yield field.invalid(count_path(item), minimum, "must be greater than or equal to 1")
    elif minimum > MOST:
        yield field.invalid(count_path(item), minimum, f"must be at most {MOST}: more does not fit into this field's type")


def _topology(item: Resolved) -> Iterator[FieldError]:
    keys = item.config.topology or ()
    if len(keys) > MAX_TOPOLOGY:
        yield field.too_many(path_in_block(item, Block.TOPOLOGY, ("topology",)), len(keys), MAX_TOPOLOGY)
        return
    for index, key in enumerate(keys):
        path = path_in_block(item, Block.TOPOLOGY, ("topology", index, item.item.intent.topology_field))
        if not key:
            yield field.required(path, "a topology constraint names a node label")
        else:
            yield from checks.messages(path, key, content.label_key)


def _claims(item: Resolved) -> Iterator[FieldError]:
    claims = item.config.resource_claims
    if not claims or item.composite:
        return
    listed = [PodResourceClaim(each.name, each.resource_claim_name, each.resource_claim_template_name) for each in claims]
    user_path = item.user_path(Block.RESOURCE_CLAIMS)
    path = FieldPath() if user_path is None else user_path
    for error in (*checks.claims(path, listed), *checks.empty_claim_names(path, listed)):
        yield error if user_path is not None else dataclasses.replace(error, path=item.item.path)


def _modes(item: Resolved, parent: Resolved | None, unread: tuple[Block, ...]) -> Iterator[FieldError]:
    policy, mode = item.config.policy, item.config.disruption_mode
    if mode is DisruptionMode.ALL:
        if Block.POLICY not in unread and (policy is None or policy.kind is PolicyKind.BASIC):
            yield field.invalid(_conflict_path(item), "all", "the disruptionMode `all` is not supported with the Basic scheduling policy")
    elif parent is not None and parent.config.disruption_mode is DisruptionMode.ALL and Block.DISRUPTION_MODE not in unread:
        yield field.invalid(
            item.error_path(Block.DISRUPTION_MODE),
            "single",
            f"must be `all`, as the mode of its parent {parent.item.name!r} is (a template without a mode counts as `single`)",
        )


def _conflict_path(item: Resolved) -> FieldPath:
    """Return the path for a conflict of mode and policy: the block that the user set, the mode if both."""
    if item.source(Block.DISRUPTION_MODE) is not Source.USER and item.source(Block.POLICY) is Source.USER:
        return item.error_path(Block.POLICY)
    return item.error_path(Block.DISRUPTION_MODE)
