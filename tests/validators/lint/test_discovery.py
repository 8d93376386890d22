"""Files that are read, left out or skipped below a directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.validators.lint.repositories import CHART, GROUP, KUSTOMIZE, MONO_REPOSITORY, written
from validators.lint import discovery, files, path_patterns, tool_files
from validators.lint.discovery import Discovered, Filters


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def discovered(*paths: str, exclude: tuple[str, ...] = (), include: tuple[str, ...] = ()) -> Discovered:
    def patterns(globs: tuple[str, ...]) -> tuple[path_patterns.PathPatterns, ...]:
        return (path_patterns.patterns(globs, "."),) if globs else ()

    return discovery.discover(paths or (".",), Filters(patterns(exclude), patterns(include)))


def names(*paths: str, exclude: tuple[str, ...] = (), include: tuple[str, ...] = ()) -> list[str]:
    return sorted(os.path.normpath(each) for each in discovered(*paths, exclude=exclude, include=include).files)


@pytest.mark.parametrize(
    ("repository", "read", "skipped"),
    [
        pytest.param(
            # Without a .git, the .gitignore files below the directory apply.
            CHART,
            ["crds/queue.yaml", "examples/group.yaml", "examples/pod.yaml"],
            {"Helm": 11},
            id="a Helm chart",
        ),
        pytest.param(KUSTOMIZE, ["base/group.yaml", "base/pod.yaml"], {"Kustomize": 10}, id="a kustomize tree"),
        pytest.param(
            MONO_REPOSITORY,
            ["deploy/keep.local.yaml", "deploy/pod.yaml"],
            {"Node.js": 5, "Compose": 1, "documentation": 1, "continuous integration": 1, "Python": 1},
            id="a mono-repository",
        ),
    ],
)
def test_repositories(tmp_path: Path, repository: dict[str, str], read: list[str], skipped: dict[str, int]) -> None:
    written(repository, tmp_path)

    assert names() == read
    assert discovered().skipped == skipped
    assert [each.removeprefix("below/") for each in names(str(tmp_path))] == [str(tmp_path / each) for each in read]


def test_files_of_other_tools_by_their_folder(tmp_path: Path) -> None:
    others = [
        "common/config/rush/common-versions.json",
        "recipe/meta.yaml",
        "a/conda.recipe/meta.yaml",
        "keps/1/kep.yaml",
        "libs/a/project.json",
    ]
    read = ["meta.yaml", "rush/common-versions.json"]
    written(dict.fromkeys((*others, *read), "x: 1\n"), tmp_path)

    assert names() == read
    assert discovered().skipped == {"Node.js": 2, "Python": 2, "documentation": 1}
    assert names("recipe/meta.yaml") == ["recipe/meta.yaml"]


@pytest.mark.skipif(not shutil.which("git"), reason="git is the reference")
@pytest.mark.parametrize("top", [".", "a", "a/b", "c"])
def test_the_same_files_are_ignored_as_by_git(tmp_path: Path, top: str) -> None:
    texts = {
        ".gitignore": "*.log.yaml\n/only-here.yaml\nbuild/\n!important.log.yaml\na/**/deep.yaml\n\\!odd.yaml\n\n# comment\n!\n x y.yaml\n",
        "a/.gitignore": "/b/secret.yaml\n*.tmp.yaml\n!build/\n",
        "a/b/.gitignore": "!keep.tmp.yaml\n",
        "c/.gitignore": "*\n!*/\n!x.yaml\n",
        "a/b/d/.gitignore": "*\n!b\n!build\n",
    }
    written(texts, tmp_path)
    base = ["x.log.yaml", "important.log.yaml", "only-here.yaml", "build/y.yaml", "deep.yaml", "!odd.yaml", "x.yaml", " x y.yaml"]
    for folder in ("", "a/", "a/b/", "a/b/d/", "c/", "c/e/"):
        written({f"{folder}{name}": "" for name in (*base, "b/secret.yaml", "t.tmp.yaml", "keep.tmp.yaml")}, tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard", "--", top], check=True, capture_output=True, text=True
    )

    assert names(top) == sorted(each for each in listed.stdout.split("\0") if each.endswith(".yaml"))


def test_explicitly_named_paths_are_read(tmp_path: Path) -> None:
    written(MONO_REPOSITORY, tmp_path)
    named = ("web/package.json", "web/node_modules/left-pad/test/bad.yaml", ".vscode/settings.json", "deploy/mine.local.yaml", "-")

    assert names(*named) == sorted(named)
    assert discovered("package.json", ".").skipped["Node.js"] == 4


@pytest.mark.parametrize(
    ("top", "read"),
    [
        pytest.param("web/node_modules", ["web/node_modules/left-pad/test/bad.yaml"], id="a vendor folder that git ignores"),
        pytest.param("jobs/env", ["jobs/env/lib/bad.yaml"], id="an environment"),
        pytest.param("jobs/.venv/lib", [], id="not a vendor folder inside it"),
        pytest.param("jobs/.venv/lib/site-packages/", ["jobs/.venv/lib/site-packages/x/bad.yaml"], id="with a slash at the end"),
        pytest.param("web/build", ["web/build/out.yaml"], id="a folder that git ignores"),
        pytest.param("deploy", ["deploy/keep.local.yaml", "deploy/pod.yaml"], id="the files that git ignores in it stay left out"),
    ],
)
def test_a_folder_that_is_named_is_entered(tmp_path: Path, top: str, read: list[str]) -> None:
    written(MONO_REPOSITORY, tmp_path)

    assert names(top) == read


def test_git_applies_up_to_the_top_of_the_repository(tmp_path: Path) -> None:
    written({".gitignore": "*.yaml\n", "inside/.git/HEAD": "", "inside/deep/x.yaml": GROUP}, tmp_path)

    assert names("inside/deep") == ["inside/deep/x.yaml"]
    assert names("inside") == ["inside/deep/x.yaml"]


@pytest.mark.parametrize("git", [".git/HEAD", ".git"], ids=["a repository", "a submodule"])
def test_a_repository_inside_another_has_its_own_patterns(tmp_path: Path, git: str) -> None:
    inside = {f"inside/{git}": "", "inside/.gitignore": "y.yaml", "inside/x.yaml": GROUP, "inside/deep/y.yaml": GROUP}
    written(
        {".git/HEAD": "", ".gitignore": "x.yaml\n/ignored/\n", "x.yaml": GROUP, **inside, "ignored/.git": "", "ignored/z.yaml": GROUP},
        tmp_path,
    )

    assert names(".") == ["inside/x.yaml"]


def test_a_resource_of_a_kustomization_is_read_even_if_it_is_a_patch_of_another(tmp_path: Path) -> None:
    base = {"base/kustomization.yaml": "resources: [a.yaml, b.yaml]\npatches: [{path: c.yaml}]\n"}
    over = {"over/kustomization.yaml": "resources: [../base, 3]\npatches: [{path: ../base/a.yaml}]\n"}
    written({**base, **over, **{f"base/{name}.yaml": GROUP for name in "abc"}}, tmp_path)

    assert names(".") == ["base/a.yaml", "base/b.yaml"]


@pytest.mark.parametrize(
    ("exclude", "include", "read"),
    [
        pytest.param(["deploy/"], [], [], id="a folder"),
        pytest.param(["*.yaml", "!pod.yaml"], [], ["deploy/pod.yaml"], id="all but one"),
        pytest.param(["/pod.yaml"], [], ["deploy/keep.local.yaml", "deploy/pod.yaml"], id="a slash is the working directory"),
        pytest.param([], ["**/node_modules/**/bad.yaml"], 1, id="a file of a vendor folder"),
        pytest.param([], ["jobs/"], 2, id="environments in a folder"),
        pytest.param([], ["package.json"], 3, id="a file of another tool, wherever it is"),
        pytest.param(["web/"], ["package.json"], 1, id="exclude takes precedence"),
        pytest.param([], ["*.local.yaml"], 1, id="a file that git ignores"),
        pytest.param([], ["*.md", ".git/"], 0, id="never other suffixes, nor what git keeps"),
    ],
)
def test_patterns_of_the_user(tmp_path: Path, exclude: list[str], include: list[str], read: list[str] | int) -> None:
    """A number is that of files which are read only because of *include*."""
    written(MONO_REPOSITORY, tmp_path)
    got = names(exclude=tuple(exclude), include=tuple(include))

    if isinstance(read, list):
        assert got == read
    else:
        assert {"deploy/keep.local.yaml", "deploy/pod.yaml"} <= set(got)
        assert len(got) == 2 + read + (include == ["jobs/"])


def test_a_pattern_without_a_meaning_is_refused() -> None:
    with pytest.raises(path_patterns.PatternError, match="Invalid git pattern"):
        path_patterns.patterns(["!"], ".")


def test_names_beside_no_chart_are_read(tmp_path: Path) -> None:
    written({"templates/x.yaml": GROUP, "values.yaml": "a: 1\n", "deep/values.yaml": "b: 1\n", "deep/Chart.yaml": "name: x\n"}, tmp_path)

    assert names() == ["templates/x.yaml", "values.yaml"]


def test_nothing_is_skipped_because_it_cannot_be_parsed(tmp_path: Path) -> None:
    written({"x.yaml": "{{ template }}", "notes.json": "{ // comment\n}", "kustomization.yaml": "a: [\n", "patch.yaml": "a: ["}, tmp_path)

    assert names() == ["notes.json", "patch.yaml", "x.yaml"]
    assert discovered().skipped == {"Kustomize": 1}


def test_a_directory_that_cannot_be_listed_is_among_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written({"a/x.yaml": GROUP}, tmp_path)
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("a"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names() == ["a"]


def test_a_path_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(files.PathError, match="'nowhere' must be a file or a directory"):
        discovered("nowhere")


@pytest.mark.parametrize(
    "content", [{}, {"patches": "x.yaml"}, {"patches": [None, {"path": 3}], "openapi": [], "configMapGenerator": [{}, 4]}]
)
def test_a_kustomization_of_another_shape_names_nothing(content: dict[str, object]) -> None:
    assert list(tool_files.files_of_kustomization(content)) == []


@pytest.mark.parametrize(("ignored", "want"), [("*.tmp", ["a\udcff/x.yaml", "b\udcfe.yaml"]), ("a*/", ["b\udcfe.yaml"])])
def test_names_that_are_not_utf_8_are_compared_with_patterns(tmp_path: Path, ignored: str, want: list[str]) -> None:
    written({".gitignore": ignored, "a\udcff/x.yaml": GROUP, "b\udcfe.yaml": GROUP}, tmp_path)

    assert names() == want


def test_links_and_files_that_several_paths_have_are_read_once(tmp_path: Path) -> None:
    for name in ("a/one.yaml", "a/b/two.yaml", "c/three.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "a" / "again.yaml").symlink_to("one.yaml")
    (tmp_path / "c" / "up").symlink_to("../a")
    os.mkfifo(tmp_path / "c" / "pipe.yaml")
    found = discovery.discover(["a/b", "a/one.yaml", ".", "c"])

    once = files.listed(found.files, stored=found.stored)

    assert once == files.listed(found.files)
    assert [name for name, _ in once] == ["a/b/two.yaml", "a/one.yaml", "c/pipe.yaml", "c/three.yaml"]
    assert {os.path.normpath(each) for each in found.stored} >= {"a/one.yaml", "a/b/two.yaml", "c/three.yaml"}
    assert not any("again" in each for each in found.stored)
