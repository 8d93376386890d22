"""Amounts as shapes."""

from __future__ import annotations

import re

import pytest

from muster.html import svg
from muster.html.failure_figure import Need
from muster.html.placed_pods import State
from muster.html.svg import Amounts
from scheduler_core.diagnosis.domain_amounts import NodeAmounts

RUNNING, VICTIM, PLACED, NOMINATED = State.RUNNING, State.VICTIM, State.PLACED, State.NOMINATED


def counted(strokes):
    """How many shapes there are of each kind."""
    return {stroke.kind: stroke.d.count("M") for stroke in strokes}


def spans(strokes, kind):
    """From where to where the rectangles of a kind reach."""
    d = next((stroke.d for stroke in strokes if stroke.kind == kind), "")
    return [(float(left), float(right)) for left, right in re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", d)]


@pytest.mark.parametrize(
    ("amounts", "want"),
    [
        pytest.param(Amounts(4, {}), {"free": 4}, id="nobody"),
        pytest.param(Amounts(4, {RUNNING: 1, PLACED: 2}), {"running": 1, "placed": 2, "free": 1}, id="some"),
        pytest.param(Amounts(4, {RUNNING: 9}), {"running": 4}, id="more than there is"),
        pytest.param(Amounts(4, {RUNNING: 1}, closed=True), {"running": 1, "closed": 3}, id="closed"),
        pytest.param(
            Amounts(4, {RUNNING: 1, VICTIM: 2, NOMINATED: 3}), {"running": 1, "leaving": 2, "free": 1, "promised": 3}, id="promised"
        ),
        pytest.param(Amounts(2, {VICTIM: 1, NOMINATED: 9}), {"leaving": 1, "free": 1, "promised": 2}, id="promised more than there is"),
    ],
)
def test_squares(amounts, want):
    assert want == counted(svg.squares(amounts))


def test_rings_are_in_what_is_free_first():
    strokes = {stroke.kind: stroke.d for stroke in svg.squares(Amounts(3, {VICTIM: 2, NOMINATED: 1}))}
    assert strokes["promised"].startswith(f"M{2 * svg.SQUARE_STEP + 4} ")


def test_bar_is_as_long_as_what_is_taken():
    strokes = svg.bar(Amounts(4000, {RUNNING: 1000, PLACED: 2000, NOMINATED: 1000}))
    assert [(0, 30)] == spans(strokes, "running")
    assert [(30, 90)] == spans(strokes, "placed")
    assert [(90, 120)] == spans(strokes, "line")


def test_bar_is_not_longer_than_its_frame():
    assert [(0, 120)] == spans(svg.bar(Amounts(4000, {RUNNING: 9000, PLACED: 1000})), "running")


NEED = Need(("job",), 4, 16, (4,) * 4)


def test_demand_is_a_block_a_pod():
    assert {"need": 4} == counted(svg.demand(NEED, 16))
    assert {"need": 1} == counted(svg.demand(Need(("job",), 4, 16), 16))
    assert {"need": 1} == counted(svg.demand(Need(("job",), 4000, 16_000, (4,) * 4000), 16_000))


def test_gauge_is_drawn_to_scale():
    strokes = svg.gauge([NodeAmounts(4, 2, 0), NodeAmounts(0, 0, 6)], 4, 16, 16)
    width = svg.GAUGE_WIDTH / 16
    assert [(1, 4 * width - 1)] == spans(strokes, "fit")
    assert [(4 * width + 1, 6 * width - 1)] == spans(strokes, "over")
    assert [(6 * width + 1, 12 * width - 1)] == spans(strokes, "closed")
    assert [(12 * width + 1, 16 * width - 1)] == spans(strokes, "short")
    assert 2 == counted(strokes)["node"]


def test_gauge_of_one_node_has_no_line_below():
    assert {"fit": 2, "short": 1} == counted(svg.gauge([NodeAmounts(8, 0, 0)], 4, 16, 16))


def test_gauge_that_reaches_beyond_its_scale_says_so():
    strokes = svg.gauge([NodeAmounts(0, 100, 0)], 4, 48, 16)
    assert {"over": 1, "beyond": 1} == counted(strokes)
    assert [(1, svg.GAUGE_WIDTH)] == spans(strokes, "over")


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        pytest.param([[NodeAmounts(4, 0, 0)]], 16, id="what is needed"),
        pytest.param([[NodeAmounts(0, 12, 8)], []], 20, id="what is there"),
        pytest.param([[NodeAmounts(0, 999, 0)]], 48, id="not far beyond what is needed"),
        pytest.param([], 16, id="no domain"),
    ],
)
def test_scale(rows, want):
    assert want == svg.scale([NEED, Need(("small",), 1, 4)], rows)


def test_marks_are_where_needs_end():
    mark = svg.marks([NEED, Need(("small",), 1, 4)], 32)
    assert ["75", "300"] == re.findall(r"M([\d.]+) ", mark.d)
