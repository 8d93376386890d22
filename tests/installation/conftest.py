"""Fixtures: the wheel, built once for each test process, and an environment without extras."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installation import environments
from tests.installation.environments import Environment


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environments.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    return environments.with_extra(tmp_path_factory.mktemp("small") / "venv", wheel, "")
