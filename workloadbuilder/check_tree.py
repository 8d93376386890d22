"""What must hold among the items of a tree: names, width, one priority, and names of groups that differ."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from validators import content, field
from validators.field import FieldError, FieldPath
from validators.model.cluster import SYSTEM_CLASSES
from validators.model.workload import MAX_PRIORITY, MAX_TEMPLATES
from validators.rules import checks
from workloadbuilder.resolve import Resolved

_LOWEST = -(2**31)
_LONGEST = 63
"""Bytes of a DNS label."""


def check_tree(root: Resolved) -> Iterator[FieldError]:
    """What is wrong with the items as parts of one tree."""
    first: dict[str, FieldPath] = {}
    for each in root.walk():
        yield from _name(each, first)
        yield from _width(each)
        yield from _priority(each, root)
        if each.item.replicas < 0:
            yield field.invalid(
                each.item.path, each.item.replicas, "must be greater than or equal to 0: so many groups are made of this item"
            )
    yield from _same_group_names(root, first)


def name_path(item: Resolved) -> FieldPath:
    """Where the user wrote what the item's name is made of."""
    return item.item.path if item.item.name_path is None else item.item.name_path


def _name(item: Resolved, first: dict[str, FieldPath]) -> Iterator[FieldError]:
    name, path = item.item.name, name_path(item)
    if not name:
        yield field.required(path, "workload item name cannot be empty")
        return
    if name in first:
        earlier = f"; already used at {first[name]}" if first[name].parts else ""
        yield field.duplicate(
            path, name, f'duplicate workload item name "{name}": template names must be unique across the Workload{earlier}'
        )
        return
    first[name] = path
    yield from checks.messages(path, name, content.label)


def _width(item: Resolved) -> Iterator[FieldError]:
    """At most 8 leaves and 8 composites below one item."""
    if len(item.children) <= MAX_TEMPLATES:
        return
    for kind in (False, True):
        listed = [child for child in item.children if child.composite is kind]
        if len(listed) > MAX_TEMPLATES:
            yield field.too_many(_list_of(item, listed), len(listed), MAX_TEMPLATES)


def _list_of(item: Resolved, children: list[Resolved]) -> FieldPath:
    """The list in the user's object that *children* are entries of, if they are of one; else the item's place."""
    parts = [child.item.path.parts for child in children]
    lists = {each[:-1] for each in parts if each and isinstance(each[-1], int)}
    return FieldPath(*lists.pop()) if len(lists) == 1 and all(parts) else item.item.path


def _priority(item: Resolved, root: Resolved) -> Iterator[FieldError]:
    mine, of_root = item.item, root.item
    if mine.priority_class_name:
        yield from checks.messages(mine.path, mine.priority_class_name, content.subdomain)
    if mine.priority_class_name in SYSTEM_CLASSES:
        detail = f"must be a class of a value of at most {MAX_PRIORITY}: the API server refuses groups of the system's own"
        yield field.invalid(mine.path, mine.priority_class_name, detail)
    if mine.priority is not None and mine.priority > MAX_PRIORITY:
        yield field.invalid(mine.path, mine.priority, f"must be less than or equal to {MAX_PRIORITY}")
    elif mine.priority is not None and mine.priority < _LOWEST:
        yield field.invalid(mine.path, mine.priority, f"must be at least {_LOWEST}: less does not fit into this field's type")
    pair, expected = (mine.priority_class_name, mine.priority), (of_root.priority_class_name, of_root.priority)
    if pair != expected:
        yield field.invalid_struct(
            mine.path,
            f"all priority and priorityClassName values must be identical, detected multiple values: {_said(pair)} here, {_said(expected)} at "
            f"workload item {of_root.name!r}",
        )


def _said(pair: tuple[str, int | None]) -> str:
    name, number = pair
    return f"({name or 'no class'}, {'no number' if number is None else number})"


def _same_group_names(root: Resolved, first: dict[str, FieldPath]) -> Iterator[FieldError]:
    """A template's own name must not be that of another's group with its place: ``workers-1`` beside three ``workers``."""
    counts = dict(_counts(root, ()))
    if not any(counts.values()):
        return
    for name, path in first.items():
        parts = name.split("-") if len(name) <= _LONGEST else [name]
        for length in range(len(parts) - 1, 0, -1):
            places = parts[length:]
            if not all(place.isascii() and place.isdigit() and str(int(place)) == place for place in places):
                break
            other = "-".join(parts[:length])
            if other in counts and _meet(counts[other], counts[name], [int(place) for place in places]):
                detail = f"a group of workload item {other!r}, of which there are several, would have the same name as one of {name!r}"
                yield field.duplicate(path, name, detail)


def _counts(item: Resolved, above: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each item with how many there are of it and of those above it, in places where there are several."""
    line = (*above, item.item.replicas) if item.item.replicas > 1 else above
    yield item.item.name, line
    yield from itertools.chain.from_iterable(_counts(child, line) for child in item.children)


def _meet(several: tuple[int, ...], other: tuple[int, ...], places: list[int]) -> bool:
    """Whether one of *several*, whose first places are *places*, has as many places left as *other* has."""
    return len(several) == len(other) + len(places) and all(place < count for place, count in zip(places, several, strict=False))
