"""Truncation of long messages, with a note of what was omitted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kubeapi.base_structs import Record

LONGEST = 1024
"""Maximum number of characters of a message.  The API allows 32768 (metav1.Condition): too many to read in ``kubectl describe``."""
LONGEST_CAUSE = 1000
"""Maximum number of characters of one cause in a message, if its text can grow with the cluster."""
_LEAST_TAIL = 40


class Enumeration(Record, frozen=True):
    """Message that lists values, each with its text: as many as fit whole into *longest* characters after *lead*."""

    lead: str
    parts: tuple[tuple[Hashable, str], ...]
    joint: str = "; "
    longest: int = LONGEST

    @property
    def text(self) -> str:
        """Return the message."""
        return f"{self.lead}{listed_within([text for _, text in self.parts], self.joint, self.longest)}"

    @property
    def values(self) -> tuple[Hashable, ...]:
        """Return all values."""
        return tuple(value for value, _ in self.parts)

    @property
    def whole(self) -> tuple[Hashable, ...]:
        """Return the values that the message states in full."""
        number = whole_within([text for _, text in self.parts], self.joint, self.longest)
        return self.values[:number]


def cut(text: str, longest: int = LONGEST) -> str:
    """Return *text*, or its beginning and the number of characters that follow; at most *longest* (at least 80) characters."""
    if len(text) <= longest:
        return text
    kept = text[: longest - _LEAST_TAIL].rstrip()
    return f"{kept} … and {len(text) - len(kept)} more characters"


def with_note(text: str, note: str) -> str:
    """Return *text* with *note* at its end, where a long text is cut and the note is not."""
    return f"{cut(text, LONGEST - len(note) - 2)}; {note}" if text and note else text or note


def whole_within(parts: Sequence[str], joint: str = "; ", longest: int = LONGEST) -> int:
    """Return how many of *parts* fit whole into *longest* characters, with the note about the others."""
    total = 0
    for shown, part in enumerate(parts):
        total += len(part) + len(joint)
        if total > longest - _LEAST_TAIL:
            return shown
    return len(parts)


def listed_within(parts: Sequence[str], joint: str = "; ", longest: int = LONGEST) -> str:
    """Return *parts* joined: as many as fit whole (at least one, cut if necessary), and the number of those left out."""
    shown = whole_within(parts, joint, longest)
    if shown == len(parts):
        return joint.join(parts)
    if not shown:
        parts, shown = [cut(parts[0], longest - _LEAST_TAIL), *parts[1:]], 1
    more = len(parts) - shown
    return joint.join(parts[:shown]) + (f"{joint}… and {more} more" if more else "")
