"""Positions of objects at PATH: the file and line of a field, for messages about objects that are not accepted."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from kubeapi import decode
from kubeapi.field_path import FieldPath
from validators.lint import documents
from validators.lint.documents import Document

_NAMED = ("name", "generateName", "namespace")
_Name = tuple[str, str, str, str, str]
"""API version, kind, name, prefix of generated names, and namespace."""


class Places:
    """Files at PATH, which are only parsed with positions if one is needed."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """Keep the content of each file, by its name."""
        self._texts = texts

    def place(self, content: Mapping[str, Any], path: FieldPath) -> str:
        """Return ``file:line`` of a field, or of its nearest parent; empty if the object is in none of the files."""
        api_version, kind, _, prefix, namespace = named = _name(content)
        nameless = api_version, kind, "", prefix, namespace
        candidates = self._by_name.get(named) or (self._by_name.get(nameless) if prefix else None)
        if not candidates:
            return ""
        same = self._by_content.get(decode.ENCODER.encode(content)) if len(candidates) > 1 else None
        found = same or candidates[0]
        return f"{found.file}:{found.span(path).line}"

    @functools.cached_property
    def _documents(self) -> list[Document]:
        manifests = (documents.parse(name, text) for name, text in self._texts.items())
        return [part for each in manifests for part in each.parts if isinstance(part, Document)]

    @functools.cached_property
    def _by_name(self) -> dict[_Name, list[Document]]:
        by_name: dict[_Name, list[Document]] = {}
        for each in self._documents:
            by_name.setdefault(_name(each.content), []).append(each)
        return by_name

    @functools.cached_property
    def _by_content(self) -> dict[bytes, Document]:
        return {decode.ENCODER.encode(each.content): each for each in reversed(self._documents)}


def _name(content: Mapping[str, Any]) -> _Name:
    metadata = content.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    name, prefix, namespace = (str(fields.get(each) or "") for each in _NAMED)
    return str(content.get("apiVersion")), str(content.get("kind")), name, prefix, namespace
