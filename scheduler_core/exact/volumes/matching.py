"""Claims matched with volumes: a maximum flow from claims through sets of volumes to volumes.

Volumes are the bits of an integer.  Volumes that are in the same sets are interchangeable, so the flow counts them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from scheduler_core.exact.step_budget import StepBudget


class Item(Record, frozen=True):
    """A number of claims, and sets of volumes, each with the number of these claims that can take one of the set."""

    count: int
    options: tuple[tuple[int, int], ...]


class Matching:
    """Volumes for items, one item after the other; a later item can change which volumes the earlier ones have."""

    def __init__(self, items: Sequence[Item], budget: StepBudget | None = None) -> None:
        self._budget = budget
        self._parts = parts(mask for item in items for mask, _ in item.options)
        self._spare = [part.bit_count() for part in self._parts]
        self._options = [
            [(number, [at for at, part in enumerate(self._parts) if part & mask]) for number, (mask, _) in enumerate(item.options)]
            for item in items
        ]
        self._left = [[limit for _, limit in item.options] for item in items]
        self._users: list[dict[tuple[int, int], int]] = [{} for _ in self._parts]

    def add(self, item: int, count: int = 1) -> bool:
        """Match *count* claims of the item with the index *item*; return False if that is impossible."""
        return all(self._augment(item, set()) for _ in range(count))

    def volumes(self) -> Iterator[tuple[int, int]]:
        """Yield the index of an item and a volume for each matched claim."""
        for part, users in zip(self._parts, self._users, strict=True):
            bits = volumes_in(part)
            for (item, _), count in users.items():
                for _ in range(count):
                    yield item, next(bits)

    def _augment(self, item: int, seen: set[int]) -> bool:
        """Match one more claim of *item*; parts in *seen* are not tried again."""
        if self._budget is not None:
            self._budget.step()
        for option, reached in self._options[item]:
            if not self._left[item][option]:
                continue
            for at in reached:
                if at in seen:
                    continue
                seen.add(at)
                if self._spare[at]:
                    self._spare[at] -= 1
                    self._use(at, item, option, 1)
                    return True
                for other in [user for user, count in self._users[at].items() if count]:
                    self._use(at, *other, -1)
                    self._use(at, item, option, 1)
                    if self._augment(other[0], seen):
                        return True
                    self._use(at, item, option, -1)
                    self._use(at, *other, 1)
        return False

    def _use(self, at: int, item: int, option: int, amount: int) -> None:
        users = self._users[at]
        users[item, option] = users.get((item, option), 0) + amount
        self._left[item][option] -= amount


def suffice(items: Sequence[Item], budget: StepBudget) -> bool:
    """Return whether all claims of *items* can have different volumes.

    Raises:
        StepsSpentError: the budget is spent before the answer is known.

    """
    items = [item for item in items if item.count]
    if any(sum(limit for mask, limit in item.options if mask) < item.count for item in items):
        return False
    matching = Matching(items, budget)
    return all(matching.add(number, item.count) for number, item in enumerate(items))


def parts(masks: Iterable[int]) -> list[int]:
    """Return the coarsest partition of the volumes in *masks* such that each of *masks* is a union of parts."""
    found: list[int] = []
    for mask in dict.fromkeys(masks):
        rest = mask
        split = []
        for part in found:
            split += [each for each in (part & mask, part & ~mask) if each]
            rest &= ~part
        found = [*split, rest] if rest else split
    return found


def volumes_in(mask: int) -> Iterator[int]:
    """Yield the volumes of *mask*, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
