"""A part of the recording is created, compared and written without the rest; a difference is shown with its command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.recording import __main__ as command
from tests.recording import commands, recorded_texts
from tests.recording.differences import difference

PART = "commands/tree/"
NAMES = {f"{PART}tree_demo.manifests_--format_{each}" for each in ("text", "json")}


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with answers of another part, and outdated ones."""
    # The recording changes the environment.
    for each in [name for name in os.environ if name.startswith("MUSTER_")] + ["NO_COLOR", "COLUMNS"]:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr(recorded_texts, "DIRECTORY", tmp_path / "texts")
    recorded_texts.write_texts({"commands/help/--help": "1", f"{PART}gone": "2"})
    monkeypatch.setattr(commands, "_reviews", lambda: pytest.fail("another part is created"))
    return tmp_path / "texts"


def test_a_part_is_recorded_and_the_rest_is_kept(texts: Path) -> None:
    help_texts = (texts / "commands.help.json.xz").read_bytes()
    assert command.main(["record", PART]) == 0
    stored = recorded_texts.read_texts()
    assert stored.keys() == {"commands/help/--help", *NAMES}
    assert stored["commands/help/--help"] == "1"
    assert help_texts == (texts / "commands.help.json.xz").read_bytes()


def test_a_group_without_answers_has_no_file(texts: Path) -> None:
    recorded_texts.write_texts({}, PART)
    assert [each.name for each in texts.iterdir()] == ["commands.help.json.xz"]


def test_a_part_is_compared_alone(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["record", PART])
    assert command.main(["check", PART]) == 0
    assert command.main(["check", f"{PART}tree_demo.manifests_--format_json"]) == 0
    assert capsys.readouterr().out.splitlines() == ["2 of 2 answers are as recorded", "1 of 1 answers are as recorded"]


def test_a_changed_answer_is_shown_with_its_command_and_lines(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["record", PART])
    name = f"{PART}tree_demo.manifests_--format_text"
    recorded = recorded_texts.read_texts(name)[name]
    line = recorded.splitlines()[5]
    recorded_texts.write_texts({name: recorded.replace(line, f"was {line[:50]}", 1)}, name)

    assert command.main(["check", PART]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == [f"=== {name}", "@@ line 6: $ muster tree demo/manifests --format text"]
    assert [each[:162] for each in shown[-3:]] == [f"- was {line[:50]}", f"+ {line[:160]}", "1 of 2 answers are as recorded"]


def test_every_answer_is_written_with_its_name(texts: Path, tmp_path: Path) -> None:
    assert command.main(["write", str(tmp_path / "written"), PART]) == 0
    assert {each.stem for each in (tmp_path / "written").rglob("*.txt")} == {name.rpartition("/")[2] for name in NAMES}


LONG = "x" * 1000
COMMANDS = "$ muster a\none\n$ muster b\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(None, "a", ["=== n: is new"], id="new"),
        pytest.param("a", None, ["=== n: is no longer created"], id="gone"),
        pytest.param(
            COMMANDS,
            COMMANDS.replace("three", "3"),
            ["=== n", "@@ line 5: $ muster b", "  $ muster b", "  two", "- three", "+ 3"],
            id="the last command above the line",
        ),
        pytest.param(
            COMMANDS, COMMANDS.replace("one\n", ""), ["=== n", "@@ line 2: $ muster b", "  $ muster a", "- one"], id="a line less"
        ),
        pytest.param("a", "a\nb", ["=== n", "@@ line 2", "  a", "+ b"], id="without a command"),
        pytest.param(
            f"{LONG}1{LONG}", f"{LONG}2{LONG}", ["=== n", "@@ line 1", *(f"{each}...{'x' * 79}" for each in "-+")], id="a long line"
        ),
    ],
)
def test_a_difference_has_its_place_and_both_texts(before: str | None, after: str | None, want: list[str]) -> None:
    lines = list(difference("n", before, after))

    assert len(want) == len(lines)
    assert all(line.replace(" ...", "...").startswith(start) for line, start in zip(lines, want, strict=True))


def test_a_large_difference_is_cut() -> None:
    before, after = ("\n".join(f"{sign}{number}" for number in range(100)) for sign in "ab")

    assert len([*difference("n", before, after, most=10)]) == 12
    assert len([*difference("n", before, after, most=1000)]) == 202
