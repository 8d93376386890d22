"""Problem: an input object that cannot be used, or not in full."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Input object that cannot be used, or not in full, with the consequence."""

    object: str
    """``Kind name`` or ``Kind namespace/name``."""
    message: str
