"""``--against REF|DIR``: the objects before a change, from a revision of git or from a directory."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from muster.commands.lint import rendering

if TYPE_CHECKING:
    from muster.commands.lint.rendering import Tools
    from validators.lint.against import Before, Placed


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """Objects before a change: those of files, and those of charts and kustomizations by their folder."""

    files: Before
    rendered: Mapping[str, Before]
    paths: Sequence[str]

    def before_rendering(self, folder: str) -> Before | None:
        """Return the objects of the chart or kustomization that was at the place of *folder*; None if there was none."""
        return self.rendered.get(_place_of_folder(folder, self.paths))


def before(value: str, paths: Sequence[str], tools: Tools) -> Compared:
    """Return the objects at *value*, to be compared with those at *paths*.

    Raises:
        click.UsageError: there is no such directory or revision, or it cannot be read, or charts of a revision are to be rendered.

    """
    if os.path.isdir(value):  # noqa: PTH112 - names are kept as given
        return _in_folder(value, paths, tools)
    if tools.helm or tools.kustomize:
        raise click.UsageError(
            "--against: --helm and --kustomize render files of a directory, not of a revision; check the revision out,"
            " for example with `git worktree add DIR REF`, and give --against DIR"
        )
    return Compared(_in_git(value, paths), {}, paths)


def _in_folder(folder: str, paths: Sequence[str], tools: Tools) -> Compared:
    from validators.lint import against, discovery, files
    from validators.lint.against import Before

    def compared(objects: Iterator[Placed]) -> Before:
        return Before([*objects], lambda file: _relative(file, paths))

    found = rendering.without_rendered(discovery.discover([folder]), tools)
    manifests = ((each.path, each.manifest()) for each in files.sources(found.files, sys.stdin.buffer, given=(), unnamed=found.unnamed))
    named = (placed for path, each in manifests for placed in against.objects_in(_relative(path, [folder]), each))
    rendered = {
        _place_of_folder(part.folder, [folder]): compared(
            placed for each in part.manifests for placed in against.objects_in(_relative(each.file, [folder]), each)
        )
        for part in rendering.render(found, tools)
    }
    return Compared(compared(named), rendered, paths)


def _place_of_folder(folder: str, tops: Sequence[str]) -> str:
    """Return the path of a folder relative to the one of *tops* that contains it; ``.`` for one of them."""
    same = any(os.path.realpath(folder) == os.path.realpath(top) for top in tops)
    return os.curdir if same else _relative(folder, tops)


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
    from validators.lint.against import Before

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
