"""Forked processes: each ends alone, with its own exit status, and with the tests at the latest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from pathlib import Path

import pytest

from tests import forked as forks
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.forked import ForkedProcess, LostStatusError
from tests.sampling import sampled

ROOT = Path(__file__).parent.parent
NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "nowhere",
    "contexts": [{"name": "nowhere", "context": {"cluster": "nowhere", "user": "nobody"}}],
    "clusters": [{"name": "nowhere", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "nobody", "user": {}}],
}


@pytest.fixture
def endless(tmp_path):
    """The arguments of a sidecar that looks for its server until it is ended."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(NOWHERE))
    return ["sidecar", "--kubeconfig", str(kubeconfig), "--probe-bind", "127.0.0.1:0", "--lease", "none"]


def listens(log):
    return '"listening"' in log.read_text()


def forked(arguments, log):
    with log.open("wb") as out:
        return ForkedProcess(arguments, out, out, os.environ, ROOT)


def test_the_exit_code_and_what_is_written_are_those_of_the_command(tmp_path):
    log = tmp_path / "log"
    ended = forked(["sidecar", "--mode", "dance"], log)

    assert 2 == ended.wait(WAIT_SECONDS)
    assert log.read_text().startswith("muster sidecar: Invalid value for '--mode': there is no mode 'dance'")


def test_a_command_that_is_run_to_its_end_has_its_streams_folder_and_environment(tmp_path):
    (tmp_path / "empty.yaml").write_text("")
    ended = forks.run(["lint", "empty.yaml", "nowhere.yaml"], tmp_path)
    assert (2, "") == (ended.returncode, ended.stdout)
    assert "nowhere.yaml" in ended.stderr

    variable = {**os.environ, "MUSTER_MODE": "dance"}
    assert "there is no mode 'dance'" in forks.run(["sidecar"], tmp_path, variable).stderr
    with (tmp_path / "output").open("w+b") as output:
        assert "" == forks.run(["--version"], tmp_path, output=output).stdout
    assert (tmp_path / "output").read_text() == forks.run(["--version"], tmp_path).stdout != ""


def test_one_is_killed_and_the_other_continues_in_a_session_of_its_own(tmp_path, endless):
    logs = [tmp_path / name for name in ("one", "other")]
    one, other = (forked(endless, log) for log in logs)
    until(lambda: all(map(listens, logs)))
    assert [one.pid, other.pid] == [os.getsid(one.pid), os.getsid(other.pid)]
    one.kill()

    assert -signal.SIGKILL == one.wait(WAIT_SECONDS)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(0.1)
    other.send_signal(signal.SIGTERM)
    assert 0 == other.wait(WAIT_SECONDS)


def test_processes_of_several_threads_keep_their_statuses(tmp_path):
    """Without care, a start in one thread takes the status of a process for which another thread waits."""

    def statuses():
        with (tmp_path / "log").open("wb") as log:
            return [
                ForkedProcess([], log, log, os.environ, ROOT, "import sys; sys.exit(7)").wait(WAIT_SECONDS) for _ in range(sampled(250, 50))
            ]

    with ThreadPoolExecutor(4) as threads:
        listed = [each.result() for each in [threads.submit(statuses) for _ in range(4)]]
    assert {7} == {status for each in listed for status in each}


def test_a_status_that_is_lost_is_an_error(tmp_path, endless, monkeypatch):
    """The server that forks processes ends, and with it they do."""
    monkeypatch.setattr(forks.forkserver, "_forkserver", server := forkserver.ForkServer())
    for name in ("connect_to_new_process", "get_inherited_fds", "ensure_running"):
        monkeypatch.setattr(forkserver, name, getattr(server, name))
    running = forked(endless, tmp_path / "log")
    os.kill(server._forkserver_pid, signal.SIGKILL)
    with pytest.raises(LostStatusError):
        running.wait(WAIT_SECONDS)
    os.waitpid(server._forkserver_pid, 0)
    os.close(server._forkserver_alive_fd)


def test_it_ends_with_the_tests_that_are_killed(tmp_path, endless):
    log = tmp_path / "log"
    script = f"""
import os, signal, time
from pathlib import Path
from tests.forked import ForkedProcess, LostStatusError
from tests.sampling import sampled
log = Path({str(log)!r})
with log.open("wb") as out:
    print(ForkedProcess({endless!r}, out, out, os.environ, Path.cwd()).pid, flush=True)
while '"listening"' not in log.read_text():
    time.sleep(0.02)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, check=False, timeout=WAIT_SECONDS)
    assert -signal.SIGKILL == ended.returncode
    folder = Path("/proc", ended.stdout.decode().strip())
    until(lambda: not folder.exists() or folder.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z")
