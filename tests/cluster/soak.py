"""Memory and results of the sidecar in ``make soak``: ten minutes of churn on a control plane.

The peak memory of the last part must not exceed that of the warm-up by much.  No gang may stay partial, each pending root must have a
condition with the true reason, and after everything is deleted no pod, group or queued root may remain.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.cluster.churn import Churn
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.kubelet import Kubelet
from tests.cluster.programs import MissingError, find
from tests.cluster.sidecars import Sidecar, sidecar

STEPS_A_SECOND = 6.0
NAMESPACE = "soak"
MODE = ("--mode", "validate,place,preempt,protect", "--lease", "none", "--settle", "0.5")
WARM, LATE = 0.5, 0.8
"""Parts of the time: memory until the first is the measure of that after the second."""
GROWTH_LIMIT = 1.10
SETTLED_SECONDS = 45.0
LOOK_EVERY = 0.25
PAGE = os.sysconf("SC_PAGE_SIZE")

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Result of a soak.

    Attributes:
        steps: number of changes made.
        bound: number of pods that the sidecar bound.
        warm: peak resident bytes of the warm-up.
        late: peak resident bytes of the last part.
        partial: gangs that stayed partial, with the number of pods bound.
        left: names of remaining objects, by kind.
        waiting: number of roots that the sidecar still holds, by queue.
        troubles: lines of its log that report an error.
        unexplained: pending roots whose condition does not have the reason that is true of the objects, with both reasons.

    """

    steps: int
    bound: int
    warm: int
    late: int
    partial: dict[str, int]
    left: dict[str, list[str]]
    waiting: dict[str, float]
    troubles: tuple[str, ...]
    unexplained: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)

    @property
    def growth(self) -> float:
        """Return the memory of the last part divided by that of the first part."""
        return self.late / self.warm

    def failures(self) -> list[str]:
        """Return the failed requirements."""
        result = [f"memory must stay below {GROWTH_LIMIT:g} times {self.warm:,} bytes: {self.late:,}"] if self.growth > GROWTH_LIMIT else []
        result += [f"gangs stayed partial: {self.partial}"] if self.partial else []
        result += [f"conditions have a wrong reason (has, true): {self.unexplained}"] if self.unexplained else []
        result += [f"there is left: {self.left}"] if self.left else []
        result += [f"roots are kept: {self.waiting}"] if self.waiting else []
        return [*result, *(f"the log says: {line}" for line in self.troubles)]


def soak(plane: ControlPlane, folder: Path, seconds: float, *, seed: int = 1, told: Callable[[str], None] = lambda _: None) -> Report:
    """Run churn on *plane* for some seconds; *told* receives progress messages."""
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    churn = Churn(plane.api, NAMESPACE, seed)
    churn.begin()
    try:
        with Kubelet(plane.api), sidecar(plane, folder, *MODE) as result:
            samples = _churned(churn, result, seconds, told)
            partial, unexplained = _ended(churn.partial), _ended(churn.wrong_reasons)
            churn.end()
            report = _report(churn, result, samples, partial, _ended(churn.left), _ended(lambda: _waiting(result)))
            return dataclasses.replace(report, unexplained=unexplained)
    finally:
        churn.end()
        plane.api.delete("Namespace", NAMESPACE)


def _churned(churn: Churn, found: Sidecar, seconds: float, told: Callable[[str], None]) -> list[int]:
    """Return the resident bytes after each step."""
    samples: list[int] = []
    began = time.monotonic()
    spoken = 0.0
    while (passed := time.monotonic() - began) < seconds:
        churn.step()
        samples.append(_resident(found))
        if passed >= spoken:
            spoken += 30.0
            told(f"{passed:.0f} s, {churn.steps} steps, {_bound(found)} pods bound, {samples[-1] / 2**20:.1f} MiB")
        time.sleep(max(0.0, churn.steps / STEPS_A_SECOND - (time.monotonic() - began)))
    return samples


def _report(
    churn: Churn, found: Sidecar, samples: list[int], partial: dict[str, int], left: dict[str, list[str]], waiting: dict[str, float]
) -> Report:
    warm, late = (int(len(samples) * share) for share in (WARM, LATE))
    troubles = tuple(
        line for line in found.log.read_text().splitlines() if '"level":"error"' in line.replace(" ", "") or "Traceback" in line
    )
    return Report(churn.steps, _bound(found), max(samples[:warm]), max(samples[late:]), partial, left, waiting, troubles)


def _ended(look: Callable[[], dict[str, T]]) -> dict[str, T]:
    """Return the result of *look* once it is empty, or its last result at the deadline."""
    deadline = time.monotonic() + SETTLED_SECONDS
    while (result := look()) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return result


def _waiting(found: Sidecar) -> dict[str, float]:
    """Roots that the sidecar keeps, by queue or by what is under way, where there are any."""
    prefixes = "muster_queued_entities{", "muster_under_way_entities{"
    lines = [each for each in found.get("/metrics")[1].splitlines() if each.startswith(prefixes)]
    remaining = {each.rpartition(" ")[0]: float(each.rpartition(" ")[2]) for each in lines}
    return {name: count for name, count in remaining.items() if count}


def _bound(found: Sidecar) -> int:
    return int(found.metric('muster_writes_total{kind="Bind",outcome="done"}'))


def _resident(found: Sidecar) -> int:
    return int(Path(f"/proc/{found.process.pid}/statm").read_text().split()[1]) * PAGE


def main() -> int:
    """Run it and print what it came to; 1 where something is not as it must be."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--custom-resources", action="store_true", help="on a control plane without the built-in kinds")
    given = parser.parse_args()
    # Whoever ends it ends all that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        programs = find()
        started = custom_plane(programs) if given.custom_resources else ControlPlane(programs=programs)
        with tempfile.TemporaryDirectory(prefix="muster-soak-") as folder, started as plane:
            report = soak(plane, Path(folder), 60 * given.minutes, seed=given.seed, told=lambda line: print(line, flush=True))
    except MissingError as error:
        parser.error(str(error))
    told = f"{report.steps:,} steps, {report.bound:,} pods bound; at most {report.warm / 2**20:.1f} MiB in the first half"
    print(f"{told}, {report.late / 2**20:.1f} MiB in the last fifth: {report.growth:.3f} times as much")
    for line in report.failures():
        print(f"error: {line}", file=sys.stderr)
    return 1 if report.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
