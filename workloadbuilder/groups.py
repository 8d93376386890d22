"""All groups of a tree: of each item as many as it says, below each group of its parent; parents first."""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model.decode import Json
from workloadbuilder.blueprint import Blueprint
from workloadbuilder.errors import BuildError
from workloadbuilder.resolve import Resolved

MAX_GROUPS = 100_000
"""Groups that are made of one tree at most: far more than a cluster has nodes, and few enough for any memory."""


def groups(root: Resolved, blueprint: Blueprint) -> Iterator[dict[str, Json]]:
    """The groups of *root* and of all below it: a group, then those below it, in the order of items and of places.

    Raises:
        BuildError: there would be more than ``MAX_GROUPS``.
    """
    if error := _too_many(root):
        raise BuildError([error])
    yield from _groups(root, blueprint, (), "")


def several(root: Resolved) -> frozenset[str]:
    """The items of which there is more than one group below each group of the parent."""
    return frozenset(each.item.name for each in root.walk() if each.item.replicas > 1)


def _groups(item: Resolved, blueprint: Blueprint, above: tuple[int, ...], parent: str) -> Iterator[dict[str, Json]]:
    found, replicas = blueprint.templates[item.item.name], item.item.replicas
    for place in range(replicas):
        index = (*above, place) if replicas > 1 else above
        name = blueprint.group_name(item.item.name, index)
        yield blueprint.group(found, name, parent)
        for child in item.children:
            yield from _groups(child, blueprint, index, name)


def _too_many(root: Resolved) -> FieldError | None:
    stack, total = [(root, 1)], 0
    while stack:
        item, above = stack.pop()
        here = above * item.item.replicas
        total += here
        if total > MAX_GROUPS:
            detail = f"must make at most {MAX_GROUPS} groups with all items together: replicas multiply downwards"
            return field.invalid(item.item.path, item.item.replicas, detail)
        stack.extend((child, here) for child in reversed(item.children))
    return None
