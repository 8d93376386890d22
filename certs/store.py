"""Key pairs in a directory: ``ca.crt``, ``tls.crt``, ``tls.key``, and ``ca.key`` if the CA's key is kept.

Edge: files.  Each file is written under a temporary name and renamed; only their owner can read private keys.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from certs.pair import Authority, Pair

CA, CERTIFICATE, KEY, CA_KEY = "ca.crt", "tls.crt", "tls.key", "ca.key"
PRIVATE, PUBLIC = 0o600, 0o644
LARGEST = 1024 * 1024
"""Limit for a file that is read, in bytes."""


class StoreError(ValueError):
    """A file cannot be read or written, or must not be overwritten."""


def present(directory: Path) -> tuple[str, ...]:
    """Return the names of the key pair's files that exist in *directory*."""
    return tuple(name for name in (CA, CERTIFICATE, KEY, CA_KEY) if os.path.lexists(directory / name))


def write(directory: Path, pair: Pair, ca_key: bytes | None = None) -> None:
    """Write a pair into *directory*, replacing existing files; without *ca_key* an existing CA key is removed.

    The key is written first: a server that reads in between sees a pair that does not match, and keeps its old one.

    Raises:
        StoreError: the directory cannot be created or written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _replace(directory / KEY, pair.key, PRIVATE)
        _replace(directory / CA, pair.ca, PUBLIC)
        _replace(directory / CERTIFICATE, pair.certificate, PUBLIC)
        if ca_key is None:
            (directory / CA_KEY).unlink(missing_ok=True)
        else:
            _replace(directory / CA_KEY, ca_key, PRIVATE)
    except OSError as error:
        raise StoreError(f"cannot write to {directory}: {error.strerror or error}") from None


def read_authority(directory: Path) -> Authority:
    """Read the CA and its key from *directory*.  Raises StoreError."""
    return Authority(read(directory / CA), read(directory / CA_KEY))


def read(path: Path) -> bytes:
    """Read the content of *path*.  Raises StoreError if it cannot be read or is larger than LARGEST."""
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    if len(content) > LARGEST:
        raise StoreError(f"{path} must be at most {LARGEST} bytes to be a certificate or key")
    return content


def replace(path: Path, content: bytes, mode: int) -> None:
    """Write *content* to *path*, which a reader sees whole or not at all.  Raises StoreError."""
    try:
        _replace(path, content, mode)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def _replace(path: Path, content: bytes, mode: int) -> None:
    # mkstemp creates the file readable by its owner only, before it has content.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
