"""All groups of a tree: ``replicas`` groups of each item below each group of its parent, parents first."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.decode import Json
from validators import field
from validators.field import FieldError
from workloadbuilder.blueprint import Blueprint
from workloadbuilder.errors import BuildError
from workloadbuilder.resolve import Resolved

MAX_GROUPS = 100_000
"""Limit for the groups of one tree: far more than a cluster has nodes, and few enough to fit into memory."""


def groups(root: Resolved, blueprint: Blueprint) -> Iterator[dict[str, Json]]:
    """Yield the groups of *root* and its descendants depth-first, in the order of items and indices.

    Raises:
        BuildError: there would be more than ``MAX_GROUPS``.
    """
    if error := _too_many(root):
        raise BuildError([error])
    yield from _groups(root, blueprint, (), "")


def several(root: Resolved) -> frozenset[str]:
    """Return the names of the items whose groups have a number below each group of the parent."""
    return frozenset(each.item.name for each in root.walk() if each.item.numbered)


def _groups(item: Resolved, blueprint: Blueprint, above: tuple[int, ...], parent: str) -> Iterator[dict[str, Json]]:
    template, replicas = blueprint.templates[item.item.name], item.item.replicas
    for number in range(replicas):
        index = (*above, number) if item.item.numbered else above
        name = blueprint.group_name(item.item.name, index)
        yield blueprint.group(template, name, parent)
        for child in item.children:
            yield from _groups(child, blueprint, index, name)


def _too_many(root: Resolved) -> FieldError | None:
    stack, total = [(root, 1)], 0
    while stack:
        item, parents = stack.pop()
        count = parents * item.item.replicas
        total += count
        if total > MAX_GROUPS:
            detail = f"all items together must have at most {MAX_GROUPS} groups: the replicas of nested items multiply"
            return field.invalid(item.item.path, item.item.replicas, detail)
        stack.extend((child, count) for child in reversed(item.children))
    return None
