"""Groups and pods come and go on a control plane, for a minute a round."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.cluster import soak
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.programs import find
from tests.reliability.campaign import Campaign, Round

SECONDS = 60.0


def run(seed: int) -> Round:
    """Run churn with the built-in kinds, in every second round with custom resources."""
    programs = find()
    started = ControlPlane(programs=programs) if seed % 2 else custom_plane(programs)
    with tempfile.TemporaryDirectory(prefix="muster-churn-") as folder, started as plane:
        report = soak.soak(plane, Path(folder), SECONDS, seed=seed)
    return Round(report.steps, tuple(report.failures()))


CAMPAIGN = Campaign(
    "churn",
    "groups and pods come and go on a real API server",
    "no gang stays partial, each pending root has a true reason, nothing is left, memory does not grow",
    18_000,
    run,
)
