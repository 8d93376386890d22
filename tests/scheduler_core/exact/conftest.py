"""Fixtures of the tests of the complete search."""

from __future__ import annotations

import pytest

from scheduler_core.causes.attempts import PluginReason
from scheduler_core.model.status import Status
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome
from scheduler_core.placement.placement_request import PlacementRequest


@pytest.fixture
def without_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let greedy place nothing, so that the search has to."""

    def fail(self: Greedy, request: PlacementRequest) -> PlacementOutcome:
        return PlacementOutcome(Status.UNSCHEDULABLE, self.state.topology.root, 0, PluginReason("not tried"))

    monkeypatch.setattr(Greedy, "place", fail)
