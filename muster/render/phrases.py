"""Short forms of lists and long texts of a simulation.

Text in, text out.  Text from manifests is made printable here.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from validators.reports.counts import counted
from validators.reports.escape import printable

WIDTH = 100
"""Width of lines in columns unless a terminal has another one; a longer word is not broken."""
LEAST = 40
"""Minimum width of a list in columns."""
_DIGITS = 18
SHOWN = 3
"""Number of pods named for one reason."""


def natural(text: str) -> list[tuple[str, int]]:
    """Return a sort key by which node-2 comes before node-10."""
    return [(words, int(digits or 0)) for words, digits in re.findall(r"([^0-9]*)([0-9]{0,18})", text)]


def fitting(parts: Sequence[str], columns: int, sizes: Sequence[int] | None = None) -> str:
    """Return *parts* joined by commas, as many as fit into *columns* (at least one), and the number of others.

    *sizes* are the numbers of items of each part, if not one.
    """
    text = ", ".join(parts)
    if len(text) <= columns:
        return text
    sizes = sizes or [1] * len(parts)
    columns -= len(f" … and {sum(sizes):,} more")
    shown, taken = 1, len(parts[0])
    while shown < len(parts) and taken + 2 + len(parts[shown]) <= columns:
        taken += 2 + len(parts[shown])
        shown += 1
    more = sum(sizes[shown:])
    return ", ".join(parts[:shown]) + (f" … and {more:,} more" if more else "")


def nodes(counts: Mapping[str, int], columns: int) -> str:
    """Return nodes, each with its number of pods if more than one.

    If they do not fit: the number of nodes, and consecutive numbers as ``node-1 to node-40``.
    """
    ordered = sorted(counts, key=natural)
    text = ", ".join(_times(node, counts[node]) for node in ordered)
    if len(text) <= columns:
        return text
    head = f"{counted(len(ordered), 'node')}: "
    runs = [*_runs(ordered, counts)]
    return head + fitting([text for text, _ in runs], columns - len(head), [size for _, size in runs])


def _runs(ordered: Sequence[str], counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield runs of consecutive nodes with equal numbers of pods, each with its length."""
    start = 0
    for end in range(1, len(ordered) + 1):
        last = ordered[end - 1]
        if end < len(ordered) and counts[ordered[end]] == counts[last] and _follows(last, ordered[end]):
            continue
        name = _times(last, counts[last])
        yield (name if end - start == 1 else f"{printable(ordered[start])} to {name}"), end - start
        start = end


def _follows(node: str, other: str) -> bool:
    """Return whether *other* is *node* with the next number at its end."""
    head, number = _numbered(node)
    after, next_number = _numbered(other)
    return bool(number and next_number) and head == after and int(next_number) == int(number) + 1


def _numbered(node: str) -> tuple[str, str]:
    head = node.rstrip("0123456789")
    return head, node[len(head) :][:_DIGITS]


def pods(keys: Iterable[str], *, every: bool) -> str:
    """Return ``train-0, train-1, train-2 and 5 more``: names without their namespace."""
    names = sorted((printable(bare(key)) for key in keys), key=natural)
    if every or len(names) <= SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN:,} more"


def bare(key: str) -> str:
    """Return the name of ``namespace/name``."""
    return key.rpartition("/")[2]


def per_node(assigned: Mapping[str, str]) -> Counter[str]:
    """Return the number of pods of each node."""
    return Counter(assigned.values())


def folded(text: str, lead: str, hang: str = "  ", *, columns: int = WIDTH) -> list[str]:
    """Return *text* as folded lines, each after *lead*, further lines also after *hang*; words are not broken."""
    return textwrap.wrap(
        printable(text), columns, initial_indent=lead, subsequent_indent=lead + hang, break_long_words=False, break_on_hyphens=False
    )


def first_line(text: str, lead: str, columns: int) -> str:
    """Return *text* after *lead* as one line; its end is left out where it does not fit, and no word is broken."""
    first, *rest = folded(text, lead, columns=columns - 2)
    return f"{first} …" if rest and len(f"{lead}{text}") > columns else f"{lead}{printable(text)}"


def _times(node: str, count: int) -> str:
    return printable(node) if count == 1 else f"{printable(node)} ×{count:,}"  # noqa: RUF001 - a multiplication sign
