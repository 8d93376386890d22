"""helm, for the tests of the chart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import go_tools
from tests.cluster.conftest import available


@pytest.fixture(scope="session")
def helm() -> Path:
    """Return the path of helm; skip the tests that need it if it was not built."""
    return available(lambda: go_tools.find("helm"))
