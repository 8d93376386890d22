"""Long explanations made short enough to read, saying what was left out."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 1024
"""Characters of a message, at most.  The API would take 32768 (metav1.Condition); nobody reads that many in ``kubectl describe``."""
_LEAST_TAIL = 40


def cut(text: str, longest: int = LONGEST) -> str:
    """*text*, or its beginning and how many characters follow; never more than *longest* (at least 80) characters."""
    if len(text) <= longest:
        return text
    kept = text[: longest - _LEAST_TAIL].rstrip()
    return f"{kept} … and {len(text) - len(kept)} more characters"


def listed(parts: Sequence[str], joint: str = "; ", longest: int = LONGEST) -> str:
    """*parts* joined, as many as fit whole (one in any case, cut if need be), and how many more there are."""
    total, shown = 0, 0
    for part in parts:
        total += len(part) + len(joint)
        if total > longest - _LEAST_TAIL:
            break
        shown += 1
    if shown == len(parts):
        return joint.join(parts)
    if not shown:
        parts, shown = [cut(parts[0], longest - _LEAST_TAIL), *parts[1:]], 1
    more = len(parts) - shown
    return joint.join(parts[:shown]) + (f"{joint}… and {more} more" if more else "")
