"""Workflows of commits and of a release, checked as far as possible without their host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clones import clean_clone
from tests.sampling import SOAK

ROOT = Path(__file__).parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"
TEXT = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
CI = (WORKFLOWS / "ci.yml").read_text(encoding="utf-8")
JOBS = yaml.safe_load(TEXT)["jobs"]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def steps(job: str) -> list[dict[str, Any]]:
    return JOBS[job]["steps"]


def script(name: str) -> str:
    (result,) = [each["run"] for job in JOBS for each in steps(job) if each.get("name") == name]
    return result


def run(text: str, directory: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the host does: bash, which stops at the first error."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, env=os.environ | environ)


@pytest.mark.parametrize("name", ["ci", "release"])
def test_it_is_a_workflow(name: str) -> None:
    file = str(WORKFLOWS / f"{name}.yml")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", file]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.skipif(not shutil.which("go"), reason="Go builds actionlint")
@pytest.mark.timeout(600)
def test_actionlint_has_nothing_to_say() -> None:
    files = [str(each) for each in WORKFLOWS.iterdir()]
    ran = subprocess.run(
        ["go", "run", ACTIONLINT, "-no-color", "-shellcheck=", "-pyflakes=", *files], capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


def test_nothing_that_may_change_is_run() -> None:
    """Actions are pinned by commit, with their version in a comment; tools by a lock."""
    used = re.findall(r"uses: (.*)", TEXT)

    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    lock = (ROOT / ".github" / "requirements-release.txt").read_text(encoding="utf-8").splitlines()
    assert [each for each in lock if not re.fullmatch(r"[a-z0-9-]+==[\w.]+|#.*", each)] == []
    expected = (ROOT / ".github" / "requirements-release.in").read_text(encoding="utf-8").splitlines()
    assert {each for each in expected if not each.startswith("#")} <= {each.partition("==")[0] for each in lock}


def test_a_commit_is_checked_with_few_permissions_and_the_actions_of_the_release() -> None:
    workflow = yaml.safe_load(CI)
    check, soak = workflow["jobs"]["check"], workflow["jobs"]["soak"]

    assert {*re.findall(r"uses: (.*)", CI)} <= {*re.findall(r"uses: (.*)", TEXT)}
    assert workflow["permissions"] == {}
    assert check["permissions"] == soak["permissions"] == {"actions": "read", "contents": "read"}
    assert ".ci/run" in [each.get("run") for each in check["steps"]]
    assert "make cluster-assets soak" in [each.get("run") for each in soak["steps"]]
    # YAML reads the key "on" as true.
    assert {"push", "pull_request", "schedule", "workflow_dispatch"} == {*workflow[True]}
    uploads = [each for each in check["steps"] if "upload" in each.get("uses", "") or "Pack" in each.get("name", "")]
    assert len(uploads) == 2
    assert all("github.ref == 'refs/heads/main'" in each["if"] for each in uploads)


ARTIFACT = {"id": 7, "expired": False, "workflow_run": {"head_branch": "main", "head_repository_id": 1, "repository_id": 1}}


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("unzip")), reason="jq and unzip stand in for the host")
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, True),
        ({"expired": True}, False),
        ({"workflow_run": {**ARTIFACT["workflow_run"], "head_repository_id": 2}}, False),  # type: ignore[dict-item]
        ({"workflow_run": {**ARTIFACT["workflow_run"], "head_branch": "feature"}}, False),  # type: ignore[dict-item]
    ],
    ids=["of main", "expired", "of another repository", "of another branch"],
)
def test_the_control_plane_is_restored_from_an_artifact_of_main_only(tmp_path: Path, change: dict[str, Any], found: bool) -> None:
    """gh is a script that answers as the host does."""
    (tmp_path / "cluster-assets").mkdir()
    (tmp_path / "cluster-assets" / "etcd").write_text("program")
    with tarfile.open(tmp_path / "assets.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "cluster-assets", "cluster-assets")
    with zipfile.ZipFile(tmp_path / "content.zip", "w") as archive:
        archive.write(tmp_path / "assets.tar.gz", "assets.tar.gz")
    (tmp_path / "answer.json").write_text(json.dumps({"artifacts": [{**ARTIFACT, **change}]}))
    gh = tmp_path / "gh"
    gh.write_text(f'#!/bin/sh\ncase "$2" in */7/zip) cat {tmp_path}/content.zip ;; *) jq -r "$4" {tmp_path}/answer.json ;; esac\n')
    gh.chmod(0o755)
    environ = {"GITHUB_REPOSITORY": "o/r", "RUNNER_TEMP": str(tmp_path), "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = run(str(ROOT / ".ci" / "restore"), tmp_path, **environ)

    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(rf"name=cluster-assets-[0-9a-f]{{12}}\nfound={str(found).lower()}\n", ran.stdout)
    assert found == (tmp_path / ".cache/muster/cluster-assets/etcd").exists()


def test_each_job_has_the_permissions_that_it_needs_and_no_more() -> None:
    assert yaml.safe_load(TEXT)["permissions"] == {}
    assert {job: each["permissions"] for job, each in JOBS.items()} == {
        "build": {"contents": "read"},
        "sign": {"attestations": "write", "id-token": "write"},
        "publish": {"contents": "write", "id-token": "write"},
        "registry": {"id-token": "write"},
    }


def test_what_is_published_was_built_tried_and_signed_before() -> None:
    assert (JOBS["sign"]["needs"], JOBS["publish"]["needs"], JOBS["registry"]["needs"]) == ("build", "sign", "sign")
    assert not any(word in each.get("run", "") for job in ("publish", "registry") for each in steps(job) for word in ("build", "make "))


@pytest.mark.parametrize(("tag", "want"), [(f"v{VERSION}", 0), ("v9.9.9", 1), (VERSION, 1)])
def test_the_tag_is_the_version(tag: str, want: int, tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    assert run(script("Compare the tag with the version"), tmp_path, GITHUB_REF_NAME=tag, PATH=path).returncode == want


@pytest.mark.parametrize(
    ("tag", "want"),
    [("v1.1.0", "\n- New.\n\n### Fixed\n\n- Mended.\n\n"), ("v1.0.0", "\nThe first version.\n"), ("v1.1", None), ("v0.9.0", None)],
)
def test_the_notes_are_the_section_of_the_changelog(tag: str, want: str | None, tmp_path: Path) -> None:
    text = "# Changes\n\n## 1.1.0\n\n- New.\n\n### Fixed\n\n- Mended.\n\n## 1.0.0\n\nThe first version.\n\n## 0.9.0\n\n"
    (tmp_path / "CHANGELOG.md").write_text(text.replace("version.\n\n", "version.\n"))
    ran = run(script("Cut out the release notes"), tmp_path, GITHUB_REF_NAME=tag)

    assert ran.returncode == (0 if want else 1)
    assert not want or (tmp_path / "notes.md").read_text() == want


PUBLISHED = ("muster-*-image-*.tar", "*-sbom.cdx.json", "muster-*.tgz", "*-custom-resources.yaml", "*.whl", "*.tar.gz", "SHA256SUMS")
"""What the steps after the build ask for, by pattern."""


@pytest.mark.skipif(not os.environ.get(SOAK), reason=f"downloads the tools of a release; {SOAK} asks for it")
@pytest.mark.skipif(os.geteuid() != 0, reason="a release is built by root")
@pytest.mark.timeout(1800)
def test_the_build_runs(tmp_path: Path) -> None:
    """All steps of the first job run on a clone, but for the one with podman; their files are those that the other jobs use.

    ``tests/release`` runs what is in the image.
    """
    clone = tmp_path / "clone"
    clean_clone(clone)
    venv.create(tmp_path / "tools", with_pip=True)
    sudo = tmp_path / "tools" / "bin" / "sudo"
    sudo.write_text('#!/bin/sh\nexec "$@"\n')
    sudo.chmod(0o755)
    path = f"{sudo.parent}{os.pathsep}{os.environ['PATH']}"
    for step in steps("build"):
        if "podman" not in step.get("run", "podman"):
            ran = run(step["run"], clone, GITHUB_REF_NAME=f"v{VERSION}", PATH=path)
            assert ran.returncode == 0, f"{step['name']}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}"

    remaining = steps("build")[-1]["with"]["path"].split()
    assert {each for each in remaining if not (clone / each).exists()} == set()
    assert [len([*(clone / "dist").glob(each)]) for each in PUBLISHED] == [1] * len(PUBLISHED)


def test_each_pattern_of_a_step_is_one_of_a_file() -> None:
    used = {*re.findall(r"dist/([*\w.-]+)", TEXT)}
    assert used - {"*", "*.attestation", "*-image-*.tar"} <= {*PUBLISHED}
