"""The files of a release: complete, as they should be, and the same of the same commit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from release import tree
from tests.clones import ROOT, clean_clone, commit_all, git
from tests.cluster import go_tools
from tests.deploy.test_chart import EVERYTHING
from tests.installation import environments
from tests.installation.environments import PACKAGES
from tests.release.conftest import Released, run_release
from tests.release.image_root import trust
from tests.sampling import SOAK, WHOLE
from validators.reports import custom_resources

VERSION = tree.version(ROOT)
CHECKSUMS = "SHA256SUMS"
EXTRAS = "webhooks,sidecar,simulate"
"""Extras of the image."""
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train
spec:
  schedulingPolicy:
    gang:
      minCount: 2
"""


def sums(folder: Path) -> dict[str, str]:
    lines = (folder / CHECKSUMS).read_text().splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


@pytest.mark.parametrize("which", ["released", "with_image"])
def test_every_file_has_its_checksum_and_the_version(which: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(which).folder
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", CHECKSUMS], cwd=folder, check=True)
    names = {each.name for each in folder.iterdir()} - {CHECKSUMS}

    assert {*sums(folder)} == names
    assert all(VERSION in each for each in names)
    assert len(names) >= 2


def test_the_tree_is_left_as_it_was(released: Released) -> None:
    assert git(released.clone, "status", "--porcelain") == ""


def test_the_wheel_has_every_file_of_the_packages_and_no_other(released: Released) -> None:
    with zipfile.ZipFile(released.file("*.whl")) as wheel:
        packed = {each for each in wheel.namelist() if ".dist-info/" not in each}

    assert packed == {*git(released.clone, "ls-files", *PACKAGES, "muster_scheduling.py").split()}


def test_the_wheel_works_in_an_empty_environment(released: Released, tmp_path: Path) -> None:
    created = environments.with_extra(tmp_path / "venv", released.file("*.whl"), "")
    (created.directory / "group.yaml").write_text(GROUP)
    assert created.muster("--version").stdout.split()[-1] == VERSION
    assert created.muster("lint", "group.yaml").returncode == 0
    (created.directory / "group.yaml").write_text(GROUP.replace("2", "0"))
    found = created.muster("lint", "group.yaml")

    assert (found.returncode, "error gang-minimum" in found.stdout) == (1, True), found.stdout + found.stderr


def test_the_source_distribution_builds_the_same_wheel(released: Released, tmp_path: Path) -> None:
    with tarfile.open(released.file("*.tar.gz")) as packed:
        trust(packed)
        packed.extractall(tmp_path)
    (sources,) = tmp_path.iterdir()
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, sources],
        env=os.environ | {"SOURCE_DATE_EPOCH": git(released.clone, "log", "-1", "--format=%ct").strip()},
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")

    assert wheel.read_bytes() == released.file("*.whl").read_bytes()
    assert not list(sources.rglob("test_*.py"))


@pytest.mark.parametrize("values", [(), EVERYTHING], ids=["default values", "everything"])
def test_the_chart_is_that_of_the_tree(values: tuple[str, ...], released: Released) -> None:
    packed, helm = released.file("*.tgz"), go_tools.find("helm")
    given = [part for each in values for part in ("--set", each)]
    command = [helm, "template", "muster", "--namespace", "muster-system", *given]
    rendered = [subprocess.run([*command, each], check=True, stdout=subprocess.PIPE).stdout for each in (packed, ROOT / "deploy" / "chart")]
    subprocess.run([helm, "lint", "--strict", packed], check=True, stdout=subprocess.PIPE)
    shown = subprocess.run([helm, "show", "chart", packed], check=True, text=True, stdout=subprocess.PIPE).stdout

    assert rendered[0] == rendered[1]
    assert {f"version: {VERSION}", f"appVersion: {VERSION}"} <= {*shown.splitlines()}


def test_the_custom_resources_are_those_of_the_program(released: Released) -> None:
    text = released.file("*-custom-resources.yaml").read_text(encoding="utf-8")
    found = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}
    definitions = {(each["kind"], each["metadata"]["name"]): each for each in custom_resources.definitions()}

    assert definitions.items() <= found.items()
    assert {"ClusterRole", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} == {
        kind for kind, _ in found.keys() - definitions.keys()
    }


def test_the_list_of_components_is_the_lock_as_far_as_the_image_needs_it(released: Released, with_image: Released) -> None:
    listed = json.loads(with_image.file("*-sbom.cdx.json").read_text())
    components = {re.sub("[-_.]+", "-", each["name"]).lower(): each["version"] for each in listed["components"]}
    lock = dict(
        line.partition(" ;")[0].split("==")
        for line in (ROOT / "requirements-ci.txt").read_text().splitlines()
        if "==" in line and line[0] != "#"
    )
    needed = set()
    for extra in EXTRAS.split(","):
        needed |= environments.installed_with(released.file("*.whl"), extra)

    assert components == {name: lock[name] for name in needed}
    main = listed["metadata"]["component"]
    assert (main["name"], main["version"]) == (environments.NAME, VERSION)
    assert all(each["purl"].startswith("pkg:pypi/") and each["licenses"] for each in listed["components"])
    text = json.dumps(listed)
    assert "file://" not in text


