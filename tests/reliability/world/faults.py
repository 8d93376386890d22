"""Faults of a world: what is done, to which part, and when; all drawn from the seed, before the world begins."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.cluster.api import Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.faults import WELL, Fault, Faults, RecordedRequest
from tests.cluster.replicas import ENDPOINT_SECONDS, Managed
from tests.cluster.resources import Manifest
from tests.cluster.sidecars import NAMESPACE
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.reliability.world.population import FAILED, NAMESPACES, Population
from tests.reliability.world.replicas import Sidecar

LEASE = "muster-sidecar"
TRY_EVERY = 0.3
JUMPS = (-30 * 86400, -86400, -3600, -20, 20, 3600, 86400, 30 * 86400)
"""Seconds by which a clock is wrong after a jump."""
BURST = 3
"""Changes of objects right before and right after a second leader wakes."""
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


@dataclasses.dataclass(slots=True)
class Parts:
    """The parts of a world that faults act on; *disk* is the small disk of the sidecars' logs, if there is one."""

    plane: ControlPlane
    sidecars: Sequence[Sidecar]
    webhooks: Managed
    proxies: Sequence[Faults]
    population: Population
    disk: Path | None

    @property
    def api(self) -> Api:
        return self.plane.api


@dataclasses.dataclass(frozen=True, slots=True)
class Planned:
    """A fault of a lane: when it begins and how long it lasts, in seconds, and a number for further choices."""

    at: float
    seconds: float
    name: str
    number: int


Action = Callable[[Parts, int, random.Random], contextlib.AbstractContextManager[None]]
"""Fault for the time of a block; the number is that of the replica."""


def tried(action: Callable[[], object]) -> None:
    """Call *action* until no request of it fails."""
    deadline = time.monotonic() + 5 * WAIT_SECONDS
    while True:
        try:
            action()
        except FAILED:
            if time.monotonic() > deadline:
                raise
            time.sleep(TRY_EVERY)
        else:
            return


