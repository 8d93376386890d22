"""``--against REF|DIR``: the objects before a change, from a revision of git or from a directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from validators.lint.against import Placed
    from validators.lint.lint_files import Before


def before(value: str, paths: Sequence[str]) -> Before:
    """Return the objects at *value*, to be compared with those at *paths*.

    Raises:
        click.UsageError: there is no such directory or revision, or it cannot be read.

    """
    return _in_folder(value, paths) if os.path.isdir(value) else _in_git(value, paths)  # noqa: PTH112 - names are kept as given


def _in_folder(folder: str, paths: Sequence[str]) -> Before:
    from validators.lint import against, discovery, files
    from validators.lint.lint_files import Before

    sources = files.sources(discovery.discover([folder]).files, sys.stdin.buffer)
    objects = [placed for each in sources for placed in against.objects_in(_relative(each.path, [folder]), each.manifest())]
    return Before(objects, lambda file: _relative(file, paths))


def _relative(file: str, folders: Sequence[str]) -> str:
    """Return the path of *file* relative to the folder that contains it; the name of the file if none does."""
    path = os.path.realpath(file)
    for folder in folders:
        relative = os.path.relpath(path, os.path.realpath(folder))
        if relative != os.curdir and not relative.startswith(os.pardir):
            return relative
    return os.path.basename(path)  # noqa: PTH119 - names are kept as given


def _in_git(revision: str, paths: Sequence[str]) -> Before:
    from muster.commands.lint.git_tree import GitError
    from validators.lint.lint_files import Before

    try:
        return Before([*_objects_of_revision(revision, _folder(paths))], os.path.realpath)
    except GitError as error:
        raise click.UsageError(f"--against: {error}") from None


def _objects_of_revision(revision: str, folder: str) -> Iterator[Placed]:
    from muster.commands.lint.git_tree import GitTree
    from validators.lint import against, documents

    tree = GitTree(folder, revision)
    for path, content in tree.files():
        if b"kind" in content:
            yield from against.objects_in(os.path.join(tree.top, path), documents.parse(path, content))  # noqa: PTH118 - as above


def _folder(paths: Sequence[str]) -> str:
    """Return a directory of the repository: that of the first path, or the working directory for standard input."""
    first = next((each for each in paths if each != "-"), os.curdir)
    return first if os.path.isdir(first) else os.path.dirname(first) or os.curdir  # noqa: PTH112, PTH120 - as above
