"""File access of the linter: lists the files of the given paths, reads and parses them.

``discovery`` selects files below a directory, which ``folders`` lists; no other module of the linter accesses the file system.  A file
that cannot be read is part of the result; a path of the user that does not exist raises an error.  See ``file_content`` for pipes and devices.
"""

from __future__ import annotations

import dataclasses
import io
import os
import stat
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO

from kubeapi.meta import replaced
from validators.lint import documents, file_content, folders, large_files, tool_content
from validators.lint.documents import Document, Manifest, Unreadable
from validators.lint.finding import file_order
from validators.lint.large_files import Segment
from validators.lint.limits import LARGEST_FILE

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = file_content.STDIN
STDIN_NAME = "<stdin>"


class PathError(ValueError):
    """Path that does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """File that was read: name to display, path, bytes, the error if it could not be read, and whether it was discovered."""

    name: str
    path: str
    content: bytes = dataclasses.field(repr=False)
    error: str = ""
    is_discovered: bool = False

    def manifest(self) -> Manifest:
        """Return the parsed file; one of another tool has no parts if it was discovered."""
        if self.error:
            return Manifest(self.name, (Unreadable(self.name, 1, 1, self.error),))
        manifest = documents.parse(self.name, self.content)
        return tool_content.as_discovered(manifest) if self.is_discovered else manifest


def read_manifests(
    paths: Sequence[str],
    stdin: BinaryIO,
    *,
    leave_out: Iterable[str] = (),
    given: Iterable[str] | None = None,
    unnamed: Container[str] = (),
) -> tuple[Manifest, ...]:
    """Return the parsed files at *paths*, see ``sources``.

    Raises:
        PathError: a path does not exist.

    """
    return tuple(source.manifest() for source in sources(paths, stdin, leave_out=leave_out, given=given, unnamed=unnamed))


def manifests(
    paths: Sequence[str],
    stdin: BinaryIO,
    *,
    leave_out: Iterable[str] = (),
    given: Iterable[str] | None = None,
    unnamed: Container[str] = (),
) -> Iterator[Manifest]:
    """Yield the parsed files at *paths* one after another, see ``listed``; a large file in parts.

    Raises:
        PathError: a path does not exist.

    """
    found = Files(listed(paths, leave_out, given=given), stdin, paths if given is None else given, unnamed)
    return (manifest for number in range(len(found.names)) for _, manifest in found.segments(number))


def sources(
    paths: Sequence[str],
    stdin: BinaryIO,
    *,
    leave_out: Iterable[str] = (),
    given: Iterable[str] | None = None,
    unnamed: Container[str] = (),
) -> Iterator[Source]:
    """Yield the files at *paths*, see ``listed``; a file is read when it is yielded.

    Those that are *unnamed* can be files of other tools by their content, see ``tool_content``.

    Raises:
        PathError: a path does not exist.

    """
    named = frozenset(paths if given is None else given)
    found = listed(paths, leave_out, given=given)
    return (_source(name, file, stdin, is_given=file in named, is_discovered=file in unnamed) for name, file in found)


def listed(
    paths: Sequence[str], leave_out: Iterable[str] = (), stored: Container[str] = (), *, given: Iterable[str] | None = None
) -> list[tuple[str, str]]:
    """Return names and paths of the files at *paths* in bytewise order of their names, each once.

    A file in *paths* is read whatever its suffix.  In directories, files with the suffixes above are read recursively.  ``-`` is
    *stdin*.  Links are followed, but no file is read twice.  Files in *leave_out* (results of ``identity``) are not read.  Those of *paths*
    that are in *stored* are known to be files below a directory, and no links.

    The user named the paths in *given*, all of them if it is None; the others were found below directories.  One that was found and can no
    longer be read, or has too long a path, is in the result: reading it says why.

    Raises:
        PathError: a path that the user named does not exist.

    """
    seen, by_user = set(leave_out), frozenset(paths if given is None else given)
    named: list[tuple[str, str]] = []
    same_file = Identity()
    for path in paths:
        is_stored = path in stored
        for file in _files(path) if path in by_user else (path,):
            if (same := same_file(file, is_stored=is_stored)) not in seen:
                seen.add(same)
                named.append((display_name(file), file))
    return sorted(named, key=lambda pair: file_order(pair[0]))


def identity(file: str) -> str:
    """Return a key that is equal for two names of one file."""
    return file if file == STDIN else os.path.realpath(file)


class Identity:
    """``identity`` of many files at one time: links to a folder are resolved once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def __call__(self, file: str, *, is_stored: bool = False) -> str:
        """Return ``identity(file)``; a *stored* file is no link."""
        folder, name = os.path.split(file)
        if name in {"", ".", "..", STDIN}:
            return identity(file)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        path = os.path.join(self._folders[folder], name)  # noqa: PTH118 - as above
        return path if is_stored or not os.path.islink(path) else os.path.realpath(path)  # noqa: PTH114 - as above


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


