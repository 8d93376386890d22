"""One browser, and one set of pages, for all tests of a process; an empty working directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.muster import browser


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    with browser.running(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from tests.muster.browser_pages import PAGES

    folder = tmp_path_factory.mktemp("pages")
    made = {name: folder / f"{name.replace(' ', '-')}.html" for name in PAGES}
    for name, path in made.items():
        path.write_text(PAGES[name](), encoding="utf-8")
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
