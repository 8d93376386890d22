"""Bytes of files, pipes and devices.

A pipe or a device is read if the user names it, up to a limit: ``muster lint <(helm template .)``.  Below a directory, or in place of a file of
git or of another tool, it is not read, because nobody may ever write to it, and a device may have no end.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

STDIN = "-"
_AT_ONCE = 1024 * 1024
"""Bytes that are read at once."""
_KINDS_OF_FILES = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_given(file: str, stdin: BinaryIO, most: int) -> bytes:
    """Return the first bytes of a file, a pipe or a device that the user names, at most *most*; ``-`` is *stdin*.

    Raises:
        OSError: it cannot be read.

    """
    if file == STDIN:
        return stdin.read(most)
    with open(file, "rb") as stream:  # noqa: PTH123 - names are kept as given
        return stream.read(most)


def may_be_regular(file: str) -> bool:
    """Return whether ``open_regular`` opens a file, or says why it cannot be read."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116 - as above
    except OSError:
        return True


def open_regular(file: str, *, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        OSError: it cannot be opened, or is a pipe, a device or a directory.

    """
    return open(file, "rb", buffering=buffering, opener=_open_regular)


def _open_regular(file: str, flags: int) -> int:
    # Without this flag, the call waits until somebody writes to a pipe.
    descriptor = os.open(file, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), file)
    kind = next((name for is_of, name in _KINDS_OF_FILES if is_of(mode)), "not a regular file")
    raise OSError(errno.EINVAL, f"it is {kind}, which is only read if you name it", file)


def read_regular(file: str, most: int) -> bytes:
    """Return the first bytes of a regular file, at most *most*.

    Raises:
        OSError: see ``open_regular``.

    """
    with open_regular(file, buffering=0) as stream:
        # Memory for *most* bytes is not taken in advance.
        parts = [stream.read(min(most, _AT_ONCE))]
        while len(parts[-1]) == _AT_ONCE and (left := most - len(parts) * _AT_ONCE) > 0:
            parts.append(stream.read(min(left, _AT_ONCE)))
    return parts[0] if len(parts) == 1 else b"".join(parts)
