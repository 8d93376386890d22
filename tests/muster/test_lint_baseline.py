"""``--baseline``: known findings are not reported, whatever the lines and the working directory; new ones are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.muster.test_lint import BAD

BASELINE = ".muster-baseline.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a wrong group, and the baseline of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    Path("a.yaml").write_text(BAD, encoding="utf-8")
    assert 0 == lint(".", "--write-baseline", BASELINE).exit_code
    return tmp_path


def lint(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments], input=stdin)


def test_known_findings_are_counted_and_not_reported() -> None:
    answer = lint(".", "--baseline", BASELINE)

    assert (0, "", "no findings in 1 document of 1 file; 1 finding of the baseline\n") == (answer.exit_code, answer.stderr, answer.stdout)
    assert 1 == json.loads(lint(".", "--baseline", BASELINE, "--format", "json").stdout)["summary"]["baselined"]


def test_moved_lines_and_the_working_directory_do_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.yaml").write_text(f"# a comment\n\n{BAD}", encoding="utf-8")
    monkeypatch.chdir(folder / "sub")

    assert 0 == lint("..", "--baseline", f"../{BASELINE}").exit_code
    assert 0 == lint(str(folder / "a.yaml"), "--baseline", f"../{BASELINE}").exit_code


@pytest.mark.parametrize(
    "text",
    [
        BAD.replace("name: workers", "name: others"),
        f"{BAD}---\n{BAD}".replace("workers", "others", 1),
        BAD.replace("minCount: 0}}", "minCount: 2}}\n  priority: 2000000000"),
        "a: [",
    ],
)
def test_new_findings_are_reported(text: str) -> None:
    Path("a.yaml").write_text(text, encoding="utf-8")

    assert 0 != lint(".", "--baseline", BASELINE).exit_code


def test_a_second_finding_like_a_known_one_is_new() -> None:
    Path("b.yaml").write_text(BAD, encoding="utf-8")

    assert 1 == lint(".", "--baseline", BASELINE).exit_code


def test_findings_that_are_mended_are_counted() -> None:
    Path("a.yaml").write_text(BAD.replace("minCount: 0", "minCount: 2"), encoding="utf-8")
    answer = lint(".", "--baseline", BASELINE)

    assert f"muster lint: {BASELINE} is out of date: 1 finding no longer reported; write it again with --write-baseline\n" == answer.stderr
    assert "" == lint("sub", "--baseline", BASELINE, "--include", "x").stderr.replace(
        "muster lint: no .yaml, .yml, .json file in sub\n", ""
    )


def test_findings_of_rules_that_are_off_are_not_counted_as_mended() -> None:
    answer = lint(".", "--baseline", BASELINE, "--select", "topology-single")

    assert (0, "") == (answer.exit_code, answer.stderr)


def test_a_baseline_is_not_written_to_standard_output() -> None:
    answer = lint(".", "--write-baseline", "-")

    assert (2, "") == (answer.exit_code, answer.stdout)
    assert "--write-baseline: give a file" in answer.stderr


def entries(file: str = BASELINE) -> list[tuple[str, str]]:
    """Return file and rule of each entry."""
    return [(each["file"], each["rule"]) for each in json.loads(Path(file).read_text(encoding="utf-8"))["findings"]]


def test_what_cannot_be_read_is_never_part_of_it() -> None:
    Path("a.yaml").write_text("a: [", encoding="utf-8")

    assert 2 == lint(".", "--write-baseline", ".new.json").exit_code
    assert [] == entries(".new.json")


def test_writing_it_again_keeps_what_the_run_says_nothing_about() -> None:
    Path("sub/b.yaml").write_text(BAD.replace("workers", "others"), encoding="utf-8")
    both = [("a.yaml", "gang-minimum"), ("sub/b.yaml", "gang-minimum")]
    lint("sub", "--write-baseline", BASELINE)
    assert both == entries()

    lint(".", "--select", "topology-single", "--write-baseline", BASELINE)
    assert both == entries()

    Path("a.yaml").write_text("a: [", encoding="utf-8")
    lint(".", "--write-baseline", BASELINE)
    assert both == entries()

    Path("a.yaml").unlink()
    lint(".", "--write-baseline", BASELINE)
    assert both[1:] == entries()

    Path("sub/b.yaml").write_text(BAD.replace("minCount: 0", "minCount: 2"), encoding="utf-8")
    lint(".", "--write-baseline", BASELINE)
    assert [] == entries()


def test_a_file_that_is_no_baseline_is_never_overwritten() -> None:
    before = Path("a.yaml").read_bytes()
    answer = lint(".", "--write-baseline", "a.yaml")

    assert (2, before) == (answer.exit_code, Path("a.yaml").read_bytes())
    assert "--write-baseline a.yaml: must be JSON as `--write-baseline` writes it" in answer.stderr


def test_it_is_not_written_with_a_patch() -> None:
    assert "exclude each other" in lint(".", "--fix", "--diff", "--write-baseline", BASELINE).stderr


def test_the_file_does_not_depend_on_the_order_of_the_input() -> None:
    Path("b.yaml").write_text(BAD, encoding="utf-8")
    lint("b.yaml", "a.yaml", "--write-baseline", "1")
    lint("a.yaml", "b.yaml", "--write-baseline", "2")

    assert Path("1").read_bytes() == Path("2").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x", "must be JSON"),
        (b"\xff", "utf-8"),
        (b"[]", "must be a baseline of version 1"),
        (b'{"version": 2, "findings": []}', "must be a baseline of version 1"),
        (b'{"version": 1, "findings": [{"file": "a"}]}', "findings[0] must have file, document, field, rule and a count above 0"),
        (b'{"version": 1, "findings": [{"file":"a","document":"","field":"","rule":"r","count":true}]}', "findings[0]"),
    ],
)
def test_a_file_that_is_no_baseline_is_a_mistake(content: bytes, message: str) -> None:
    Path(BASELINE).write_bytes(content)
    answer = lint(".", "--baseline", BASELINE)

    assert 2 == answer.exit_code
    assert f"--baseline {BASELINE}: " in answer.stderr
    assert message in answer.stderr


def test_a_missing_file_is_a_mistake() -> None:
    assert "--baseline none: no such file" in lint(".", "--baseline", "none").stderr


def test_files_of_the_linter_itself_are_not_linted() -> None:
    assert 0 == lint(".", "--write-baseline", "base.json", "--output", "json=report.json").exit_code
    files = ("--baseline", "base.json", "--output", "json=report.json")
    answer = lint(".", *files, "--fail-on", "warning")

    assert 0 == answer.exit_code, answer.stdout
    assert "base.json" in lint("base.json", *files).stdout
