"""Manifests of paths: which files, in which order, and errors for files that cannot be read."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from validators.lint import discovery, documents, file_content, files, large_files
from validators.lint.documents import Document, Manifest, Unreadable

POD = "apiVersion: v1\nkind: Pod\n"
GONE = "cannot be read: no such file or directory"


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


def test_a_link_to_itself_cannot_be_read(tree: Path) -> None:
    (tree / "a" / "loop.yaml").symlink_to("loop.yaml")
    read = files.read_manifests(["a"], io.BytesIO())
    messages = {each.file: each.message for manifest in read for each in manifest.parts if isinstance(each, Unreadable)}

    assert messages == {"a/loop.yaml": "cannot be read: too many levels of symbolic links"}


def test_a_broken_link_cannot_be_read(tree: Path) -> None:
    (tree / "a" / "broken.yaml").symlink_to(tree / "nowhere")
    manifests = files.read_manifests(["a"], io.BytesIO())

    (lost_fields,) = [part for each in manifests for part in each.parts if isinstance(part, Unreadable)]
    assert (lost_fields.file, lost_fields.line) == ("a/broken.yaml", 1)
    assert "no such file" in lost_fields.message


@pytest.mark.parametrize("by_segments", [False, True], ids=["whole", "in segments"])
def test_a_pipe_and_a_device_below_a_directory_are_reported_and_not_opened(tree: Path, *, by_segments: bool) -> None:
    os.mkfifo(tree / "a" / "pipe.yaml")
    (tree / "a" / "device.yaml").symlink_to("/dev/zero")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind("a/socket.yaml")
        read = (files.manifests if by_segments else files.read_manifests)(["a"], io.BytesIO())
        problems = {each.file: each.message for manifest in read for each in manifest.parts if isinstance(each, Unreadable)}

    assert problems == {
        "a/device.yaml": "cannot be read: it is a device, which is only read if you name it",
        "a/pipe.yaml": "cannot be read: it is a pipe, which is only read if you name it",
        "a/socket.yaml": "cannot be read: no such device or address",
    }


@pytest.mark.parametrize("read", [files.manifests, files.read_manifests], ids=["in segments", "whole"])
def test_a_pipe_that_is_named_is_read(tree: Path, read: Callable[..., Iterable[Manifest]]) -> None:
    os.mkfifo(tree / "pipe")
    writer = threading.Thread(target=(tree / "pipe").write_text, args=(POD,))
    writer.start()
    (result,) = read(["pipe"], io.BytesIO())
    writer.join()

    assert [type(each) for each in result.parts] == [Document]


@pytest.mark.parametrize("read", [files.manifests, files.read_manifests], ids=["in segments", "whole"])
def test_a_device_without_end_is_too_large(monkeypatch: pytest.MonkeyPatch, read: Callable[..., Iterable[Manifest]]) -> None:
    for module in (files, documents, large_files):
        monkeypatch.setattr(module, "LARGEST_FILE", 100_000)
    (result,) = read(["/dev/zero"], io.BytesIO())

    assert [each.message for each in result.parts if isinstance(each, Unreadable)] == ["must be at most 100,000 bytes; split the file"]


def test_files_of_git_and_other_tools_are_not_waited_for(tree: Path) -> None:
    for name in (".gitignore", "a/kustomization.yaml"):
        os.mkfifo(tree / name)
    found = discovery.discover(["."])

    assert found.skipped == {"Kustomize": 1}
    assert len(found.files) == 5


@pytest.mark.parametrize("size", [0, 10, 4096, 4097, 3 * 4096])
def test_a_regular_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(file_content, "_AT_ONCE", 4096)
    content = os.urandom(size)
    (tmp_path / "a").write_bytes(content)
    for most in (1, 4096, 4097, 3 * 4096, 20_000):
        assert file_content.read_regular(str(tmp_path / "a"), most) == content[:most]


def test_a_file_that_is_gone_when_it_is_read_is_reported_and_the_others_are_read(tree: Path) -> None:
    found = discovery.discover(["."])
    (tree / "b.yaml").unlink()
    (tree / "a.yaml").unlink()
    (tree / "a.yaml").mkdir()
    whole = files.read_manifests(found.files, io.BytesIO(), given=found.paths)
    parts = [*files.manifests(found.files, io.BytesIO(), given=found.paths)]

    for manifests in (whole, parts):
        problems = {each.file: each.message for manifest in manifests for each in manifest.parts if isinstance(each, Unreadable)}
        assert problems == {"a.yaml": "cannot be read: is a directory", "b.yaml": GONE}
        assert sum(isinstance(each, Document) for manifest in manifests for each in manifest.parts) == 2


def test_a_path_that_is_too_long_is_reported_and_the_others_are_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "d" * 200
    for _ in range(4096 // len(name) + 1):
        Path(name).mkdir()
        os.chdir(name)  # a longer path can only be made in steps
        Path("m.yaml").write_text(POD, encoding="utf-8")
    monkeypatch.chdir(tree)
    found = discovery.discover(["."])
    read = files.read_manifests(found.files, io.BytesIO(), given=found.paths)
    messages = {each.message for manifest in read for each in manifest.parts if isinstance(each, Unreadable)}

    assert messages == {"cannot be read: file name too long"}
    assert len(read) > 4096 // len(name)
    assert [each.file for each in read] == names(".")


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
