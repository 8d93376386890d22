"""Fixtures: the files of a release, built once of a clean clone, and the image unpacked."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from release import image
from tests.clones import clean_clone
from tests.cluster import go_tools
from tests.cluster.programs import MissingError
from tests.release import image_root


BUILD_SECONDS = 1200
"""Timeout of a test that has to wait for the build, on a machine that does other work too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder a longer timeout: the first of them builds all files."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))


@dataclasses.dataclass(frozen=True)
class Released:
    """What ``make release`` has built of *clone*, and why parts are missing."""

    clone: Path
    missing: dict[str, str]

    @property
    def folder(self) -> Path:
        return self.clone / "dist"

    def file(self, pattern: str, part: str) -> Path:
        """Return the file of *part*; skip the test where it cannot be built."""
        if part in self.missing:
            pytest.skip(self.missing[part])
        (found,) = self.folder.glob(pattern)
        return found


def run_release(clone: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "release", *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    missing = {}
    try:
        go_tools.find("helm")
    except MissingError as error:
        missing["chart"] = str(error)
    if reasons := image.missing("") or image_root.missing():
        missing["image"] = "; ".join(reasons)
    clone = tmp_path_factory.mktemp("released") / "muster"
    clean_clone(clone)
    ran = run_release(clone, *({"packages", "chart", "image"} - {*missing}))
    assert ran.returncode == 0, ran.stderr
    return Released(clone, missing)


@pytest.fixture(scope="session")
def unpacked(released: Released, tmp_path_factory: pytest.TempPathFactory) -> image_root.Image:
    return image_root.unpack(released.file("*-image-*.tar", "image"), tmp_path_factory.mktemp("image"))
