"""``muster lint``: options in, report and exit status out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli

GOOD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""
BAD = GOOD.replace("minCount: 4", "minCount: 0")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  schedulingGroup: {podGroupName: workers}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with some manifests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, text in {"good.yaml": GOOD, "bad.yaml": BAD, "broken.yaml": "a: [", "pod.yaml": POD, "values.yaml": "a: 1"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def lint(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments], input=stdin)


def rules(answer: Result) -> list[str]:
    return [each["rule"] for each in json.loads(answer.stdout)["findings"]]


@pytest.mark.parametrize(
    ("paths", "want"),
    [
        (["good.yaml"], 0),
        (["values.yaml"], 0),
        (["bad.yaml"], 1),
        (["broken.yaml"], 2),
        (["."], 3),
    ],
)
def test_the_exit_status(paths: list[str], want: int) -> None:
    answer = lint(*paths)

    assert (want, "") == (answer.exit_code, answer.stderr)


def test_a_folder_without_manifests_is_a_mistake_and_said_to_be_empty(folder: Path) -> None:
    (folder / "empty").mkdir()
    answer = lint("empty")

    assert answer.exit_code == 2
    assert answer.stderr == "muster lint: no .yaml, .yml, .json file in empty\n"


def test_standard_input() -> None:
    answer = lint("-", "--format", "json", stdin=BAD)

    assert answer.exit_code == 1
    assert [each["file"] for each in json.loads(answer.stdout)["findings"]] == ["<stdin>"]


def test_text_is_the_usual_format() -> None:
    assert lint("bad.yaml").stdout.startswith("bad.yaml:5:29: error gang-minimum: spec.schedulingPolicy.gang.minCount: ")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "markdown"])
def test_every_format_can_be_written_to_a_file_as_well(folder: Path, form: str) -> None:
    answer = lint("bad.yaml", "--format", form, "--output", f"{form}=out", "--output", "json=also.json")

    assert answer.exit_code == 1
    assert "gang-minimum" in answer.stdout
    assert (folder / "out").read_text(encoding="utf-8") == answer.stdout
    assert json.loads((folder / "also.json").read_text(encoding="utf-8"))["version"] == 1


def test_quiet_writes_nothing_to_standard_output(folder: Path) -> None:
    answer = lint("-q", "bad.yaml", "--output", "text=out")

    assert (answer.exit_code, answer.stdout) == (1, "")
    assert (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([], ["gang-minimum"], id="as it is"),
        pytest.param(["--rule", "gang-minimum=warning"], ["gang-minimum"], id="warning"),
        pytest.param(["--rule", "gang-minimum=off"], [], id="off"),
        pytest.param(["--rule", "gang-minimum=off", "--rule", "gang-minimum=error"], ["gang-minimum"], id="the later counts"),
        pytest.param(["--kubernetes", "1.36"], ["schema-enum"], id="a version that has no such kind"),
        pytest.param(["--gates", "GenericWorkload=false"], None, id="a combination with which no server starts"),
    ],
)
def test_options_change_the_report(arguments: list[str], want: list[str] | None) -> None:
    answer = lint("bad.yaml", "--format", "json", *arguments)

    if want is None:
        assert answer.exit_code == 2
    else:
        assert want == rules(answer)


def test_the_profile(folder: Path) -> None:
    (folder / "basic.yaml").write_text(GOOD.replace("{gang: {minCount: 4}}", "{basic: {}}\n  disruptionMode: {all: {}}"), encoding="utf-8")

    assert rules(lint("basic.yaml", "--format", "json")) == ["all-needs-gang"]
    assert rules(lint("basic.yaml", "--format", "json", "--profile", "upstream")) == []


def test_gates_that_are_off() -> None:
    gates = "WorkloadWithJob=false, PodGroupPreemptionPolicy=False,DRAWorkloadResourceClaims=false"

    assert lint("good.yaml", "--gates", gates).exit_code == 0


def test_further_objects_are_known(folder: Path) -> None:
    (folder / "other.yaml").write_text(GOOD.replace("workers", "other"), encoding="utf-8")

    assert rules(lint("pod.yaml", "--format", "json", "--objects", "other.yaml")) == ["scheduling-group-exists"]
    assert rules(lint("pod.yaml", "--format", "json", "--objects", "other.yaml", "--objects", "bad.yaml")) == []


def test_a_file_that_is_input_and_object_is_judged() -> None:
    assert rules(lint("bad.yaml", "--format", "json", "--objects", ".")) == ["gang-minimum", "unreadable"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "give at least one PATH", id="no path"),
        pytest.param(["nowhere"], "'nowhere' must be a file or a directory that exists", id="no such path"),
        pytest.param([".", "--objects", "nowhere"], "'nowhere'", id="no such objects"),
        pytest.param([".", "--output", "out.txt"], "must be FORMAT=FILE", id="output without format"),
        pytest.param([".", "--output", "xml=out"], "must be FORMAT=FILE", id="unknown output format"),
        pytest.param([".", "--output", "json=no/such/folder"], "cannot be written", id="a file that cannot be written"),
        pytest.param([".", "--gates", "Nothing=true"], "there is no feature gate 'Nothing'", id="unknown gate"),
        pytest.param([".", "--gates", "GenericWorkload=perhaps"], "must be NAME=true or NAME=false", id="neither true nor false"),
        pytest.param([".", "--gates", "GenericWorkload=false"], "no API server starts", id="gates that do not go together"),
        pytest.param([".", "--rule", "gang-minimun=off"], "did you mean gang-minimum", id="misspelt rule"),
        pytest.param([".", "--rule", "gang-minimum=no"], "must be ID=error", id="unknown severity"),
        pytest.param([".", "--kubernetes", "1.34"], "'1.34' is not one of", id="unknown version"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments: list[str], told: str) -> None:
    answer = lint(*arguments, "-q")

    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert told in answer.stderr


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in lint("bad.yaml").stdout
    monkeypatch.setattr("muster.standard_output.is_colourful", lambda: True)
    assert "\x1b[31;1merror" in lint("bad.yaml").stdout
    assert "\x1b" not in lint("bad.yaml", "--no-color").stdout
    assert "\x1b" not in lint("bad.yaml", "--format", "json").stdout


def test_the_same_input_gives_the_same_output() -> None:
    assert lint(".", "--format", "sarif").stdout == lint("./", "--format", "sarif").stdout


def test_standard_output_has_a_report_by_name(folder: Path) -> None:
    (folder / "one.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", encoding="utf-8")
    assert lint("-o", "json=-", "one.yaml").stdout == lint("--format", "json", "one.yaml").stdout
