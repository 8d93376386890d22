"""Files of other tools that ``muster lint`` recognises by their content, and documents that are no objects, below a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.validators.lint.repositories import GROUP, written
from validators.lint.large_files import BLOCK

BAD = GROUP.replace("minCount: 4", "minCount: 0")
NOTE = "muster lint: {} of other tools skipped ({}); name a file, or use --include, to read it\n"
CHART = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n"}
INDEX = "apiVersion: v1\nentries:\n  c:\n  - {apiVersion: v2, name: c, version: 0.1.0, urls: [c-0.1.0.tgz]}\n"
GO = "{{$n := DefaultParam .n 1}}\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {{.Name}}\n"
TEMPLATES = {
    "a template of a load test": GO,
    "a value": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .name }}\n",
    "a block": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    {{- include `labels` . | nindent 4 }}\n",
    "one document of several": f"{GROUP}---\n{{{{- if .gpu }}}}\napiVersion: v1\nkind: Pod\n{{{{- end }}}}\n---\n{GROUP}",
    "marks in a string of another document": f"{GROUP}---\na: [\n---\nkind: ConfigMap\napiVersion: v1\ndata: {{a: '{{{{ x }}}}'}}\n",
    "Jinja": "{% for i in range(3) %}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n{% endfor %}\n",
    "a field twice": "apiVersion: v1\nkind: Pod\n# {{ if .a }}\nmetadata: {name: a}\n# {{ else }}\nmetadata: {name: b}\n# {{ end }}\n",
    "Windows line ends": GO.replace("\n", "\r\n"),
    "more than a block": f"{GROUP}---\n" * (2 * BLOCK // len(GROUP)) + GO,
    "more than a block, at its begin": f"{GO}---\n" + f"{GROUP}---\n" * (2 * BLOCK // len(GROUP)),
}
pytestmark = pytest.mark.usefixtures("folder")


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments])


def rules(answer: Result) -> list[tuple[str, str]]:
    return [(each["file"], each["rule"]) for each in json.loads(answer.stdout)["findings"]]


@pytest.mark.parametrize("text", TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_that_nobody_names_is_skipped_and_counted(text: str) -> None:
    written({"tmpl/x.yaml": text, "ok/g.yaml": GROUP}, Path())
    answer = lint(".")
    assert (answer.exit_code, answer.stdout) == (0, "no findings in 1 document of 1 file\n")
    assert answer.stderr == NOTE.format("1 file", "templates 1")
    for arguments in (["tmpl/x.yaml"], [".", "--include", "tmpl/"]):
        named = lint(*arguments, "--format", "json")
        assert ("tmpl/x.yaml", "unreadable") in rules(named)
        assert named.exit_code & 2
    assert lint("ok", "--objects", "tmpl").exit_code == 0
    assert lint(".", "--fix", "--diff").exit_code == 0
    assert CliRunner().invoke(cli.main, ["tree", "."]).exit_code == 0


def test_a_template_in_json() -> None:
    written({"a/dashboard.json": '{"title": {{ .Title }}, "kind": "Pod"}', "b/x.json": '{"a": '}, Path())
    answer = lint(".", "--format", "json")
    assert rules(answer) == [("b/x.json", "unreadable")]
    assert json.loads(answer.stdout)["summary"] | {"files": 1, "skipped": 1} == json.loads(answer.stdout)["summary"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: [\n", id="no marks"),
        pytest.param(b"{{ x }}: \xff\n", id="not UTF-8"),
        pytest.param("apiVersion: v1\nkind: Pod\n\tmetadata: {name: p}\n", id="a tab"),
    ],
)
def test_what_is_no_template_is_unreadable(text: str | bytes) -> None:
    Path("x.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    answer = lint(".", "--format", "json")
    assert (answer.exit_code, rules(answer)) == (2, [("x.yaml", "unreadable")])


def test_a_manifest_with_marks_in_strings_is_read() -> None:
    parameters = "[{name: x, value: '{{inputs.parameters.x}}'}]"
    workflow = (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: w}}\nspec: {{arguments: {{parameters: {parameters}}}}}\n"
    )
    written({"w.yaml": f"{workflow}---\n{BAD}"}, Path())
    assert rules(lint(".", "--format", "json")) == [("w.yaml", "gang-minimum")]


@pytest.mark.parametrize(
    ("texts", "note"),
    [
        pytest.param({"docs/index.yaml": INDEX}, NOTE.format("1 file", "Helm 1"), id="an index"),
        pytest.param({"stable.yml": f"{INDEX}generated: '2026-01-01T00:00:00Z'\n"}, NOTE.format("1 file", "Helm 1"), id="another name"),
        pytest.param({"index.yaml": "apiVersion: v1\nentries: {}\n"}, NOTE.format("1 file", "Helm 1"), id="an empty index"),
        pytest.param(
            {"index.yaml": INDEX + "".join(f"  c{number}: [{{name: c{number}}}]\n" for number in range(20_000))},
            NOTE.format("1 file", "Helm 1"),
            id="a large index",
        ),
        pytest.param(
            {**CHART, "files/a.yaml": BAD, "files/deep/dashboard.json": "{}", "files/b.yaml": GO},
            NOTE.format("4 files", "Helm 4"),
            id="files",
        ),
        pytest.param(
            {**CHART, "ci/daemonset-values.yml": "kind: DaemonSet\n", "ci/default-values.yaml": "a: 1\n", "ci/x-values.json": "{}"},
            NOTE.format("4 files", "Helm 4"),
            id="values of tests",
        ),
        pytest.param(
            {f"top/charts/sub/{name}": text for name, text in {**CHART, "files/a.yaml": BAD}.items()},
            NOTE.format("2 files", "Helm 2"),
            id="a chart in a folder",
        ),
    ],
)
def test_files_of_helm_are_skipped_and_counted(texts: dict[str, str], note: str) -> None:
    written({**texts, "ok/g.yaml": GROUP}, Path())
    answer = lint(".")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "no findings in 1 document of 1 file\n", note)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        pytest.param("files/a.yaml", BAD, "gang-minimum", id="files of no chart"),
        pytest.param("ci/daemonset-values.yml", "kind: DaemonSet\n", "schema-required", id="values of no chart"),
        pytest.param("index.yaml", f"{INDEX}---\n{BAD}", "gang-minimum", id="an index with an object"),
        pytest.param("index.yaml", INDEX.replace("entries", "entry"), "schema-required", id="no entries"),
    ],
)
def test_other_files_are_read(name: str, text: str, rule: str) -> None:
    written({name: text}, Path())
    assert (name, rule) in rules(lint(".", "--format", "json"))


VALUES = {"a/one.yaml": "a: 1\n", "a/two.yaml": "- b\n---\nc: 2\n", "b/empty.yaml": "", "ok/g.yaml": GROUP}


def test_documents_that_are_no_objects_are_one_line_below_a_directory() -> None:
    written(VALUES, Path())
    answer = lint(".")
    line = "4 documents of 3 files are not Kubernetes objects; --statistics lists them, --exclude leaves files out"
    assert answer.stdout == f"warning not-kubernetes: {line}\n\n4 warnings in 1 document of 4 files\n"
    assert (answer.exit_code, lint(".", "--fail-on", "warning").exit_code) == (0, 1)
    assert lint(".", "--format", "github").stdout == f"{line}\n4 warnings in 1 document of 4 files\n"
    assert lint(".", "--format", "markdown").stdout == f"### muster lint\n\n4 warnings in 1 document of 4 files.\n\n{line}.\n"


def test_statistics_list_them() -> None:
    written({**VALUES, "bad.yaml": BAD}, Path())
    assert lint(".", "--statistics").stdout == (
        "4 warning not-kubernetes\n    a/one.yaml:1\n    a/two.yaml:1\n    a/two.yaml:3\n    b/empty.yaml:1\n"
        "1 error   gang-minimum\n1 error, 4 warnings in 2 documents of 5 files\n"
    )


def test_a_file_that_is_named_has_a_finding_of_its_own() -> None:
    written(VALUES, Path())
    answer = lint("a/one.yaml", "b")
    assert answer.stdout.startswith("a/one.yaml:1:1: warning not-kubernetes: must be a Kubernetes object")
    assert "\nwarning not-kubernetes: 1 document of 1 file is not a Kubernetes object;" in answer.stdout
    assert lint(".", "--rule", "not-kubernetes=error").stdout.count(" error not-kubernetes: ") == 4


def test_reports_for_programs_have_all_of_them() -> None:
    written(VALUES, Path())
    assert [rule for _, rule in rules(lint(".", "--format", "json"))] == ["not-kubernetes"] * 4
    assert len(json.loads(lint(".", "--format", "sarif").stdout)["runs"][0]["results"]) == 4


def test_several_processes_skip_the_same_files() -> None:
    groups = "---\n".join(GROUP.replace("workers", f"g{number}") for number in range(4000))
    written(
        {**VALUES, "t/x.yaml": GO, "t/y.yaml": f"{groups}---\n{GO}", "index.yaml": INDEX, "many.yaml": groups, "more.yaml": groups}, Path()
    )
    one, several = (lint(".", "--jobs", jobs) for jobs in ("1", "3"))
    assert (one.exit_code, one.stdout, one.stderr) == (several.exit_code, several.stdout, several.stderr)
    assert one.stderr == NOTE.format("3 files", "Helm 1, templates 2")
