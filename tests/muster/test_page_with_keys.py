"""The page used with keyboard and pointer: index, search, filter, heat map; and what works without a script."""

from __future__ import annotations

import dataclasses

import pytest

from muster.html import page, page_content
from tests.muster import browser, paged

if browser.program() is None:
    pytest.skip(browser.MISSING, allow_module_level=True)

SHOWN = "[...document.querySelectorAll('.roots li')].filter((each) => each.checkVisibility()).map((each) => each.querySelector('.name').textContent)"
FOCUS = "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"


def say(chromium, text):
    """Write into the search field."""
    chromium.value(
        f"(() => {{ const find = document.getElementById('find'); find.value = {text!r}; find.dispatchEvent(new Event('input')) }})()"
    )


def choose(chromium, result):
    chromium.value(f"document.getElementById('only-{result}').click()")


def test_slash_leads_to_the_search_and_keys_to_a_root(chromium, files):
    chromium.open(files["many roots"])
    chromium.press("/")
    assert "find" == chromium.value(FOCUS)
    say(chromium, "small-1")
    assert [f"default/small-{number}" for number in (1, *range(10, 20))] == chromium.value(SHOWN)
    assert "11 results of 27 shown" == chromium.value("document.getElementById('matches').textContent")
    chromium.press("ArrowDown", "ArrowUp")
    assert "find" == chromium.value(FOCUS)
    chromium.press("ArrowDown", "ArrowDown", "Enter")
    assert "default/small-10" == chromium.value("document.querySelector(':target .name').textContent")


def test_the_shortcut_can_be_switched_off_and_stays_off(chromium, files):
    """WCAG 2.1.4: a shortcut of one character can be turned off."""
    chromium.open(files["many roots"])
    chromium.value("document.getElementById('shortcut').click()")
    chromium.value("document.querySelector('.roots a').focus()")
    before = chromium.value("document.activeElement.hash")
    chromium.press("/")
    assert before == chromium.value("document.activeElement.hash")
    chromium.open(files["many roots"])
    assert not chromium.value("document.getElementById('shortcut').checked")
    chromium.press("/")
    assert "find" != chromium.value(FOCUS)
    chromium.value("document.getElementById('shortcut').click()")
    chromium.press("/")
    assert "find" == chromium.value(FOCUS)


def test_the_shortcut_works_where_nothing_can_be_stored(chromium, files):
    chromium.open(files["many roots"])
    chromium.value("Object.defineProperty(Storage.prototype, 'setItem', { value() { throw new DOMException('full') } }) && 0")
    chromium.value("document.getElementById('shortcut').click()")
    chromium.press("/")
    assert "find" != chromium.value(FOCUS)
    chromium.value("document.getElementById('shortcut').click()")
    chromium.press("/")
    assert "find" == chromium.value(FOCUS)


def test_search_hides_the_roots_themselves_and_escape_shows_all(chromium, files):
    chromium.open(files["many roots"])
    rows = "[...document.querySelectorAll('#placed tbody')].filter((each) => each.checkVisibility()).length"
    cards = "[...document.querySelectorAll('.card')].filter((each) => each.checkVisibility()).length"
    assert (20, 4) == (chromium.value(rows), chromium.value(cards))
    say(chromium, "DEFAULT/small 7")
    assert (2, 0) == (chromium.value(rows), chromium.value(cards))
    assert [True, False] == chromium.value("['open', 'placed'].map((each) => document.getElementById(each).hidden)")
    chromium.value("document.getElementById('find').focus()")
    chromium.press("Escape")
    assert (20, 4) == (chromium.value(rows), chromium.value(cards))


def test_nothing_matches_and_all_come_back(chromium, files):
    chromium.open(files["many roots"])
    say(chromium, "nobody")
    assert [] == chromium.value(SHOWN)
    assert chromium.value("document.querySelector('.none').checkVisibility()")
    chromium.value("document.querySelector('.clear').click()")
    assert 27 == len(chromium.value(SHOWN))
    assert "find" == chromium.value(FOCUS)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_results_are_filtered(chromium, files, script):
    chromium.open(files["many roots"], script=script)
    assert script == chromium.value("document.querySelector('.find').checkVisibility()")
    choose(chromium, "evicting")
    assert ["default/urgent"] == chromium.value(SHOWN)
    choose(chromium, "placed")
    assert 20 == len(chromium.value(SHOWN))
    choose(chromium, "all")
    assert 27 == len(chromium.value(SHOWN))


