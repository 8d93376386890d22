"""``.muster.yaml`` and ``pyproject.toml``: defaults of options, severities by file, mistakes with their lines."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from muster import cli
from tests.muster.test_lint import BAD, GOOD
from validators import schema


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a group whose minimum is wrong, in two directories."""
    for name in (".git", "legacy", "sub"):
        (tmp_path / name).mkdir()
    (tmp_path / "a.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "legacy" / "b.yaml").write_text(BAD.replace("workers", "others"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(text: str, name: str = ".muster.yaml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments])


def severities(*arguments: str) -> dict[str, str]:
    """Return the severity of the finding in each file."""
    findings = json.loads(lint("--format", "json", *arguments).stdout)["findings"]
    return {Path(each["file"]).name: each["severity"] for each in findings}


def test_rules_have_the_severities_of_the_file_and_the_command_line_has_precedence() -> None:
    configure("rules: {gang-minimum: warning}")

    assert {"a.yaml": "warning", "b.yaml": "warning"} == severities(".")
    assert {"a.yaml": "error", "b.yaml": "error"} == severities(".", "--rule", "gang-minimum=error") == severities(".", "--no-config")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("overrides: [{paths: [legacy/], rules: {gang-minimum: warning}}]", {"a.yaml": "error", "b.yaml": "warning"}),
        ('overrides: [{paths: [legacy/], rules: {gang-minimum: "off"}}]', {"a.yaml": "error"}),
        ('rules: {gang-minimum: "off"}\noverrides: [{paths: [legacy/], rules: {gang-minimum: warning}}]', {"b.yaml": "warning"}),
        ("ignore: [gang-minimum]\noverrides: [{paths: ['*.yaml', '!b.yaml'], rules: {gang-minimum: warning}}]", {"a.yaml": "warning"}),
        (
            "overrides:\n- {paths: ['*'], rules: {gang-minimum: warning}}\n- {paths: ['/legacy/*.yaml'], rules: {gang-minimum: error}}",
            {"a.yaml": "warning", "b.yaml": "error"},
        ),
    ],
)
def test_overrides_set_severities_by_file(text: str, expected: dict[str, str]) -> None:
    configure(text)

    assert expected == severities(".")


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["--select", "gang-minimum"], {"a.yaml", "b.yaml"}),
        (["--select", "topology-single"], set()),
        (["--ignore", "gang-minimum"], set()),
        (["--select", "gang-minimum", "--ignore", "gang-minimum"], set()),
        (["--ignore", "gang-minimum", "--rule", "gang-minimum=error"], set()),
    ],
)
def test_rules_are_selected_and_ignored(arguments: list[str], files: set[str]) -> None:
    assert files == severities(".", *arguments).keys()


def test_a_file_that_cannot_be_read_is_reported_whatever_is_selected() -> None:
    Path("broken.yaml").write_text("a: [", encoding="utf-8")

    assert 2 == lint("broken.yaml", "--select", "gang-minimum", "--ignore", "unreadable").exit_code


def test_the_nearest_file_above_is_read_and_its_paths_are_relative_to_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure("exclude: [/legacy/]\nobjects: [objects]")
    (folder / "objects").mkdir()
    monkeypatch.chdir(folder / "sub")

    assert {"a.yaml"} == severities("..").keys()
    assert {"a.yaml", "b.yaml"} == severities("..", "--exclude", "nothing").keys()


def test_a_file_above_the_repository_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub" / ".git").mkdir()
    configure("ignore: [gang-minimum]")
    monkeypatch.chdir(folder / "sub")

    assert {"a.yaml", "b.yaml"} == severities("..").keys()


