"""Differences between Muster and the API server that the source of Kubernetes explains, by their signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Explained(NamedTuple):
    """A signature, why the sides differ, and the file and function of Kubernetes 1.37.1."""

    kind: str
    request: str
    path: str
    muster: str
    server: str
    why: str
    source: str


TABLE: tuple[Explained, ...] = ()


def explains(signature: Sequence[str], minor: int) -> bool:
    """Return whether the table has the signature."""
    return any(each[:5] == tuple(signature) for each in TABLE)
