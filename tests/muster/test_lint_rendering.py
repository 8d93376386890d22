"""``muster lint --helm`` and ``--kustomize``: mistakes in what the binaries render, with the template and the line of the output."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from muster.commands.lint import rendering
from tests.cluster import go_tools, programs
from tests.cluster.conftest import available
from tests.validators.lint.repositories import CHART, GROUP, KUSTOMIZE, POD, written

GROUP_TEMPLATE = """\
{{- if .Values.gang }}
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: {{ include "train.fullname" . }}
spec:
  schedulingPolicy: {gang: {minCount: {{ .Values.replicas }}}}
{{- end }}
"""
JOB_TEMPLATE = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: {{ .Values.replicas }}
  template:
    spec:
      schedulingGroup: {podGroupName: {{ .Values.group }}}
      restartPolicy: Never
"""
RENDERED_CHART = {
    **{name: text for name, text in CHART.items() if "templates/" not in name},
    "values.yaml": "gang: true\nreplicas: 4\ngroup: x\n",
    "templates/_helpers.tpl": '{{- define "train.fullname" -}}x{{- end }}\n',
    "templates/a.yaml": GROUP_TEMPLATE,
    "templates/b.yaml": JOB_TEMPLATE,
    "charts/common/templates/c.yaml": POD.replace("workers", "x"),
    "charts/library/Chart.yaml": "apiVersion: v2\nname: library\nversion: 1.0.0\ntype: library\n",
}
OVERLAY = "resources: [../../base]\nnamespace: {0}\npatches:\n- path: patch.yaml\n"
PATCH = "apiVersion: v1\nkind: Pod\nmetadata: {name: worker-0}\nspec: {schedulingGroup: {podGroupName: workers}}\n"
RENDERED_TREE = {
    **{name: text for name, text in KUSTOMIZE.items() if name.startswith(("base/", "components/"))},
    "overlays/production/kustomization.yaml": OVERLAY.format("production") + "components: [../../components/large]\n",
    "overlays/production/patch.yaml": PATCH,
    "overlays/test/kustomization.yaml": OVERLAY.format("test"),
    "overlays/test/patch.yaml": PATCH,
}


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the working directory a new folder, and return the only folder of PATH, which is empty."""
    for name in ("bin", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.fixture
def helm(binaries: Path) -> None:
    (binaries / "helm").symlink_to(available(lambda: go_tools.find("helm")))


@pytest.fixture
def kubectl(binaries: Path) -> None:
    (binaries / "kubectl").symlink_to(available(lambda: programs.find().path("kubectl")))


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments])


def places(*arguments: str) -> list[tuple[str, int, int, str]]:
    findings = json.loads(lint(*arguments, "--format", "json").stdout)["findings"]
    return [(each["file"], each["line"], each["column"], each["rule"]) for each in findings]


@pytest.mark.usefixtures("helm")
def test_a_rendered_chart_is_clean() -> None:
    written(RENDERED_CHART, Path("chart"))
    answer = lint("--helm", ".")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("no findings in 6 documents of 6 files")


@pytest.mark.usefixtures("helm")
def test_mistakes_in_a_rendered_chart_have_template_and_line() -> None:
    """The lines are those of the output of ``helm template``, which sorts by kind."""
    written(RENDERED_CHART | {"values.yaml": "gang: true\nreplicas: 0\ngroup: other\n"}, Path("chart"))
    found = places("--helm", ".")
    assert {(file, rule) for file, _, _, rule in found} == {
        ("chart/templates/a.yaml (rendered)", "gang-minimum"),
        ("chart/templates/b.yaml (rendered)", "scheduling-group-exists"),
    }
    output = rendering._output([os.fspath(Path(os.environ["PATH"], "helm")), "template", "chart"])
    lines = output.decode().splitlines()
    for file, line, column, _ in found:
        assert lines[line - 1][column - 1 :].startswith("minCount: 0" if "a.yaml" in file else "podGroupName: other")


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"templates/a.yaml": '{{ fail "no" }}'}, "helm: "),
        ({"templates/a.yaml": "a: [\n"}, "Chart.yaml:1:1: error unreadable: cannot be rendered: helm: "),
        ({"Chart.yaml": "name: [\n"}, "Chart.yaml:1:1: error unreadable: cannot be rendered: helm: "),
        ({"Chart.yaml": CHART["Chart.yaml"].replace("{name: common", "{name: other")}, "missing in charts/ directory: other"),
    ],
)
def test_a_chart_that_cannot_be_rendered_is_unreadable(files: dict[str, str], told: str) -> None:
    written(RENDERED_CHART | files, Path("chart"))
    answer = lint("--helm", "chart")
    assert (answer.exit_code, answer.stdout.count("unreadable")) == (2, 1)
    assert told in answer.stdout


@pytest.mark.usefixtures("kubectl")
def test_rendered_overlays_are_clean() -> None:
    written(RENDERED_TREE, Path())
    answer = lint("--kustomize", ".")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("no findings in 6 documents of 2 files; 2 documents of other kinds")


@pytest.mark.usefixtures("kubectl")
def test_each_overlay_is_linted_by_itself() -> None:
    """The group of one overlay does not stand in for that of another one."""
    written(RENDERED_TREE | {"overlays/test/patch.yaml": PATCH.replace("workers", "others")}, Path())
    ((file, _, column, rule),) = places("--kustomize", ".")
    assert (file, column, rule) == ("overlays/test (rendered)", 5, "scheduling-group-exists")


@pytest.mark.usefixtures("kubectl")
def test_remote_resources_are_not_fetched() -> None:
    written({"kustomization.yaml": "resources: ['https://example.com/a.yaml']\n"}, Path())
    answer = lint("--kustomize", ".")
    assert (answer.exit_code, "cannot be rendered: kubectl: " in answer.stdout) == (2, True)


def test_without_the_options_nothing_is_run(binaries: Path) -> None:
    program(binaries, "helm", "echo x > stolen")
    written(RENDERED_CHART, Path())
    assert lint(".").exit_code == 0
    assert not Path("stolen").exists()


@pytest.mark.parametrize(
    ("option", "told"), [("--helm", "--helm: helm must be in PATH"), ("--kustomize", "--kustomize: kustomize or kubectl must be in PATH")]
)
@pytest.mark.usefixtures("binaries")
def test_a_missing_binary_is_one_line(option: str, told: str) -> None:
    answer = lint(option, ".")
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert told in answer.stderr


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 3", "cannot be rendered: helm: exit status 3"),
        ("echo '# Warning: old' >&2; echo 'Error: no' >&2; exit 1", "cannot be rendered: helm: no"),
        ("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "cannot be rendered: the output must be at most 1,000 bytes"),
        ("while :; do :; done", "cannot be rendered: helm did not end within 0.5 s"),
        ("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyy >&2; done", "cannot be rendered: helm did not end within 0.5 s"),
        ("printf '\\377'", "must be UTF-8"),
        ("printf 'a: [\\n'", "must be YAML"),
    ],
)
def test_a_program_that_fails_is_a_finding(binaries: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str) -> None:
    monkeypatch.setattr(rendering, "_SECONDS", 0.5)
    monkeypatch.setattr(rendering, "LARGEST_FILE", 1000)
    program(binaries, "helm", script)
    written({"Chart.yaml": CHART["Chart.yaml"]}, Path())
    answer = lint("--helm", ".")
    assert (answer.exit_code, answer.stdout.count("unreadable")) == (2, 1)
    assert told in answer.stdout


def test_output_without_templates_belongs_to_the_chart(binaries: Path) -> None:
    program(binaries, "helm", f"printf '%s' '{GROUP.replace('minCount: 4', 'minCount: 0')}'")
    written({"Chart.yaml": CHART["Chart.yaml"]}, Path())
    assert places("--helm", ".") == [("Chart.yaml (rendered)", 8, 7, "gang-minimum")]


def test_a_comment_in_a_template_suppresses(binaries: Path) -> None:
    text = GROUP.replace("minCount: 4", "minCount: 0 # muster: ignore[gang-minimum] a test")
    program(binaries, "helm", f"printf '%s' '# Source: t/templates/a.yaml\n{text}---\n# Source: t/templates/b.yaml\n{text}'")
    written({"Chart.yaml": CHART["Chart.yaml"]}, Path())
    assert places("--helm", ".") == []


@pytest.mark.parametrize("arguments", [["--fix", "--helm"], ["--fix", "--kustomize"]])
def test_rendered_text_is_not_changed(arguments: list[str]) -> None:
    answer = lint(*arguments, ".")
    assert (answer.exit_code, answer.stderr.count("\n")) == (2, 1)
    assert "exclude" in answer.stderr


@pytest.mark.usefixtures("helm")
def test_files_with_values_are_used_in_order() -> None:
    written(RENDERED_CHART | {"../a.yaml": "replicas: 0\ngroup: other\n", "../b.yaml": "replicas: 3\n"}, Path("chart"))
    rules = [rule for *_, rule in places("--helm", "--helm-values", "a.yaml", "--helm-values", "b.yaml", "chart")]
    assert rules == ["scheduling-group-exists"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--helm-values", "a.yaml", "."], "--helm-values needs --helm"),
        (["--helm", "--helm-values", "none.yaml", "."], "--helm-values: 'none.yaml' must be a file that exists"),
        (["--kustomize", "--against", "HEAD", "."], "check the revision out, for example with `git worktree add DIR REF`"),
    ],
)
def test_a_mistake_is_one_line(binaries: Path, arguments: list[str], told: str) -> None:
    for name in ("helm", "kustomize"):
        program(binaries, name, "exit 1")
    answer = lint(*arguments)
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert told in answer.stderr


@pytest.mark.usefixtures("kubectl")
def test_rendered_overlays_are_compared_with_those_of_the_same_folder() -> None:
    """The groups of both overlays differ, before and after the change: that is no change of either."""
    overlay = "resources: [../base]\npatches:\n- target: {kind: PodGroup}\n  patch: |\n    - op: add\n      path: /spec/disruptionMode\n"
    old = {
        "base/kustomization.yaml": "resources: [group.yaml]\n",
        "base/group.yaml": GROUP,
        "one/kustomization.yaml": overlay + "      value: {all: {}}\n",
        "two/kustomization.yaml": overlay + "      value: {single: {}}\n",
    }
    written(old, Path("old"))
    written(old, Path("new"))
    assert places("--kustomize", "--against", "old", "new") == []
    Path("new/one/kustomization.yaml").write_text(old["two/kustomization.yaml"], encoding="utf-8")
    assert [(file, rule) for file, _, _, rule in places("--kustomize", "--against", "old", "new")] == [
        ("new/one (rendered)", "spec-immutable")
    ]
