"""Migrated files are written all at once or not at all; as a stream they stay readable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muster.commands.migrate.output import WriteError, differences, joined, replace
from validators.lint import documents
from validators.lint.documents import Document
from validators.migrate.outcome import File

BOM = "\ufeff"


def file(path: Path, before: str, after: str) -> File:
    path.write_text(before, encoding="utf-8")
    return File(path.name, str(path), before.encode(), after.encode())


def held(name: str, after: str) -> File:
    return File(name, name, b"", after.encode())


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_files_are_replaced(tmp_path: Path) -> None:
    replace([file(tmp_path / "a.yaml", "a", "b"), file(tmp_path / "c.yaml", "c", "d")])

    assert ["b", "d"] == [(tmp_path / name).read_text(encoding="utf-8") for name in names(tmp_path)]


def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path) -> None:
    file(tmp_path / "a.yaml", "a", "")
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    replace([File("link.yaml", str(tmp_path / "link.yaml"), b"a", b"b")])

    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "a.yaml").read_text(encoding="utf-8") == "b"


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.write_text("changed", encoding="utf-8"), id="it has changed since it was read"),
        pytest.param(lambda path: path.unlink(), id="no such file or directory"),
        pytest.param(lambda path: (path.unlink(), path.mkdir()), id="it is not a regular file"),
    ],
)
def test_where_one_cannot_be_written_none_is(tmp_path: Path, spoil: object, request: pytest.FixtureRequest) -> None:
    files = [file(tmp_path / "a.yaml", "a", "b"), file(tmp_path / "c.yaml", "c", "d")]
    spoil(tmp_path / "c.yaml")
    before = names(tmp_path)

    with pytest.raises(WriteError, match=f"'c.yaml' cannot be written: {request.node.callspec.id}; nothing was written"):
        replace(files)
    assert (tmp_path / "a.yaml").read_text(encoding="utf-8") == "a"
    assert before == names(tmp_path)


def test_a_file_that_is_not_writable_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = file(tmp_path / "a.yaml", "a", "b")
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(WriteError, match="it is not writable"):
        replace([kept])
    assert names(tmp_path) == ["a.yaml"]


def test_what_was_written_before_a_late_failure_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file(tmp_path / "a.yaml", "a", "b"), file(tmp_path / "c.yaml", "c", "d")]
    renamed = Path.replace

    def fails_at_the_second(self: Path, target: str) -> Path:
        if target.endswith("c.yaml"):
            raise OSError(28, "No space left on device")
        return renamed(self, target)

    monkeypatch.setattr(Path, "replace", fails_at_the_second)
    with pytest.raises(WriteError, match=r"'c.yaml' cannot be written: no space left on device; a\.yaml had been written already"):
        replace(files)
    assert names(tmp_path) == ["a.yaml", "c.yaml"]


@pytest.mark.parametrize(
    ("files", "want"),
    [
        pytest.param([held("a.yaml", BOM + "a: 1")], BOM + "a: 1", id="one file as it is"),
        pytest.param([held("a.yaml", "a: 1"), held("b.yaml", "b: 1")], "a: 1\n---\nb: 1\n", id="no line end, no marker"),
        pytest.param(
            [held("a.yaml", "a: 1\n"), held("b.yaml", BOM + "---\nb: 1\n")], "a: 1\n---\nb: 1\n", id="a marker, a byte order mark"
        ),
        pytest.param(
            [held("a.yaml", "a: 1\n"), held("b.yaml", "%YAML 1.1\n---\nb: 1\n")], "a: 1\n...\n%YAML 1.1\n---\nb: 1\n", id="a directive"
        ),
        pytest.param([held("a.json", "{}"), held("b.json", "{}\n")], "{}\n{}\n", id="JSON"),
        pytest.param([held("a.json", "{}"), held("b.yaml", "b: 1")], "{}\n---\nb: 1\n", id="JSON and YAML"),
    ],
)
def test_files_in_one_stream(files: list[File], want: str) -> None:
    assert want == joined(files).decode()


def test_a_stream_has_the_objects_of_all_files() -> None:
    files = [held("a.yaml", "%YAML 1.1\n---\nkind: A\n..."), held("b.json", '{"kind": "B"}'), held("c.yaml", "%YAML 1.1\n---\nkind: C")]
    parts = documents.parse("<stdin>", joined(files)).parts

    assert ["A", "B", "C"] == [part.content["kind"] for part in parts if isinstance(part, Document)]


def test_differences_are_a_patch_that_knows_of_a_missing_line_end() -> None:
    before, after = b"a: 1\r\nb: 1", b"a: 1\r\nc: 1"

    assert differences([File("/m/a.yaml", "", before, after), File("b.yaml", "", b"", b"")]) == (
        "--- a/m/a.yaml\n+++ b/m/a.yaml\n@@ -1,2 +1,2 @@\n a: 1\r\n-b: 1\n\\ No newline at end of file\n+c: 1\n\\ No newline at end of file\n"
    )
