"""Random worlds: groups come and go on a real control plane while its parts are killed, parted and misled.

A world has etcd, kube-apiserver, kube-controller-manager, two or three sidecars with leader election, and two replicas of the webhooks with
TLS.  Its faults and the changes of its objects are drawn from its seed.  Then it is left alone: once nothing changes any more, all
invariants must hold, and after all is deleted nothing may be left.  An observer reads the API past all proxies.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from scheduler_core.sidecar.queue.scheduler_options import SchedulerOptions
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.faults import faults
from tests.cluster.kubelet import Kubelet
from tests.cluster.programs import Programs, find
from tests.cluster.replicas import managed
from tests.cluster.sidecars import kubeconfig
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.reliability.campaign import Campaign, Round
from tests.reliability.world import invariants
from tests.reliability.world.faults import LANES, Lane, Parts, leader, plan
from tests.reliability.world.history import KINDS, History, Observer
from tests.reliability.world.population import CPU, FAILED, NAMESPACES, Population
from tests.reliability.world.replicas import sidecars, small_disk

SECONDS = 240.0
"""Time of the faults; start, rest and end take another minute."""
REST_SECONDS = 120.0
"""Time after the last fault in which all must have become right: a lease expires, a gang that stays partial is undone after 30 s."""
CALM_SECONDS = 2.0
STEPS_A_SECOND = 1.2
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "pod-garbage-collector-controller",
    "resourceclaim-controller",
)
KEPT = Path(tempfile.gettempdir())
"""Folder for the logs of worlds that failed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Result of a world.

    Attributes:
        steps: number of changes of its objects.
        counts: number of faults by name; of those for which a server was away, with ``missed`` before the name.
        bound: number of pods that were bound.
        evicted: number of pods that were preempted.
        contests: how often two sidecars could lead, since somebody had changed their Lease by hand.
        failures: what does not hold.

    """

    steps: int
    counts: dict[str, int]
    bound: int
    evicted: int
    contests: int
    failures: tuple[str, ...]


class World:
    """One world on a control plane; a context manager by ``world``."""

    def __init__(self, parts: Parts, history: History, options: SchedulerOptions) -> None:
        self._parts, self._history, self._options = parts, history, options

    def turmoil(self, lanes: Sequence[Lane], seconds: float) -> None:
        """Change objects while faults happen, until all faults are over."""
        began = time.monotonic()
        for each in lanes:
            each.start()
        population = self._parts.population
        while (passed := time.monotonic() - began) < seconds or any(each.is_alive() for each in lanes):
            if passed < seconds:
                population.step()
            time.sleep(max(0.05, population.steps / STEPS_A_SECOND - (time.monotonic() - began)))

    def rest(self) -> list[str]:
        """Return what does not hold once nothing changes any more, or at the deadline."""
        deadline = time.monotonic() + REST_SECONDS
        changed, since = 0.0, time.monotonic()
        result = ["it does not become quiet"]
        while time.monotonic() < deadline:
            last = self._history.last_change(("Pod", *invariants.GROUPS))
            if last != changed:
                changed, since = last, time.monotonic()
            elif time.monotonic() - since > CALM_SECONDS and not (result := self._unsettled()):
                break
            time.sleep(0.5)
        return result

    def _unsettled(self) -> list[str]:
        objects = self._parts.population.objects()
        seen = self._history.ordered()
        return [
            *invariants.half_bound(objects, seen),
            *invariants.unexplained(objects, self._options.cycle),
            *invariants.in_vain(objects, seen),
            *invariants.overfull(objects),
        ]

    def end(self) -> list[str]:
        """Delete all; return what is left at the deadline."""
        deadline = time.monotonic() + WAIT_SECONDS
        self._parts.population.end()
        while (result := self._left()) and time.monotonic() < deadline:
            time.sleep(0.5)
        return result

    def _left(self) -> list[str]:
        api = self._parts.api
        leases = {each["metadata"]["name"] for each in api.objects("Lease", "muster-system")} - {"muster-sidecar", "muster-webhook"}
        gone = [each for each in NAMESPACES if not api.exists("Namespace", each)]
        return [
            *invariants.left(self._parts.population.objects(), self._history.ordered()),
            *(f"Lease {each} is left" for each in sorted(leases)),
            *(f"Namespace {each} did not come again" for each in gone),
        ]

    def broken(self) -> list[str]:
        """Return the sidecars and webhooks that ended by themselves, and tracebacks in their logs."""
        processes = [each.process for each in (*self._parts.sidecars, *self._parts.webhooks.replicas)]
        result = [f"{each.name} has ended by itself" for each in processes if not each.running]
        for each in processes:
            text = each.log.read_text(encoding="utf-8", errors="replace")
            if "Traceback" in text:
                result.append(f"{each.name} logs a traceback: {text[text.index('Traceback') :][:200]}")
        return result


def live(
    plane: ControlPlane,
    folder: Path,
    seed: int,
    seconds: float = SECONDS,
    lanes: Sequence[str] = (),
) -> Report:
    """Let the world of a seed live on *plane*; logs and, if it failed, its history are in *folder*."""
    chance = random.Random(seed)
    count, strategy = chance.choice((2, 3)), chance.choice(("complete", "greedy"))
    options = ("--mode", "validate,place,preempt,protect", "--settle", "0.5", "--strategy", strategy)
    options += ("--silence", chance.choice(("5", "20", "90")))
    history, population = History(), Population(plane.api, seed)
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        disk = folder / "sidecars"
        small = enter(small_disk(disk, "16m"))
        replicas = enter(sidecars(plane, disk, kubeconfig(plane), count))
        proxy = enter(faults(plane))
        webhooks = enter(managed(plane, folder, through=proxy.kubeconfig))
        for each in webhooks.start(2):
            webhooks.await_ready(each)
        until(webhooks.judges, told=lambda: "the API server does not call the webhooks")
        population.begin()
        plane.start_controllers(CONTROLLERS)
        for kind in KINDS:
            enter(Observer(plane.api, kind, history))
        enter(Kubelet(plane.api, dict.fromkeys(population.nodes, CPU)))
        for replica in replicas:
            replica.options = options
            replica.start()
        until(lambda: _has_leader(plane), told=lambda: "no sidecar leads")
        parts = Parts(plane, replicas, webhooks, [*(each.proxy for each in replicas), proxy], population, disk if small else None)
        world = World(parts, history, SchedulerOptions(preempt=True, strategy=strategy))
        planned = plan(seed, seconds, count, len(webhooks.replicas), lanes or lanes_of(seed))
        began = time.monotonic()
        threads = [Lane(parts, lane, number, each, began) for (lane, number), each in planned.items()]
        world.turmoil(threads, seconds)
        failures = [each.failed for each in threads if each.failed] or [*world.rest(), *world.end()]
        failures += world.broken()
        seen = history.ordered()
        failures += [failure for holds in invariants.HISTORY.values() for failure in holds(seen)]
        if failures:
            history.write(folder / "history.jsonl")
            shutil.copytree(disk, folder / "logs")
    counts = collections.Counter(name for each in threads for name in (*each.counts, *(f"missed: {name}" for name in each.missed)))
    bound = sum(key[0] == "Pod" for key in invariants.completions(seen))
    return Report(
        population.steps, dict(sorted(counts.items())), bound, invariants.evictions(seen), invariants.contests(seen), tuple(failures)
    )


def lanes_of(seed: int) -> tuple[str, ...]:
    """Return the lanes of a seed: nobody touches the Lease in every third world, and no bind is excused there."""
    return tuple(each for each in LANES if each != "leader" or seed % 3)


def _has_leader(plane: ControlPlane) -> bool:
    try:
        return bool(leader(plane.api))
    except FAILED:
        return False


@contextlib.contextmanager
def plane_of(seed: int, programs: Programs) -> Iterator[ControlPlane]:
    """Run the control plane of a seed: every second one without the built-in kinds."""
    with ControlPlane(programs=programs) if seed % 2 else custom_plane(programs) as plane:
        yield plane


def run(seed: int) -> Round:
    """Let one world live."""
    folder = Path(tempfile.mkdtemp(prefix=f"muster-world-{seed}-", dir=KEPT))
    report = None
    with plane_of(seed, find()) as plane:
        try:
            report = live(plane, folder, seed)
        finally:
            if report is None or report.failures:
                for log in plane.folder.glob("*.log"):
                    shutil.copy(log, folder)
    told = ", ".join(f"{name} {count}" for name, count in report.counts.items())
    done = f"{report.steps} changes, {report.bound} pods bound, {report.evicted} evicted, {report.contests} contests"
    print(f"world {seed}: {done}; {told}", file=sys.stderr, flush=True)
    if report.failures:
        return Round(1, tuple(f"{each} (logs: {folder})" for each in report.failures))
    shutil.rmtree(folder)
    return Round(1)


CAMPAIGN = Campaign(
    "worlds",
    "worlds of five minutes whose servers are killed, parted and misled",
    "no node or device over capacity, no gang half bound, no pod bound twice, no eviction in vain, each pending root has a true reason, "
    "nothing is left",
    50,
    run,
)
