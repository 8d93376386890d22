"""Resolution of each item's configuration: the controller's defaults, overridden by the user's blocks, then the callbacks.

Source: KEP-6089, "Policy Resolution".  Blocks are merged as in Kubernetes 1.37's workloadbuilder: the user's policy replaces
the whole default policy, including the minimum, and an empty list counts as absent.

A malformed tree and a failing callback are reported as errors at the item's path.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.workloads import MAX_DEPTH
from validators import field
from validators.field import FieldError
from workloadbuilder.errors import in_order
from workloadbuilder.type_checks import config_fault, item_fault
from workloadbuilder.workload_item import WHOLE, Block, Callback, SchedulingConfig, WorkloadItem


class Source(enum.StrEnum):
    """Origin of a block's value."""

    DEFAULT = "default"
    USER = "user"
    CALLBACK = "callback"


@dataclasses.dataclass(frozen=True, slots=True)
class Resolved:
    """Item with its final configuration.

    *sources* has an entry for each block with a value, and for each that a callback removed.  *composite* is True if the item
    has children, even if they could not be resolved.
    """

    item: WorkloadItem
    config: SchedulingConfig
    sources: tuple[tuple[Block, Source], ...] = ()
    children: tuple[Resolved, ...] = ()
    composite: bool = False

    def source(self, block: Block) -> Source | None:
        """Return the origin of *block*; None if it was never set."""
        return next((source for each, source in self.sources if each is block), None)

    def user_path(self, block: Block) -> FieldPath | None:
        """Return the path of *block* in the user's object; None if the user did not set it."""
        return next((path for each, path in self.item.intent.paths if each is block), None)

    def error_path(self, block: Block) -> FieldPath:
        """Return the path for errors about *block*: that in the user's object, else the item's."""
        return self.user_path(block) or self.item.path

    def walk(self) -> Iterator[Resolved]:
        """Yield the item and all its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclasses.dataclass(frozen=True, slots=True)
class Resolution:
    """Tree resolved as far as possible, and its errors in order of field path."""

    root: Resolved | None
    errors: tuple[FieldError, ...] = ()


def resolve(root: WorkloadItem | None) -> Resolution:
    """Resolve a whole tree, calling each callback once.  Never raises, for any tree and any callbacks."""
    walk = _Walk()
    resolved = walk.item(root, WHOLE, 1)
    return Resolution(resolved, in_order(walk.errors))


class CallbackError(ValueError):
    """A callback raised, or did not return a configuration."""


class _Walk:
    """Traversal of a tree that visits every item once, so it ends even if items refer to each other."""

    __slots__ = ("errors", "visited")

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.visited: dict[int, bool] = {}
        """Visited items by ``id()``; True for the ancestors of the current item."""

    def item(self, item: WorkloadItem | None, parent_path: FieldPath, level: int) -> Resolved | None:
        fault = item_fault(item)
        if fault or item is None:
            self._add_error(parent_path, fault)
            return None
        if id(item) in self.visited:
            self._add_repetition(item)
            return None
        if item.children and level >= MAX_DEPTH:
            self._add_error(
                item.path,
                f"maximum template hierarchy depth is {MAX_DEPTH}: workload item {item.name!r} is on level {level} and has children",
            )
            return None
        self.visited[id(item)] = True
        children = tuple(item.children)
        config, sources = self._config(item)
        if not _same(children, item.children):
            self._add_error(item.path, f"a callback changed the children of workload item {item.name!r}: it must not change the tree")
        resolved = [self.item(child, item.path, level + 1) for child in children]
        self.visited[id(item)] = False
        return Resolved(item, config, sources, tuple(child for child in resolved if child is not None), bool(children))

    def _add_repetition(self, item: WorkloadItem) -> None:
        if self.visited[id(item)]:
            self._add_error(item.path, f"workload item {item.name!r} must not be below itself: the children form a cycle")
        else:
            self._add_error(item.path, f"workload item {item.name!r} must be in the tree only once")

    def _config(self, item: WorkloadItem) -> tuple[SchedulingConfig, tuple[tuple[Block, Source], ...]]:
        for config, attribute in ((item.default, "default"), (item.intent.config, "intent")):
            if fault := config_fault(config):
                self._add_error(item.path, f"the {attribute} of workload item {item.name!r} is no configuration: {fault}")
                return SchedulingConfig(), ()
        config, sources = _merged(item.default, item.intent.config)
        try:
            for callback in item.callbacks:
                result = _call(callback, item, config)
                sources.update((block, Source.CALLBACK) for block in Block if getattr(result, block) != getattr(config, block))
                config = result
        except CallbackError as error:
            self._add_error(item.path, str(error))
        return config, tuple((block, sources[block]) for block in Block if block in sources)

    def _add_error(self, path: FieldPath, detail: str) -> None:
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


def _call(callback: Callback, item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
    """Return the result of a callback.

    Raises:
        CallbackError: it raised, or did not return a configuration.
    """
    name = getattr(callback, "__qualname__", type(callback).__name__)
    subject = f"callback {name} of workload item {item.name!r}"
    try:
        result = callback(item, config)
    except Exception as error:
        raise CallbackError(f"{subject} raised {type(error).__name__}: {error}") from error
    if fault := config_fault(result):
        raise CallbackError(f"{subject} must return a configuration: {fault}")
    return result
