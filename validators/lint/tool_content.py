"""Files of other tools that only their content tells: templates that are not rendered, and indexes of chart repositories.

Only files that were discovered below a directory are recognised.  One that the user names, or includes, is read as a manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi.meta import replaced
from validators.lint import tool_files
from validators.lint.documents import Document, FilePart, Manifest, Unreadable
from validators.lint.large_files import Segment

TEMPLATES = "templates"
"""Name of the tools for files with template text: Go templates, Jinja and others."""


def as_discovered(manifest: Manifest) -> Manifest:
    """Return a file that nobody named; without its parts, and with a tool, if the file belongs to another tool."""
    if manifest.has_template_marks and _is_unreadable(manifest):
        return _skipped(manifest, TEMPLATES)
    if manifest.parts and all(map(_is_chart_index, manifest.parts)):
        return _skipped(manifest, tool_files.HELM)
    return replaced(manifest, is_discovered=True)


def segments_as_discovered(segments: Iterable[tuple[Segment, Manifest]]) -> Iterator[tuple[Segment, Manifest]]:
    """Yield the segments of a file as ``as_discovered`` returns it; the last one replaces those before it if the file is a template."""
    unreadable = has_marks = False
    for segment, manifest in segments:
        unreadable, has_marks = unreadable or _is_unreadable(manifest), has_marks or manifest.has_template_marks
        if unreadable and has_marks:
            yield Segment(), _skipped(manifest, TEMPLATES)
            return
        yield segment, replaced(manifest, is_discovered=True) if segment.size is not None else as_discovered(manifest)


def _skipped(manifest: Manifest, tool: str) -> Manifest:
    return Manifest(manifest.file, (), as_whole=True, is_discovered=True, tool=tool)


def _is_unreadable(manifest: Manifest) -> bool:
    return any(isinstance(part, Unreadable) for part in manifest.parts)


def _is_chart_index(part: FilePart) -> bool:
    """Return whether a document is the index of a chart repository: it has an apiVersion and entries, and is of no kind."""
    return isinstance(part, Document) and "entries" in part.content and part.content.get("kind") is None
