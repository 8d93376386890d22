"""The pre-commit hook and the GitHub Action, run on repositories as people have them, and what pip installs by commit.

Muster is installed from a clean clone as pre-commit, the Action and pip do it, without a network: its libraries and the build backend are
linked from the environment of the tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from release import tree
from tests.clones import clean_clone, git
from tests.docs import pages
from tests.installation import environments
from tests.installation.environments import ROOT
from tests.muster.test_lint_repositories import MANIFESTS, REPOSITORIES
from tests.sampling import WHOLE
from tests.validators.lint.repositories import written

pytestmark = pytest.mark.xdist_group("ci")
VERSION = tree.version(ROOT)
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WITHOUT_PIP = '#!/bin/sh\n[ "$1 $2" = "-m venv" ] && exec {0} "$@" --without-pip\nexec {0} "$@"\n'
"""A Python that makes environments without a pip of their own, which would be compiled whole: that of the tests is found anyway."""


WARNED = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: {name}}}
spec:
  schedulingPolicy:
    gang: {{minCount: 2}}  # muster: ignore gang-minimum
"""
"""A group with a warning."""


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> dict[str, str]:
    """Variables with which pip installs the sources without a network; it is that of the tests, which is compiled."""
    libraries = tmp_path_factory.mktemp("libraries")
    for name in ("pip", "setuptools", *sorted(environments.installed_with(wheel, ""))):
        environments.link(metadata.distribution(name), libraries)
    home = tmp_path_factory.mktemp("home")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTEST", "VIRTUAL"))}
    # Of options that begin with "no", 0 is the one that counts.
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_IGNORE_INSTALLED": "1", "PIP_NO_COMPILE": "0"}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return ours | pip | git | {"PYTHONPATH": str(libraries), "HOME": str(home), "PRE_COMMIT_HOME": str(home / "cache")}


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clean clone of this repository."""
    clone = tmp_path_factory.mktemp("clone") / "muster"
    clean_clone(clone)
    return clone


def commit(top: Path, environment: Mapping[str, str]) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for arguments in (("init", "-q", "."), ("add", "-A"), (*name, "commit", "-qm", "one")):
        run("git", *arguments, folder=top, environment=environment)


def run(*command: str, folder: Path, environment: Mapping[str, str]) -> str:
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(params=REPOSITORIES)
def repository(request: pytest.FixtureRequest, tmp_path: Path, offline: dict[str, str]) -> tuple[str, Path]:
    """Repository with its name."""
    top = written(REPOSITORIES[request.param], tmp_path / "repository")
    commit(top, offline)
    return request.param, top


def plant(name: str, top: Path) -> str:
    """Misspell a reference; return the expected place of its finding."""
    pod = MANIFESTS[name][1]
    (top / pod).write_text(
        (top / pod).read_text(encoding="utf-8").replace("podGroupName: workers", "podGroupName: worker"), encoding="utf-8"
    )
    return pod


@pytest.fixture(scope="session")
def configuration(tmp_path_factory: pytest.TempPathFactory, sources: Path, offline: dict[str, str]) -> Path:
    """Configuration of pre-commit as the page shows it, with this repository, a commit, and all directories."""
    text = example("yaml", "repos:").replace(f"rev: v{VERSION}", f"rev: {git(sources, 'rev-parse', 'HEAD').strip()}")
    written = yaml.safe_load(text.replace("repo: …", f"repo: {sources}"))
    del written["repos"][0]["hooks"][0]["args"]
    file = tmp_path_factory.mktemp("configuration") / "hooks.yaml"
    file.write_text(yaml.safe_dump(written), encoding="utf-8")
    return file


def example(language: str, first: str) -> str:
    """Return a block of the page about the installation."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    (found,) = (each.text for each in pages.blocks(text) if each.language == language and each.text.startswith(first))
    return found


