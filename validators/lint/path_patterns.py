"""Patterns of paths in the syntax of gitignore: files of git, and options.

No other module uses the library.  Importing it takes time, so only runs that have patterns import it.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathspec


class PatternError(ValueError):
    """Pattern that has no meaning in gitignore."""


@dataclasses.dataclass(frozen=True, slots=True)
class PathPatterns:
    """Patterns that apply to paths below the directory *base*, an absolute path.

    A path is compared without the directories above it, as git does: whoever walks has compared these before.
    """

    base: str
    _files: pathspec.GitIgnoreSpec = dataclasses.field(repr=False)
    _folders: pathspec.GitIgnoreSpec = dataclasses.field(repr=False)

    def verdict(self, path: str, *, is_folder: bool = False) -> bool | None:
        """Return whether the absolute *path* is matched: False if the last match is negated, None without a match."""
        relative = below(path, self.base)
        if relative is None:
            return None
        # The library compares UTF-8; a name in another encoding has bytes that are not.
        text = os.fsencode(relative).decode("utf-8", "replace")
        return (self._folders if is_folder else self._files).check_file(text).include


def below(path: str, folder: str) -> str | None:
    """Return the absolute *path* relative to the absolute *folder*; None if it is not below it.

    Links stay as written, but a path that leads to the folder by another name of it, as by a link in the path of the working
    directory, is below it too.
    """
    relative = _without_prefix(path, folder)
    if relative is None:
        parent, name = os.path.split(path)
        relative = _without_prefix(os.path.join(_real(parent), name), _real(folder))  # noqa: PTH118 - a module without pathlib
    return relative


def _without_prefix(path: str, folder: str) -> str | None:
    prefix = folder if folder.endswith(os.sep) else folder + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else None


@functools.lru_cache(maxsize=1024)
def _real(folder: str) -> str:
    return os.path.realpath(folder)


def patterns(lines: Iterable[str], base: str) -> PathPatterns:
    """Return the patterns in *lines*, relative to the directory *base*.

    Raises:
        PatternError: a pattern has no meaning.

    """
    import pathspec

    stripped = [line if line.endswith("\\ ") else line.rstrip() for line in lines]
    try:
        files = pathspec.GitIgnoreSpec.from_lines(line for line in stripped if not line.endswith("/"))
        folders = pathspec.GitIgnoreSpec.from_lines(line.rstrip("/") for line in stripped)
    except ValueError as error:
        raise PatternError(str(error)) from None
    return PathPatterns(os.path.abspath(base), files, folders)  # noqa: PTH100 - links stay as written


def of_gitignore(text: str, base: str) -> PathPatterns:
    """Return the patterns of a ``.gitignore`` in the directory *base*.  As in git, a line without a meaning is skipped."""
    lines = text.splitlines()
    try:
        return patterns(lines, base)
    except PatternError:
        return patterns([each for each in lines if _has_meaning(each)], base)


def _has_meaning(line: str) -> bool:
    try:
        patterns([line], os.sep)
    except PatternError:
        return False
    return True


def ignores(chain: Sequence[PathPatterns], path: str, *, is_folder: bool = False) -> bool:
    """Return whether the last of the patterns in *chain* with a verdict on the absolute *path* matches it."""
    for each in reversed(chain):
        verdict = each.verdict(path, is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def includes(chain: Sequence[PathPatterns], path: str) -> bool:
    """Return whether patterns in *chain* match the absolute *path* of a file, or a directory above it."""
    included = False
    for each in chain:
        relative = below(path, each.base)
        if relative is None:
            continue
        inside = os.path.join(each.base, relative)  # noqa: PTH118 - as above
        ends = [at for at in range(len(each.base) + 1, len(inside)) if inside[at] == os.sep]
        verdicts = [*(each.verdict(inside[:end], is_folder=True) for end in ends), each.verdict(inside)]
        included = next((verdict for verdict in reversed(verdicts) if verdict is not None), included)
    return included
