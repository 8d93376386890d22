"""What the parts of a page are made of."""

from __future__ import annotations

import pytest

from muster.html.page_data import Listed
from scheduler_core.model.names import Domain
from tests.muster import paged
from tests.muster.paged import RACK, ZONE, gang, group, machine, racks


@pytest.mark.parametrize(("most", "want"), [(2, Listed(("a", "b"), 1)), (3, Listed(("a", "b", "c"))), (9, Listed(("a", "b", "c")))])
def test_listed(most, want):
    assert want == Listed.from_sequence(["a", "b", "c"], most)


def test_the_last_word_on_a_root_counts():
    before, after = paged.case(paged.evicting()), paged.case(paged.evicting(), evict=True)
    assert (["urgent"], []) == ([each.root.name for each in before.unplaced], [each.root.name for each in before.placed])
    assert ([], ["urgent"]) == ([each.root.name for each in after.unplaced], [each.root.name for each in after.placed])


def test_levels_are_those_of_all_groups_pending_or_not():
    nodes = [machine(f"n{number}", labels={"example.com/pool": f"p{number // 2}"}) for number in range(4)]
    assert ("example.com/pool",) == paged.case([*nodes, group("idle", 1, key="example.com/pool")]).area_map.keys


def test_a_domain_is_found_on_the_map():
    case = paged.case([*racks(1, 1), *gang("a", 1, key=RACK)])
    titles = {area.number: area.title for area in case.area_map.whole.walk()}
    assert "rack r2" == titles[case.locate(Domain(RACK, "r2"), ["r2-1"])]
    assert None is case.locate(Domain(ZONE, "elsewhere"), ["r2-1"])