def _files(path: str) -> Iterator[str]:
    if path != STDIN and os.path.isdir(path):  # noqa: PTH112 - names are kept as given, and may not be valid text
        yield from _below(path)
    else:
        check_exists(path)
        yield path


def _below(top: str) -> Iterator[str]:
    """Yield the manifests below a directory."""
    errors: list[OSError] = []
    for folder, _, names, _ in folders.walk(top, errors.append):
        yield from (os.path.join(folder, each) for each in names if each.lower().endswith(SUFFIXES))  # noqa: PTH118 - as above
    # A directory that cannot be listed is reported as a file that cannot be read.
    yield from (str(error.filename) for error in errors)


class Files:
    """Files in order, each of which can be read twice: as segments, and then single segments for the positions of findings.

    Pipes and devices are read if they are among the paths *given*.  Files that are *unnamed* can be those of other tools by their content.
    """

    def __init__(self, named: Sequence[tuple[str, str]], stdin: BinaryIO, given: Iterable[str], unnamed: Container[str] = ()) -> None:
        self._named, self._unnamed = named, unnamed
        by_user = frozenset(given)
        self._sizes = [_size(file) for _, file in named]
        # Standard input and pipes can be read only once.
        self._sources = {
            number: _source(*named[number], stdin, is_given=named[number][1] in by_user, is_discovered=False)
            for number, size in enumerate(self._sizes)
            if size is None
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files."""
        return tuple(name for name, _ in self._named)

    def sizes(self) -> list[int]:
        """Return the size of each file in bytes; 0 if it cannot be read."""
        return [len(self._sources[number].content) if number in self._sources else size or 0 for number, size in enumerate(self._sizes)]

    def segments(self, number: int) -> Iterator[tuple[Segment, Manifest]]:
        """Yield the segments of a file, see ``large_files.read``; a file of another tool has no parts."""
        segments = self._segments(number)
        return tool_content.segments_as_discovered(segments) if self._named[number][1] in self._unnamed else segments

    def _segments(self, number: int) -> Iterator[tuple[Segment, Manifest]]:
        name, file = self._named[number]
        source = self._sources.get(number)
        try:
            if source is not None and source.error:
                yield Segment(), source.manifest()
            elif (content := _content(file, self._sizes[number])) is not None:
                yield Segment(), documents.parse(name, content)
            else:
                with io.BytesIO(source.content) if source is not None else file_content.open_regular(file) as stream:
                    yield from large_files.read(name, stream)
        except OSError as error:
            yield Segment(), replaced(Source(name, file, b"", _reason(error)).manifest(), as_whole=True)

    def documents(self, number: int, segment: Segment, parts: Mapping[int, int]) -> dict[int, Document]:
        """Return the objects of these *parts* of a segment, see ``large_files.documents_of``; none if the file can no longer be read."""
        name, file = self._named[number]
        source = self._sources.get(number)
        try:
            with io.BytesIO(source.content) if source is not None else file_content.open_regular(file) as stream:
                return large_files.documents_of(name, stream, segment, parts)
        except OSError:
            return {}


def _size(file: str) -> int | None:
    """Return the size of a file in bytes, 0 if it cannot be read; None for standard input and anything else that is not stored."""
    if file == STDIN:
        return None
    try:
        status = os.stat(file)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _content(file: str, size: int | None) -> bytes | None:
    """Return the bytes of a small file; None if it is large, or no longer has *size* bytes.

    A buffer of the size of a block, and that of a buffered file, would take longer than reading.
    """
    if size is None or size >= large_files.BLOCK:
        return None
    content = file_content.read_regular(file, size + 1)
    return content if len(content) == size else None


def _source(name: str, file: str, stdin: BinaryIO, *, is_given: bool, is_discovered: bool) -> Source:
    most = LARGEST_FILE + 1
    try:
        content = file_content.read_given(file, stdin, most) if is_given else file_content.read_regular(file, most)
        return Source(name, file, content, is_discovered=is_discovered)
    except OSError as error:
        return Source(name, file, b"", _reason(error))


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"
