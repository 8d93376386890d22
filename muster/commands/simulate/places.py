"""Positions of objects at PATH: the file and line of a field, for messages about objects that are not accepted."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from validators.field import FieldPath
from validators.lint import documents
from validators.lint.documents import Document

_NAMED = ("name", "generateName", "namespace")


class Places:
    """Files at PATH, which are only parsed with positions if one is needed."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """Keep the content of each file, by its name."""
        self._texts = texts

    def place(self, content: Mapping[str, Any], path: FieldPath) -> str:
        """Return ``file:line`` of a field, or of its nearest parent; empty if the object is in none of the files."""
        named = _name(content)
        candidates = [each for each in self._documents if _name(each.content) == named] or [
            each for each in self._documents if _name(each.content) == (*named[:2], None, *named[3:]) and named[3]
        ]
        same = next((each for each in candidates if each.content == content), candidates[0] if candidates else None)
        return "" if same is None else f"{same.file}:{same.span(path).line}"

    @functools.cached_property
    def _documents(self) -> list[Document]:
        manifests = (documents.parse(name, text) for name, text in self._texts.items())
        return [part for each in manifests for part in each.parts if isinstance(part, Document)]


def _name(content: Mapping[str, Any]) -> tuple[object, ...]:
    metadata = content.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    return content.get("apiVersion"), content.get("kind"), *(fields.get(each) for each in _NAMED)
