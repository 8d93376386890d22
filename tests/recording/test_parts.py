"""A part of the recording is created, compared and written without the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.recording import __main__ as command
from tests.recording import commands

PART = "commands/tree/"
NAMES = {f"{PART}tree_demo.manifests_--format_{each}" for each in ("text", "json")}


@pytest.fixture
def digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with digests of another part, and outdated ones."""
    # The recording changes the environment.
    for each in [name for name in os.environ if name.startswith("MUSTER_")] + ["NO_COLOR", "COLUMNS"]:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    file = tmp_path / "digests.json"
    file.write_text(json.dumps({"commands/help/--help": "1", f"{PART}gone": "2"}), encoding="utf-8")
    monkeypatch.setattr(command, "DIGESTS", file)
    monkeypatch.setattr(commands, "_reviews", lambda: pytest.fail("another part is created"))
    return file


def test_a_part_is_written_and_the_rest_is_kept(digests: Path) -> None:
    assert command.main(["digest", PART]) == 0
    stored = json.loads(digests.read_text(encoding="utf-8"))
    assert stored.keys() == {"commands/help/--help", *NAMES}
    assert stored["commands/help/--help"] == "1"


def test_a_part_is_compared_alone(digests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["digest", PART])
    assert command.main(["check", PART]) == 0
    assert command.main(["check", f"{PART}tree_demo.manifests_--format_json"]) == 0
    assert capsys.readouterr().out.splitlines() == ["2 of 2 answers are as recorded", "1 of 1 answers are as recorded"]


def test_every_answer_is_written_with_its_name(digests: Path, tmp_path: Path) -> None:
    assert command.main(["write", str(tmp_path / "written"), PART]) == 0
    assert {each.stem for each in (tmp_path / "written").rglob("*.txt")} == {name.rpartition("/")[2] for name in NAMES}
