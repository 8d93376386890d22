"""Truncation of long messages, with a note of what was omitted."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 1024
"""Maximum number of characters of a message.  The API allows 32768 (metav1.Condition): too many to read in ``kubectl describe``."""
LONGEST_CAUSE = 1000
"""Maximum number of characters of one cause in a message, if its text can grow with the cluster."""
_LEAST_TAIL = 40


def cut(text: str, longest: int = LONGEST) -> str:
    """Return *text*, or its beginning and the number of characters that follow; at most *longest* (at least 80) characters."""
    if len(text) <= longest:
        return text
    kept = text[: longest - _LEAST_TAIL].rstrip()
    return f"{kept} … and {len(text) - len(kept)} more characters"


def with_note(text: str, note: str) -> str:
    """Return *text* with *note* at its end, where a long text is cut and the note is not."""
    return f"{cut(text, LONGEST - len(note) - 2)}; {note}" if text and note else text or note


def listed_within(parts: Sequence[str], joint: str = "; ", longest: int = LONGEST) -> str:
    """Return *parts* joined: as many as fit whole (at least one, cut if necessary), and the number of those left out."""
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
