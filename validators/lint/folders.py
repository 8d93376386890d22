"""Directories below a directory, with the names in them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Folder(NamedTuple):
    """Directory with the names in it, in order: of directories, which can be removed to leave them out; and of other files.

    ``stored`` has the names of regular files; other names are those of links, pipes and devices.
    """

    path: str
    folders: list[str]
    names: list[str]
    stored: set[str]


def walk(top: str, onerror: Callable[[OSError], None]) -> Iterator[Folder]:
    """Yield the directories below *top*, and *top*, in order; each once, even if several links lead to it."""
    entered: set[str] = set()
    waiting = [top]
    while waiting:
        path = waiting.pop()
        if (real := os.path.realpath(path)) in entered:
            continue
        found = Folder(path, [], [], set())
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    _add_entry(found, entry)
        except OSError as error:
            onerror(error)
            continue
        entered.add(real)
        found.folders.sort()
        found.names.sort()
        yield found
        waiting += (os.path.join(path, each) for each in reversed(found.folders))  # noqa: PTH118 - names are kept as given


def _add_entry(folder: Folder, entry: os.DirEntry[str]) -> None:
    is_folder, is_stored = False, False
    with contextlib.suppress(OSError):  # reading it as a file says why
        is_folder = entry.is_dir()
        is_stored = not is_folder and entry.is_file(follow_symlinks=False)
    (folder.folders if is_folder else folder.names).append(entry.name)
    if is_stored:
        folder.stored.add(entry.name)
