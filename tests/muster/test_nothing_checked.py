"""No success if nothing was checked: one sentence, and the command that checks what a chart or a kustomization creates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster.cli import main

pytestmark = pytest.mark.usefixtures("files_of_tools")

EMPTY = {"standard input": "-", "the null device": "/dev/null", "an empty file": "empty.yaml", "a comment": "comment.yaml"}
COMMANDS = ("lint", "tree", "migrate", "doctor", "review", "simulate", "fit", "compile", "snapshot")
LEFT = "nothing was checked: there is no Kubernetes object in "


@pytest.fixture
def files_of_tools(folder: Path) -> None:
    for name, text in {
        "empty.yaml": "",
        "comment.yaml": "---\n# nothing\n",
        "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
        "chart/templates/job.yaml": "kind: Job\nmetadata: {name: {{ .Release.Name }}}\n",
        "kustomization/kustomization.yaml": "resources: [https://example.com/base]\n",
        "pages/mkdocs.yml": "site_name: x\n",
        "foreign/values.yaml": "a: 1\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def run(*arguments: str) -> Result:
    answer = CliRunner().invoke(main, [*arguments], input=b"")
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer


@pytest.mark.parametrize("path", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_input_without_an_object_is_no_success(command: str, path: str) -> None:
    assert 2 == run(command, path).exit_code


@pytest.mark.parametrize("command", ["lint", "tree", "migrate", "doctor"])
def test_an_empty_standard_input_is_one_sentence(command: str) -> None:
    last = run(command, "-").stderr.splitlines()[-1]
    assert last.removesuffix(" (see 'muster doctor --help')") == f"muster {command}: {LEFT}standard input"


HINTS = {
    ("lint", "chart"): "only files of other tools (Helm); for the objects that they create: muster lint --helm PATH",
    ("lint", "kustomization"): "only files of other tools (Kustomize); for the objects that they create: muster lint --kustomize PATH",
    ("lint", "pages"): "only files of other tools (documentation)",
    ("compile", "kustomization"): (
        "only files of other tools (Kustomize); for the objects that they create: kubectl kustomize DIRECTORY | muster compile -"
    ),
    ("tree", "chart"): "only files of other tools (Helm); for the objects that they create: helm template CHART | muster tree -",
    ("doctor", "kustomization"): (
        "only files of other tools (Kustomize); for the objects that they create: kubectl kustomize DIRECTORY | muster doctor -"
        " (see 'muster doctor --help')"
    ),
}


@pytest.mark.parametrize(("command", "path"), HINTS)
def test_files_of_other_tools_alone_are_no_success(command: str, path: str) -> None:
    answer = run(command, path)
    assert (2, f"muster {command}: {LEFT}{path}, {HINTS[command, path]}\n") == (answer.exit_code, answer.stderr)


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize(("path", "given"), {"chart": "helm template CHART", "kustomization": "kubectl kustomize DIRECTORY"}.items())
def test_a_directory_of_another_tool_is_not_read_and_its_rendering_is_named(command: str, path: str, given: str) -> None:
    answer = run(command, path, "--nodes", "1 x cpu=8,memory=8Gi")
    tool = {"chart": "Helm", "kustomization": "Kustomize"}[path]
    want = f"{path}: files of {tool} are not read; for the objects that they create: {given} | muster {command} -"
    assert (2, True, "") == (answer.exit_code, want in " ".join(answer.stdout.split()), answer.stderr)


@pytest.mark.parametrize("command", ["fit", "simulate"])
def test_files_of_tools_that_create_no_objects_are_counted(command: str) -> None:
    answer = run(command, "pages", "--nodes", "1 x cpu=8,memory=8Gi")
    assert f"muster {command}: 1 file of other tools skipped (documentation 1); a file that is named is read\n" in answer.stderr


def test_patches_of_a_kustomization_are_not_judged_as_objects(folder: Path) -> None:
    kustomization = "resources: [job.yaml]\npatches: [{path: patch.yaml}]\n"
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n"
    for name, text in {
        "kustomization.yaml": kustomization,
        "job.yaml": f"{job}      containers: [{{name: c, image: i}}]\n",
        "patch.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: 4}\n",
    }.items():
        (folder / "base").mkdir(exist_ok=True)
        (folder / "base" / name).write_text(text, encoding="utf-8")
    answer = run("fit", "base", "--nodes", "1 x cpu=8,memory=8Gi")
    assert (2, "○ fits: Job a: 1 pod on node-001; 1 object at PATH was skipped and not judged") == (
        answer.exit_code,
        answer.stdout.splitlines()[0],
    )
    assert answer.stdout.splitlines()[1].startswith("! base: files of Kustomize are not read")


def test_both_options_are_named_for_a_chart_beside_a_kustomization() -> None:
    answer = run("lint", "chart", "kustomization")
    assert 2 == answer.exit_code
    assert answer.stderr.endswith("muster lint --helm PATH and muster lint --kustomize PATH\n")


def test_a_directory_with_only_documents_of_others_is_no_success_and_a_report_stays_valid() -> None:
    answer = run("lint", "foreign", "--format", "json")
    assert (2, f"muster lint: {LEFT}foreign\n") == (answer.exit_code, answer.stderr)
    assert ["not-kubernetes"] == [each["rule"] for each in json.loads(answer.stdout)["findings"]]


def test_an_object_beside_files_of_other_tools_is_checked(folder: Path) -> None:
    (folder / "chart" / "group.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", encoding="utf-8")
    answer = run("lint", "chart/group.yaml", "chart")
    assert (0, True) == (answer.exit_code, "2 files of other tools skipped (Helm 2)" in answer.stderr)
