"""Problem: an input object that cannot be used, or not in full."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """An input that could not be used, or not wholly, and what became of it."""

    object: str
    """``Kind name`` or ``Kind namespace/name``."""
    message: str
