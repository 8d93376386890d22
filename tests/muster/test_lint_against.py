"""``muster lint --against``: changes since a revision of git, or since the files of a directory."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from muster.commands.lint import git_tree

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}
"""
CHANGED = GROUP.replace("{all: {}}", "{single: {}}").replace("minCount: 4", "minCount: 3")
AT = [["b/group.yaml", 6, 3, "spec.disruptionMode", "spec-immutable"]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def git(*arguments: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def write(**texts: str) -> None:
    for name, text in texts.items():
        Path(name.replace("__", "/")).parent.mkdir(exist_ok=True)
        Path(name.replace("__", "/")).with_suffix(".yaml").write_text(text, encoding="utf-8")


def commit(**texts: str) -> None:
    git("init", "-q", ".")
    write(**texts)
    git("add", "-A")
    git("commit", "-qm", "one")


def lint(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments], input=given)


def findings(*arguments: str) -> list[list[str | int]]:
    report = json.loads(lint(*arguments, "--format", "json").stdout)
    return [[each[key] for key in ("file", "line", "column", "field", "rule")] for each in report["findings"]]


JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  scheduling: {schedulingPolicy: {gang: {}}}
  replicatedJobs:
  - {name: workers, replicas: 2, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}
"""


def test_the_scheduling_of_a_jobset_is_immutable() -> None:
    commit(a__set=JOBSET)
    write(a__set=JOBSET.replace("{gang: {}}", "{basic: {}}"))
    assert findings(".") == []
    assert findings("--against", "HEAD", ".") == [["a/set.yaml", 5, 3, "spec.scheduling", "jobset-scheduling"]]
    write(a__set=JOBSET.replace("image: i", "image: j"))
    assert findings("--against", "HEAD", ".") == []


def test_a_change_in_a_renamed_file_is_found() -> None:
    commit(a__group=GROUP)
    git("mv", "a", "b")
    write(b__group=CHANGED)
    assert AT == findings("--against", "HEAD", ".") == findings("--against", "main", "b") == findings("--against", "main", "b/group.yaml")
    assert [] == findings(".")
    git("add", "-A")
    git("commit", "-qm", "two")
    assert [] == findings("--against", "HEAD", ".")
    assert AT == findings("--against", "HEAD~1", ".")


def test_a_change_since_a_directory_is_found() -> None:
    write(old__group=GROUP, b__group=CHANGED)
    assert AT == findings("--against", "old", "b") == findings("--against", "old", "b/group.yaml")


def test_a_directory_takes_precedence_over_a_branch() -> None:
    commit(b__group=GROUP)
    write(b__group=CHANGED, main__group=CHANGED)
    assert [] == findings("--against", "main", "b")
    assert AT == findings("--against", "refs/heads/main", "b")


def test_the_repository_is_that_of_the_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a hook of another repository has set its variables, and from a directory outside."""
    commit(b__group=GROUP)
    write(b__group=CHANGED)
    monkeypatch.setenv("GIT_DIR", str(folder / "nowhere"))
    monkeypatch.chdir("/")
    assert [[str(folder / "b" / "group.yaml"), *AT[0][1:]]] == findings("--against", "HEAD", str(folder / "b"))


def test_standard_input_is_compared_with_the_repository_here() -> None:
    commit(b__group=GROUP)
    assert "<stdin>:6:3: error spec-immutable" in lint("--against", "HEAD", "-", given=CHANGED).stdout


def test_what_cannot_be_read_before_is_no_finding() -> None:
    write(b__group=GROUP)
    Path("link.yaml").symlink_to("b/group.yaml")
    commit(broken="kind: [\n", node_modules__old=CHANGED, templates="kind: {{ .Values }}\n", list="- kind\n")
    write(b__group=CHANGED)
    assert AT == findings("--against", "HEAD", "b")


def test_a_new_object_has_no_findings() -> None:
    commit(b__group=GROUP)
    write(b__group=CHANGED.replace("workers", "drivers"))
    assert [] == findings("--against", "HEAD", ".")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param("-x", "'-x' must be a directory, or a branch, tag or commit of git", id="an option"),
        pytest.param("--output=stolen", "'--output=stolen' must be a directory", id="a long option"),
        pytest.param("a b", "'a b' must be a directory", id="a blank"),
        pytest.param("", "'' must be a directory", id="empty"),
        pytest.param("x" * 251, "must be a directory", id="long"),
        pytest.param("HEAD\n--all", "must be a directory", id="two lines"),
        pytest.param("nowhere", "'nowhere' is neither a directory nor a revision of the repository", id="unknown"),
        pytest.param("HEAD:b", "'HEAD:b' is neither a directory nor a revision", id="a tree"),
        pytest.param("$(touch stolen)", "'$(touch stolen)' must be a directory", id="a command"),
        pytest.param("HEAD;touch${IFS}stolen", "is neither a directory nor a revision", id="another command"),
    ],
)
def test_a_mistake_is_one_line(value: str, told: str) -> None:
    commit(b__group=GROUP)
    answer = lint(f"--against={value}", ".")
    assert (2, "", 1) == (answer.exit_code, answer.stdout, answer.stderr.count("\n"))
    assert told in answer.stderr
    assert not Path("stolen").exists()


def test_no_repository_and_no_git_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    write(b__group=GROUP)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(Path.cwd().parent))
    answer = lint("--against", "HEAD", ".")
    assert (2, 1) == (answer.exit_code, answer.stderr.count("\n"))
    assert "is not in a repository of git" in answer.stderr
    monkeypatch.setenv("PATH", "")
    assert "git is not in PATH" in lint("--against", "HEAD", ".").stderr


def test_a_revision_that_a_shallow_clone_lacks() -> None:
    commit(b__group=GROUP)
    write(b__group=CHANGED)
    git("commit", "-qam", "two")
    git("clone", "-q", "--depth", "1", f"file://{Path.cwd()}", "clone")
    answer = lint("--against", "HEAD~1", "clone")
    assert (2, 1) == (answer.exit_code, answer.stderr.count("\n"))
    assert "which is a shallow clone: fetch the revision, for example with `git fetch --unshallow`" in answer.stderr


def test_a_revision_with_too_many_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    commit(b__group=GROUP)
    monkeypatch.setattr(git_tree, "_MOST_BYTES", 10)
    assert "must have at most 10 bytes" in lint("--against", "HEAD", ".").stderr


def test_many_files_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    commit(**{f"b__{name}": GROUP.replace("workers", f"w-{name}") for name in "abcdefg"})
    write(**{f"c__{name}": CHANGED.replace("workers", f"w-{name}") for name in "abcdefg"})
    git("rm", "-rqf", "b")
    monkeypatch.setattr(git_tree, "_CHUNK_BYTES", 2 * len(GROUP))
    assert [f"c/{name}.yaml" for name in "abcdefg"] == [each[0] for each in findings("--against", "HEAD", ".")]


def test_no_program_of_the_repository_is_run() -> None:
    commit(b__group=GROUP)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "filter.x.smudge", "core.hooksPath"):
        git("config", key, "touch stolen; false")
    Path(".gitattributes").write_text("*.yaml filter=x diff=x\n", encoding="utf-8")
    write(b__group=CHANGED)
    assert AT == findings("--against", "HEAD", "b")
    assert not Path("stolen").exists()


def test_against_excludes_fix() -> None:
    assert (
        "--against and --fix exclude each other: fix the files, then compare the result" in lint("--against", "HEAD", "--fix", ".").stderr
    )
