"""Manifests of paths: which files, in which order, and errors for files that cannot be read."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from validators.lint import files
from validators.lint.documents import Unreadable

POD = "apiVersion: v1\nkind: Pod\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the working directory one with manifests and other files."""
    for name in ("b.yaml", "a/z.yml", "a/c.json", "a.yaml", "run.sh", "a/README.md", "B.YAML"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}" if name.endswith("json") else POD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*paths: str, leave_out: frozenset[str] = frozenset()) -> list[str]:
    return [each.file for each in files.read_manifests(paths, io.BytesIO(b""), leave_out=leave_out)]


@pytest.mark.parametrize(
    ("paths", "want"),
    [
        pytest.param(["."], ["B.YAML", "a.yaml", "a/c.json", "a/z.yml", "b.yaml"], id="below a directory, in the order of bytes"),
        pytest.param(["b.yaml", "./a"], ["a/c.json", "a/z.yml", "b.yaml"], id="whatever the order of the paths"),
        pytest.param(["run.sh"], ["run.sh"], id="a file that is named is read whatever its name"),
        pytest.param(["a.yaml", ".", "./a.yaml"], ["B.YAML", "a.yaml", "a/c.json", "a/z.yml", "b.yaml"], id="each file once"),
    ],
)
def test_which_files(tree: Path, paths: list[str], want: list[str]) -> None:
    assert want == names(*paths)


def test_absolute_paths_stay_absolute(tree: Path) -> None:
    assert [f"{tree}/a.yaml"] == names(str(tree / "a.yaml"))


def test_a_path_that_does_not_exist_is_a_mistake(tree: Path) -> None:
    with pytest.raises(files.PathError, match="'nowhere' must be a file or a directory"):
        names("nowhere")


def test_standard_input_is_read_once() -> None:
    (result,) = files.read_manifests(["-", "-"], io.BytesIO(POD.encode()))

    assert result.file == "<stdin>"
    assert len(result.parts) == 1


def test_links_are_followed_and_circles_are_not(tree: Path) -> None:
    (tree / "a" / "up").symlink_to(tree)
    (tree / "other").mkdir()
    (tree / "other" / "in").symlink_to(tree / "a")

    assert names("other") == [
        "other/in/c.json",
        "other/in/up/B.YAML",
        "other/in/up/a.yaml",
        "other/in/up/b.yaml",
        "other/in/z.yml",
    ]


def test_what_is_left_out_is_not_read(tree: Path) -> None:
    assert names(".", leave_out=files.identities(["a"])) == ["B.YAML", "a.yaml", "b.yaml"]


def test_a_broken_link_cannot_be_read(tree: Path) -> None:
    (tree / "a" / "broken.yaml").symlink_to(tree / "nowhere")
    manifests = files.read_manifests(["a"], io.BytesIO())

    (lost_fields,) = [part for each in manifests for part in each.parts if isinstance(part, Unreadable)]
    assert (lost_fields.file, lost_fields.line) == ("a/broken.yaml", 1)
    assert "no such file" in lost_fields.message


def test_a_pipe_below_a_directory_is_not_waited_for(tree: Path) -> None:
    os.mkfifo(tree / "a" / "pipe.yaml")

    assert names("a") == ["a/c.json", "a/z.yml"]


def test_a_name_that_is_no_text_is_reported_legibly(tree: Path) -> None:
    (tree / os.fsdecode(b"a/\xff.yaml")).write_text(POD, encoding="utf-8")

    assert "a/\\xff.yaml" in names("a")


def test_a_source_has_the_bytes_and_the_place_of_its_file(tree: Path) -> None:
    (tree / "a" / "broken.yaml").symlink_to("nowhere")
    result = {each.name: each for each in files.sources(["./b.yaml", "a"], io.BytesIO(b""))}

    assert (result["b.yaml"].path, result["b.yaml"].content, result["b.yaml"].error) == ("./b.yaml", POD.encode(), "")
    assert (result["a/broken.yaml"].content, result["a/broken.yaml"].error) == (b"", "cannot be read: no such file or directory")


def test_the_identity_of_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.yaml").write_text("")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "real" / "link.yaml").symlink_to("../folder/a.yaml")
    monkeypatch.chdir(tmp_path)
    same = files.Identity()
    names = [
        "real/a.yaml",
        "folder/a.yaml",
        "folder/link.yaml",
        "./real/../folder/a.yaml",
        "real/..",
        "folder/",
        "absent/a.yaml",
        "-",
        "a.yaml",
    ]
    for name in [*names, *(str(tmp_path / each) for each in names)]:
        assert same(name) == files.identity(name), name
