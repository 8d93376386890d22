"""Memory of large requests: one process at a time decodes one, and what is freed goes back to the system.

Decoding takes up to 42 times the size of a body, and the manifests limit the memory of all workers together.
"""

from __future__ import annotations

import ctypes
import fcntl
import tempfile
from collections.abc import Callable

MMAP_THRESHOLD, ARENA_MAX = -3, -8
"""Parameters of mallopt, glibc's ``malloc.h``."""
ARENAS = 2
LARGE_BYTES = 128 * 1024


class Alone:
    """Lock among processes that were forked after its creation.  The kernel releases it when its holder ends.

    One thread in each process may use it: locks of ``lockf`` belong to the process.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the processes

    def __enter__(self) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN)


class Trim:
    """Returns free memory of the C library to the system when large requests have ended."""

    def __init__(self) -> None:
        self._trim = _function("malloc_trim")
        self._busy = False
        if (configure := _function("mallopt")) is not None:
            # A large block is then a mapping of its own, which is returned when it is freed; the threshold would grow by itself.
            configure(MMAP_THRESHOLD, LARGE_BYTES)
            configure(ARENA_MAX, ARENAS)

    def tick(self, used: int) -> None:
        """Trim once when the bytes of large requests have become zero; called repeatedly."""
        if self._busy and not used and self._trim is not None:
            self._trim(0)
        self._busy = used > 0


def _function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None in another library than glibc."""
    return getattr(ctypes.CDLL(None), name, None)
