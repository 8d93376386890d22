"""Validation across the items of a tree: unique names, width, gangs below gangs, one priority, and unique names of groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.workloads import MAX_PRIORITY, MAX_TEMPLATES
from validators import field
from validators.field import FieldError
from validators.rules import checks, gang_nesting, priority_range
from workloadbuilder.resolve import Resolved
from workloadbuilder.shapes import MOST
from workloadbuilder.workload_item import Block, PolicyKind

_LOWEST = -(2**31)
_LONGEST = 63
"""Longest DNS label, in bytes."""


def check_tree(root: Resolved, kubernetes: int) -> Iterator[FieldError]:
    """Yield the errors of the items as parts of one tree of Kubernetes 1.*kubernetes*."""
    first: dict[str, FieldPath] = {}
    for each in root.walk():
        yield from _name(each, first)
        yield from _width(each)
        yield from _priority(each, root, kubernetes)
        if kubernetes >= gang_nesting.RULE.since and _is_gang(each):
            yield from _basic_children(each)
        if each.item.replicas < 0:
            yield field.invalid(
                each.item.path, each.item.replicas, "must be greater than or equal to 0: it is the number of groups of this item"
            )
    yield from _same_group_names(root, first)


def name_path(item: Resolved) -> FieldPath:
    """Return the path of the field from which the item's name is derived."""
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
    """Yield an error for more than 8 leaves or 8 composites below one item."""
    if len(item.children) <= MAX_TEMPLATES:
        return
    for composite in (False, True):
        children = [child for child in item.children if child.composite is composite]
        if len(children) > MAX_TEMPLATES:
            yield field.too_many(_list_path(item, children), len(children), MAX_TEMPLATES)


def _list_path(item: Resolved, children: list[Resolved]) -> FieldPath:
    """Return the path of the list in the user's object whose entries *children* are; the item's path if there is none."""
    parts = [child.item.path.parts for child in children]
    lists = {each[:-1] for each in parts if each and isinstance(each[-1], int)}
    return FieldPath(*lists.pop()) if len(lists) == 1 and all(parts) else item.item.path


def _is_gang(item: Resolved) -> bool:
    policy = item.config.policy
    return policy is not None and policy.kind is PolicyKind.GANG


def _basic_children(item: Resolved) -> Iterator[FieldError]:
    for child in item.children:
        if not _is_gang(child) and Block.POLICY not in child.item.intent.unread:
            detail = f"must have `gang` scheduling policy when parent group has `gang` scheduling policy: the parent is {item.item.name!r}"
            yield field.invalid_struct(child.error_path(Block.POLICY), detail)


def _priority(item: Resolved, root: Resolved, kubernetes: int) -> Iterator[FieldError]:
    own, top = item.item, root.item
    limited = kubernetes <= priority_range.RULE.until
    if own.priority_class_name:
        yield from checks.messages(own.path, own.priority_class_name, content.subdomain)
    if limited and own.priority_class_name in SYSTEM_CLASSES:
        detail = f"must be a class with a value of at most {MAX_PRIORITY}: the API server refuses groups of the system's own classes"
        yield field.invalid(own.path, own.priority_class_name, detail)
    if limited and own.priority is not None and own.priority > MAX_PRIORITY:
        yield field.invalid(own.path, own.priority, f"must be less than or equal to {MAX_PRIORITY}")
    elif own.priority is not None and own.priority > MOST:
        yield field.invalid(own.path, own.priority, f"must be at most {MOST}: more does not fit into this field's type")
    elif own.priority is not None and own.priority < _LOWEST:
        yield field.invalid(own.path, own.priority, f"must be at least {_LOWEST}: less does not fit into this field's type")
    pair, expected = (own.priority_class_name, own.priority), (top.priority_class_name, top.priority)
    if pair != expected:
        yield field.invalid_struct(
            own.path,
            "all priority and priorityClassName values must be identical, detected multiple values: "
            f"{_formatted(pair)} here, {_formatted(expected)} at workload item {top.name!r}",
        )


def _formatted(pair: tuple[str, int | None]) -> str:
    name, number = pair
    return f"({name or 'no class'}, {'no number' if number is None else number})"


def _same_group_names(root: Resolved, first: dict[str, FieldPath]) -> Iterator[FieldError]:
    """Yield an error for each name that a group of another template would also have: ``workers-1``, if ``workers`` has three groups."""
    counts = dict(_counts(root, ()))
    if not any(counts.values()):
        return
    for name, path in first.items():
        parts = name.split("-") if len(name) <= _LONGEST else [name]
        for length in range(len(parts) - 1, 0, -1):
            indices = parts[length:]
            if not all(index.isascii() and index.isdigit() and str(int(index)) == index for index in indices):
                break
            other = "-".join(parts[:length])
            if other in counts and _names_meet(counts[other], counts[name], [int(index) for index in indices]):
                detail = f"one of the several groups of workload item {other!r} would have the same name as a group of {name!r}"
                yield field.duplicate(path, name, detail)


def _counts(item: Resolved, above: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each item with the replicas of its numbered ancestors and itself, from the top."""
    counts = (*above, item.item.replicas) if item.item.numbered else above
    yield item.item.name, counts
    yield from itertools.chain.from_iterable(_counts(child, counts) for child in item.children)


def _names_meet(several: tuple[int, ...], other: tuple[int, ...], indices: list[int]) -> bool:
    """Return True if a group with the counts *several* has *indices* first, and then as many more as a group with *other*."""
    return len(several) == len(other) + len(indices) and all(index < count for index, count in zip(indices, several, strict=False))
