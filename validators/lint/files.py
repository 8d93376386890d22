"""File access of the linter: lists the files of the given paths, reads and parses them.

``discovery`` selects files below a directory; no other module of the linter accesses the file system.  A file that cannot be read is part of the result; a path that
does not exist raises an error.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO

from validators.lint import documents
from validators.lint.documents import Manifest, Unreadable
from validators.lint.finding import file_order
from validators.lint.limits import LARGEST_FILE

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"
STDIN_NAME = "<stdin>"


class PathError(ValueError):
    """Path that does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """File that was read: name to display, path, bytes, and the error if it could not be read."""

    name: str
    path: str
    content: bytes = dataclasses.field(repr=False)
    error: str = ""

    def manifest(self) -> Manifest:
        """Return the parsed file."""
        if self.error:
            return Manifest(self.name, (Unreadable(self.name, 1, 1, self.error),))
        return documents.parse(self.name, self.content)


def read_manifests(paths: Sequence[str], stdin: BinaryIO, *, leave_out: Iterable[str] = ()) -> tuple[Manifest, ...]:
    """Return the parsed files at *paths*, see ``sources``.

    Raises:
        PathError: a path does not exist.

    """
    return tuple(source.manifest() for source in sources(paths, stdin, leave_out=leave_out))


def sources(paths: Sequence[str], stdin: BinaryIO, *, leave_out: Iterable[str] = ()) -> Iterator[Source]:
    """Yield the files at *paths* in bytewise order of their names, each once; a file is read when it is yielded.

    A file in *paths* is read whatever its suffix.  In directories, files with the suffixes above are read recursively.  ``-`` is
    *stdin*.  Links are followed, but no file is read twice.  Files in *leave_out* (results of ``identity``) are not read.

    Raises:
        PathError: a path does not exist.

    """
    seen = set(leave_out)
    named: list[tuple[str, str]] = []
    for path in paths:
        for file in _files(path):
            if (same := identity(file)) not in seen:
                seen.add(same)
                named.append((display_name(file), file))
    named.sort(key=lambda pair: file_order(pair[0]))
    return (_source(name, file, stdin) for name, file in named)


def identity(file: str) -> str:
    """Return a key that is equal for two names of one file."""
    return file if file == STDIN else os.path.realpath(file)


def identities(paths: Sequence[str]) -> frozenset[str]:
    """Return the identities of all files at *paths*.

    Raises:
        PathError: a path does not exist.

    """
    return frozenset(identity(file) for path in paths for file in _files(path))


def empty_directories(paths: Iterable[str]) -> list[str]:
    """Return those of *paths* that are directories without a manifest below them.

    Raises:
        PathError: a path does not exist.

    """
    return [path for path in paths if next(_files(path), None) is None]


def display_name(file: str) -> str:
    """Return a file's name for messages: normalized, with ``/``, and with escapes where it is not UTF-8."""
    if file == STDIN:
        return STDIN_NAME
    return os.fsencode(os.path.normpath(file)).decode("utf-8", "backslashreplace").replace(os.sep, "/")


def check_exists(path: str) -> None:
    """Check that there is something at *path*.

    Raises:
        PathError: there is nothing.

    """
    if path != STDIN and not os.path.lexists(path):
        raise PathError(f"{path!r} must be a file or a directory that exists (or '-' for standard input)")


def walk(top: str, onerror: Callable[[OSError], None]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the directories below *top*, and *top*, as ``os.walk``, in order; each once, even if several links lead to it."""
    entered: set[str] = set()
    for folder, folders, names in os.walk(top, followlinks=True, onerror=onerror):
        real = os.path.realpath(folder)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders.sort()
        yield folder, folders, sorted(names)


def _files(path: str) -> Iterator[str]:
    check_exists(path)
    if path != STDIN and os.path.isdir(path):  # noqa: PTH112 - names are kept as given, and may not be valid text
        yield from _below(path)
    else:
        yield path


def _below(top: str) -> Iterator[str]:
    """Yield the manifests below a directory."""
    errors: list[OSError] = []
    for folder, _, names in walk(top, errors.append):
        for name in names:
            file = os.path.join(folder, name)  # noqa: PTH118 - as above
            if name.lower().endswith(SUFFIXES) and is_file(file):
                yield file
    # A directory that cannot be listed is reported as a file that cannot be read.
    yield from (str(error.filename) for error in errors)


def is_file(file: str) -> bool:
    """Return whether to read a file: not pipes and devices, which would block.  A broken link is read, and reported."""
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