def test_roots_at_path_are_first_and_can_be_chosen(chromium, files):
    chromium.open(files["does not fit"])
    assert "default/job" == chromium.value(SHOWN)[0]
    assert 3 == len(chromium.value(SHOWN))
    choose(chromium, "own")
    assert ["default/job"] == chromium.value(SHOWN)
    assert ["path", "open"] == chromium.value("[...document.querySelectorAll('main > section')].slice(0, 2).map((each) => each.id)")


def test_the_verdict_is_the_heading_and_its_origin_is_below(chromium, files):
    chromium.open(files["does not fit"])
    headings = [each["name"] for each in chromium.spoken() if each["role"] == "heading"]
    assert "PodGroup job does not fit: rack r1 can hold 2 (short of 8 nvidia.com/gpu)" == " ".join(headings[0].split())
    origin = chromium.value("document.querySelector('.meta').innerText").split("\n")
    assert ["Command", "muster fit train.yaml --objects cluster.json --format html"] == origin[:2]
    assert {"2026-01-02 03:04 UTC", "muster 0.1.0", "cluster.json"} <= set(origin)


def test_tab_goes_through_the_page_in_its_order_and_the_focus_is_seen(chromium, files):
    chromium.open(files["does not fit"])
    order = []
    for _ in range(14):
        chromium.press("Tab")
        order.append(chromium.value(FOCUS))
        assert chromium.value("getComputedStyle(document.activeElement).outlineStyle") != "none", order
    assert "skip" == order[0]
    assert order.index("find") < order.index("only-all")
    chromium.value("document.querySelector('.cursor').focus()")
    assert "3px" == chromium.value("getComputedStyle(document.activeElement).outlineWidth")


def test_nothing_moves_where_no_motion_is_wanted(chromium, files):
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    chromium.open(files["placed"])
    assert "smooth" == chromium.value(behaviour)
    chromium.open(files["placed"], still=True)
    assert "auto" == chromium.value(behaviour)


def told(chromium):
    return chromium.value("document.getElementById('told').textContent")


def test_arrow_keys_move_over_the_heat_map(chromium, files):
    chromium.open(files["many nodes"])
    chromium.value("document.querySelector('.cursor').focus()")
    assert told(chromium).startswith("node-00000, rack-000, ")
    assert "cpu free" in told(chromium)
    chromium.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert told(chromium).startswith("node-00001, ")
    chromium.press("ArrowDown")
    below = told(chromium)
    columns = chromium.value(
        "new Set([...document.querySelectorAll('.tiles')[0].children].map((each) => each.getBoundingClientRect().left)).size"
    )
    assert below.startswith(f"node-{columns + 1:05d}, ")
    chromium.press("ArrowUp")
    assert told(chromium).startswith("node-00001, ")
    chromium.press("PageDown")
    assert told(chromium).startswith("node-00100, rack-001, ")
    chromium.press("PageUp")
    assert told(chromium).startswith("node-00000, ")
    chromium.press("End", "ArrowRight")
    assert told(chromium).startswith("node-00119, ")
    assert not chromium.value("document.getElementById('tip').hidden")
    chromium.press("Escape")
    assert chromium.value("document.getElementById('tip').hidden")


@pytest.mark.parametrize(("name", "want"), [("many nodes", "node-00001"), ("not placed", "r1-2")])
def test_enter_opens_the_node(chromium, files, name, want):
    chromium.open(files[name])
    chromium.value("document.querySelector('.cursor').focus()")
    chromium.press("ArrowRight", "Enter")
    assert want in chromium.value("document.activeElement.textContent")
    assert chromium.value("document.activeElement.closest('details').open")


def test_pointer_shows_and_opens_the_node_below_it(chromium, files):
    chromium.open(files["many nodes"], height=2500)
    x, y = chromium.value(
        "(() => { const box = document.querySelectorAll('.tiles i')[105].getBoundingClientRect(); return [box.left + 3, box.top + 3] })()"
    )
    chromium.point(x, y)
    chromium.until("!document.getElementById('tip').hidden")
    assert chromium.value("document.getElementById('tip').innerText").startswith("node-00105\n")
    chromium.point(1, 1)
    chromium.until("document.getElementById('tip').hidden")


