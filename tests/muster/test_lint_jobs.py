"""``muster lint --jobs``: several processes give the report of one; they end with the command."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import pytest

from muster.commands.lint import processes
from tests import forked
from tests.muster.test_progress import CODE

MUSTER = (sys.executable, "-m", "muster")
FILES, OBJECTS, NAMES = 80, 60, 5000
"""More than 1 MB, which several processes share; a few pods refer to groups of higher numbers, which do not exist."""
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: g{0}
spec:
  schedulingPolicy:
    gang:
      minCount: {1}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: p{0}
spec:
  schedulingGroup:
    podGroupName: g{1}
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some findings of each pass: counts of 0, and pods whose group is in no file."""
    folder = tmp_path_factory.mktemp("corpus")
    for file in range(FILES):
        numbers = range(file * OBJECTS, (file + 1) * OBJECTS)
        groups = [GROUP.format(number, 0 if number % 1000 == 5 else 1) for number in numbers]
        pods = [POD.format(number, number * 7919 % NAMES) for number in numbers]
        (folder / f"{file:03}.yaml").write_text("---\n".join([*groups, *pods]))
    return folder


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run(["lint", *arguments], Path.cwd())


@pytest.fixture(scope="module")
def reports(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str | int]]:
    """Reports, status and messages with one, two and three processes."""
    results = []
    for count in (1, 2, 3):
        folder = tmp_path_factory.mktemp("reports")
        forms = ("junit", "json") if count == 2 else ("junit",)
        done = run(str(corpus), "--jobs", str(count), *(part for form in forms for part in ("--output", f"{form}={folder / form}")))
        written = {form: (folder / form).read_text(encoding="utf-8") for form in forms}
        results.append({"status": done.returncode, "text": done.stdout, "messages": done.stderr, **written})
    return results


@pytest.mark.parametrize("form", ["text", "junit"])
def test_the_number_of_processes_makes_no_difference(reports: list[dict[str, str | int]], form: str) -> None:
    one, *others = reports
    assert one["status"] == 1
    assert one["messages"] == ""
    assert one[form]
    for each in others:
        assert (each["status"], each[form], each["messages"]) == (one["status"], one[form], one["messages"])


def test_findings_of_both_passes(reports: list[dict[str, str | int]]) -> None:
    report = json.loads(str(reports[1]["json"]))
    rules = {each["rule"] for each in report["findings"]}
    assert rules == {"gang-minimum", "scheduling-group-exists"}
    missing = sum(number * 7919 % NAMES >= FILES * OBJECTS for number in range(FILES * OBJECTS))
    assert report["summary"]["errors"] == missing + len(range(5, FILES * OBJECTS, 1000))


def test_nothing_is_collected_after_the_files_are_read(corpus: Path) -> None:
    code = """\
import gc, sys
from muster import cli
from muster.commands.lint import batches
made = batches._Run.report
def report(run, known):
    result = made(run, known)
    gc.callbacks.append(lambda phase, details: sys.stderr.write(f"{phase} {details}"))
    return result
batches._Run.report = report
try:
    cli.main()
finally:
    gc.callbacks.clear()
"""
    ran = subprocess.run([sys.executable, "-c", code, "lint", str(corpus)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")


def test_progress_is_shown_on_a_terminal_and_removed(corpus: Path) -> None:
    status, text = on_a_terminal(corpus)
    assert status == 1
    assert b"muster lint: reading files  [" in text
    assert b"muster lint: validating  [" in text
    assert text.endswith(b" \r")


def test_progress_is_shown_while_one_large_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join(f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p-{number}\n" for number in range(20_000)))
    _, text = on_a_terminal(file)
    shown = {int(each) for each in re.findall(rb"reading files  \[[#-]*\] +(\d+)%", text)}
    assert len(shown) >= 4
    assert max(shown) > 50


def on_a_terminal(path: Path) -> tuple[int, bytes]:
    """Return the exit status of the linter, and what it writes to a terminal."""
    terminal, error = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    command = [sys.executable, "-c", CODE, "lint", str(path), "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=error, env=environment) as process:
        os.close(error)
        text = b""
        try:
            while part := os.read(terminal, 4096):
                text += part
        except OSError:  # the terminal is closed at the end
            pass
        os.close(terminal)
    return process.returncode, text


@pytest.mark.parametrize("extra", [[], ["--quiet"]])
def test_an_interrupt_ends_all_processes(corpus: Path, extra: Sequence[str]) -> None:
    command = [*MUSTER, "lint", str(corpus), "--jobs", "3", *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and len(children.read_text().split()) < 2:
            time.sleep(0.005)
        pids = children.read_text().split()
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error, error.decode()
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_an_interrupt_of_one_process_is_one_of_all() -> None:
    def work(process: int, numbers: Iterable[int]) -> bytes:
        if process:
            raise KeyboardInterrupt
        return bytes(numbers)

    with pytest.raises(KeyboardInterrupt):
        processes.share(2, 5, work, lambda _: None)


@pytest.mark.parametrize("count", ["0", "-1", "65", "many"])
def test_a_wrong_number(count: str, tmp_path: Path) -> None:
    done = run(str(tmp_path), "--jobs", count)
    assert done.returncode == 2
    assert "--jobs" in done.stderr


def test_each_task_is_done_once() -> None:
    def work(process: int, numbers: object) -> bytes:
        return json.dumps([process, list(numbers)]).encode()  # type: ignore[call-overload]

    seen: list[int] = []
    results = [json.loads(each) for each in processes.share(3, 100, work, seen.append)]
    assert [process for process, _ in results] == [0, 1, 2]
    assert sorted(number for _, numbers in results for number in numbers) == list(range(100))
    assert seen == results[0][1]


@pytest.mark.parametrize(("fault", "message"), [("error", "ValueError: wrong"), ("signal", "signal 9")])
def test_a_process_that_ends_early(fault: str, message: str) -> None:
    def work(process: int, _: object) -> bytes:
        if process and fault == "error":
            raise ValueError("wrong")
        if process:
            os.kill(os.getpid(), signal.SIGKILL)
        return b""

    with pytest.raises(click.ClickException, match=rf"ended early: {message}; try --jobs 1"):
        processes.share(2, 1, work, lambda _: None)


def test_blobs_of_another_process() -> None:
    blobs = [processes.FileByteStore(), processes.FileByteStore()]

    def work(process: int, _: object) -> bytes:
        offsets = [blobs[process].append(bytes([process]) * 100_000) for _ in range(30)]
        blobs[process].flush()
        return json.dumps(offsets).encode()

    for process, offsets in enumerate(map(json.loads, processes.share(2, 1, work, lambda _: None))):
        with contextlib.closing(blobs[process]) as written:
            assert [written.read(offset, 100_000) for offset in offsets] == [bytes([process]) * 100_000] * 30
