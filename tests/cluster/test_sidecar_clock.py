"""Jumps of the time of day under a running sidecar: it goes on, since it uses monotonic clocks."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from tests.cluster.groups import LABEL, pod_group
from tests.cluster.sidecars import NAMESPACE, sidecar
from tests.cluster.test_sidecar_place import bound, ours, racks, scheduled
from tests.cluster.waiting import until

CLOCK = Path(__file__).parent / "clock"
HOUR = 3600.0


def hours_off(api):
    """Return the difference between the time in the lease and this process's; None without a lease."""
    if not api.exists("Lease", "muster-sidecar", NAMESPACE):
        return None
    renewed = api.get("Lease", "muster-sidecar", NAMESPACE)["spec"].get("renewTime")
    return renewed and round((dt.datetime.fromisoformat(renewed) - dt.datetime.now(dt.UTC)).total_seconds() / HOUR)


class Clock:
    """Jumps of the time of day under a running sidecar: it goes on, since it uses monotonic clocks."""

    def __init__(self, file, api):
        self._file, self._api = file, api
        self.environ = {"PYTHONPATH": str(CLOCK), "CLOCK_FILE": str(file)}
        self._set(0)

    def jump(self, running, hours):
        """Set it so many hours off; whether the sidecar led all the while until it has told that time."""
        self._set(hours)
        led = []
        until(lambda: led.append(running.metric("muster_leader")) or hours_off(self._api) == hours)
        return all(led)

    def _set(self, hours):
        # Replaced as a whole: it is read at any moment.
        new = self._file.with_suffix(".new")
        new.write_text(str(hours * HOUR))
        new.replace(self._file)


@pytest.fixture
def clock(tmp_path, api):
    (tmp_path / "logs").mkdir()
    return Clock(tmp_path / "clock", api)


def test_clock_jumps_change_nothing(plane, api, namespace, nodes, tmp_path, clock):
    nodes(*racks(2))
    with sidecar(plane, tmp_path / "logs", "--identity", "one", environ=clock.environ) as running:
        until(lambda: running.metric("muster_leader") == 1)
        for number, hours in enumerate((5, -5, 0)):
            assert clock.jump(running, hours)
            api.create(pod_group(f"g{number}", namespace, minimum=3, key=LABEL))
            api.create_all([ours(f"g{number}-{each}", namespace, f"g{number}", cpu="100m") for each in range(3)])
            bound(api, namespace, 3 * number + 3)
            scheduled(api, "PodGroup", f"g{number}", namespace)

        assert "one" == api.get("Lease", "muster-sidecar", NAMESPACE)["spec"]["holderIdentity"]
        assert 1 == sum(each.get("message") == "one leads" for each in running.lines)
