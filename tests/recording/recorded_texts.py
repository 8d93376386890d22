"""The recorded answers: one compressed file for each group of answers, such as ``commands/fit``.

All texts are 47 MB, and half a megabyte compressed.  Groups have files of their own, so that a change replaces few of them.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from pathlib import Path

DIRECTORY = Path(__file__).with_name("texts")
_SUFFIX = ".json.xz"


def read_texts(part: str = "", directory: Path | None = None) -> dict[str, str]:
    """Return the recorded answers whose names begin with *part*, by name."""
    texts: dict[str, str] = {}
    for file in sorted((directory or DIRECTORY).glob(f"*{_SUFFIX}")):
        group = file.name.removesuffix(_SUFFIX).replace(".", "/")
        if group.startswith(part) or part.startswith(group):
            texts |= json.loads(lzma.decompress(file.read_bytes()))
    return {name: text for name, text in texts.items() if name.startswith(part)}


def write_texts(created: Mapping[str, str], part: str = "", directory: Path | None = None) -> None:
    """Record the answers *created*, which are all whose names begin with *part*; files without a change stay as they are."""
    folder = directory or DIRECTORY
    folder.mkdir(exist_ok=True)
    stored = read_texts(directory=folder)
    texts = {name: text for name, text in stored.items() if not name.startswith(part)} | created
    for group in {*map(_group, stored), *map(_group, texts)}:
        before, after = ({name: text for name, text in each.items() if _group(name) == group} for each in (stored, texts))
        file = folder / f"{group.replace('/', '.')}{_SUFFIX}"
        if not after:
            file.unlink()
        elif before != after:
            content = json.dumps(after, indent=0, sort_keys=True).encode()
            file.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def _group(name: str) -> str:
    return "/".join(name.split("/")[:2])
