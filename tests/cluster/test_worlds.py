"""Two short random worlds, one in each API group; ``tests.reliability.worlds`` has those of five minutes."""

from __future__ import annotations

import pytest

from tests.reliability import worlds

SECONDS = 15.0
PARTS = {1: ("sidecar", "requests", "leader", "nodes"), 2: ("control plane", "sidecar", "webhook", "namespaces")}
"""Lanes of the world of a seed; with an even one groups are custom resources."""


@pytest.mark.parametrize("seed", PARTS)
def test_a_short_world(programs, tmp_path, seed):
    with worlds.plane_of(seed, programs) as plane:
        report = worlds.live(plane, tmp_path, seed, SECONDS, PARTS[seed])

    assert () == report.failures
    assert report.bound > 0
    assert sum(report.counts.values()) > len(PARTS[seed])