def test_pyproject_has_the_same_and_one_without_the_table_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure('[tool.muster]\nignore = ["gang-minimum"]\n\n[tool.muster.gates]\nCompositePodGroup = false\n', "pyproject.toml")
    configure("[tool.other]\n", "sub/pyproject.toml")
    monkeypatch.chdir(folder / "sub")

    assert {} == severities("..")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profil: kep", ".muster.yaml:1: profil: there is no such option; did you mean 'profile'?"),
        ("a: [", ".muster.yaml:1: "),
        ("- a", ".muster.yaml:1: must be one mapping of options to values"),
        ("profile: kep\n---\nprofile: kep", "must be one mapping"),
        ("\nkubernetes: 1.37", ".muster.yaml:2: kubernetes: "),
        ('kubernetes: "1.12"', 'supported values: "1.35"'),
        (
            "rules:\n  gang-minimun: error",
            ".muster.yaml:2: rules[gang-minimun]: there is no rule 'gang-minimun'; did you mean 'gang-minimum'?",
        ),
        ("rules: {gang-minimum: fatal}", "rules.gang-minimum: "),
        ("ignore: [gang-minimum, x]", "ignore[1]: there is no rule 'x'"),
        ("gates: {Nothing: true}", "gates: there is no feature gate 'Nothing'"),
        ("overrides: [{paths: [a]}]", "overrides[0].rules: "),
        ("overrides: [{paths: ['!'], rules: {}}]", "overrides[0].paths: "),
        ("exclude: ['!']", "must be a line of .gitignore"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_field(text: str, message: str) -> None:
    configure(text)
    answer = lint(".")

    assert (2, "") == (answer.exit_code, answer.stdout)
    assert message.lower() in answer.stderr.lower()
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pyproject.toml", "[tool.muster]\nprofil = 1", "pyproject.toml: tool.muster.profil: there is no such option"),
        ("pyproject.toml", "[tool.muster]\na = [", "pyproject.toml: "),
        ("other.toml", "[tool]\nmuster = 1", "other.toml: must have the table tool.muster"),
        ("other.yaml", "a: \x80", "other.yaml: must be UTF-8"),
    ],
)
def test_mistakes_of_other_files(name: str, text: str, message: str) -> None:
    Path(name).write_bytes(text.encode("latin-1"))
    answer = lint(".", *(["--config", name] if name.startswith("other") else []))

    assert 2 == answer.exit_code
    assert message in answer.stderr


def test_options_about_the_file_must_make_sense() -> None:
    assert "exclude each other" in lint(".", "--config", "x", "--no-config").stderr
    assert "no such file" in lint(".", "--config", "x").stderr


def test_the_options_in_effect_are_shown_in_the_form_of_the_file() -> None:
    text = (
        "fail-on: warning\nrules: {gang-minimum: warning}\noverrides: [{paths: [a], rules: {gang-minimum: error}}]\ngates: {WithJob: true}"
    )
    configure(text.replace("WithJob", "WorkloadWithJob"))
    shown = lint("--show-config", "--exclude", "x/")
    content = yaml.safe_load(shown.stdout)

    assert shown.stdout.startswith("# .muster.yaml\n")
    assert {
        "profile": "kep",
        "kubernetes": "1.37",
        "gates": {"WorkloadWithJob": True},
        "rules": {"gang-minimum": "warning"},
        "exclude": ["x/"],
        "overrides": [{"paths": ["a"], "rules": {"gang-minimum": "error"}}],
        "fail-on": "warning",
    } == content
    configure(shown.stdout)
    assert shown.stdout == lint("--show-config").stdout


def test_the_published_schema_is_that_of_the_files() -> None:
    published = json.loads(CliRunner().invoke(cli.main, ["schema", "configuration"]).stdout)
    jsonschema.Draft202012Validator.check_schema(published)

    assert schema.document("configuration") == published


@pytest.mark.parametrize(
    ("level", "text", "expected"),
    [("error", BAD, 1), ("error", GOOD, 0), ("warning", "a: 1", 1), ("error", "a: 1", 0), ("never", BAD, 0), ("never", "a: [", 2)],
)
def test_findings_of_a_severity_fail(level: str, text: str, expected: int) -> None:
    Path("c.yaml").write_text(text, encoding="utf-8")

    assert expected == lint("c.yaml", "--fail-on", level, "--rule", "not-kubernetes=warning").exit_code


def test_statistics_count_by_rule() -> None:
    Path("c.yaml").write_text("a: 1", encoding="utf-8")

    assert "2 error   gang-minimum\n1 warning not-kubernetes\n" in lint(".", "--statistics", "--rule", "not-kubernetes=warning").stdout
    assert "is for --format text" in lint(".", "--statistics", "--format", "json").stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"a.yaml": "warning", "b.yaml": "warning"}),
        (["--ignore", "gang-minimum"], {}),
        (["--select", "topology-single"], {}),
        (["--select", "gang-minimum"], {"a.yaml": "warning", "b.yaml": "warning"}),
        (["--rule", "gang-minimum=error"], {"a.yaml": "error", "b.yaml": "error"}),
    ],
)
def test_the_command_line_has_precedence_over_overrides(arguments: list[str], expected: dict[str, str]) -> None:
    configure("overrides: [{paths: ['**'], rules: {gang-minimum: warning}}]")

    assert expected == severities(".", *arguments)


