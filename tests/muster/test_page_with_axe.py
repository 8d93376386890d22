"""The page is accessible by the rules of axe-core, on each width and in both colour schemes (WCAG 2.2, levels A and AA, best practices)."""

from __future__ import annotations

import importlib.resources

import pytest

from tests.muster import browser
from tests.muster.browser_pages import PAGES
from tests.sampling import WHOLE, every

if browser.program() is None:
    pytest.skip(browser.MISSING, allow_module_level=True)

AXE = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
"""Sources of axe-core, as the package for Playwright ships them; its own code is not used."""
ALIKE = ("undecided", "hostile", "not placed")
"""Pages that have the parts of others: one width is enough."""
RUN = """
axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled: %s } } }).then((found) => found.violations.map((each) =>
  `${each.impact} ${each.id}: ${each.nodes.map((node) => node.target.join(" ")).slice(0, 3).join("; ")}`))
"""


def violations(chromium, *, contrast=True):
    chromium.value(AXE)
    return chromium.awaited(RUN % str(contrast).lower())


@pytest.mark.parametrize(
    ("name", "width"), every(2, [(name, width) for name in PAGES for width in (390, 1280, 1920) if width == 1280 or name not in ALIKE])
)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(chromium, files, name, dark, width):
    chromium.open(files[name], width=width, dark=dark)
    # The same on all widths; it takes long.
    chromium.value(f"for (const each of document.querySelectorAll('details')) each.open = {str(width == 1280).lower()}")
    # Four fifths of the time are contrast, which depends on the scheme and hardly on the width.
    assert [] == violations(chromium, contrast=WHOLE or width == 1280 or (width, dark) == (390, False))


def test_axe_finds_what_is_wrong(chromium, files):
    """The check itself works under the policy of the page."""
    chromium.open(files["placed"])
    chromium.value("document.querySelector('main').append(document.createElement('button'))")
    assert ["critical button-name: #main > button"] == violations(chromium, contrast=False)
    chromium.open(files["placed"])
    chromium.value("document.querySelector('h1').style.setProperty('color', '#ccc')")
    assert ["serious color-contrast: h1; .why"] == violations(chromium)
