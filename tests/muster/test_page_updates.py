"""Steps of an update on a page."""

from __future__ import annotations

import re

import pytest

from muster.html.update_steps import MOST, WIDTH, UpdateStep, drawn_update
from tests.muster import paged
from tests.muster.browser_pages import updating
from tests.muster.test_fit_rollouts import SURGE_0, _folder, fit, node, running, workload  # noqa: F401 - a fixture


def steps(number: int) -> list[UpdateStep]:
    return [UpdateStep(each, "1 deleted, 1 created", (number - each, each, 0, 0)) for each in range(1, number + 1)]


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        ((2, 0, 0, 0), [("running", 1, 300)]),
        ((1, 1, 2, 0), [("running", 1, 150.5), ("placed", 150.5, 300), ("short", 300, 599)]),
        ((0, 0, 0, 4), [("free", 1, 599)]),
        ((0, 0, 0, 0), []),
    ],
)
def test_all_bars_have_one_scale(pods, want):
    drawn = drawn_update("", "", [UpdateStep(1, "", pods), UpdateStep(2, "", (4, 0, 0, 0))])
    found = [(each.kind, *(float(number) for number in re.findall(r"[MH](\d+\.\d)", each.d)[:2])) for each in drawn.first[0].strokes]
    assert want == [(kind, pytest.approx(left, abs=0.6), pytest.approx(right, abs=0.6)) for kind, left, right in found]
    assert all(right <= WIDTH for _, _, right in found)


@pytest.mark.parametrize(("number", "hidden"), [(1, 0), (MOST, 0), (MOST + 1, 1), (100, 100 - MOST)])
def test_of_many_steps_the_first_and_the_last_are_drawn(number, hidden):
    drawn = drawn_update("", "", steps(number))
    shown = [each.step.number for each in (*drawn.first, *drawn.last)]
    assert (hidden, number) == (drawn.hidden, len(shown) + hidden)
    assert (1, number) == (shown[0], shown[-1])


def test_columns_are_those_that_some_step_has():
    assert ["Old", "New"] == [each.title for each in drawn_update("", "", steps(2)).columns]
    waiting = drawn_update("", "", [UpdateStep(1, "", (1, 0, 1, 0))])
    assert ["Old", "New", "Waiting"] == [each.title for each in waiting.columns]


def test_a_page_without_an_update_has_no_section():
    assert 'id="updates"' not in paged.rendered(paged.placed_tree())
    text = updating()
    assert 2 == text.count('<table class="plain steps">')
    assert "… 6 more steps" in text


def test_the_page_of_fit_has_the_steps_and_numbers_beside_the_bars():
    cluster = [node("n1", 3), *(running(f"a{number}", "n1") for number in range(3))]
    status, text = fit(workload("Deployment", 3, **SURGE_0), *cluster, form="html")
    rows = re.findall(r'<th scope="row">(\d)</th><td>([^<]*)</td><td class="bars">.*?</td><td>(\d)</td><td>(\d)</td></tr>', text)
    assert (
        0,
        [("1", "1 deleted, 1 created", "2", "1"), ("2", "1 deleted, 1 created", "1", "2"), ("3", "1 deleted, 1 created", "0", "3")],
    ) == (
        status,
        rows,
    )
    assert 'id="updates-title">Update, step by step' in text
