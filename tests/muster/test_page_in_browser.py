"""The page in a browser: nothing is fetched or refused, it fits, it is drawn, it can be read and used without eyes or mouse."""

from __future__ import annotations

import pytest

from tests.muster import browser
from tests.muster.browser_pages import PAGES

if browser.program() is None:
    pytest.skip(browser.MISSING, allow_module_level=True)

FAINT = """
(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => colour.slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parts(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, script, .vh")) continue;
    const [one, other] = [light(parts(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
    if ((one + 0.05) / (other + 0.05) < 4.5) found.push(element.outerHTML.slice(0, 80));
  }
  return found;
})()
"""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_fetched_and_nothing_refused(chromium, files, name, dark):
    chromium.open(files[name], dark=dark)
    assert [f"request: {files[name].as_uri()}"] == chromium.log


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_fits_into_its_window(chromium, files, name, width):
    chromium.open(files[name], width=width)
    chromium.value("for (const each of document.querySelectorAll('details')) each.open = true")
    assert chromium.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_has_contrast(chromium, files, name, dark):
    chromium.open(files[name], dark=dark)
    chromium.value("for (const each of document.querySelectorAll('details')) each.open = true")
    assert [] == chromium.value(FAINT)


HEADING = """
(() => {
  const [heading, why, facts] = ["h1", "h1 .why", ".counts"].map((each) => document.querySelector(each));
  const above = heading.getBoundingClientRect(), size = (element) => parseFloat(getComputedStyle(element).fontSize);
  return [heading.innerText.split(/\\s+/).join(" "), size(heading), size(why), above.bottom <= facts.getBoundingClientRect().top,
    heading.scrollWidth <= heading.clientWidth, above.bottom];
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_page_begins_with_the_results_in_large_letters(chromium, files, width, dark):
    chromium.open(files["many roots"], width=width, height=844, dark=dark)
    text, large, small, *whole, bottom = chromium.value(HEADING)
    assert text.startswith("✗ 21 of 27 PodGroups fit, 1 only after evicting 1 pod. large-0 does not: a pod requests 90 cpu, ")
    assert (large >= 25, small >= 18, [True, True]) == (True, True, whole)
    assert bottom <= 844


def test_what_is_injected_does_not_run(chromium, files):
    chromium.open(files["many nodes"])
    chromium.value(
        """try { document.body.append(Object.assign(document.createElement('script'), {text: 'window.injected = 1'})) } catch (error) {}"""
    )
    chromium.value("document.body.setAttribute('style', 'display: none')")
    assert "undefined" == chromium.value("typeof window.injected")
    assert "none" != chromium.value("getComputedStyle(document.body).display")
    assert any("Content Security Policy" in line for line in chromium.log)


def test_names_of_strangers_are_shown_and_do_nothing(chromium, files):
    chromium.open(files["hostile"])
    assert 1 == chromium.value("document.scripts.length")
    assert chromium.value("document.body.innerText.includes(`<script>alert('x')</script>`)")


@pytest.mark.parametrize(
    ("width", "dark"), [(1400, False), (1400, True), (400, False), (400, True)], ids=["wide", "wide, dark", "narrow", "narrow, dark"]
)
def test_pictures(chromium, files, tmp_path, width, dark):
    """To be looked at: they stay in the folder of the test for a while."""
    for name, file in ((name, files[name]) for name in ("does not fit", "many roots", "many nodes")):
        chromium.open(file, width=width, dark=dark)
        chromium.picture(tmp_path / f"{name}.png")
        grounds = chromium.value("getComputedStyle(document.documentElement).backgroundColor")
        assert ("rgb(19, 21, 26)" if dark else "rgb(245, 244, 239)") == grounds
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_shapes_are_drawn_to_scale(chromium, files):
    chromium.open(files["not placed"])
    room, need = (
        chromium.value(f"document.querySelector('.gauge.{line} .k-{kind}').getBBox().width")
        for line, kind in (("has", "fit"), ("needs", "need"))
    )
    # Room for two pods of four, but for the edges.
    assert abs(need / 2 - room) < 3


def test_paper_is_white_though_the_screen_is_dark(chromium, files):
    chromium.open(files["not placed"], dark=True, medium="print")
    assert "rgb(255, 255, 255)" == chromium.value("getComputedStyle(document.documentElement).backgroundColor")
    assert "rgb(0, 0, 0)" == chromium.value("getComputedStyle(document.body).color")


def test_a_screen_reader_gets_all_that_is_drawn(chromium, files):
    chromium.open(files["not placed"])
    spoken = chromium.spoken()
    headings = [" ".join(each["name"].split()) for each in spoken if each["role"] == "heading"]
    words = " ".join(each["name"] for each in spoken if each["role"] == "StaticText")

    assert {
        "PodGroup job does not fit: no rack has capacity for more than 2 of its 4 pods",
        "Not placed, and why",
        "The cluster",
        "rack r1 8 of 16 nvidia.com/gpu free",
    } <= set(headings)
    assert {"heading", "list", "listitem", "main", "link", "DisclosureTriangle"} <= {each["role"] for each in spoken}
    assert "capacity for 2 of 4 pods" in words
    assert "4 free; 8 more on 1 node with the taint maintenance=yes:NoSchedule" in words
    assert "●" not in words
    assert not {"image", "graphics-document", "SvgRoot"} & {each["role"] for each in spoken}


def test_keyboard_reaches_the_main_part_first_and_opens_a_node(chromium, files):
    chromium.open(files["not placed"], script=False)
    chromium.press("Tab")
    assert "skip" == chromium.value("document.activeElement.className")
    chromium.value("document.querySelector('.shelf summary').focus()")
    chromium.press("Enter")
    assert chromium.value("document.querySelector('.shelf').open")
    assert "default/one" in chromium.value("document.querySelector('.shelf table').innerText")
