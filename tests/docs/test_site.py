"""The site is built without a warning, and every link of it leads somewhere."""

from __future__ import annotations

import html
import html.parser
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import expansion
import muster_scheduling
import scheduler_core
import validators
import workloadbuilder
from tests.docs import pages
from tests.docs.pages import DOCS, ROOT

NEEDED = (*muster_scheduling.PACKAGES, "docs", "examples", "zensical.toml", "CHANGELOG.md", "README.md")
CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in {"script", "img", "iframe", "source"} and "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in a directory of its own."""
    directory = tmp_path_factory.mktemp("site")
    for name in NEEDED:
        # The generator works where its configuration really is, and follows no link to a directory of pages.
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, directory / name)
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "No issues found" in ran.stdout + ran.stderr
    return directory / "site"


@pytest.fixture(scope="module")
def built(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


def in_the_menu(entries: list[object]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for below in entry.values():
                yield from in_the_menu(below if isinstance(below, list) else [below])


def test_every_page_is_in_the_menu() -> None:
    listed = [*in_the_menu(CONFIG["nav"])]

    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in pages.pages())


def test_every_link_leads_to_a_page_and_a_place_that_exist(site: Path, built: dict[Path, Page]) -> None:
    dead = []
    for path, page in built.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if urllib.parse.urlsplit(link).scheme:
                continue
            file = path if not target else (path.parent / urllib.parse.unquote(target)).resolve()
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and file in built and urllib.parse.unquote(anchor) not in built[file].anchors):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert len(built) == len(pages.pages())
    assert dead == []


def test_nothing_is_loaded_from_another_host(site: Path, built: dict[Path, Page]) -> None:
    """Fonts, styles and scripts are the site's own; the script that draws diagrams is fetched where there is one."""
    assert [f"{path.relative_to(site)}: {each}" for path, page in built.items() for each in page.loaded if "//" in each] == []


@pytest.mark.parametrize(
    ("package", "page"),
    [(scheduler_core, "simulate"), (validators, "validators"), (workloadbuilder, "workloadbuilder"), (expansion, "expansion")],
)
def test_the_library_is_documented_from_its_docstrings(site: Path, built: dict[Path, Page], package: ModuleType, page: str) -> None:
    anchors = built[site / "library" / page / "index.html"].anchors

    documented = {name for name in package.__all__ if any(each.endswith(f".{name}") for each in anchors)}
    assert documented == set(package.__all__)


def test_an_example_is_included_whole(site: Path) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "", (site / "library" / "workloadbuilder" / "index.html").read_text(encoding="utf-8")))
    lines = (ROOT / "examples" / "build_a_workload.py").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if line not in text] == []
