"""The field at a place of a text, against the parser: at every key and value of many manifests, complete and cut off there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kubeapi.field_path import Part
from muster.commands.lsp.typed_text import typed_at
from tests.sampling import sampled
from validators import rules
from validators.lint import documents
from validators.lint.documents import is_json
from validators.lint.places import Entry, Place

TOP = Path(__file__).parents[2]
SHORT = 20_000
WRITTEN_IN_ANOTHER_STYLE = "? "
"""Keys with this mark are not read."""


def texts() -> dict[str, str]:
    """Return the texts of many manifests by name."""
    found = {
        f"{rule.id}-{number}.yaml": each.yaml for rule in rules.discover().values() for number, each in enumerate((*rule.good, *rule.bad))
    }
    files = (
        each for folder in ("examples", "tests/cases", "docs") for each in (TOP / folder).rglob("*") if each.suffix in {".yaml", ".json"}
    )
    for file in sorted(files):
        content = file.read_bytes()
        if len(content) < SHORT and content.isascii():
            found[str(file.relative_to(TOP))] = content.decode()
    return found


def fields(place: Place, path: tuple[Part, ...] = ()) -> Iterator[tuple[tuple[Part, ...], Entry | Place]]:
    """Yield all places that are written where they belong, with their paths; the index of every item is 0."""
    inside = place.inside
    for part, child in inside.items() if isinstance(inside, dict) else enumerate(inside or ()):
        if place.start <= child.start <= place.end:
            below = (*path, 0 if isinstance(part, int) else part)
            yield below, child
            value = child.value if isinstance(child, Entry) else child
            if not value.alias:
                yield from fields(value, below)


def places(text: str, name: str) -> Iterator[tuple[int, tuple[Part, ...], bool]]:
    """Yield the ends of keys and single values in a text: offset, path, and whether a key or an item is there."""
    chunks = {id(each.chunk): each.chunk for each in documents.parse(name, text.encode()).documents}
    for chunk in chunks.values():
        if WRITTEN_IN_ANOTHER_STYLE in chunk.text:
            continue
        for path, child in fields(chunk.root):
            value = child.value if isinstance(child, Entry) else child
            if isinstance(child, Entry):
                yield chunk.base + child.end, path[:-1], True
            is_single = value.inside is None and not value.alias and value.end > value.start
            if is_single and "\n" not in chunk.text[child.start : value.end]:
                yield chunk.base + value.end, path, not isinstance(child, Entry)


def test_agrees_with_the_parser() -> None:
    count = 0
    for name, text in texts().items():
        for offset, path, is_key in places(text, name):
            for typed_so_far in (text, text[:offset], f"{text[:offset]}\n  - {{broken: [\n"):
                typed = typed_at(typed_so_far, offset, is_json=is_json(name))
                assert typed is not None, (name, text[:offset])
                assert (path, is_key) == (typed.path, typed.is_key), (name, text[:offset])
                assert typed.start <= offset <= typed.end
                count += 1
    assert count > 50_000


@pytest.mark.parametrize("style", ["block", "json"])
def test_a_large_file_is_read_at_once(style: str) -> None:
    """Six megabytes in one document; a key at the end needs less than half a second, with a margin for slow machines."""
    item = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n  spec:\n    containers:\n    - name: main\n      image: b\n"
    text = "apiVersion: v1\nkind: List\nitems:\n" + item * 60_000 + "- apiVersion: v1\n  kind: Pod\n  spec:\n    host"
    if style == "json":
        text = (
            '{"kind": "List", "items": ['
            + '{"kind": "Pod", "spec": {"containers": [{"name": "main"}]}},\n' * 100_000
            + '{"kind": "Pod", "spec": {"host'
        )
    before = time.perf_counter()

    typed = typed_at(text, len(text), is_json=style == "json")

    assert time.perf_counter() - before < 5
    assert typed is not None
    assert (typed.path, typed.route, typed.in_object("kind")) == (("items", 0, "spec"), ("items", 0), "Pod")


def test_damaged_texts_are_read_too() -> None:
    """With characters added and removed anywhere, the field is at the place, and all that completion asks of it can be answered."""
    random = Random(1)
    found = 0
    for name, text in texts().items():
        for _ in range(sampled(60)):
            damaged = [*text]
            for _ in range(random.randrange(4)):
                at = random.randrange(len(damaged) + 1)
                damaged[at : at + random.randrange(2)] = random.choice([*"{}[]:\"'\n -#|&*?,\t\rab"])
            content = "".join(damaged)
            place = random.randrange(len(content) + 1)
            typed = typed_at(content, place, is_json=is_json(name))
            if typed is not None:
                found += 1
                assert typed.start <= place <= typed.end
                assert typed.path[: len(typed.route)] == typed.route
                assert "\n" not in typed.in_object("kind") + typed.in_object("metadata", "namespace") + typed.sibling("workloadName")
    assert found > 5_000
