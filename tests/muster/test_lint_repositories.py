"""``muster lint`` on repositories as people have them: clean ones pass, and planted mistakes are reported with line and column."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.validators.lint.repositories import CHART, KUSTOMIZE, MONO_REPOSITORY, written

REPOSITORIES = {"chart": CHART, "kustomize": KUSTOMIZE, "mono": MONO_REPOSITORY}
MANIFESTS = {
    "chart": ("examples/group.yaml", "examples/pod.yaml"),
    "kustomize": ("base/group.yaml", "base/pod.yaml"),
    "mono": ("deploy/keep.local.yaml", "deploy/pod.yaml"),
}
NOTES = {
    "chart": "muster lint: 11 files of other tools skipped (Helm 11); name a file, or use --include, to read it\n",
    "kustomize": "muster lint: 10 files of other tools skipped (Kustomize 10); name a file, or use --include, to read it\n",
    "mono": "muster lint: 9 files of other tools skipped (Compose 1, Node.js 5, Python 1, continuous integration 1, documentation 1); "
    "name a file, or use --include, to read it\n",
}


@pytest.fixture(params=REPOSITORIES)
def repository(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the working directory a repository, and return its name."""
    written(REPOSITORIES[request.param], tmp_path)
    monkeypatch.chdir(tmp_path)
    return request.param


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments])


def places(answer: Result) -> list[tuple[str, str, int, int]]:
    return [(each["rule"], each["file"], each["line"], each["column"]) for each in json.loads(answer.stdout)["findings"]]


def test_a_clean_repository_has_no_findings(repository: str) -> None:
    answer = lint(".")

    assert (answer.exit_code, answer.stderr) == (0, NOTES[repository])
    assert answer.stdout.startswith(
        "no findings in 2 documents of 2 files" if repository != "chart" else "no findings in 3 documents of 3 files"
    )


def test_quiet_writes_no_note(repository: str) -> None:
    answer = lint(".", "-q")

    assert (answer.exit_code, answer.output) == (0, "")


def test_skipped_files_are_counted(repository: str) -> None:
    skipped = json.loads(lint(".", "--format", "json").stdout)["summary"]["skipped"]

    assert skipped == {"chart": 11, "kustomize": 10, "mono": 9}[repository]


def test_planted_mistakes_are_reported_in_their_place(repository: str) -> None:
    group, pod = (Path(each) for each in MANIFESTS[repository])
    group.write_text(group.read_text(encoding="utf-8").replace("minCount: 4", "minCont: 4"), encoding="utf-8")
    pod.write_text(pod.read_text(encoding="utf-8").replace("podGroupName: workers", "podGroupName: worker"), encoding="utf-8")
    Path("plain.yaml").write_text("a: [\n", encoding="utf-8")
    answer = lint(".", "--format", "json")

    assert answer.exit_code == 3
    assert places(answer) == [
        ("schema-required", str(group), 7, 5),
        ("schema-unknown-field", str(group), 8, 7),
        ("scheduling-group-exists", str(pod), 7, 5),
        ("unreadable", "plain.yaml", 2, 1),
    ]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["templates/podgroup.yaml"], 2, id="a template that is named is unreadable"),
        pytest.param(["values.yaml"], 0, id="values are not a Kubernetes object: a warning"),
        pytest.param([".", "--include", "templates/"], 2, id="templates that are included"),
        pytest.param([".", "--include", "templates/", "--exclude", "*.yaml"], 2, id="exclude takes precedence, and nothing is left"),
        pytest.param([".", "--exclude", "!"], 2, id="a pattern without a meaning"),
    ],
)
def test_explicitly_named_and_included_paths_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], want: int
) -> None:
    monkeypatch.chdir(written(CHART, tmp_path))

    assert lint(*arguments).exit_code == want


def test_a_pattern_without_a_meaning_is_one_line(tmp_path: Path) -> None:
    answer = lint(str(tmp_path), "--include", "!")

    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert "Invalid value for --include: Invalid git pattern: '!': must be a line of .gitignore" in answer.stderr


def test_objects_are_discovered_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(CHART, tmp_path))

    assert lint("examples/pod.yaml", "--objects", ".").exit_code == 0


QUEUED = Path(__file__).parent.parent / "cases" / "queued"
"""Manifests as Kueue's documentation shows them for each kind of job, and the objects of its queues."""


def test_queued_jobs_are_clean_but_for_planted_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = lint(str(QUEUED))
    # The Topology is of v1alpha1, which Kueue 0.17 does not serve.
    kinds = "1 Topology, 1 Workload, 1 WorkloadPriorityClass"
    assert (answer.exit_code, answer.stdout) == (
        0,
        f"no findings in 13 documents of 2 files; 3 documents of other kinds not judged ({kinds})\n",
    )

    text = (QUEUED / "jobs.yaml").read_text(encoding="utf-8")
    for right, wrong in (
        ("parallelism: 3", "parallelism: three"),
        ("leader-", "Leader_"),
        ("leaderTemplate: {spec: {", "\\g<0>schedulingGroup: {podGroupName: [x]}, "),
    ):
        text = re.sub(re.escape(right), wrong, text, count=1)
    written({"jobs.yaml": text}, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert places(lint(".", "--format", "json")) == [
        ("schema-type", "jobs.yaml", 9, 3),
        ("schema-format", "jobs.yaml", 67, 3),
        ("schema-type", "jobs.yaml", 108, 47),
    ]
