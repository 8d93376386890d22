"""Sources of the blocks of each template: the controller's defaults, the user, or a callback."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from kubeapi.field_path import FieldPath
from workloadbuilder.resolve import Resolved, Source
from workloadbuilder.workload_item import Block, SchedulingConfig

WORDS = {
    Block.POLICY: "schedulingPolicy",
    Block.TOPOLOGY: "schedulingConstraints",
    Block.DISRUPTION_MODE: "disruptionMode",
    Block.RESOURCE_CLAIMS: "resourceClaims",
}


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """One block: its field in the template, its value as text, its source, and its path in the user's object."""

    field: str
    value: str
    source: Source
    path: FieldPath | None


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedTemplate:
    """One template: its level, its blocks, and the number of its groups below each group of its parent (*replicas*)."""

    name: str
    composite: bool
    level: int
    replicas: int
    blocks: tuple[ExplainedBlock, ...]


def explain(root: Resolved, origins: Sequence[tuple[str, Block, FieldPath]]) -> tuple[ExplainedTemplate, ...]:
    """Explain every template of a resolved tree, parents first; *origins* has the paths of defaults in the object."""
    paths = {(name, block): path for name, block, path in origins}
    return tuple(_templates(root, paths, 1))


def _templates(item: Resolved, paths: dict[tuple[str, Block], FieldPath], level: int) -> Iterator[ExplainedTemplate]:
    blocks = []
    for block, source in item.sources:
        value = _formatted(item.config, block, composite=item.composite)
        path = paths.get((item.item.name, block)) if source is Source.DEFAULT else item.user_path(block)
        if value:
            blocks.append(ExplainedBlock(WORDS[block], value, source, path))
    yield ExplainedTemplate(item.item.name, item.composite, level, item.item.replicas, tuple(blocks))
    for child in item.children:
        yield from _templates(child, paths, level + 1)


def _formatted(config: SchedulingConfig, block: Block, *, composite: bool) -> str:
    """Return the value of a block as text; empty if it has none."""
    if block is Block.POLICY:
        policy = config.policy
        minimum_field = "minGroupCount" if composite else "minCount"
        return "" if policy is None else policy.kind if policy.minimum is None else f"{policy.kind}, {minimum_field} {policy.minimum}"
    if block is Block.TOPOLOGY:
        return ", ".join(config.topology or ())
    if block is Block.DISRUPTION_MODE:
        return "" if config.disruption_mode is None else config.disruption_mode.value
    return ", ".join(claim.name for claim in config.resource_claims or ())