def hook(top: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the hook on all files of a repository."""
    command = [sys.executable, "-m", "pre_commit", *arguments, "muster-lint", "--all-files", "--verbose", "--color", "never"]
    return subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True, check=False)


def test_the_hook_passes_on_a_repository_and_finds_a_planted_mistake(
    repository: tuple[str, Path], sources: Path, configuration: Path, offline: dict[str, str]
) -> None:
    """``try-repo`` installs Muster each time, ``run`` once: by default only one repository is tried."""
    name, top = repository
    by_run = ("run", "--config", str(configuration))
    tried = ("try-repo", str(sources)) if WHOLE or name == "mono" else by_run
    passed = hook(top, offline, *tried)
    assert (passed.returncode, "no findings in " in passed.stdout) == (0, True), passed.stdout + passed.stderr
    place = plant(name, top)
    run("git", "add", "-A", folder=top, environment=offline)
    failed = hook(top, offline, *(tried if WHOLE else by_run))
    assert (failed.returncode, f"{place}:7:5: error scheduling-group-exists" in failed.stdout) == (1, True), failed.stdout + failed.stderr


@pytest.mark.parametrize(
    ("file", "runs"),
    [
        ("deploy/group.yaml", True),
        ("group.yml", True),
        ("base/kustomization.yaml", True),
        ("chart/values.yaml", True),
        ("pod.json", True),
        ("jobs/compose-job.txt", False),
        ("README.md", False),
        ("web/package.json", False),
        ("web/tsconfig.build.json", False),
        (".github/workflows/lint.yml", False),
        ("web/node_modules/x/a.yaml", False),
        ("docker-compose.override.yml", False),
        ("my-package.json", True),
    ],
)
def test_the_hook_runs_for_files_that_can_be_manifests(file: str, runs: bool) -> None:
    assert runs is bool(re.search(HOOK["files"], file) and not re.search(HOOK["exclude"], file))


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, sources: Path, offline: dict[str, str]) -> Path:
    """Folder of the runner in which the first step of the Action has installed Muster."""
    folder = tmp_path_factory.mktemp("runner")
    python = Path(sys.executable) if WHOLE else folder / "python"
    if not WHOLE:
        python.write_text(WITHOUT_PIP.format(sys.executable), encoding="utf-8")
        python.chmod(0o755)
    ran = step(0, {"python": str(python)}, folder, sources, offline)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def step(number: int, inputs: dict[str, str], temporary: Path, folder: Path, environment: Mapping[str, str]) -> Any:
    """Run a step of the Action in *folder* as a runner does: expressions are replaced, and bash stops at the first error."""
    given = {name: each["default"] for name, each in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{name}": value for name, value in given.items()}
    values |= {"github.action_path": str(folder), "runner.temp": str(temporary)}
    wanted = ACTION["runs"]["steps"][number]
    assert "${{" not in wanted["run"]
    variables = {name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text) for name, text in wanted["env"].items()}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", wanted["run"]]
    return subprocess.run(shell, cwd=folder, env=dict(environment) | variables, capture_output=True, text=True, check=False)


def test_the_action_annotates_the_planted_mistake(repository: tuple[str, Path], installed: Path, offline: dict[str, str]) -> None:
    name, top = repository
    clean = step(1, {}, installed, top, offline)
    assert (clean.returncode, "::error" in clean.stdout) == (0, False), clean.stdout + clean.stderr
    place = plant(name, top)
    found = step(1, {"sarif": "muster.sarif", "options": "--quiet\n--fail-on=never\n"}, installed, top, offline)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr
    assert f'"uri": "{place}"' in (top / "muster.sarif").read_text(encoding="utf-8")
    failed = step(1, {"paths": "\n".join(MANIFESTS[name])}, installed, top, offline)
    assert failed.returncode == 1
    assert failed.stdout.startswith(f"::error file={place},line=7,endLine=7,col=5,")


def test_the_action_does_what_the_page_shows(tmp_path: Path, installed: Path, offline: dict[str, str]) -> None:
    """A warning fails the step, is shown in the change, and is in the report for code scanning."""
    checkout, action = yaml.safe_load(example("yaml", "steps:"))["steps"]
    assert (checkout["uses"].partition("@")[0], action["uses"]) == ("actions/checkout", f"…@v{VERSION}")
    for folder, name in (("deploy", "one"), ("jobs", "two"), ("elsewhere", "one")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "group.yaml").write_text(WARNED.format(name=name), encoding="utf-8")
    ran = step(1, action["with"], installed, tmp_path, offline)
    (report,) = json.loads((tmp_path / "muster.sarif").read_text(encoding="utf-8"))["runs"]
    places = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in report["results"]}

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert {*re.findall("^::warning file=([^,]*)", ran.stdout, re.MULTILINE)} == places == {"deploy/group.yaml", "jobs/group.yaml"}


def test_pip_installs_a_commit(tmp_path: Path, sources: Path, offline: dict[str, str]) -> None:
    """As the page says it for those who have no checkout."""
    assert "`pip install 'muster-scheduling[all] @ git+ADDRESS@COMMIT'`" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    created, commit = environments.create(tmp_path / "venv"), git(sources, "rev-parse", "HEAD").strip()
    address = "https://git.example.com/muster"
    here = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{sources}.insteadOf", "GIT_CONFIG_VALUE_0": address}
    command = (str(created.python), "-m", "pip", "install", "--quiet", f"{environments.NAME}[all] @ git+{address}@{commit}")
    run(*command, folder=tmp_path, environment=offline | here)
    (origin,) = created.site.glob("muster_scheduling-*.dist-info/direct_url.json")

    assert json.loads(origin.read_text(encoding="utf-8"))["vcs_info"]["commit_id"] == commit
    assert run(str(created.directory / "bin" / "muster"), "--version", folder=tmp_path, environment=offline).split()[-1] == VERSION


@pytest.mark.parametrize("paths", ["$(touch stolen)", "`touch stolen`", "'; touch stolen; '", "--version"])
def test_inputs_of_the_action_are_not_run(paths: str, tmp_path: Path, installed: Path, offline: dict[str, str]) -> None:
    ran = step(1, {"paths": paths}, installed, tmp_path, offline)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "must be a file or a directory that exists" in ran.stderr
    assert not (tmp_path / "stolen").exists()