def test_resources_are_switched_without_a_script(chromium, files):
    chromium.open(files["not placed"], script=False)
    colour = "getComputedStyle(document.querySelector('.tiles i')).backgroundColor"
    before = chromium.value(colour)
    chromium.value("document.getElementById('show-0').focus()")
    chromium.press("ArrowRight")
    assert before != chromium.value(colour)
    assert "cpu free" in chromium.value("document.querySelector('.rack .total').innerText")


def test_all_of_a_large_cluster_is_there_without_a_script(chromium, files):
    chromium.open(files["many nodes"], script=False)
    assert 120 == chromium.value("document.querySelectorAll('.nodes tbody tr').length")
    assert 120 == chromium.value("document.querySelectorAll('.tiles i').length")
    assert 0 == chromium.value("document.querySelectorAll('.cursor').length")


SHAPES = {
    "racks in zones": [[100] * 10] * 5,
    "small racks in zones": [[14] * 36] * 10,
    "small racks": [[16] * 312],
    "large and small ones": [[*[1000] * 3, *[10] * 200]],
}
"""Numbers of nodes of the racks of each zone."""


@pytest.fixture(scope="module", params=SHAPES.values(), ids=SHAPES)
def large_map(request, tmp_path_factory):
    """A page with the heat map of 5,000 nodes; the tables below it take long to show, and do not matter."""
    nodes = [
        paged.machine(f"{zone}-{rack}-{number}", gpus=8, labels={paged.ZONE: f"zone-{zone}", paged.RACK: f"rack-{zone}-{rack}"})
        for zone, sizes in enumerate(request.param)
        for rack, size in enumerate(sizes)
        for number in range(size)
    ]
    found = page_content.content(*paged.decided([*nodes, *paged.gang("job", 2, key=paged.RACK)]))
    assert sum(len(each.tiles) for each in found.chart.heat.whole.walk()) >= 4992
    lines = next(each for each in _plots(found.chart.plot) if each.lines).lines[:1]
    chart = dataclasses.replace(found.chart, plot=dataclasses.replace(found.chart.plot, parts=(), lines=lines))
    path = tmp_path_factory.mktemp("maps") / "page.html"
    path.write_text(page.drawn(dataclasses.replace(found, chart=chart), page.parts()), encoding="utf-8")
    return path


def _plots(plot):
    yield plot
    for part in plot.parts:
        yield from _plots(part)


TILES = """
(() => {
  const heat = document.querySelector(".heat"), box = heat.getBoundingClientRect(), edge = parseFloat(getComputedStyle(heat).paddingLeft) + 1;
  const tiles = [...heat.querySelectorAll(".tiles i")].map((tile) => tile.getBoundingClientRect());
  const marks = [...heat.querySelectorAll(".new")].map((tile) => getComputedStyle(tile, "::after"));
  const colours = new Set(marks.map((mark) => mark.backgroundColor));
  const least = (numbers) => Math.min(...numbers);
  return {
    tile: [least(tiles.map((tile) => tile.width)), least(tiles.map((tile) => tile.height))],
    mark: [marks.length, least(marks.map((mark) => parseFloat(mark.width))), least(marks.map((mark) => parseFloat(mark.height)))],
    colours: [...colours],
    used: (Math.max(...tiles.map((tile) => tile.right)) - least(tiles.map((tile) => tile.left))) / (box.width - 2 * edge),
    cut: [heat.scrollWidth - heat.clientWidth, heat.scrollHeight - heat.clientHeight],
    height: document.getElementById("heat").getBoundingClientRect().height,
  };
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "most"), [(390, 2400), (1280, 1000), (1920, 1080)])
def test_each_of_five_thousand_nodes_can_be_seen_with_its_mark(chromium, large_map, width, most, dark):
    """Tiles fill the width, no part of the map is cut off, and with its legend it is at most a few screens high."""
    chromium.open(large_map, width=width, dark=dark)
    found = chromium.value(TILES)
    assert min(found["tile"]) >= 8
    assert found["mark"][0] >= 1
    assert min(found["mark"][1:]) >= 5
    assert found["colours"] == ["rgb(63, 196, 173)" if dark else "rgb(0, 112, 95)"]
    assert 0.95 <= found["used"] <= 1.001
    assert [0, 0] == found["cut"]
    assert found["height"] <= most


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("name", ["not placed", "many roots", "placed", "evicting"])
def test_the_map_of_few_nodes_fills_its_width(chromium, files, name, width):
    chromium.open(files[name], width=width)
    found = chromium.value(TILES)
    assert min(found["tile"]) >= 16
    assert 0.9 <= found["used"] <= 1.001
    assert [0, 0] == found["cut"]
