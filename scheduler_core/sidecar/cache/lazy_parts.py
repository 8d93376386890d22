"""Parts of a snapshot that are put together only where somebody looks at them: most cycles look at their own roots alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, overload

from scheduler_core.sidecar.cache.group_cache import GroupCache, Key

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence that is made when it is first looked at."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make
        self._made: Sequence[T] | None = None

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._all()[index]

    def _all(self) -> Sequence[T]:
        if self._made is None:
            self._made = self._make()
        return self._made


class LivePriorities(Mapping[Key, int]):
    """The priority of each group, worked out when it is asked for."""

    def __init__(self, book: GroupCache) -> None:
        self._book = book

    def __getitem__(self, key: Key) -> int:
        live = self._book.groups[key]
        self._book.completed(live)
        return live.priority

    def __iter__(self) -> Iterator[Key]:
        return iter(self._book.groups)

    def __len__(self) -> int:
        return len(self._book.groups)
