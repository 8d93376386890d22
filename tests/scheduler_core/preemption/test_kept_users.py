"""Sets of units that keep their use of a shared volume."""

from __future__ import annotations

import pytest

from scheduler_core.preemption.minimal.kept_users import _is_minimal

A, B, C = ((0, ("csi.example", name)) for name in "abc")


@pytest.mark.parametrize(
    ("uses", "minimal"),
    [
        pytest.param([{A}, {B}, {C}], True, id="each its own"),
        pytest.param([{A, B}, {B, C}], True, id="each shares one of two"),
        pytest.param([{A, B}, {A}], False, id="the second has only what the first has"),
        pytest.param([{A, B}, {B, C}, {A, C}], False, id="all of the last are those of others"),
    ],
)
def test_a_set_is_minimal_if_each_unit_has_a_use_that_no_other_has(uses, minimal):
    assert minimal is _is_minimal([frozenset(each) for each in uses])
