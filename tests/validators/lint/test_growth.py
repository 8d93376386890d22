"""Reading takes time and memory in proportion to the input: characters, objects and bytes are counted for an input and for a larger one.

Twice the input may take little more than twice as much; an algorithm in the square of the input takes four times as much.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubeapi.field_path import FieldPath
from tests.validators.lint.parsing import kinds, parse
from tests.validators.lint.test_batch import gathered, in_memory, linted
from validators.field import nearest
from validators.lint import batch, documents, examination, files, json_text, large_files, limits, object_index, object_store, places
from validators.lint.documents import Document, Unreadable
from validators.lint.examination import findings_of, subject_of
from validators.lint.finding import LONGEST_NAME, LONGEST_TEXT, Finding
from validators.lint.object_columns import MemoryByteStore
from validators.lint.places import LONGEST_EXCERPT, Lines
from validators.model.objects import Object, decode_kind
from validators.pipeline import examine
from validators.rules.base import Settings

API = "scheduling.k8s.io/v1beta1"
LINEAR = 2.6
"""Largest ratio of the numbers for twice the input: constant parts and the logarithms of sorting are small."""


class CountedText(str):
    """Text that counts the characters that are searched in it, or copied from it."""

    __slots__ = ("touched",)

    def __init__(self, _: str) -> None:
        self.touched = 0

    def __contains__(self, part: object) -> bool:
        self.touched += len(self)
        return super().__contains__(part)  # type: ignore[operator]

    def __getitem__(self, at: object) -> str:
        part = super().__getitem__(at)  # type: ignore[index]
        self.touched += len(part)
        return part

    def find(self, part: str, start: int = 0, end: int | None = None, /) -> int:  # type: ignore[override]
        end = len(self) if end is None else end
        self.touched += max(0, end - start)
        return super().find(part, start, end)


def growth(measured: Callable[[int], int], size: int) -> float:
    return measured(2 * size) / measured(size)


def one_line(count: int, padding: int) -> str:
    """Return a List on one line with *count* groups whose names are invalid, behind a value of *padding* characters."""
    first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "x" * padding}}
    groups = ({"apiVersion": API, "kind": "PodGroup", "metadata": {"name": f"G{each}"}} for each in range(count))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [first, *groups]})


def group(name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": name}, "spec": {"schedulingPolicy": {"basic": {}}, **spec}}


# Long lines


@pytest.mark.parametrize("file", ["a.json", "a.yaml"])
def test_findings_do_not_grow_with_the_line_they_are_on(tmp_path: Path, file: str) -> None:
    def size(padding: int) -> int:
        path = tmp_path / file
        path.write_text(one_line(30, padding))
        read = files.Files(files.listed([str(path)]), io.BytesIO(), [str(path)])
        done = batch.examine(read, batch.Task(0, range(1), 0), Settings(linting=True), MemoryByteStore())
        assert len(done.examination.findings) >= 30
        return len(batch.encode([done]))

    digits = 10 * 30  # columns are larger numbers
    assert size(300_000) - size(LONGEST_EXCERPT) < digits


@pytest.mark.parametrize("text", ["{} {}", "[1, 2", "kind: 1\n" + " " * 700 + "x: : 1\n"])
def test_what_cannot_be_read_has_an_excerpt_and_ends_where_its_line_ends(text: str) -> None:
    for file in ("a.json", "a.yaml"):
        for part in parse(text.replace("{}", "{" + " " * 500 + "}"), file).parts:
            if not isinstance(part, Document):
                finding = examination.finding_of_file(part)
                line = text.replace("{}", "{" + " " * 500 + "}").split("\n")[finding.span.line - 1]
                assert line.startswith(finding.source)
                assert len(finding.source) <= LONGEST_EXCERPT
                assert finding.span.end_column == max(finding.span.column, len(line) + 1)


def test_positions_on_one_line_do_not_copy_it() -> None:
    def touched(count: int) -> int:
        text = CountedText("{} " * count)  # the blank at the end is not part of a span
        lines = Lines(text)
        for number in range(count):
            lines.span(3 * number, 3 * number + 3)
            lines.excerpt(1)
        return text.touched

    assert growth(touched, 200) < LINEAR


@pytest.mark.parametrize("value", ["{} ", '{"kind": "A"}\n', '"a\\\\b" '])
def test_each_of_many_values_of_json_is_searched_by_itself(value: str) -> None:
    def touched(count: int) -> int:
        text = CountedText(value * count)
        assert len([*json_text.values(text)]) == count
        return text.touched

    assert growth(touched, 200) < LINEAR


def test_a_span_ends_at_the_last_character_of_its_line() -> None:
    text = "a: [1, 2]  \t\r\nb: 'x '\r\n  \nc:   "
    lines = Lines(text)
    for start, end, want in [
        (0, 9, 10),
        (0, 12, 10),
        (0, 20, 10),
        (3, 11, 10),
        (14, 21, 8),
        (14, 30, 8),
        (23, 25, 1),
        (26, 33, 3),
        (28, 33, 3),
    ]:
        column = lines.position(start)[1]
        assert lines.span(start, end).end_column == max(want, column), (start, end)


# Long names, keys and messages


def test_names_fields_and_messages_of_findings_are_shortened() -> None:
    long = "n" * 20_000
    content = group(long) | {"spec": {long: 1}}
    document = documents.parse("a.json", json.dumps(content).encode()).parts[0]
    assert isinstance(document, Document)
    findings = findings_of(document, examine(content, Settings(linting=True)).violations, with_fixes=True)

    assert findings
    assert all(len(each.field) <= LONGEST_TEXT + 1 and len(each.message) <= LONGEST_TEXT + 1 for each in findings)
    assert subject_of(content).name == "n" * LONGEST_NAME + "…"
    assert subject_of(group("n" * 253)).name == "n" * 253


def test_a_name_that_is_longer_than_any_valid_one_is_compared_with_no_other() -> None:
    assert nearest("workrs", ["workers"]) is not None
    assert nearest("w" * 253, ["w" * 252]) is not None
    assert nearest("w" * 254, ["w" * 253]) is None


# Many objects


def test_a_large_file_is_read_once_for_the_findings_of_all_its_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings that need objects of other files are determined in tasks of a few objects."""
    reads: list[str] = []
    original = large_files.documents_of
    monkeypatch.setattr(large_files, "documents_of", lambda name, *rest: reads.append(name) or original(name, *rest))  # type: ignore[func-returns-value]
    items = [group(f"g{number}", workloadRef={"workloadName": "w", "templateName": "absent"}) for number in range(40)]
    (tmp_path / "a.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "b.json").write_text("\n".join(map(json.dumps, items[:20])))
    for number in range(6):  # in another task
        (tmp_path / f"x{number}.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    template = {"name": "t", "schedulingPolicy": {"basic": {}}}
    workload = {"apiVersion": API, "kind": "Workload", "metadata": {"name": "w"}, "spec": {"podGroupTemplates": [template]}}
    (tmp_path / "z.json").write_text(json.dumps(workload))

    assert linted([str(tmp_path)]) == in_memory([str(tmp_path)])
    assert len(linted([str(tmp_path)]).findings) >= 60
    assert sorted(map(files.display_name, reads)) == sorted([files.display_name(str(tmp_path / each)) for each in ("a.json", "b.json")] * 2)


@pytest.mark.parametrize("split", [False, True], ids=["one file", "two files"])
def test_many_objects_of_one_name_that_are_no_groups_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, split: bool) -> None:
    """A composite of the wrong shape is looked up by its name, but is in no tree: each group that refers to it is by itself."""
    looked_at = 0
    original = object_index.groups_among

    def counted(objects: object) -> Iterator[object]:
        nonlocal looked_at
        listed = [*objects]  # type: ignore[misc]
        looked_at += len(listed)
        return original(listed)

    monkeypatch.setattr(object_index, "groups_among", counted)

    def objects_looked_at(count: int) -> int:
        nonlocal looked_at
        looked_at = 0
        broken = {"apiVersion": API, "kind": "CompositePodGroup", "metadata": {"name": "top"}, "spec": {"schedulingPolicy": 1}}
        members: list[object] = [group(f"g{number}", parentCompositePodGroupName="top") for number in range(count)]
        broken_ones: list[object] = [broken] * count
        contents = [broken_ones, members] if split else [broken_ones + members]
        for number, items in enumerate(contents):
            (tmp_path / f"{number}.json").write_text("\n".join(map(json.dumps, items)))
        both = gathered([str(tmp_path)], of_task=1)
        for first in range(0, len(both.remaining), 5):
            both.validate(both.remaining[first : first + 5], Settings(linting=True))
        return looked_at

    assert objects_looked_at(object_store.MANY) > object_store.MANY
    assert growth(objects_looked_at, 2 * object_store.MANY) < LINEAR


class CountedEntries(list[tuple[object_index.Place, Object]]):
    """Entries that count those that are read."""

    touched = 0

    def __iter__(self) -> Iterator[tuple[object_index.Place, Object]]:
        for each in super().__iter__():
            self.touched += 1
            yield each


def test_of_many_pods_of_a_group_only_those_are_read_that_are_used() -> None:
    spec = {"schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "main", "image": "train"}]}
    index = object_index.ObjectIndex()
    for number in range(9):
        index.append((b"", number), decode_kind("Pod", {"metadata": {"name": f"p{number}"}, "spec": spec}))
    key = ("children", "Pod", "default", "g")
    index._objects[key] = entries = CountedEntries(index._objects[key])
    pods = object_index.RecordingLookup(index).children(*key[1:])

    assert (9, ["p0", "p8"], ["p7", "p8"]) == (
        len(pods),
        [pods[at].metadata.name for at in (0, -1)],
        [each.metadata.name for each in pods[7:]],
    )
    assert ("p0", 1) == (next(iter(pods)).metadata.name, entries.touched)


def test_aliases_are_searched_once_for_all_fixes_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    pattern = places._ALIAS

    class Counted:
        def findall(self, text: str) -> list[str]:
            nonlocal searched
            searched += len(text)
            return pattern.findall(text)

    monkeypatch.setattr(places, "_ALIAS", Counted())

    def characters(count: int) -> int:
        nonlocal searched
        searched = 0
        templates = "".join(
            f"  - name: t{number}\n    &a{number} schedulingPolicy: &b{number} {{basik: {{}}}}\n" for number in range(count)
        )
        text = f"apiVersion: {API}\nkind: Workload\nmetadata: {{name: w}}\nspec:\n  podGroupTemplates:\n{templates}    x: *b1\n"
        assert len([each for each in _fixable(text) if each.fix is not None and each.fix.is_safe]) == count - 1
        return searched

    assert growth(characters, 20) < LINEAR


def _fixable(text: str) -> list[Finding]:
    (document,) = parse(text).parts
    assert isinstance(document, Document)
    found = findings_of(document, examine(document.content, Settings(linting=True, fixes=True)).violations, with_fixes=True)
    return [each for each in found if each.field.endswith("basik")]


# Aliases


BOMB = "kind: A\nspec:\n  a: &a [x, x, x, x, x]\n  b: &b [*a, *a, *a, *a, *a]\n  c: [*b, *b, *b]\n"
REPEATED = 5 * 6 + 3 * 31
"""Values that the aliases repeat, lists included."""


def test_aliases_of_all_documents_of_a_file_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validators.lint.yaml_events.MOST_REPEATED", 3 * REPEATED)

    assert kinds(parse("---\n".join([BOMB] * 5))) == ["Document"] * 3 + ["Unreadable"] * 2
    last = parse("---\n".join([BOMB] * 4)).parts[-1]
    assert isinstance(last, Unreadable)
    assert last.message == f"aliases must repeat at most {3 * REPEATED} values in a file; use fewer aliases"
    assert kinds(parse("---\n".join([BOMB] * 3 + ["kind: B\nspec: {a: 1}\n"] * 2))) == ["Document"] * 5


def test_aliases_of_all_segments_of_a_file_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validators.lint.yaml_events.MOST_REPEATED", 3 * REPEATED)
    monkeypatch.setattr(large_files, "BLOCK", len(BOMB) + 10)
    content = "---\n".join([BOMB] * 6).encode()
    parts = [part for _, manifest in large_files.read("a.yaml", io.BytesIO(content)) for part in manifest.parts]

    assert [type(each).__name__ for each in parts] == ["Document"] * 3 + ["Unreadable"] * 3
    assert parts[3:] == [*parse(content).parts[3:]]


def test_long_texts_of_aliases_count_as_several_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validators.lint.yaml_events.MOST_REPEATED", 100)
    text = "kind: A\na: &a {}\nb: [{}]\n"

    assert kinds(parse(text.replace("{}", "x" * 40, 1).replace("{}", ", ".join(["*a"] * 100)))) == ["Document"]
    assert kinds(parse(text.replace("{}", "x" * 10 * limits.REPEATED_TEXT, 1).replace("{}", ", ".join(["*a"] * 9)))) == ["Document"]
    assert kinds(parse(text.replace("{}", "x" * 10 * limits.REPEATED_TEXT, 1).replace("{}", ", ".join(["*a"] * 10)))) == ["Unreadable"]


@pytest.mark.parametrize("text", ["{a: &a b, *a : 1, '': 2, c: {<<: {d: 1}, e: 2}}", "{'': 1, <<: {'': 2, x: 3}}"])
def test_keys_merges_and_aliases_have_values_and_places(text: str) -> None:
    document = parse(f"kind: A\nspec: {text}\n").parts[0]
    assert isinstance(document, Document)
    for path in _paths(document.content["spec"]):
        assert document.span(FieldPath("spec", *path)).line == 2


def _paths(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, each in value.items() if isinstance(value, dict) else ():
        yield (*path, key)
        yield from _paths(each, (*path, key))
