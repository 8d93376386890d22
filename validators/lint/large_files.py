"""Large files: a large YAML file is read and parsed a segment at a time, so that only a part of it is in memory.

A segment ends where ``yaml_stream.split`` ends a document.  A file of JSON, and a file of one block, is one segment.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from kubeapi.base_structs import Record, record_field
from validators.lint import documents
from validators.lint.documents import Document, Manifest, Start
from validators.lint.limits import LARGEST_FILE

BLOCK = 256 * 1024
"""Bytes that are read at once; a longer document makes a longer segment."""
_CUT = re.compile(rb"\n(?=---[ \t\r\n])")
_LINE = re.compile(rb"[^\r\n]*")
_Block = tuple[bytes, str]
_COMMENT_OR_DIRECTIVE = (b"#", b"%")
"""Beginnings of lines that can belong to the document after them."""


class Segment(Record, frozen=True):
    """Bytes of a file that are parsed together; ``size`` None: the whole file."""

    offset: int = 0
    size: int | None = None
    start: Start = record_field(default_factory=Start)


def read(name: str, stream: BinaryIO) -> Iterator[tuple[Segment, Manifest]]:
    """Yield the segments of a file with their parsed content; a manifest ``as_whole`` replaces those before it, and is the last."""
    if documents.is_json(name):
        yield Segment(), documents.parse(name, stream.read(LARGEST_FILE + 1))
        return
    blocks = _blocks(stream)
    first, second = next(blocks, (b"", "")), next(blocks, None)
    if second is None:
        yield Segment(), documents.parse(name, first[0])
    else:
        yield from _parts(name, itertools.chain((first, second), blocks))


def _parts(name: str, blocks: Iterable[_Block]) -> Iterator[tuple[Segment, Manifest]]:
    """Yield the parts of a file.  Of several errors of the whole file, the one that ``documents.parse`` finds first is the result."""
    offset, start, is_empty = 0, Start(), True
    template: Manifest | None = None
    for block, next_line in blocks:
        if offset + len(block) > LARGEST_FILE:
            yield Segment(), documents.too_large(name)
            return
        text = documents.decoded(name, block, start)
        if isinstance(text, Manifest):
            size = offset + len(block) + sum(len(each) for each, _ in blocks)
            yield Segment(), text if size <= LARGEST_FILE else documents.too_large(name)
            return
        segment = Segment(offset, len(block), start)
        manifest, start = documents.parse_part(name, text, start, next_line)
        if manifest.as_whole:
            template = template or manifest
        elif template is None:
            yield segment, manifest
        is_empty = is_empty and not manifest.parts
        offset += len(block)
    if template is not None:
        yield Segment(), template
    elif is_empty:
        yield Segment(), Manifest(name, (documents.without_documents(name),))


def documents_of(name: str, stream: BinaryIO, segment: Segment, parts: Mapping[int, int]) -> dict[int, Document]:
    """Return the objects of these *parts* of a segment by their number in the file, see ``documents.objects_in``."""
    stream.seek(segment.offset)
    content = stream.read(LARGEST_FILE + 1 if segment.size is None else segment.size)
    text = documents.decoded(name, content, segment.start) if len(content) <= LARGEST_FILE else ""
    return documents.objects_in(name, text, segment.start, parts) if isinstance(text, str) else {}


def _blocks(stream: BinaryIO) -> Iterator[_Block]:
    """Yield the bytes of a file, cut between documents, each with the line after it."""
    rest = bytearray()
    size = 0
    while block := stream.read(BLOCK):
        size += len(block)
        rest += block
        if len(block) < BLOCK or size > LARGEST_FILE:
            break
        cut = _last_cut(rest, len(rest) - len(block) - len("\n---"))
        if cut:
            following = rest[cut:]
            yield bytes(rest[:cut]), _first_line(following)
            rest = following
    if rest:
        yield bytes(rest), ""


def _first_line(content: bytearray) -> str:
    line = _LINE.match(content)
    return line.group().decode("utf-8", "replace") if line else ""


def _last_cut(content: bytearray, least: int) -> int:
    """Return the offset of the last marker at or after *least* that certainly begins a document; 0 if there is none."""
    cuts = [match.end() for match in _CUT.finditer(content, max(0, least))]
    for cut in reversed(cuts):
        line = content[content.rfind(b"\n", 0, cut - 1) + 1 : cut - 1].strip()
        if line and not line.startswith(_COMMENT_OR_DIRECTIVE) and content.find(b"\n", cut) >= 0:
            return cut
    return 0