@pytest.mark.parametrize("arguments", [["--select", "gang-minimum"], ["--ignore", "schema-type"], ["--rule", "schema-type=off"]])
def test_a_value_of_a_wrong_type_is_not_reported_as_missing_if_its_rule_is_off(arguments: list[str]) -> None:
    Path("quoted.yaml").write_text(GOOD.replace("minCount: 4", 'minCount: "4"'), encoding="utf-8")

    assert {"quoted.yaml": "error"} == severities("quoted.yaml")
    assert {} == severities("quoted.yaml", *arguments)


@pytest.mark.parametrize(
    "text",
    ['tool.muster.ignore = ["gang-minimum"]', '[tool]\nmuster = {ignore = ["gang-minimum"]}', '[tool."muster"]\nignore = ["gang-minimum"]'],
)
def test_every_form_of_the_table_is_found(text: str) -> None:
    configure(text, "pyproject.toml")

    assert {} == severities(".")


@pytest.mark.parametrize("text", ['[[tool]]\nname = "muster"', '[project]\ndescription = """\n[tool.muster]\n"""', "tool = 1\n# muster"])
def test_a_pyproject_that_only_mentions_the_table_is_passed_over(text: str) -> None:
    configure(text, "pyproject.toml")

    assert {"a.yaml", "b.yaml"} == severities(".").keys()


@pytest.mark.parametrize("value", ["2026-01-01", "[07:30:00]", "2026-01-01T00:00:00Z"])
def test_a_date_in_toml_is_a_mistake_with_its_field(value: str) -> None:
    configure(f"[tool.muster]\nfail-on = {value}", "pyproject.toml")
    answer = lint(".")

    assert 2 == answer.exit_code
    assert "pyproject.toml: tool.muster.fail-on: " in answer.stderr


@pytest.mark.parametrize("arguments", [["--rule", "gang-minimum"], ["--gates", "x"], ["--select", "x"]])
def test_mistakes_are_reported_instead_of_the_configuration(arguments: list[str]) -> None:
    answer = lint("--show-config", *arguments)

    assert (2, "") == (answer.exit_code, answer.stdout)
    assert arguments[0] in answer.stderr


def test_the_configuration_shows_options_in_all_their_forms() -> None:
    shown = yaml.safe_load(
        lint("--show-config", "--gates", "CompositePodGroup=TRUE, WorkloadWithJob=false", "--rule", "gang-minimum = off").stdout
    )

    assert {"CompositePodGroup": True, "WorkloadWithJob": False} == shown["gates"]
    assert {"gang-minimum": "off"} == shown["rules"]


def test_a_path_through_a_link_to_the_repository_has_the_severities_of_its_files(folder: Path) -> None:
    configure("exclude: [a.yaml, known.json]\noverrides: [{paths: [legacy/], rules: {gang-minimum: warning}}]\nbaseline: known.json")
    link = folder.with_name("link")
    link.symlink_to(folder)
    Path("known.json").write_text('{"version": 1, "findings": []}', encoding="utf-8")

    assert {"b.yaml": "warning"} == severities(str(link))
    assert 0 == lint(".", "--write-baseline", "known.json").exit_code
    assert {} == severities(str(link))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"# caf\xe9\n[tool.other]\n", "is not UTF-8", id="Latin-1"),
        pytest.param(b"[tool.other]\n# " + b"x" * 1_000_000, "has more than 1,000,000 bytes", id="large"),
        pytest.param("[tool.other]\n".encode("utf-16"), "is not UTF-8", id="UTF-16"),
    ],
)
def test_a_pyproject_of_another_tool_that_cannot_be_read_is_a_warning(content: bytes, told: str) -> None:
    Path("pyproject.toml").write_bytes(content)
    answer = lint("legacy")
    assert (answer.exit_code, answer.stdout.count("gang-minimum")) == (1, 1)
    assert f"muster lint: pyproject.toml {told}; it is ignored" in answer.stderr.replace("cli lint", "muster lint")


@pytest.mark.parametrize("content", [b"# caf\xe9\n[tool.muster]\n", b"[tool.muster]\n# " + b"x" * 1_000_000])
def test_a_pyproject_with_the_table_must_be_readable(content: bytes) -> None:
    Path("pyproject.toml").write_bytes(content)
    answer = lint("legacy")
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert "pyproject.toml: must be" in answer.stderr


def test_a_pyproject_with_a_mark_is_read() -> None:
    Path("pyproject.toml").write_bytes(b'\xef\xbb\xbf[tool.muster]\nfail-on = "never"\n')
    assert lint("legacy").exit_code == 0
