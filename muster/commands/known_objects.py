"""``--objects``: cluster objects in files that rules look up; all other objects count as missing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from validators import pipeline
from validators.lint import files
from validators.lint.documents import Document, Unreadable
from validators.object_lookup import KnownObjects


def objects(paths: Sequence[str]) -> KnownObjects:
    """Return the objects in the manifests at *paths*; other kinds are skipped.

    Raises:
        click.UsageError: a path does not exist, or a document cannot be read.
    """
    try:
        manifests = files.read_manifests(paths, sys.stdin.buffer)
    except files.PathError as error:
        raise click.UsageError(f"--objects: {error}") from None
    decoded = []
    for manifest in manifests:
        for part in manifest.parts:
            if isinstance(part, Unreadable):
                raise click.UsageError(f"--objects: {part.file}:{part.line}: {part.message}")
            if isinstance(part, Document) and (known := pipeline.decode_for_lookup(part.content)) is not None:
                decoded.append(known)
    return KnownObjects(decoded, complete=True)
