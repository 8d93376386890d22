"""Parts of parsed objects, which can lack them or have something else in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeapi.decode import section
from kubeapi.gathered import GatheredObjects, Unusable

Content = dict[str, Any]
"""Parsed object, or a part of one."""


def part(content: Any, name: str) -> Any:
    """Return a part of an object; None if it is absent, or if *content* is something else."""
    return content.get(name) if isinstance(content, Mapping) else None


def items(content: Any, name: str) -> list[Content]:
    """Return the objects of a list; empty if it is absent or something else."""
    listed = part(content, name)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def parsed(gathered: GatheredObjects) -> Content | None:
    """Return an object; None if it cannot be read, which its reader reports."""
    try:
        return gathered.content()
    except Unusable:
        return None


def namespace_of(content: Mapping[str, Any]) -> str:
    """Return the namespace of an object, with its default."""
    return str(section(content, "metadata").get("namespace") or "default")


def full_name(content: Content) -> tuple[str, str]:
    """Return the namespace of an object, with its default, and its name."""
    return namespace_of(content), str(section(content, "metadata").get("name"))