@contextlib.contextmanager
def kill_apiserver(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    parts.plane.apiserver.kill()
    yield
    parts.plane.start_apiserver()


@contextlib.contextmanager
def kill_etcd(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    parts.plane.etcd.kill()
    yield
    parts.plane.start_etcd()


@contextlib.contextmanager
def compact(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    parts.plane.compact()
    yield


@contextlib.contextmanager
def expire_history(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    parts.plane.expire_history()
    yield


@contextlib.contextmanager
def fill_database(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    parts.plane.set_full(full=True)
    try:
        yield
    finally:
        parts.plane.set_full(full=False)


@contextlib.contextmanager
def kill_sidecar(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
    parts.sidecars[number].process.kill()
    yield
    parts.sidecars[number].start()


@contextlib.contextmanager
def stop_sidecar(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
    """End it as an operator does."""
    parts.sidecars[number].process.stop()
    yield
    parts.sidecars[number].start()


@contextlib.contextmanager
def freeze_sidecar(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
    process = parts.sidecars[number].process
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.resume()


def partition(*what: str) -> Action:
    """Return the fault that drops packets of these directions."""

    @contextlib.contextmanager
    def parted(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
        parts.sidecars[number].cut(*what)
        try:
            yield
        finally:
            parts.sidecars[number].mend()

    return parted


@contextlib.contextmanager
def jump(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
    """Let the clock jump, and back."""
    parts.sidecars[number].jump(chance.choice(JUMPS))
    yield
    parts.sidecars[number].jump(0)


@contextlib.contextmanager
def kill_webhooks(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
    """Kill a replica; the endpoints lose it a moment later."""
    replica = parts.webhooks.replicas[number]
    replica.process.kill()
    time.sleep(ENDPOINT_SECONDS)
    with contextlib.suppress(ValueError):
        parts.webhooks.service.backends.remove(replica.port)
    yield
    replica.start()
    # Other faults can keep it from being ready.
    replica.process.await_answer(lambda: replica.ready, 5 * WAIT_SECONDS)
    parts.webhooks.service.backends.append(replica.port)


@contextlib.contextmanager
def freeze_webhooks(parts: Parts, number: int, chance: random.Random) -> Iterator[None]:
    process = parts.webhooks.replicas[number].process
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.resume()


@contextlib.contextmanager
def part_webhooks(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    """Hold back all that the webhooks exchange with the API server; its reviews go on."""
    parts.proxies[-1].cut.set()
    try:
        yield
    finally:
        parts.proxies[-1].cut.clear()


def storm(of: str = "", **fault: float) -> Action:
    """Return the fault in which a share of the requests through proxies, whose path ends with *of*, meets this Fault."""

    @contextlib.contextmanager
    def storming(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
        share, met = chance.choice((0.2, 0.5, 0.9)), Fault(**fault)  # type: ignore[arg-type]
        own = random.Random(chance.random())

        def decide(asked: RecordedRequest) -> Fault:
            return met if asked.path.endswith(of) and own.random() < share else WELL

        for each in parts.proxies:
            each.decide = decide
        try:
            yield
        finally:
            for each in parts.proxies:
                each.decide = lambda _: WELL

    return storming


@contextlib.contextmanager
def fill_disk(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    """Fill the disk that the sidecars log to."""
    if parts.disk is None:
        raise OSError("this user cannot mount a small disk")
    filler = parts.disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as stream:
        while stream.write(bytes(65536)):
            pass
    try:
        yield
    finally:
        filler.unlink()


def leader(api: Api) -> str:
    """Return the holder of the lease; empty if there is none."""
    if not api.exists("Lease", LEASE, NAMESPACE):
        return ""
    holder: str = api.get("Lease", LEASE, NAMESPACE)["spec"].get("holderIdentity") or ""
    return holder


def double_leader(edit: Callable[[Api, str], object]) -> Action:
    """Return the fault in which the leader sleeps while its lease is changed by hand, and wakes once another leads.

    Objects change right before it wakes: it has them in its queue and believes for a moment that it leads.
    """

    @contextlib.contextmanager
    def doubled(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
        name = leader(parts.api)
        sleeper = next((each.process for each in parts.sidecars if each.name == name), None)
        if sleeper is not None:
            sleeper.signal(signal.SIGSTOP)
        try:
            edit(parts.api, chance.choice([each.name for each in parts.sidecars if each.name != name]))
            with contextlib.suppress(AssertionError):
                until(lambda: leader(parts.api) not in ("", name), 5.0)
            for _ in range(BURST):
                parts.population.step()
        finally:
            if sleeper is not None:
                sleeper.resume()
        for _ in range(BURST):
            parts.population.step()
        yield

    return doubled


def _give(api: Api, other: str) -> None:
    api.patch("Lease", LEASE, NAMESPACE, body={"spec": {"holderIdentity": other}})


@contextlib.contextmanager
def remove_namespace(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    """Delete a namespace with all that is in it; it comes again."""
    name = chance.choice(NAMESPACES)
    parts.api.delete("Namespace", name)
    yield
    # It is refused for as long as the old one terminates.
    tried(lambda: parts.population.furnish(name))


@contextlib.contextmanager
def delete_node(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    """Delete a node, whose pods the garbage collector deletes, and create it again."""
    name = chance.choice(sorted(parts.population.nodes))
    parts.api.delete("Node", name)
    yield
    tried(lambda: parts.api.exists("Node", name) or parts.api.create(parts.population.nodes[name]))


@contextlib.contextmanager
def cordon(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    name = chance.choice(sorted(parts.population.nodes))
    _patch_node(parts, name, {"spec": {"unschedulable": True}})
    yield
    _patch_node(parts, name, {"spec": {"unschedulable": None}})


@contextlib.contextmanager
def flap(parts: Parts, _: int, chance: random.Random) -> Iterator[None]:
    """Let a node become not ready, with the taint of that, and ready again, again and again."""
    name = chance.choice(sorted(parts.population.nodes))
    for number in range(2 * chance.randint(1, 3)):
        taints = [] if number % 2 else [NOT_READY]
        status = "True" if number % 2 else "False"
        conditions = [{"type": "Ready", "status": status, "reason": "Flapping"}]
        _patch_node(parts, name, {"spec": {"taints": taints}})
        _patch_node(parts, name, {"status": {"conditions": conditions}}, "status")
        time.sleep(chance.random())
    yield


def _patch_node(parts: Parts, name: str, body: Manifest, subresource: str = "") -> None:
    """Patch a node, unless it was deleted."""
    tried(lambda: parts.api.exists("Node", name) and parts.api.patch("Node", name, body=body, subresource=subresource))


LANES: Mapping[str, Mapping[str, Action]] = {
    "control plane": {
        "kill -9 of the API server": kill_apiserver,
        "kill -9 of etcd": kill_etcd,
        "compaction": compact,
        "compaction and an API server without history": expire_history,
        "full database": fill_database,
    },
    "sidecar": {
        "kill -9 of a sidecar": kill_sidecar,
        "restart of a sidecar": stop_sidecar,
        "stopped sidecar": freeze_sidecar,
        "partition": partition("requests", "answers"),
        "partition of answers": partition("answers"),
        "clock jump": jump,
    },
    "webhook": {"kill -9 of webhooks": kill_webhooks, "stopped webhooks": freeze_webhooks},
    "requests": {
        "storm of 429": storm(code=429, retry_after=1),
        "storm of 500": storm(code=500),
        "binds that fail": storm("/binding", code=500),
        "lost answers": storm(lose=True),
        "slow answers": storm(delay=1.0),
        "webhooks without the API server": part_webhooks,
        "full disk": fill_disk,
    },
    "leader": {
        "lease deleted under a stopped leader": double_leader(lambda api, _: api.delete("Lease", LEASE, NAMESPACE)),
        "lease given away under a stopped leader": double_leader(_give),
    },
    "nodes": {
        "node deleted and created again": delete_node,
        "cordoned node": cordon,
        "flapping node": flap,
    },
    "namespaces": {"namespace deleted": remove_namespace},
}
"""Faults by lane; those of a lane come one after the other, and each replica has a lane of its own."""
GAPS = {"control plane": 12.0, "sidecar": 10.0, "webhook": 15.0, "requests": 8.0, "leader": 25.0, "nodes": 4.0, "namespaces": 30.0}
"""Mean seconds between the faults of a lane."""
LONGEST = 10.0


def plan(
    seed: int, seconds: float, sidecars: int, webhooks: int, lanes: Sequence[str] = tuple(LANES)
) -> dict[tuple[str, int], list[Planned]]:
    """Return the faults of a world by lane and number of the replica, in order."""
    counts = {"sidecar": sidecars, "webhook": webhooks}
    result = {}
    for lane in lanes:
        for number in range(counts.get(lane, 1)):
            chance = random.Random(f"{seed}/{lane}/{number}")
            at, planned = chance.uniform(0, GAPS[lane]), list[Planned]()
            while at < seconds:
                lasts = chance.uniform(0.5, min(LONGEST, seconds / 4))
                planned.append(Planned(at, lasts, chance.choice(list(LANES[lane])), chance.randrange(1 << 30)))
                at += lasts + chance.uniform(0.5, 1.5) * GAPS[lane]
            result[lane, number] = planned
    return result


class Lane(threading.Thread):
    """Thread that lets the faults of a lane happen; ``counts`` has those that did, ``failed`` why it did not go on."""

    def __init__(self, parts: Parts, lane: str, number: int, faults: Sequence[Planned], began: float) -> None:
        super().__init__(name=f"{lane} {number}", daemon=True)
        self._parts, self._lane, self._number, self._faults, self._began = parts, lane, number, faults, began
        self.counts: list[str] = []
        self.missed: list[str] = []
        self.failed = ""

    def run(self) -> None:
        """Let each fault begin and end."""
        try:
            for each in self._faults:
                time.sleep(max(0.0, self._began + each.at - time.monotonic()))
                self._happen(each)
        except Exception as error:  # noqa: BLE001 - without the lane the world would prove less, and say nothing of it
            self.failed = f"{self.name}: {type(error).__name__}: {error}"

    def _happen(self, each: Planned) -> None:
        fault = LANES[self._lane][each.name](self._parts, self._number, random.Random(each.number))
        try:
            fault.__enter__()
        except (ApiError, *FAILED):
            # The server that it needs is away.
            self.missed.append(each.name)
            return
        self.counts.append(each.name)
        time.sleep(each.seconds)
        fault.__exit__(None, None, None)
