"""Bytes outside of Python's objects: written one after another, and read again by offset."""

from __future__ import annotations

from typing import Protocol


class Blobs(Protocol):
    """Bytes that are written one after another, and read again."""

    def append(self, blob: bytes) -> int:
        """Write *blob*; return its offset."""

    def flush(self) -> None:
        """Make all blobs readable."""

    def read(self, offset: int, size: int) -> bytes:
        """Return *size* bytes at *offset*."""


class MemoryBlobs:
    """Blobs in memory."""

    def __init__(self) -> None:
        self._content = bytearray()

    def append(self, blob: bytes) -> int:
        """See Blobs."""
        offset = len(self._content)
        self._content += blob
        return offset

    def flush(self) -> None:
        """See Blobs."""

    def close(self) -> None:
        """Forget all blobs."""
        self._content.clear()

    def read(self, offset: int, size: int) -> bytes:
        """See Blobs."""
        return bytes(self._content[offset : offset + size])
