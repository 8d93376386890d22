"""Discovery of the manifests below a directory of a repository.

Left out are files that git ignores, hidden ones, vendor folders and environments.  Files of other tools are skipped and counted.
A file or directory that is named explicitly is never left out.  Nothing here depends on the content of a file; see ``tool_content``.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kubeapi.base_structs import Record
from validators.lint import file_content, files, tool_files
from validators.lint import folders as listing
from validators.lint.limits import LARGEST_FILE
from validators.lint.path_patterns import PathPatterns, ignores, includes, of_gitignore
from validators.lint.places import Fault

GIT = ".git"


class Filters(Record, frozen=True):
    """Patterns of the user.  *exclude* leaves files out; *include* reads files that would be left out or skipped.

    *own* has the identities of files that the program itself reads or writes for other purposes; they are left out too.
    """

    exclude: tuple[PathPatterns, ...] = ()
    include: tuple[PathPatterns, ...] = ()
    own: frozenset[str] = frozenset()


class Discovered(Record, frozen=True):
    """Files to read at *paths*, in no particular order, and the number of skipped files of each other tool.

    ``charts`` are the folders of charts that are in no other chart, ``kustomizations`` those that no other kustomization includes, and
    ``resources`` the identities of files that kustomizations include.  ``stored`` has those of the files that are below a directory and
    no links.  ``unnamed`` are the files that the user neither named nor included.  ``tools`` has the tool of each skipped file, by identity.
    """

    paths: tuple[str, ...]
    files: tuple[str, ...]
    skipped: Mapping[str, int]
    charts: tuple[str, ...] = ()
    kustomizations: tuple[str, ...] = ()
    resources: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()
    tools: Mapping[str, str] = {}


def discover(paths: Sequence[str], filters: Filters | None = None) -> Discovered:
    """Return the manifests at *paths*; ``-`` and files are returned as they are given.

    Raises:
        files.PathError: a path does not exist.

    """
    chosen: list[str] = []
    skipped: dict[str, str] = {}
    charts: list[str] = []
    kustomizations: dict[str, str] = {}
    included: set[str] = set()
    stored: set[str] = set()
    unnamed: set[str] = set()
    for path in paths:
        if path != files.STDIN and os.path.isdir(path):  # noqa: PTH112 - names are kept as given, and may not be valid text
            walk = _Walk(path, filters or Filters())
            chosen += walk.chosen
            skipped |= walk.skipped
            charts += walk.charts
            kustomizations |= walk.kustomizations
            included |= walk.included
            stored |= walk.stored
            unnamed |= walk.unnamed
        else:
            files.check_exists(path)
            chosen.append(path)
    read = set(map(files.Identity(), chosen)) if skipped else set()
    tools = {file: tool for file, tool in skipped.items() if file not in read}
    roots = tuple(folder for same, folder in sorted(kustomizations.items()) if same not in included)
    return Discovered(
        tuple(paths),
        tuple(chosen),
        collections.Counter(tools.values()),
        charts=tuple(dict.fromkeys(charts)),
        kustomizations=roots,
        resources=frozenset(included),
        stored=frozenset(stored),
        unnamed=frozenset(unnamed.difference(paths)),
        tools=tools,
    )


class _Walk:
    """Walk through one directory."""

    def __init__(self, top: str, filters: Filters) -> None:
        self._top = top.rstrip(os.sep) or top
        self._filters = filters
        self._patterns: dict[str, tuple[PathPatterns, ...]] = {}
        """The patterns of git that apply in a folder."""
        self._charts: dict[str, str | None] = {}
        """The innermost chart around a folder, or the folder itself."""
        self._environments: set[str] = set()
        """Folders that are environments."""
        self._not_manifests: set[str] = set()
        """Identities of files that kustomizations use for other purposes."""
        self._resources: set[str] = set()
        """Identities of files that kustomizations list as resources."""
        self.charts: list[str] = []
        self.kustomizations: dict[str, str] = {}
        """The folder of each kustomization by its identity; without components."""
        self.included: set[str] = set()
        """Identities of files and folders that kustomizations include."""
        self._identity = files.Identity()
        self.skipped: dict[str, str] = {}
        """Identity of each skipped file, with its tool."""
        self.chosen: list[str] = []
        self.stored: set[str] = set()
        self.unnamed: set[str] = set()
        candidates = list(self._candidates())
        for file, chart in candidates:
            self._choose(file, chart)

    def _choose(self, file: str, chart: str | None) -> None:
        if self._filters.own and self._identity(file) in self._filters.own:
            return
        inside = None if chart is None else os.path.relpath(file, chart).replace(os.sep, "/")
        tool = tool_files.tool_of(file.split(os.sep), inside)  # noqa: PTH206 - as above
        if not tool and self._not_manifests and self._identity(file) in self._not_manifests - self._resources:
            tool = tool_files.KUSTOMIZE
        is_included = self._is_included(file)
        if tool and not is_included:
            self.skipped[self._identity(file)] = tool
            return
        self.chosen.append(file)
        if not is_included:
            self.unnamed.add(file)

    def _candidates(self) -> Iterator[tuple[str, str | None]]:
        """Yield the files that are not left out, each with the innermost chart around it."""
        errors: list[OSError] = []
        for folder, folders, names, stored in listing.walk(self._top, errors.append):
            chain = self._enter(folder, folders, names)
            if folder != self._top and tool_files.is_environment({*names, *folders}):
                self._environments.add(folder)
                if not self._filters.include:
                    folders.clear()
                    continue
            folders[:] = [each for each in folders if self._is_entered(_join(folder, each), each, chain)]
            for name in names:
                file = _join(folder, name)
                if name in tool_files.KUSTOMIZATIONS:
                    self._read_kustomization(folder, file)
                if not name.lower().endswith(files.SUFFIXES):
                    continue
                if name in stored:
                    self.stored.add(file)
                if self._is_read(file, name, chain):
                    yield file, self._charts[folder]
        # A directory that cannot be listed is reported as a file that cannot be read.
        yield from ((str(error.filename), None) for error in errors)

    def _enter(self, folder: str, folders: Sequence[str], names: Sequence[str]) -> tuple[PathPatterns, ...]:
        above = os.path.dirname(folder)  # noqa: PTH120 - as above
        self._charts[folder] = folder if tool_files.CHART in names else self._charts.get(above)
        if self._charts[folder] == folder and not self._charts.get(above):
            self.charts.append(folder)
        # A repository inside another one has only its own patterns.
        chain = self._patterns.get(above) if folder != self._top and GIT not in names and GIT not in folders else None
        chain = _patterns_above(os.path.abspath(folder)) if chain is None else chain  # noqa: PTH100 - links stay as written
        if ".gitignore" in names:
            chain = (*chain, *_patterns_in(folder, ".gitignore", folder))
        self._patterns[folder] = chain
        return chain

    def _is_entered(self, folder: str, name: str, chain: Sequence[PathPatterns]) -> bool:
        if name == GIT or self._is_excluded(folder, is_folder=True):
            return False
        if self._filters.include:  # a file inside can be included
            return True
        return not _is_hidden(name) and name not in tool_files.VENDOR_FOLDERS and not _ignored(chain, folder, is_folder=True)

    def _is_read(self, file: str, name: str, chain: Sequence[PathPatterns]) -> bool:
        if self._is_excluded(file):
            return False
        if self._is_included(file):
            return True
        if self._filters.include and self._is_in_folder_left_out(file):
            return False
        return not _is_hidden(name) and not _ignored(chain, file)

    def _is_in_folder_left_out(self, file: str) -> bool:
        """Return whether a folder between the top and *file* was entered only because of ``--include``."""
        folder = os.path.dirname(file)  # noqa: PTH120 - as above
        while len(folder) > len(self._top):
            name, above = os.path.basename(folder), os.path.dirname(folder)  # noqa: PTH119, PTH120 - as above
            if _is_hidden(name) or name in tool_files.VENDOR_FOLDERS or _ignored(self._patterns[above], folder, is_folder=True):
                return True
            if folder in self._environments:
                return True
            folder = above
        return False

    def _is_excluded(self, path: str, *, is_folder: bool = False) -> bool:
        return bool(self._filters.exclude) and _ignored(self._filters.exclude, path, is_folder=is_folder)

    def _is_included(self, file: str) -> bool:
        return bool(self._filters.include) and includes(self._filters.include, os.path.abspath(file))  # noqa: PTH100 - as above

    def _read_kustomization(self, folder: str, file: str) -> None:
        from validators.lint import yaml_text  # imported on demand: start-up must be fast

        self.kustomizations[files.identity(folder)] = folder
        try:
            values = yaml_text.values(_text(file))
        except Fault:
            return
        for content in values:
            if isinstance(content, dict):
                self._not_manifests |= _identities(folder, tool_files.files_of_kustomization(content))
                self._resources |= _identities(folder, tool_files.resources_of_kustomization(content))
                self.included |= _identities(folder, tool_files.included_in_kustomization(content))
                if content.get("kind") == "Component":
                    self.kustomizations.pop(files.identity(folder), None)


def _identities(folder: str, names: Iterable[str]) -> set[str]:
    return {files.identity(_join(folder, name)) for name in names if "\n" not in name and "\0" not in name}


def _patterns_above(top: str) -> tuple[PathPatterns, ...]:
    """Return the patterns of git in the directories above *top*, in its repository; none if they ignore *top* itself."""
    above, folder = [], top
    while not os.path.exists(_join(folder, GIT)):  # noqa: PTH110 - as above
        parent = os.path.dirname(folder)  # noqa: PTH120 - as above
        if parent == folder:
            return ()
        folder = parent
        above.append(folder)
    chain = _patterns_in(folder, f"{GIT}/info/exclude", folder)
    for each in reversed(above):
        chain = (*chain, *_patterns_in(each, ".gitignore", each))
    parts = Path(os.path.relpath(top, folder)).parts
    tops = [_join(folder, *parts[:length]) for length in range(1, len(parts) + 1)]
    return () if top != folder and any(ignores(chain, each, is_folder=True) for each in tops) else chain


def _patterns_in(folder: str, name: str, base: str) -> tuple[PathPatterns, ...]:
    text = _text(_join(folder, name))
    return (of_gitignore(text, base),) if text else ()


def _text(file: str) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return file_content.read_regular(file, LARGEST_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


def _ignored(chain: Sequence[PathPatterns], path: str, *, is_folder: bool = False) -> bool:
    return bool(chain) and ignores(chain, os.path.abspath(path), is_folder=is_folder)  # noqa: PTH100 - as above


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _join(folder: str, *names: str) -> str:
    return os.path.join(folder, *names)  # noqa: PTH118 - as above
