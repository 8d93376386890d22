"""Paths to manifests: finds the files, reads them, has them parsed.

This is the only file of the linter that touches the file system.  What exists and cannot be read is a part of the
outcome; a path that does not exist is the user's mistake.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from validators.lint import documents
from validators.lint.documents import Manifest, Unreadable
from validators.lint.finding import file_order
from validators.lint.limits import LARGEST_FILE

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"
STDIN_NAME = "<stdin>"


class PathError(ValueError):
    """A path that does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A file as it was found: how it is told, where it is, its bytes, and what stood in the way of reading them."""

    name: str
    path: str
    content: bytes = dataclasses.field(repr=False)
    problem: str = ""

    def manifest(self) -> Manifest:
        """What is in it."""
        if self.problem:
            return Manifest(self.name, (Unreadable(self.name, 1, 1, self.problem),))
        return documents.parse(self.name, self.content)


def read_manifests(paths: Sequence[str], stdin: BinaryIO, *, leave_out: Iterable[str] = ()) -> tuple[Manifest, ...]:
    """The manifests at *paths*, as ``sources`` finds them.

    Raises:
        PathError: a path does not exist.

    """
    return tuple(source.manifest() for source in sources(paths, stdin, leave_out=leave_out))


def sources(paths: Sequence[str], stdin: BinaryIO, *, leave_out: Iterable[str] = ()) -> Iterator[Source]:
    """The files at *paths*, in the order of the bytes of their names, each once and read when it is its turn.

    A file is read whatever its name, a directory with all that is below it for the suffixes above, ``-`` is *stdin*.
    Links are followed, but none twice.  Files in *leave_out* (as ``identity`` gives them) are not read.

    Raises:
        PathError: a path does not exist.

    """
    seen = set(leave_out)
    found: list[tuple[str, str]] = []
    for path in paths:
        for file in _files(path):
            if (same := identity(file)) not in seen:
                seen.add(same)
                found.append((display_name(file), file))
    found.sort(key=lambda pair: file_order(pair[0]))
    return (_source(name, file, stdin) for name, file in found)


def identity(file: str) -> str:
    """What tells whether two names are of one file."""
    return file if file == STDIN else os.path.realpath(file)


def identities(paths: Sequence[str]) -> frozenset[str]:
    """The identities of all files at *paths*.

    Raises:
        PathError: a path does not exist.

    """
    return frozenset(identity(file) for path in paths for file in _files(path))


def display_name(file: str) -> str:
    """A file's name as it is told: short, with ``/``, and legible even where it is not UTF-8."""
    if file == STDIN:
        return STDIN_NAME
    return os.fsencode(os.path.normpath(file)).decode("utf-8", "backslashreplace").replace(os.sep, "/")


def _files(path: str) -> Iterator[str]:
    if path == STDIN:
        yield path
    elif os.path.isdir(path):  # noqa: PTH112 - names are kept as given, and as bytes where they are no text
        yield from _below(path)
    elif os.path.lexists(path):
        yield path
    else:
        raise PathError(f"{path!r} must be a file or a directory that exists (or '-' for standard input)")


def _below(top: str) -> Iterator[str]:
    """The manifests below a directory; a link that leads back up is not followed again."""
    entered: set[str] = set()
    unreadable: list[OSError] = []
    for folder, folders, names in os.walk(top, followlinks=True, onerror=unreadable.append):
        real = os.path.realpath(folder)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders.sort()
        for name in sorted(names):
            file = os.path.join(folder, name)  # noqa: PTH118 - as above
            if name.lower().endswith(SUFFIXES) and _is_file(file):
                yield file
    # A folder that cannot be listed is told as a file that cannot be read.
    yield from (str(error.filename) for error in unreadable)


def _is_file(file: str) -> bool:
    """Whether to read it: pipes and devices below a directory would make us wait.  A broken link is tried, and told."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116 - as above
    except OSError:
        return True


def _source(name: str, file: str, stdin: BinaryIO) -> Source:
    try:
        if file == STDIN:
            content = stdin.read(LARGEST_FILE + 1)
        else:
            with open(file, "rb") as stream:  # noqa: PTH123 - as above
                content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        return Source(name, file, b"", f"cannot be read: {(error.strerror or str(error)).lower()}")
    return Source(name, file, content)
