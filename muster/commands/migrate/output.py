"""Output of migrated manifests: into their files, as one stream, or as a patch."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from muster.commands.migrate import line_diff

if TYPE_CHECKING:
    from validators.migrate.outcome import File

_BOM = "\ufeff".encode()
_LINE_ENDS = (b"\n", b"\r")


class WriteError(Exception):
    """A file cannot be written; the message has the file, the reason and the files already written."""


def replace(files: Sequence[File]) -> None:
    """Write *files* in place, each atomically; modes and links are kept.  No file is replaced before all new contents are written.

    Raises:
        WriteError: a file cannot be written, or has changed since it was read.

    """
    waiting: list[tuple[str, str]] = []
    done: list[str] = []
    name = ""
    try:
        for each in files:
            name = each.name
            waiting.append(_write_temporary(each))
        for (new, target), each in zip(list(waiting), files, strict=True):
            name = each.name
            Path(new).replace(target)
            waiting.pop(0)
            done.append(name)
    except OSError as error:
        result = f"{', '.join(done)} had been written already" if done else "nothing was written"
        raise WriteError(f"{name!r} cannot be written: {(error.strerror or str(error)).lower()}; {result}") from None
    finally:
        for new, _ in waiting:
            with contextlib.suppress(OSError):
                Path(new).unlink()


def joined(files: Sequence[File]) -> bytes:
    """Return all files as one stream, in their order; a single file is not changed."""
    if len(files) == 1:
        return files[0].after
    pieces: list[bytes] = []
    all_json = all(each.name.lower().endswith(".json") for each in files)
    for number, each in enumerate(files):
        content = each.after.removeprefix(_BOM)
        if number and not all_json and not content.startswith(b"---"):
            pieces.append(b"...\n" if content.startswith(b"%") else b"---\n")
        pieces.append(content if content.endswith(_LINE_ENDS) or not content else content + b"\n")
    return b"".join(pieces)


def differences(files: Sequence[File]) -> str:
    """Return the changes as a patch for ``patch -p1`` and ``git apply``."""
    return "".join(line for each in files if each.changed for line in _difference(each))


def _difference(file: File) -> Iterator[str]:
    before, after = (_lines(content) for content in (file.before, file.after))
    name = file.name.removeprefix("/")
    for line in line_diff.unified(before, after, f"a/{name}", f"b/{name}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes) -> list[str]:
    """Split at line feeds only, as patch does."""
    lines = content.decode("utf-8").split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *filter(None, lines[-1:])]


def _write_temporary(file: File) -> tuple[str, str]:
    """Write a temporary file in the folder of the file that it will replace, and return both paths.

    Raises:
        OSError: it cannot be written, or the file has changed since it was read.

    """
    target = os.path.realpath(file.path)
    known = os.stat(target)  # noqa: PTH116 - names can be bytes that are not text
    if not stat.S_ISREG(known.st_mode):
        raise OSError("it is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError("it is not writable")
    if Path(target).read_bytes() != file.before:
        raise OSError("it has changed since it was read")
    handle, new = tempfile.mkstemp(prefix=".muster-", dir=os.path.dirname(target))  # noqa: PTH120 - as above
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(file.after)
            stream.flush()
            with contextlib.suppress(PermissionError):
                os.fchown(handle, known.st_uid, known.st_gid)
            os.fchmod(handle, stat.S_IMODE(known.st_mode))
            os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)  # noqa: PTH108 - as above
        raise
    return new, target
