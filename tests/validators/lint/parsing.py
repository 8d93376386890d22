"""Documents of a text, and the places of their fields."""

from __future__ import annotations

from kubeapi.field_path import FieldPath
from validators.lint import documents
from validators.lint.documents import Document, Unreadable

HEAD = "apiVersion: v1\nkind: Pod\n"


def parse(text: str | bytes, file: str = "a.yaml") -> documents.Manifest:
    return documents.parse(file, text if isinstance(text, bytes) else text.encode())


def only(text: str, file: str = "a.yaml") -> Document:
    (result,) = parse(text, file).parts
    assert isinstance(result, Document), result
    return result


def kinds(manifest: documents.Manifest) -> list[str]:
    return [type(part).__name__ for part in manifest.parts]


def unreadable(text: str | bytes, file: str = "a.yaml") -> Unreadable:
    (result,) = parse(text, file).parts
    assert isinstance(result, Unreadable), result
    return result


def place(document: Document, *parts: str | int) -> tuple[int, int, int]:
    span = document.span(FieldPath(*parts))
    assert span.line == span.end_line
    return span.line, span.column, span.end_column


# Places

OBJECT = """\
# comment
---
apiVersion: v1  # first
kind: "Pod"
metadata: {name: x, labels: {a.b/c: d}}
spec:
  list:
  - name: a
    deep: {flow: [1, {k: v}]}
  # comment
  - &anchored
    name: b
  - *anchored
  - <<: *anchored
    more: |
      text
  text: >-
    folded
  empty:
  alias: *anchored
"""