@pytest.mark.parametrize(
    ("which", "parts"),
    [
        ("released", ["packages", "chart"]),
        pytest.param("with_image", ["image"], marks=pytest.mark.skipif(not WHOLE, reason=f"takes a minute; {SOAK} asks for it")),
    ],
)
def test_the_same_commit_gives_the_same_bytes(which: str, parts: list[str], request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In another folder, at another time, in another time zone, with other hashes of strings, and with another mask of modes."""
    first = request.getfixturevalue(which)
    clone = tmp_path / "another" / "folder"
    git(ROOT, "clone", "--quiet", str(first.clone), str(clone))
    parts = [each for each in parts if each != "chart" or [*first.folder.glob("*.tgz")]]
    ran = run_release(clone, *parts, env=os.environ | {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}, umask=0o077)
    assert ran.returncode == 0, ran.stderr

    assert sums(first.folder) == sums(clone / "dist")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    clean_clone(tmp_path / "clone")
    return tmp_path / "clone"


def refusal(clone: Path, *arguments: str, **options: object) -> list[str]:
    """Return the lines with which a release is refused; nothing is built."""
    ran = run_release(clone, *arguments, **options)
    assert (ran.returncode, ran.stdout, (clone / "dist").exists()) == (2, "", False), ran.stderr
    return ran.stderr.splitlines()


def test_a_tree_with_changes_is_refused(clone: Path) -> None:
    (clone / "README.md").write_text("new")
    (clone / "muster" / "new.py").touch()
    advice = "commit, stash or delete the changes"

    assert refusal(clone) == [f"release: the tree is not that of the commit: README.md, muster/new.py: {advice}"]


@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        ("deploy/chart/Chart.yaml", f"\nversion: {VERSION}", "\nversion: 9.9.9", "deploy/chart/Chart.yaml:5"),
        ("deploy/chart/Chart.yaml", f"appVersion: {VERSION}", "appVersion: 9.9.9", "deploy/chart/Chart.yaml:6"),
        ("muster/__init__.py", f'__version__ = "{VERSION}"', '__version__ = "9.9.9"', "muster/__init__.py:"),
        ("CHANGELOG.md", f"## {VERSION}", f"## 9.9.9\n\n## {VERSION}", "CHANGELOG.md:3"),
        ("editors/vscode/package.json", f'"version": "{VERSION}"', '"version": "9.9.9"', "editors/vscode/package.json:5"),
        ("deploy/install.yaml", f"image: muster:{VERSION}", "image: muster:9.9.9", "deploy/install.yaml:"),
        ("README.md", f"this is version {VERSION}", "this is version 9.9.9", "README.md:"),
        ("docs/install.md", f"rev: v{VERSION}", "rev: v9.9.9", "docs/install.md:"),
        ("docs/install.md", f"…@v{VERSION}", "…@v9.9.9", "docs/install.md:"),
        ("docs/operate/helm.md", f"REGISTRY/muster:{VERSION}", "REGISTRY/muster:9.9.9", "docs/operate/helm.md:"),
    ],
)
def test_another_version_is_found(file: str, old: str, new: str, place: str, tmp_path: Path) -> None:
    for name in ("deploy", "docs", "editors"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "muster").mkdir()
    for name in ("pyproject.toml", "CHANGELOG.md", "README.md", "muster/__init__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    (line,) = tree.other_versions(tmp_path)

    assert line.startswith(place)
    assert line.endswith(f" has version 9.9.9, pyproject.toml has {VERSION}: a release has one version")


def test_another_version_is_refused(clone: Path) -> None:
    chart = clone / tree.CHART
    chart.write_text(chart.read_text().replace(f"\nversion: {VERSION}", "\nversion: 9.9.9"))
    commit_all(clone)

    places = [line.partition(" has ")[0] for line in refusal(clone)]
    assert places == [f"release: {tree.CHART}:5"]


def test_this_tree_has_one_version() -> None:
    assert [*tree.other_versions(ROOT)] == []


UNPUBLISHED = re.compile(rf"pip install '?muster-scheduling|rev: v{VERSION}|@v{VERSION}|oci://")
"""What does not work before the first release."""
WORKS_NOW = re.compile(rf"[Uu]ntil {VERSION} is published|once {VERSION} is published")
PAGES = sorted(
    {ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md"), *(ROOT / "editors").rglob("*.md")}
    - {ROOT / "docs/contributing/release.md"}
)


@pytest.mark.parametrize(
    "page", [each for each in PAGES if UNPUBLISHED.search(each.read_text(encoding="utf-8"))], ids=lambda page: page.name
)
def test_a_page_with_what_is_not_published_yet_has_what_works_now(page: Path) -> None:
    """After the first release this test is deleted, and with it these words of the pages."""
    text = page.read_text(encoding="utf-8")

    assert WORKS_NOW.search(text)
    assert "#from-a-checkout-or-a-commit" in text or "in a checkout" in text


def test_a_missing_program_is_named_before_anything_is_built(clone: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "")

    lines = refusal(clone, env={**os.environ, "PATH": str(programs)})
    assert lines[0] == "release: the image needs buildah and mmdebstrap: apt-get install buildah mmdebstrap"


def test_a_folder_without_commits_is_refused(clone: Path) -> None:
    shutil.rmtree(clone / ".git")
    (line,) = refusal(clone, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(clone.parent)})

    assert line.startswith("release: git failed: fatal: not a git repository")


def test_an_unknown_part_is_refused(clone: Path) -> None:
    assert refusal(clone, "wheel")[-1].endswith("wheel: a part is one of audit, packages, chart, image")
