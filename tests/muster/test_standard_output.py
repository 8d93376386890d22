"""Standard output that cannot be written: every command tells it in one line, as a mistake, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.demo.terminal import DATA
from tests import forked

FULL = Path("/dev/full")
INSTALL = Path(__file__).parents[2] / "deploy" / "install.yaml"
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "completionMode": "Indexed",
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "main"}]}},
    },
}
PRINTING = {
    "lint": [[str(DATA / "manifests")], [str(DATA / "manifests"), "--format", "json"]],
    "tree": [[str(DATA / "manifests")], [str(DATA / "manifests"), "--format", "json"]],
    "explain": [["gang-minimum"], []],
    "compile": [["job.json"]],
    "schema": [["--building-blocks"]],
    "migrate": [[str(DATA / "manifests")]],
    "review": [[str(DATA / "reviews.jsonl")]],
    "simulate": [[str(DATA / "placement")], [str(DATA / "placement"), "--format", "html"], ["--batch", "questions.jsonl"]],
    "fit": [[str(DATA / "placement")], [str(DATA / "placement"), "--format", "json"]],
    "topology": [["--objects", str(DATA / "placement")], ["--objects", str(DATA / "placement"), "--format", "json"]],
    "snapshot": [[str(DATA / "placement")]],
    "doctor": [[str(INSTALL)], [str(INSTALL), "--format", "json"]],
    "certs": [["issue", "--out", "new", "--name", "localhost"], ["inspect", "pair"]],
    "demo": [["--no-color"]],
}
"""By command, what prints a little and what prints more than a buffer holds."""
SILENT = {"serve", "sidecar", "lsp"}
"""They run until they are told to stop, whether or not somebody reads where they listen."""
ASKING = {"why"}
"""They ask a cluster, and are tried beside one in tests of their own."""
CALLS = [*([name, *each] for name, several in PRINTING.items() for each in several), *([name, "--help"] for name in cli.SUBCOMMANDS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("printed")
    (path / "job.json").write_text(json.dumps(JOB))
    (path / "questions.jsonl").write_text('{"id": 1, "objects": []}\n')
    assert 0 == CliRunner().invoke(cli.main, ["certs", "issue", "--out", str(path / "pair"), "--name", "localhost"]).exit_code
    return path


def muster(*arguments: str, before: str = "", redirected: str = "", folder: Path | None = None, **environment: str):
    """The command as a shell starts it, with its streams *redirected*."""
    line = f'{before} "$@" {redirected}'
    return subprocess.run(
        ["/bin/sh", "-c", line, "sh", sys.executable, "-m", "muster", *arguments],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_every_command_that_prints_is_tried() -> None:
    assert set(cli.SUBCOMMANDS) == PRINTING.keys() | SILENT | ASKING


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize(
    "arguments",
    [*CALLS, ["--version"], ["--help"]],
    ids=lambda words: " ".join(words).replace(f"{DATA}{os.sep}", "").replace(f"{INSTALL.parent}{os.sep}", ""),
)
def test_a_full_disk_is_one_line_and_exit_2(folder, arguments) -> None:
    with FULL.open("wb") as full:
        ran = forked.run(arguments, folder, output=full)

    assert (2, "muster: standard output: No space left on device\n") == (ran.returncode, ran.stderr)


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
def test_a_full_disk_is_one_line_for_a_process_that_a_shell_starts() -> None:
    ran = muster("lint", str(DATA / "manifests"), redirected=f"> {FULL}")

    assert (2, "muster: standard output: No space left on device\n") == (ran.returncode, ran.stderr)


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
def test_a_full_disk_is_exit_2_where_standard_error_is_on_it_too() -> None:
    assert 2 == muster("lint", str(DATA / "manifests"), redirected=f"> {FULL} 2>&1").returncode


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("arguments", [["lint", "nowhere"], ["certs"], ["migrate", str(DATA / "manifests")]], ids=lambda words: words[0])
def test_what_standard_error_does_not_take_is_exit_2(arguments) -> None:
    assert 2 == muster(*arguments, redirected=f"2> {FULL}").returncode


@pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
def test_buffered_records_are_reported_at_the_end() -> None:
    code = "import click; from muster import cli; cli.Subcommands.get_command = lambda *_: click.Command('lint', callback=lambda: print(1)); cli.main()"
    with FULL.open("w") as full:
        ran = subprocess.run([sys.executable, "-c", code, "lint"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=90, check=False)

    assert (2, "muster: standard output: No space left on device\n") == (ran.returncode, ran.stderr)


def test_standard_output_that_is_closed_is_one_line_and_exit_2() -> None:
    ran = muster("lint", str(DATA / "manifests"), redirected=">&-")

    assert (2, "muster: standard output: Bad file descriptor\n") == (ran.returncode, ran.stderr)


def test_what_prints_nothing_needs_no_standard_output() -> None:
    ran = muster("lint", str(DATA / "manifests"), "--quiet", redirected=">&-")

    assert (1, "") == (ran.returncode, ran.stderr)


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_disk_that_fills_during_a_write_is_reported(tmp_path, unbuffered) -> None:
    """A limit of the process stands for the end of the disk: the first block is written."""
    limited = {"before": "trap '' XFSZ; ulimit -f 1;", "redirected": "> printed", "PYTHONUNBUFFERED": unbuffered}
    ran = muster("schema", "--building-blocks", folder=tmp_path, **limited)

    assert (2, "muster: standard output: File too large\n") == (ran.returncode, ran.stderr)
    assert 0 < (tmp_path / "printed").stat().st_size < len(muster("schema", "--building-blocks").stdout)


@pytest.mark.parametrize("arguments", [["explain"], ["--help"]], ids=" ".join)
def test_a_client_that_has_disconnected_gets_nothing(arguments) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        ran = subprocess.run(
            [sys.executable, "-m", "muster", *arguments], stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=90, check=False
        )

    assert (1, "") == (ran.returncode, ran.stderr)
