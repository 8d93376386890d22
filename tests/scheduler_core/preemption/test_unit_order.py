"""Order of importance: upstream's cases, and times in other notations."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import numpy as np
import pytest

from scheduler_core.preemption.units.unit_order import NOW, RANKS, instant, positions
from tests.scheduler_core.preemption.scene import cases, composite, leaf, pod, units_of


@pytest.mark.parametrize("case", cases("victimOrder"), ids=lambda case: case["id"])
def test_a_unit_is_more_important_as_upstream_says(case):
    units = [case["a"], case["b"]]
    columns = (
        np.array([unit["priority"] for unit in units]),
        np.array([RANKS[unit["type"]] for unit in units]),
        np.array([unit["pods"] for unit in units]),
        np.array([unit["earliestStart"] for unit in units]),
    )

    assert case["expect"]["aMoreImportant"] is bool(positions(*columns)[0] < positions(*columns)[1])


@pytest.mark.parametrize("case", cases("victimOrder"), ids=lambda case: case["id"])
def test_units_made_of_groups_and_pods_are_ordered_alike(case):
    groups, pods, priorities = [], [], {}
    for name in ("a", "b"):
        unit = case[name]
        started = datetime.fromtimestamp(unit["earliestStart"], tz=UTC).isoformat()
        priorities[f"top-{name}"] = priorities[f"pg-{name}"] = unit["priority"]
        parent = f"top-{name}" if unit["type"] == "CompositePodGroup" else None
        if parent:
            groups.append(composite(parent, "all"))
        if unit["type"] != "Pod":
            groups.append(leaf(f"pg-{name}", "all", parent))
        group = "" if unit["type"] == "Pod" else f"pg-{name}"
        # The pod that started first stands last.
        starts = [""] * (unit["pods"] - 1) + [started]
        pods += [pod(f"{name}-{index}", 0, unit["priority"], group=group, started=each) for index, each in enumerate(starts)]

    units = units_of(pods, groups, priorities)

    assert case["expect"]["aMoreImportant"] is bool(units.positions[0] < units.positions[1])


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01T00:00:01Z", id="seconds"),
        pytest.param("2026-08-01T00:00:00.5Z", "2026-08-01T00:00:01Z", id="a fraction sorts before the next second"),
        pytest.param("2026-08-01T00:00:00Z", "2026-08-01T00:00:00.5Z", id="a fraction sorts after its second"),
        pytest.param("2026-08-01T00:00:00.000000001Z", "2026-08-01T00:00:00.000000002Z", id="nanoseconds"),
        pytest.param("2026-08-01T02:00:00+03:00", "2026-08-01T00:00:00Z", id="an offset to the east"),
        pytest.param("2026-08-01T00:00:00Z", "2026-07-31T23:30:00-01:00", id="an offset to the west"),
        pytest.param("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.5Z", id="before 1970"),
        pytest.param("0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", id="the zero time"),
        pytest.param("9999-12-31T23:59:59Z", "", id="whatever is written is before what is not"),
    ],
)
def test_times_are_compared_as_times(earlier, later):
    assert instant(earlier) < instant(later)


@pytest.mark.parametrize("written", ["2026-08-01T02:00:00.000+02:00", "2026-08-01t00:00:00z", "2026-08-01T00:00:00"])
def test_one_instant_written_in_two_ways_is_one_instant(written):
    assert instant("2026-08-01T00:00:00Z") == instant(written)


@pytest.mark.parametrize("written", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-08-01T00:00:00.5.5Z"])
def test_what_says_no_time_counts_as_now(written):
    assert instant(written) == NOW


def test_the_larger_group_is_more_important_though_it_is_younger():
    pods = [
        pod("a", 0, group="small", started="2026-08-01T00:00:00Z"),
        pod("b", 0, group="large", started="2026-08-01T00:00:01Z"),
        pod("c", 0, group="large", started="2026-08-01T00:00:01Z"),
    ]

    assert [1, 0] == units_of(pods, [leaf("small", "all"), leaf("large", "all")]).positions.tolist()


def test_of_units_alike_the_first_by_name_is_more_important():
    result = [units_of(order).positions.tolist() for order in itertools.permutations([pod("c", 0), pod("a", 1), pod("b", 0)])]

    assert result == [[0, 1, 2]] * 6
