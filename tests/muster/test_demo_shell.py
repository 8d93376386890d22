"""The demonstration's shell: commands are run as they are shown."""

from __future__ import annotations

import re

import pytest

from muster.commands.demo import child_processes
from muster.commands.demo.child_processes import ServerError, Shell

TELLS = 'echo "$HOME $KUBECONFIG $(pwd)"; echo "told: $*"; echo trouble >&2; exit "${CODE:-0}"'


@pytest.fixture
def shell(tmp_path):
    """One whose kubectl tells what it was given."""
    return of(tmp_path, TELLS)


def of(folder, program):
    kubectl = folder / "kubectl"
    kubectl.write_text(f"#!/bin/sh\n{program}\n")
    kubectl.chmod(0o755)
    return Shell(folder, kubectl, folder / "config")


def test_a_line_is_run_in_its_folder_as_its_user_with_words_as_a_shell_takes_them(shell, tmp_path):
    printed = shell.run("kubectl get pods -o 'a b'")

    assert ["trouble", f"{tmp_path} {tmp_path / 'config'} {tmp_path}", "told: get pods -o a b"] == printed


def test_muster_is_our_own(shell):
    assert re.fullmatch(r"muster \S.*", " ".join(shell.run("muster --version")))


def test_output_goes_to_its_target_and_errors_are_reported(shell, tmp_path):
    assert ["trouble"] == shell.run("kubectl get pods > pods.txt")
    assert "told: get pods" in (tmp_path / "pods.txt").read_text()


@pytest.mark.parametrize(
    ("code", "refused"),
    [pytest.param(1, False, id="one that must succeed"), pytest.param(0, True, id="one that must be refused")],
)
def test_a_command_with_another_exit_code_is_reported_with_its_output(tmp_path, code, refused):
    with pytest.raises(ServerError, match=f"^kubectl get a ends with status {code}: no luck$"):
        of(tmp_path, f"echo no luck; exit {code}").run("kubectl get a", refused=refused)


def test_a_command_is_repeated_until_its_output_has_all_expected_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(child_processes, "ASK_EVERY", 0.0)
    shell = of(tmp_path, "echo line >> seen; cat seen; test $(wc -l < seen) -lt 3 || echo third")

    assert ["line", "line", "line", "third"] == shell.run("kubectl get a", "line", "third")


def test_missing_output_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(child_processes, "WAIT_SECONDS", -1.0)
    with pytest.raises(ServerError, match="kubectl get a ends with status 0 without 'second': first"):
        of(tmp_path, "echo first").run("kubectl get a", "first", "second")


def test_a_line_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(child_processes, "COMMAND_SECONDS", 0.2)
    with pytest.raises(ServerError, match=r"kubectl get a did not end after 0\.2 s"):
        of(tmp_path, "exec sleep 60").run("kubectl get a")
