"""Which roots that are not placed are told at length."""

from __future__ import annotations

from muster.html import unplaced_roots
from muster.html.unplaced_roots import CARDS, opened
from tests.muster import paged
from tests.muster.paged import gang, member, racks


def names(objects):
    found = opened(paged.case(objects))
    return [card.root.name for card in found.cards], [brief.root.name for brief in found.briefs.shown], found.briefs.more, found.alone


def test_groups_have_cards_up_to_a_number_and_lines_beyond(monkeypatch):
    monkeypatch.setattr(unplaced_roots, "BRIEFS", 3)
    failing = [each for number in range(CARDS + 5) for each in gang(f"g{number:02d}", 1, cpu="9")]
    cards, briefs, more, alone = names([*racks(1), *failing])
    assert [f"g{number:02d}" for number in range(CARDS)] == cards
    assert [f"g{CARDS + number}" for number in range(3)] == briefs
    assert (2, 0) == (more, alone)


def test_one_of_equal_pods_without_a_group_is_reported():
    pods = [member("a", cpu="9"), member("b", cpu="9"), member("c", cpu="8"), member("d", cpu="9")]
    assert (["a", "c"], [], 0, 2) == names([*racks(1), *pods])


def test_a_brief_is_brief():
    found = opened(paged.case([*racks(1), *(each for number in range(CARDS + 1) for each in gang(f"g{number:02d}", 1, parent="x" * 200))]))
    (brief,) = found.briefs.shown
    assert ("○", "Wait") == (brief.mark, brief.word)
    assert len(brief.text) <= unplaced_roots._BRIEF
