"""What each item of a tree comes to: the controller's defaults, over them the user's blocks, then the callbacks in order.

KEP-6089, "Policy Resolution"; merged block by block, as Kubernetes 1.37's workloadbuilder does: a policy of the user's
replaces the default one whole, minimum included, and a list that was given empty is one that was not given.

A tree built in code may be anything, and a callback may do anything: both are told as errors at the item's place.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.workload import MAX_DEPTH
from workloadbuilder.errors import in_order
from workloadbuilder.faults import config_fault, item_fault
from workloadbuilder.item import WHOLE, Block, Callback, SchedulingConfig, WorkloadItem


class Source(enum.StrEnum):
    """Who decided about a block."""

    DEFAULT = "default"
    USER = "user"
    CALLBACK = "callback"


@dataclasses.dataclass(frozen=True, slots=True)
class Resolved:
    """An item with its final configuration.

    *sources* has an entry for each block that holds something, and for one that a callback took away.  *composite* tells
    whether the item has children, also where they could not be resolved.
    """

    item: WorkloadItem
    config: SchedulingConfig
    sources: tuple[tuple[Block, Source], ...] = ()
    children: tuple[Resolved, ...] = ()
    composite: bool = False

    def source(self, block: Block) -> Source | None:
        """Who decided about *block*; None where nobody did."""
        return next((source for each, source in self.sources if each is block), None)

    def written(self, block: Block) -> FieldPath | None:
        """Where the user wrote *block*; None where not at all."""
        return next((path for each, path in self.item.intent.paths if each is block), None)

    def place(self, block: Block) -> FieldPath:
        """Where to tell something about *block*: where the user wrote it, else at the item."""
        return self.written(block) or self.item.path

    def walk(self) -> Iterator[Resolved]:
        """The item and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclasses.dataclass(frozen=True, slots=True)
class Resolution:
    """A tree resolved as far as it could be, and why no further; in order of field path."""

    root: Resolved | None
    errors: tuple[FieldError, ...] = ()


def resolve(root: WorkloadItem | None) -> Resolution:
    """Resolve a whole tree, calling each callback once.  Never raises, whatever the tree and its callbacks are."""
    walk = _Walk()
    resolved = walk.item(root, WHOLE, 1)
    return Resolution(resolved, in_order(walk.errors))


class CallbackError(ValueError):
    """A callback raised, or its answer is no configuration."""


class _Walk:
    """One walk over a tree; every item is looked at once, so that it ends whatever the items refer to."""

    __slots__ = ("errors", "ways")

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.ways: dict[int, bool] = {}
        """The items met, by identity, each with whether it is one of those above the present one."""

    def item(self, item: WorkloadItem | None, above: FieldPath, level: int) -> Resolved | None:
        fault = item_fault(item)
        if fault or item is None:
            self._wrong(above, fault)
            return None
        if id(item) in self.ways:
            self._again(item)
            return None
        if item.children and level >= MAX_DEPTH:
            self._wrong(
                item.path,
                f"maximum template hierarchy depth is {MAX_DEPTH}: workload item {item.name!r} stands on level {level} and has children",
            )
            return None
        self.ways[id(item)] = True
        children = tuple(item.children)
        config, sources = self._config(item)
        if not _same(children, item.children):
            self._wrong(item.path, f"a callback changed the children of workload item {item.name!r}: it must leave the tree as it is")
        below = [self.item(child, item.path, level + 1) for child in children]
        self.ways[id(item)] = False
        return Resolved(item, config, sources, tuple(child for child in below if child is not None), bool(children))

    def _again(self, item: WorkloadItem) -> None:
        if self.ways[id(item)]:
            self._wrong(item.path, f"workload item {item.name!r} must not stand below itself: the children run in a circle")
        else:
            self._wrong(item.path, f"workload item {item.name!r} must stand in the tree once: it is there twice")

    def _config(self, item: WorkloadItem) -> tuple[SchedulingConfig, tuple[tuple[Block, Source], ...]]:
        for config, whose in ((item.default, "default"), (item.intent.config, "intent")):
            if fault := config_fault(config):
                self._wrong(item.path, f"the {whose} of workload item {item.name!r} is no configuration: {fault}")
                return SchedulingConfig(), ()
        config, sources = _merged(item.default, item.intent.config)
        try:
            for callback in item.callbacks:
                answer = _called(callback, item, config)
                sources.update((block, Source.CALLBACK) for block in Block if getattr(answer, block) != getattr(config, block))
                config = answer
        except CallbackError as error:
            self._wrong(item.path, str(error))
        return config, tuple((block, sources[block]) for block in Block if block in sources)

    def _wrong(self, path: FieldPath, detail: str) -> None:
        self.errors.append(field.invalid_struct(path, detail))


def _same(before: tuple[WorkloadItem, ...], after: tuple[WorkloadItem, ...]) -> bool:
    return len(before) == len(after) and all(one is other for one, other in zip(before, after, strict=True))


def _merged(default: SchedulingConfig, intent: SchedulingConfig) -> tuple[SchedulingConfig, dict[Block, Source]]:
    chosen: dict[Block, object] = {}
    sources: dict[Block, Source] = {}
    for block in Block:
        for config, source in ((intent, Source.USER), (default, Source.DEFAULT)):
            value = getattr(config, block)
            if value is not None and value != ():
                chosen[block], sources[block] = value, source
                break
    return SchedulingConfig(**chosen), sources  # type: ignore[arg-type]


def _called(callback: Callback, item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
    """The answer of a callback.

    Raises:
        CallbackError: it raised, or what it answered is no configuration.
    """
    name = getattr(callback, "__qualname__", type(callback).__name__)
    where = f"callback {name} of workload item {item.name!r}"
    try:
        answer = callback(item, config)
    except Exception as error:
        raise CallbackError(f"{where} raised {type(error).__name__}: {error}") from error
    if fault := config_fault(answer):
        raise CallbackError(f"{where} must answer with a configuration: {fault}")
    return answer
