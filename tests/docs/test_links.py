"""The README is short; its links, and those of every other page in the sources, lead to files and headings that exist."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path

import pytest

from tests.docs import images, pages
from tests.docs.pages import DOCS, ROOT

README = ROOT / "README.md"
LONGEST = 150
"""Lines of the README."""
OTHERS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md", "tests/cluster/README.md")
ALL = [*(ROOT / name for name in OTHERS), ROOT / "validators" / "rules" / "README.md", *pages.pages()]
_LINK = re.compile(r"\]\((?P<inline>[^)\s]+)\)|^\[[^\]]+\]: (?P<reference>\S+)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(path: Path) -> list[str]:
    """Return the relative links of a page, those to pictures included."""
    text = _CODE.sub("", path.read_text(encoding="utf-8"))
    found = [each["inline"] or each["reference"] for each in _LINK.finditer(text)]
    return [link for link in found if not urllib.parse.urlsplit(link).scheme]


def headings(path: Path) -> set[str]:
    """Return the anchors of a page, as GitHub and the site make them, and those that are written as HTML."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    written = re.findall(r'(?:id|name)="([^"]+)"', text)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles} | set(written)


def dead(path: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    found = []
    for link in links(path):
        name, _, anchor = link.partition("#")
        # A page of docs may be a link to a file elsewhere: its own links count from where it is shown.
        target = path.parent / urllib.parse.unquote(name) if name else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in headings(included(target))):
            found.append(link)
    return found


def included(path: Path) -> Path:
    """Return the file that a page consists of, where it is nothing but an inclusion."""
    only = re.fullmatch(r'--8<-- "([^":]+)"\n', path.read_text(encoding="utf-8"))
    return ROOT / only[1] if only else path


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_link_of_the_sources_is_dead(path: Path) -> None:
    assert dead(path) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# A title, and more\n")
    page.write_text("[a](other.md#a-title-and-more) [b](other.md#b) ![c](c.png) [d][d] `[e](e)`\n\n[d]: d.md\n[f]: https://f\n")

    assert dead(page) == ["other.md#b", "c.png", "d.md"]


def test_the_readme_shows_three_pictures_and_no_picture_is_unused() -> None:
    stored = {path.relative_to(ROOT).as_posix() for path in images.IMAGES.iterdir()}
    shown = {
        path: [(path.parent / link).resolve().relative_to(ROOT).as_posix() for link in links(path) if "images/" in link] for path in ALL
    }

    assert len(shown[README]) == 3
    assert {each for listed in shown.values() for each in listed} == stored
    assert stored == {each for path, listed in shown.items() if DOCS in path.parents for each in listed}
    assert [name for name in stored if (ROOT / name).stat().st_size >= images.LARGEST] == []


def test_the_picture_of_a_terminal_is_what_the_linter_writes() -> None:
    """Where this fails, ``python -m tests.docs.images lint`` draws it anew."""
    assert (images.IMAGES / "lint.svg").read_text(encoding="utf-8") == images.terminal_with_findings()
