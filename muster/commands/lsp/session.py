"""Files of a workspace, on disk and open in the editor, with their findings.

An open file has the text of the editor.  A file in a folder of the workspace is linted if ``muster lint`` reads it.
A file outside all folders is linted while it is open.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from validators.lint import discovery, documents, files
from validators.lint.discovery import Filters
from validators.lint.documents import Document, Manifest, Unreadable
from validators.lint.finding import Finding
from validators.lint.workspace import Workspace
from validators.lint.yaml_values import ParsedTexts
from validators.rules.base import Settings

_BATCH = 50
"""Files that are read before the editor's next message is handled."""


@dataclasses.dataclass(slots=True)
class _OpenFile:
    """Text of a file in the editor, and its parsed documents."""

    text: str
    parsed: ParsedTexts = dataclasses.field(default_factory=ParsedTexts)

    def manifest(self, name: str) -> Manifest:
        self.parsed.begin()
        return documents.parse(name, self.text.encode("utf-8", "replace"), self.parsed)


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Options of a session.

    Attributes:
        settings: the settings of the linter.
        filters: returns the filters of the files in some folders.
        new: returns the findings that are not in the baseline.

    """

    settings: Settings
    filters: Callable[[Sequence[str]], Filters]
    new: Callable[[Sequence[Finding]], Sequence[Finding]] = lambda findings: findings


class Session:
    """Workspace of one editor.  Files are named by their paths; a text that is not a file has another name."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.workspace = Workspace(options.settings)
        self._folders: tuple[str, ...] = ()
        self._open: dict[str, _OpenFile] = {}
        self._on_disk: frozenset[str] = frozenset()
        """The files that ``muster lint`` reads in the folders."""
        self._unnamed: frozenset[str] = frozenset()
        """Those of them that are skipped if they belong to another tool by their content; an open file is read."""
        self._names: dict[str, str] = {}
        """Name of each known file by its identity: links to one file are one file."""

    def configure(self, options: Options) -> frozenset[str]:
        """Use other options from the next ``load`` on; return the files that were linted."""
        names = frozenset(self.workspace.files)
        self._options = options
        self.workspace = Workspace(options.settings)
        return names

    def load(self, folders: Sequence[str]) -> Iterator[frozenset[str]]:
        """Read the files in *folders*; yield after each batch of files those whose findings may have changed."""
        self._folders = tuple(folder for folder in folders if Path(folder).is_dir())
        chosen = discovery.discover(self._folders, self._options.filters(self._folders))
        sources = files.sources(chosen.files, io.BytesIO(), given=(), unnamed=chosen.unnamed)
        left = self._on_disk
        self._on_disk = frozenset(map(files.display_name, chosen.files))
        self._unnamed = frozenset(map(files.display_name, chosen.unnamed))
        yield self.workspace.update((), [name for name in left - self._on_disk if name not in self._open or not self._is_linted(name)])
        batch: list[Manifest] = []
        for source in sources:
            self._names[files.identity(source.path)] = source.name
            if source.name not in self._open:
                batch.append(source.manifest())
            if len(batch) == _BATCH:
                yield self.workspace.update(batch)
                batch = []
        yield self.workspace.update([*batch, *(self._open[name].manifest(name) for name in self._open if self._is_linted(name))])

    def reload(self, paths: Iterable[str]) -> frozenset[str]:
        """Read files again that have changed on disk; return the files whose findings may have changed."""
        names = {self.name_of(path) for path in paths}
        changed = [name for name in names if name in self._on_disk and name not in self._open]
        present = [name for name in changed if _exists(name)]
        return self.workspace.update(files.read_manifests(present, io.BytesIO(), given=(), unnamed=self._unnamed))

    def knows(self, path: str) -> bool:
        """Return whether the content of a file does not decide which other files are read, and the file is among those."""
        return self.name_of(path) in self._on_disk and _exists(path)

    def write(self, path: str, text: str) -> frozenset[str]:
        """Set the text of an open file; return the files whose findings may have changed."""
        name = self.name_of(path)
        current = self._open.setdefault(name, _OpenFile(text))
        current.text = text
        return self.workspace.update([current.manifest(name)]) if self._is_linted(name) else frozenset()

    def close(self, path: str) -> frozenset[str]:
        """Use the content on disk of a file that was open; return the files whose findings may have changed."""
        name = self.name_of(path)
        self._open.pop(name, None)
        if name in self._on_disk and _exists(name):
            return self.reload([name])
        return self.workspace.update((), [name])

    def findings(self, name: str) -> tuple[Finding, ...]:
        """Return the findings of a file that the baseline does not hide."""
        return tuple(self._options.new(self.workspace.findings(name)))

    @property
    def minor(self) -> int:
        """Minor version of Kubernetes that is mirrored."""
        return self._options.settings.minor

    def text(self, path: str) -> str | None:
        """Return the text of a file that is open and linted; None of others."""
        name = self.name_of(path)
        return self._open[name].text if name in self._open and name in self.workspace.files else None

    def unreadable_with(self, word: str) -> Iterator[Unreadable]:
        """Yield the documents that cannot be read in files whose text has *word*."""
        for name, manifest in sorted(self.workspace.files.items()):
            parts = [each for each in manifest.parts if isinstance(each, Unreadable)]
            if parts and word in self._current_text(name):
                yield from parts

    def _current_text(self, name: str) -> str:
        if name in self._open:
            return self._open[name].text
        with contextlib.suppress(OSError):  # its removal was not reported yet
            return Path(name).read_text("utf-8", "replace")
        return ""

    def documents(self, path: str) -> tuple[Document, ...]:
        """Return the readable documents of a file."""
        manifest = self.workspace.files.get(self.name_of(path))
        return manifest.documents if manifest else ()

    def name_of(self, path: str) -> str:
        """Return the name of the file at *path*."""
        return self._names.get(files.identity(path)) or files.display_name(path)

    def label(self, name: str) -> str:
        """Return the name of a file for people: below the folder of the workspace that has it."""
        path = Path(name).absolute()
        return next((str(path.relative_to(each)) for each in self._folders if path.is_relative_to(each)), name)

    def _is_linted(self, name: str) -> bool:
        """Return whether an open file is linted: it is new, among the files that are read, or in no folder."""
        if name in self._on_disk or not _exists(name):
            return True
        return not any(Path(name).is_relative_to(folder) for folder in self._folders)


def _exists(name: str) -> bool:
    """Return whether there is a file of this name, which can be too long for one."""
    try:
        return Path(name).exists()
    except OSError:
        return False
