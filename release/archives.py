"""Tar archives that have the same bytes each time they are made of the same files."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def rewrite(path: Path, time: int, more: Mapping[str, bytes] | None = None) -> None:
    """Write a tar archive anew, with gzip if it was: files in the order of their names, of one owner, with one *time* and two modes.

    Args:
        path: the archive.
        time: seconds since 1970.
        more: files that are added, or replaced.

    """
    target = path.with_suffix(".new")
    more = more or {}
    with tarfile.open(path) as old, target.open("wb") as raw:
        kept = {each.name: each for each in old if each.name not in more}
        added = {name: _file(name, content) for name, content in more.items()}
        zipped = path.suffix in {".gz", ".tgz"}
        # The header of gzip would have the name of the file and the time of its creation.
        stream = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=time) if zipped else raw
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as new:
            for name, member in sorted((kept | added).items()):
                content = io.BytesIO(more[name]) if name in more else old.extractfile(member) if member.isreg() else None
                new.addfile(_plain(member, time), content)
        if zipped:
            stream.close()
    target.replace(path)


def _file(name: str, content: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info


def _plain(info: tarfile.TarInfo, time: int) -> tarfile.TarInfo:
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    info.mtime, info.uid, info.gid, info.uname, info.gname, info.pax_headers = time, 0, 0, "", "", {}
    return info
