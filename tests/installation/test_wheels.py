"""The wheel with each extra in a fresh environment; every command is run there.

The libraries are linked from the environment of the tests; in ``make soak`` pip installs them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from muster import cli, extras
from tests.installation import environments
from tests.installation.environments import NAME, ROOT, Environment
from tests.installation.test_extras import EXTRA_OF
from tests.sampling import SOAK

DATA = ROOT / "muster" / "commands" / "demo" / "data"
MANIFESTS, PLACEMENT = str(DATA / "manifests"), str(DATA / "placement")
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "uid": "4ff0d7e5-6a3b-4c53-9bd5-9a0fd2f0a0f1"},
    "spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": {"spec": {"restartPolicy": "Never"}}},
}
NOWHERE = """\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
users: [{name: a, user: {token: x}}]
"""
"""Kubeconfig of a port without a listener."""
OWN = {"lint": 1, "tree": 1, "explain": 0, "compile": 0, "schema": 0, "migrate": 0, "review": 0}
"""Commands that need no extra, each with its exit status without a cluster."""


def arguments(command: str, directory: Path) -> list[str]:
    """Return arguments with which *command* does some work."""
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(NOWHERE)
    job = directory / "job.json"
    job.write_text(json.dumps(JOB))
    return {
        "lint": [MANIFESTS],
        "tree": [MANIFESTS],
        "explain": ["disruption-nesting"],
        "compile": ["--groups", "--pods", str(job)],
        "schema": ["--building-blocks"],
        "lsp": [],
        "migrate": [MANIFESTS],
        "review": [str(DATA / "reviews.jsonl")],
        "simulate": [PLACEMENT, "--format", "html"],
        "fit": [PLACEMENT],
        "why": ["train", "--kubeconfig", str(kubeconfig)],
        "topology": ["--objects", PLACEMENT],
        "snapshot": ["--kubeconfig", str(kubeconfig)],
        "serve": ["--bind", "127.0.0.1:0", "--tls-cert", "certs/tls.crt", "--tls-key", "certs/tls.key", "--workers", "1"],
        "sidecar": ["--kubeconfig", str(kubeconfig), "--lease", "none", "--probe-bind", "127.0.0.1:0"],
        "certs": ["issue", "--out", "certs", "--force", "--name", "127.0.0.1"],
        "doctor": [str(ROOT / "deploy" / "base")],
        "demo": ["--no-color"],
    }[command]


def works(made: Environment, command: str) -> None:
    """Assert that *command*, whose extra is installed, does its work."""
    given = [command, *arguments(command, made.directory)]
    if command in {"serve", "sidecar"}:
        status, output = made.start_and_stop(*given)
        assert (status, '"listening"' in output) == (0, True), output
        return
    ran = made.muster(*given)
    status, texts = {
        "lsp": (0, ""),
        "simulate": (1, "</html>"),
        "fit": (1, "does not fit"),
        "topology": (0, "free"),
        "snapshot": (2, "http://127.0.0.1:1"),
        "why": (2, "http://127.0.0.1:1"),
        "doctor": (1, "ca-bundle-missing"),
        "certs": (0, "names: 127.0.0.1"),
        "demo": (0, "The server has answered all open requests and stopped."),
    }[command]
    assert (ran.returncode, texts in ran.stdout + ran.stderr) == (status, True), ran.stdout + ran.stderr


def is_refused(made: Environment, command: str) -> None:
    """Assert one line that names the extra of *command*, and exit status 2."""
    ran = made.muster(command, *arguments(command, made.directory))

    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stdout + ran.stderr
    assert ran.stderr.startswith(f"muster: {command} ")
    extra = EXTRA_OF[command]
    assert ran.stderr.endswith(f"not installed: pip install '{NAME}[{extra}]' (in a checkout: pip install '.[{extra}]')\n")


def is_installed(command: str, extra: str) -> bool:
    return extras.libraries(EXTRA_OF[command]) <= extras.libraries(extra)


def test_without_an_extra_every_command_is_listed_and_has_its_help(small: Environment) -> None:
    listed = small.muster("--help").stdout

    for command in cli.SUBCOMMANDS:
        ran = small.muster(command, "--help")
        assert (ran.returncode, ran.stderr, f"  {command} " in listed) == (0, "", True)
        assert ran.stdout.startswith(f"Usage: muster {command} ")


@pytest.mark.parametrize(("command", "status"), OWN.items())
def test_commands_without_an_extra_work(command: str, status: int, small: Environment) -> None:
    ran = small.muster(command, *arguments(command, small.directory))

    assert ran.returncode == status, ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout


def test_snapshot_of_files_works_without_an_extra(small: Environment) -> None:
    ran = small.muster("snapshot", PLACEMENT)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert '"kind":"List"' in ran.stdout


@pytest.mark.parametrize("command", EXTRA_OF)
def test_a_command_without_its_extra_names_it(command: str, small: Environment) -> None:
    is_refused(small, command)


@pytest.mark.parametrize("extra", [*extras.LIBRARIES, "all"])
def test_an_extra_makes_its_commands_work(extra: str, wheel: Path, tmp_path: Path) -> None:
    created = environments.with_extra(tmp_path / "venv", wheel, extra)
    if is_installed("certs", extra):
        works(created, "certs")
    for command in [each for each in EXTRA_OF if EXTRA_OF[each] == extra and each != "certs"]:
        works(created, command)


@pytest.mark.timeout(900)
@pytest.mark.skipif(not os.environ.get(SOAK), reason=f"downloads every library anew; {SOAK} asks for it")
@pytest.mark.parametrize("extra", ["", *extras.LIBRARIES, "all"])
def test_every_command_with_what_pip_installs(extra: str, wheel: Path, tmp_path: Path) -> None:
    created = environments.create(tmp_path / "venv")
    lock = str(ROOT / "requirements-ci.txt")
    environments.pip(created.python, "install", "--constraint", lock, f"{NAME}[{extra}] @ file://{wheel}")

    for command, status in OWN.items():
        assert created.muster(command, *arguments(command, created.directory)).returncode == status
    for command in sorted(EXTRA_OF, key=lambda each: each != "certs"):
        (works if is_installed(command, extra) else is_refused)(created, command)


def test_linting_a_cluster_without_its_extra_is_one_line(small: Environment) -> None:
    ran = small.muster("lint", "--cluster")

    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stdout + ran.stderr
    assert ran.stderr.endswith(f"not installed: pip install '{NAME}[cluster]' (in a checkout: pip install '.[cluster]')\n")
