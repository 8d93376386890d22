"""Survivors that are no hole in the tests: by name of the mutant, in which ``...`` stands for anything, with the reason."""

from __future__ import annotations

import re

TABLE: tuple[tuple[str, str], ...] = ()


def why(name: str) -> str:
    """Return the reason; empty if there is none."""
    return next((reason for pattern, reason in TABLE if re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), name)), "")
