"""Fixtures: the files of a release, built once of a clean clone, and the image unpacked."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from release import image
from tests.clones import clean_clone, git
from tests.cluster import go_tools
from tests.cluster.conftest import available
from tests.cluster.programs import MissingError
from tests.release import image_root
from tests.sampling import SOAK, WHOLE

ASKED = "MUSTER_IMAGE"
"""Environment variable that asks for the tests of the image, as CI does."""
BUILD_SECONDS = 1200
"""Timeout of a test that has to wait for the build, on a machine that does other work too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder a longer timeout: the first of them builds all files."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))


NO_NETWORK = re.compile("could not resolve|could not connect|failed to establish a new connection|temporary failure", re.IGNORECASE)
"""What apt and pip say without a network, which the image needs."""


@dataclasses.dataclass(frozen=True)
class Released:
    """What ``make release`` has built of *clone*."""

    clone: Path

    @property
    def folder(self) -> Path:
        return self.clone / "dist"

    def file(self, pattern: str) -> Path:
        """Return a file; skip the test if it was not built, because helm is missing."""
        if not (found := [*self.folder.glob(pattern)]):
            available(lambda: go_tools.find("helm"))
        (result,) = found
        return result


def run_release(clone: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "release", *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    """Packages and, if helm was built, chart."""
    clone = tmp_path_factory.mktemp("released") / "muster"
    clean_clone(clone)
    parts = ["packages"]
    with contextlib.suppress(MissingError):
        go_tools.find("helm")
        parts.append("chart")
    ran = run_release(clone, *parts)
    assert ran.returncode == 0, ran.stderr
    return Released(clone)


@pytest.fixture(scope="session")
def with_image(released: Released, tmp_path_factory: pytest.TempPathFactory) -> Released:
    """Image and list of components of the same commit."""
    if not (WHOLE or os.environ.get(ASKED)):
        pytest.skip(f"takes minutes; {ASKED} or {SOAK} asks for it")
    if reasons := image.missing("") or image_root.missing():
        pytest.skip("; ".join(reasons))
    clone = tmp_path_factory.mktemp("image") / "muster"
    git(released.clone, "clone", "--quiet", str(released.clone), str(clone))
    ran = run_release(clone, "image")
    if NO_NETWORK.search(ran.stderr):
        pytest.skip(f"the image needs a network: {ran.stderr[-300:]}")
    assert ran.returncode == 0, ran.stderr
    return Released(clone)


@pytest.fixture(scope="session")
def unpacked(with_image: Released, tmp_path_factory: pytest.TempPathFactory) -> image_root.Image:
    return image_root.unpack(with_image.file("*-image-*.tar"), tmp_path_factory.mktemp("root"))
