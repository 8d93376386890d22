"""``muster snapshot``: files in, one document out, which simulates as the files do."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.snapshot.fields import FIELDS
from muster.commands.snapshot.prune import pruned
from tests.muster.simulated import gang, node, pod

OBJECTS = [node("n1", cpu="2"), gang("g", 2), pod("g-0", group="g"), pod("g-1", group="g"), pod("big", cpu="7")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text("\n".join(map(json.dumps, OBJECTS)), encoding="utf-8")
    (tmp_path / "broken.json").write_text('{"apiVersion": "v1", "kind": ', encoding="utf-8")
    return tmp_path


def muster(*arguments, stdin=b""):
    return CliRunner().invoke(cli.main, arguments, input=stdin)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("options", [[], ["--strategy", "greedy"], ["--add-nodes", "1 like n1"], ["--fragmentation"]], ids=str)
def test_a_snapshot_simulates_as_the_files_do(form, options):
    written = muster("snapshot", "cluster.json", "--format", form)
    replayed = muster("simulate", "-", "--format", "json", *options, stdin=written.stdout_bytes)

    assert (0, "") == (written.exit_code, written.stderr)
    assert told(muster("simulate", "cluster.json", "--format", "json", *options)) == told(replayed)


def told(answer):
    """The answer, byte for byte but for the objects that a remedy applies: they have the fields that there are."""

    def shortened(found):
        return {"apply": pruned(found["apply"], FIELDS[found["apply"]["kind"]])} if "apply" in found else found

    return json.dumps(json.loads(answer.stdout, object_hook=shortened), sort_keys=True)


def test_a_snapshot_simulates_byte_for_byte_as_the_files_do_without_remedies():
    written = muster("snapshot", "cluster.json")
    for options in (["--strategy", "greedy"], ["--remedies", "0"]):
        replayed = muster("simulate", "-", "--format", "json", *options, stdin=written.stdout_bytes)
        assert muster("simulate", "cluster.json", "--format", "json", *options).stdout_bytes == replayed.stdout_bytes


def test_standard_input():
    assert (
        muster("snapshot", "cluster.json").stdout_bytes
        == muster("snapshot", "-", stdin=b"\n".join(json.dumps(each).encode() for each in OBJECTS)).stdout_bytes
    )


def test_names_are_hashed_on_request():
    plain, hashed = muster("snapshot", "cluster.json"), muster("snapshot", "cluster.json", "--redact")
    assert ("g-0" in plain.stdout, "g-0" in hashed.stdout) == (True, False)
    assert hashed.stdout == muster("snapshot", "cluster.json", "--redact").stdout
    assert hashed.stdout != muster("snapshot", "cluster.json", "--redact", "--salt", "mine").stdout

    summaries = [
        json.loads(muster("simulate", "-", "--format", "json", stdin=each.stdout_bytes).stdout)["summary"] for each in (plain, hashed)
    ]
    assert summaries[0] == summaries[1]


def test_unreadable_objects_are_reported_and_the_rest_is_written():
    answer = muster("snapshot", "cluster.json", "broken.json")
    assert (2, muster("snapshot", "cluster.json").stdout) == (answer.exit_code, answer.stdout)
    assert "muster snapshot: broken.json:1" in answer.stderr


def test_a_folder_without_manifests_is_said_to_be_empty(folder):
    (folder / "empty").mkdir()
    answer = muster("snapshot", "empty")
    assert (2, "muster snapshot: no .yaml, .yml, .json file in empty\n") == (answer.exit_code, answer.stderr)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["nowhere"], "'nowhere'", id="no such path"),
        pytest.param(["cluster.json", "--salt", "a"], "--salt needs --redact", id="salt alone"),
        pytest.param(["cluster.json", "--context", "a"], "give PATH or a live cluster", id="files and a cluster"),
        pytest.param(["cluster.json", "--format", "yaml"], "'yaml' is not one of", id="unknown format"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, told):
    answer = muster("snapshot", *arguments)
    assert (2, "", 1) == (answer.exit_code, answer.stdout, answer.stderr.count("\n"))
    assert told in answer.stderr


def test_files_need_nothing_of_the_client_library():
    code = "import sys; from muster.cli import main\ntry: main()\nfinally: print(*{each.partition('.')[0] for each in sys.modules}, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code, "snapshot", "cluster.json"], capture_output=True, text=True, check=False)

    assert "scheduler_core" in ran.stderr.split()
    assert set() == {"kubernetes", "urllib3", "flask", "webhooks"} & set(ran.stderr.split())
