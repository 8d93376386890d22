"""Colours of the page: what is to be read can be read, and what is to be seen can be seen (WCAG 2.2, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import itertools
import re

import pytest

from muster.html import page

TEXT, SHAPE = 4.5, 3.0
READ = ("ink", "soft", "bad", "wait", "well", "leaving", "placed", "promised", "link")
SEEN = ("edge", "running", "fit", "placed", "leaving", "promised", "bad")
GROUNDS = ("paper", "card")
LIGHT, DARK, PRINT = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", page.parts().style, re.DOTALL)
)
THEMES = {"light": LIGHT, "dark": DARK, "print": PRINT}


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_measured_as_the_guidelines_say():
    assert (21, 1) == (round(contrast("#ffffff", "#000000"), 6), contrast("#123456", "#123456"))
    assert 4.54 == round(contrast("#767676", "#ffffff"), 2)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_can_be_read(theme):
    faint = {pair: contrast(*(theme[name] for name in pair)) for pair in itertools.product(READ, GROUNDS)}
    assert {} == {pair: round(found, 2) for pair, found in faint.items() if found < TEXT}


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_shapes_can_be_seen(theme):
    faint = {name: contrast(theme[name], theme["card"]) for name in SEEN}
    assert {} == {name: round(found, 2) for name, found in faint.items() if found < SHAPE}


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_levels_of_the_heat_map_differ_and_are_in_their_order(theme):
    levels = [theme[f"heat-{letter}"] for letter in "abcdef"]
    away = [contrast(each, theme["card"]) for each in levels]
    assert (1, sorted(away)) == (away[0], away)
    assert [] == [pair for pair in itertools.pairwise(levels) if contrast(*pair) < 1.25]
    assert away[-2] >= SHAPE


def test_every_theme_has_every_colour():
    assert [set(LIGHT)] * 2 == [set(DARK), set(PRINT)]


def test_no_colour_is_written_but_among_the_themes():
    style = re.sub(r":root \{.*?\}", "", page.parts().style, flags=re.DOTALL)
    assert [] == re.findall(r"#[0-9a-f]{3,8}\b(?![^{]*\{)", style)


def test_kinds_differ_by_more_than_their_colour():
    """Each is another fill: a plain one, a pattern of its own, an outline, a ring."""
    style = page.parts().style
    looks = {
        kind: re.search(rf"^\.k-{kind} \{{ (.*?) \}}", style, re.MULTILINE)[1]
        for kind in ("running", "placed", "leaving", "promised", "free", "closed")
    }
    without = [re.sub(r"var\(--[a-z]+\)", "", look) for look in looks.values()]
    assert len(set(without)) == len(looks)
