"""Bytes outside of Python's objects: written one after another, and read again by offset."""

from __future__ import annotations

from typing import Protocol


class ByteStore(Protocol):
    """Bytes that are written one after another, and read again."""

    def append(self, blob: bytes) -> int:
        """Write *blob*; return its offset."""

    def flush(self) -> None:
        """Make all bytes readable."""

    def read(self, offset: int, size: int) -> bytes:
        """Return *size* bytes at *offset*."""


class MemoryByteStore:
    """ByteStore in memory."""

    def __init__(self) -> None:
        self._content = bytearray()

    def append(self, blob: bytes) -> int:
        """See ByteStore."""
        offset = len(self._content)
        self._content += blob
        return offset

    def flush(self) -> None:
        """See ByteStore."""

    def close(self) -> None:
        """Forget all bytes."""
        self._content.clear()

    def read(self, offset: int, size: int) -> bytes:
        """See ByteStore."""
        return bytes(self._content[offset : offset + size])
