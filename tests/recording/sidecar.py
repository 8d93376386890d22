"""Requests that a sidecar sends to a scripted API server, in their order, and the names of all metrics."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from scheduler_core.sidecar.client import requests
from scheduler_core.sidecar.process.metrics import SidecarMetrics as SidecarTelemetry
from scheduler_core.sidecar.writes import Bind, Evict, Nominate, RecordEvent, Remove, SetCondition, Ungate
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.sidecar.test_crashes import gated, options
from tests.scheduler_core.sidecar.world import Luck, World
from webhooks.server.metrics import Telemetry as WebhookTelemetry

WORLDS = 40
"""Number of clusters for each mode."""
MODES = ("bind", "preempt", "ungate")
_VALUES = re.compile(r'"[^"]*"')
NOW = "2026-01-01T00:00:00Z"
PATHS = requests.Paths(
    {
        "Pod": "/api/v1/pods",
        "PodGroup": "/apis/scheduling.k8s.io/v1beta1/podgroups",
        "CompositePodGroup": "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups",
    }
)


def items(part: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each answer."""
    yield "sidecar/metrics", _metrics(SidecarTelemetry().text()) + _metrics(WebhookTelemetry().render())
    for mode in MODES:
        for seed in range(WORLDS):
            key = f"sidecar/{mode}/{seed:02}"
            if key.startswith(part) or part.startswith(key):
                yield key, _lived(mode, seed)


def _lived(mode: str, seed: int) -> str:
    """Return the writes on one cluster until it is stable; with an odd seed three writes in ten fail."""
    objects = corpus.crowded(seed) if seed % 3 else corpus.pressed(seed)
    for number, each in enumerate(objects):
        each["metadata"].setdefault("uid", f"uid-{number}")
        each["metadata"].setdefault("namespace", "default") if each["kind"] in ("Pod", "PodGroup", "CompositePodGroup") else None
    luck = Luck(random.Random(seed), fails=10 if seed % 2 else 0, recreates=mode == "preempt")
    world = Recorded(gated(objects) if mode == "ungate" else objects, options(mode, "greedy" if seed % 4 == 0 else "complete"), luck)
    world.run(900)
    return "\n".join(world.lines) + "\n"


class Recorded(World):
    """World that records each write as the request that is sent."""

    def __init__(self, *given: Any) -> None:
        self.lines: list[str] = []
        super().__init__(*given)

    def write(self, write: Any) -> None:
        """See World."""
        self.lines.append(f"{self.now:.3f} {self._request(write)}")
        super().write(write)

    def _request(self, write: Any) -> str:
        if isinstance(write, RecordEvent):
            return f"event {write}" if not hasattr(write, "reason") else f"event {write.reason} {getattr(write, 'message', '')}"
        created = self._made(write)
        return "nothing" if created is None else f"{created.method} {created.path} {(created.body or b'').decode()}"

    def _made(self, write: Any) -> Any:
        if isinstance(write, Bind):
            return requests.bind(write, PATHS)
        if isinstance(write, Ungate):
            return requests.ungate(write, self.find(write.pod) or {}, PATHS)
        if isinstance(write, Nominate):
            return requests.nominate(write, PATHS)
        if isinstance(write, SetCondition):
            return requests.set_condition(write, PATHS, NOW)
        if isinstance(write, (Evict, Remove)):
            return requests.evict_or_delete(write, PATHS)
        raise TypeError(type(write).__name__)


def _metrics(text: bytes) -> str:
    """Return names, kinds, help and labels of the metrics, not their values."""
    lines = text.decode().splitlines()
    remaining = [
        line if line.startswith("#") else _VALUES.sub("", line.rpartition(" ")[0]) for line in lines if line.startswith("#") or "{" in line
    ]
    return "".join(f"{line}\n" for line in dict.fromkeys(remaining))
