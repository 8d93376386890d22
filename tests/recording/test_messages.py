"""The table of reworded messages: each new text is in the file that the row names."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("messages.tsv")
COMPOSED = " (composed)"
"""Suffix of the file of a text that the program composes from parts: only its words are checked."""


def plain(text: str) -> str:
    """Return *text* without quotes, backslashes and white space; adjacent string literals are joined."""
    return re.sub(r"(\bf)?\"|['\\\s]", "", text.replace("\\n", ""))


def is_in(new: str, source: str, *, composed: bool) -> bool:
    """Return whether *source* contains all parts of *new* between placeholders; of a composed text, all words."""
    if composed:
        return set(re.findall(r"\w+", new)) <= set(re.findall(r"\w+", source))
    sources = plain(source), plain(re.sub(r"\{[^{}\n]*\}", "{}", source))
    return all(any(part in text for text in sources) for part in plain(new).split("{}"))


def test_every_new_text_is_in_its_file() -> None:
    """A text that was reworded again, or moved, needs its row changed."""
    stale = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        _, new, files = line.split("\t")
        for name in re.sub(r" \(\w+\)$", "", files).split(", "):
            path = ROOT / name
            if not path.is_file() or not is_in(new, path.read_text(encoding="utf-8"), composed=files.endswith(COMPOSED)):
                stale.append(f"{name}: {new}")
    assert not stale
