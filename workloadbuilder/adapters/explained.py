"""Which block of each template came from the controller's defaults, from the user, and from a callback."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from validators.field import FieldPath
from workloadbuilder.item import Block, SchedulingConfig
from workloadbuilder.resolve import Resolved, Source

WORDS = {
    Block.POLICY: "schedulingPolicy",
    Block.TOPOLOGY: "schedulingConstraints",
    Block.DISRUPTION_MODE: "disruptionMode",
    Block.RESOURCE_CLAIMS: "resourceClaims",
}


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """One block: the field it becomes, what it says in words, who decided, and where in the object that stands."""

    field: str
    value: str
    source: Source
    path: FieldPath | None


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedTemplate:
    """One template: how many groups are made of it below each group above, on which level, and its blocks."""

    name: str
    composite: bool
    level: int
    replicas: int
    blocks: tuple[ExplainedBlock, ...]


def explain(root: Resolved, origins: Sequence[tuple[str, Block, FieldPath]]) -> tuple[ExplainedTemplate, ...]:
    """Every template of a resolved tree, parents first; *origins* tells where defaults come from that stand in the object."""
    written = {(name, block): path for name, block, path in origins}
    return tuple(_templates(root, written, 1))


def _templates(item: Resolved, written: dict[tuple[str, Block], FieldPath], level: int) -> Iterator[ExplainedTemplate]:
    blocks = []
    for block, source in item.sources:
        value = _said(item.config, block, composite=item.composite)
        path = written.get((item.item.name, block)) if source is Source.DEFAULT else item.user_path(block)
        if value:
            blocks.append(ExplainedBlock(WORDS[block], value, source, path))
    yield ExplainedTemplate(item.item.name, item.composite, level, item.item.replicas, tuple(blocks))
    for child in item.children:
        yield from _templates(child, written, level + 1)


def _said(config: SchedulingConfig, block: Block, *, composite: bool) -> str:
    """A block in words; empty where it holds nothing."""
    if block is Block.POLICY:
        policy = config.policy
        counted = "minGroupCount" if composite else "minCount"
        return "" if policy is None else policy.kind if policy.minimum is None else f"{policy.kind}, {counted} {policy.minimum}"
    if block is Block.TOPOLOGY:
        return ", ".join(config.topology or ())
    if block is Block.DISRUPTION_MODE:
        return "" if config.disruption_mode is None else config.disruption_mode.value
    return ", ".join(claim.name for claim in config.resource_claims or ())
