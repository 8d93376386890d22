"""The page in a browser: nothing is fetched or refused, it fits, it is drawn, it can be read and used without eyes or mouse."""

from __future__ import annotations

import pytest

from benchmarks import clusters
from tests.muster import browser, paged
from tests.muster.paged import gang
from tests.muster.test_page import hostile

if browser.program() is None:
    pytest.skip(browser.MISSING, allow_module_level=True)

CELLS = [*clusters.nodes(300), *clusters.gangs(3, 4), *gang("wide", 700, key=clusters.RACK)]
PAGES = {
    "placed": lambda: paged.rendered(paged.placed_tree()),
    "not placed": lambda: paged.rendered(paged.many_gpus(), strategy="complete"),
    "evicting": lambda: paged.rendered(paged.evicting()),
    "cells": lambda: paged.rendered(CELLS),
    "hostile": lambda: paged.rendered(hostile()),
}
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


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.running(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, made in PAGES.items():
        (folder / f"{name.replace(' ', '-')}.html").write_text(made(), encoding="utf-8")
    return {name: folder / f"{name.replace(' ', '-')}.html" for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_fetched_and_nothing_refused(chromium, files, name, dark):
    chromium.open(files[name], dark=dark)
    assert [f"request: {files[name].as_uri()}"] == chromium.log


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [360, 800, 1400])
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


def test_what_is_injected_does_not_run(chromium, files):
    chromium.open(files["cells"])
    chromium.value(
        """try { document.body.append(Object.assign(document.createElement('script'), {text: 'window.injected = 1'})) } catch (error) {}"""
    )
    chromium.value("document.body.setAttribute('style', 'display: none')")
    assert "undefined" == chromium.value("typeof window.injected")
    assert "none" != chromium.value("getComputedStyle(document.body).display")
    assert any("Content Security Policy" in line for line in chromium.log)


def test_names_of_strangers_are_shown_and_do_nothing(chromium, files):
    chromium.open(files["hostile"])
    assert 0 == chromium.value("document.scripts.length")
    assert chromium.value("document.body.innerText.includes(`<script>alert('x')</script>`)")


@pytest.mark.parametrize(
    ("width", "dark"), [(1400, False), (1400, True), (400, False), (400, True)], ids=["wide", "wide, dark", "narrow", "narrow, dark"]
)
def test_pictures(chromium, files, tmp_path, width, dark):
    """To be looked at: they stay in the folder of the test for a while."""
    for name, file in files.items():
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

    assert {"default/job is not placed", "Not placed, and why", "The cluster", "rack r1 8 of 16 nvidia.com/gpu free"} <= set(headings)
    assert {"heading", "list", "listitem", "main", "link", "DisclosureTriangle"} <= {each["role"] for each in spoken}
    assert "capacity for 2 of 4 pods" in words
    assert "4 free; 8 more on 1 node with the taint {maintenance: yes}" in words
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


def test_resources_are_switched_without_a_script(chromium, files):
    chromium.open(files["cells"], script=False)
    shown = "[...document.querySelectorAll('.cells g')].slice(0, 2).map((each) => getComputedStyle(each).display)"
    assert ["inline", "none"] == chromium.value(shown)
    chromium.value("document.getElementById('show-0').focus()")
    chromium.press("ArrowRight")
    assert ["none", "inline"] == chromium.value(shown)
    assert "memory free" in chromium.value("document.querySelector('.rack .total').innerText")


def test_all_of_a_large_cluster_is_there_without_a_script(chromium, files):
    chromium.open(files["cells"], script=False)
    assert "Tab" not in chromium.value("[...document.querySelectorAll('.cells')].map((each) => each.tabIndex >= 0 ? 'Tab' : '').join('')")
    assert 300 == chromium.value("document.querySelectorAll('.cells ~ .table tbody tr').length")


def node_told(chromium):
    option = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    return chromium.value(f"({option} || {{}}).textContent"), chromium.value(f"({option} || document.body).getAttribute('aria-posinset')")


def test_arrow_keys_go_from_node_to_node(chromium, files):
    chromium.open(files["cells"])
    chromium.value("document.querySelector('.cells').focus()")
    columns = chromium.value("Number(document.activeElement.dataset.columns)")

    assert ("1", True) == (node_told(chromium)[1], node_told(chromium)[0].startswith("node-00000, "))
    chromium.press("ArrowDown", "ArrowRight")
    assert str(columns + 2) == node_told(chromium)[1]
    chromium.press("ArrowLeft", "ArrowUp", "ArrowUp")
    assert "1" == node_told(chromium)[1]
    chromium.press("End", "ArrowRight")
    assert ("100", True) == (node_told(chromium)[1], node_told(chromium)[0].startswith("node-00099, "))
    chromium.press("Home")
    assert "cpu free" in node_told(chromium)[0]
    assert not chromium.value("document.getElementById('tip').hidden")
    chromium.press("Escape")
    assert chromium.value("document.getElementById('tip').hidden")


def test_pointer_shows_the_node_below_it(chromium, files):
    chromium.open(files["cells"], height=2500)
    corner = chromium.value(
        "(() => { const box = document.querySelectorAll('.cells svg')[1].getBoundingClientRect(); return [box.left, box.top] })()"
    )
    chromium.point(corner[0] + 20, corner[1] + 25)
    columns = chromium.value("Number(document.querySelector('.cells').dataset.columns)")
    chromium.until("!document.getElementById('tip').hidden")
    told = chromium.value("document.getElementById('tip').innerText")

    assert told.startswith(f"node-{100 + columns + 1:05d}\n")
    chromium.point(1, 1)
    chromium.until("document.getElementById('tip').hidden")
    assert chromium.value("document.getElementById('tip').hidden")
