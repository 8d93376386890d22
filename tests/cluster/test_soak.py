"""Churn: the sidecar's memory stays constant, and no object remains.

It takes 20 s by default; in ``make soak`` one minute, then ten.
"""

from __future__ import annotations

import dataclasses

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.soak import Report, soak
from tests.sampling import WHOLE

SECONDS = 60.0 if WHOLE else 20.0


@pytest.fixture
def alone(programs, custom):
    """A control plane of its own: others' objects would be others' memory."""
    with custom_plane(programs) if custom else ControlPlane(programs=programs) as result:
        yield result


@pytest.mark.custom_resources("1.30", "1.37")
def test_churn_leaves_memory_flat_and_nothing_behind(alone, tmp_path):
    report = soak(alone, tmp_path, SECONDS)

    assert [] == report.failures()
    assert report.bound > report.steps / 2


GOOD = Report(steps=10, bound=8, warm=100, late=110, partial={}, left={}, waiting={}, troubles=())


@pytest.mark.parametrize(
    ("changed", "messages"),
    [
        pytest.param({}, [], id="ten percent more is flat"),
        pytest.param({"late": 111}, ["memory must stay below 1.1 times 100 bytes: 111"], id="more is not"),
        pytest.param({"partial": {"gang-1": 2}}, ["gangs stayed partial: {'gang-1': 2}"], id="a partial gang"),
        pytest.param(
            {"unexplained": {"gang-1": ("", "Waiting")}},
            ["conditions have a wrong reason (has, true): {'gang-1': ('', 'Waiting')}"],
            id="a condition that is not there",
        ),
        pytest.param({"left": {"PodGroup": ["a"]}}, ["there is left: {'PodGroup': ['a']}"], id="a group that is left"),
        pytest.param({"waiting": {"parked": 1.0}}, ["roots are kept: {'parked': 1.0}"], id="a root that is kept"),
        pytest.param({"troubles": ("Traceback",)}, ["the log says: Traceback"], id="an error in the log"),
    ],
)
def test_what_is_not_as_it_must_be_is_reported(changed, messages):
    assert messages == dataclasses.replace(GOOD, **changed).failures()
