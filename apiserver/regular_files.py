"""Reading of small files that others replace while a process runs: certificates, keys, tokens.

Opening a named pipe blocks until somebody writes to it, and a device may never end.  Only regular files are read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST = 1024 * 1024
"""Limit for a file, in bytes."""


def read(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return the content of a regular file, at most ``largest + 1`` bytes: one more than allowed shows that it is too large.

    Raises:
        OSError: the file cannot be read, or is not a regular file.

    """
    # O_NONBLOCK: open returns at once for a named pipe.  It has no effect on a regular file.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(largest + 1)
    finally:
        os.close(descriptor)
