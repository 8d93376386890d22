"""Random clusters in which roots evict others, while victims linger, are created again, watches lag and the process restarts."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

from scheduler_core.sidecar.cache.cache import RESOURCES
from scheduler_core.sidecar.queue.states import Preempting
from scheduler_core.sidecar.scheduling.scheduler import SchedulerOptions
from scheduler_core.sidecar.writes import Evict, RecordEvent, Remove, Write, WriteOutcome
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.full_clusters import FullCluster
from tests.scheduler_core.sidecar.gangs import members, minimum
from tests.scheduler_core.sidecar.histories import Json, group_of, resource_of
from tests.scheduler_core.sidecar.world import TERMINATING, Luck, World, fresh

NAME = "default-scheduler"
WORKERS = 8
"""Writes that are carried out at the same time."""
LATE = (0.0, 0.0, 1.0, 10.0)
"""Seconds for which the events of a kind can be held back."""
MOST_STEPS = 200_000


@dataclasses.dataclass
class Plan:
    """A plan whose evictions were sent.

    Attributes:
        root: as ``Kind/namespace/name``.
        groups: groups, or the single pod, with nominations, written likewise.
        pods: keys of the nominated pods.
        victims: uids.
        at: time of its evictions.
        made: its process, and the time of its decision.
        carried_out: whether its groups were placed before the next plan of the root.

    """

    root: str
    groups: frozenset[str]
    pods: frozenset[str]
    victims: frozenset[str]
    at: float
    made: tuple[int, float]
    carried_out: bool = False


class EvictionWorld(World):
    """A full cluster, and roots of several priorities that come to it, as it is drawn from *seed*."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers = itertools.count()
        self.evicting: list[Plan] = []
        self.results: list[tuple[Write, WriteOutcome]] = []
        self.not_evicted: set[str] = set()
        self.binds: list[tuple[float, int]] = []
        """Time and priority of each."""
        self.losses: list[tuple[float, str]] = []
        """Time of each deletion, with the group of the pod."""
        self.lives = 0
        self.slow = chance.random() < 0.7
        self.grace = chance.choice((0.0, 3.0, 30.0, 60.0))
        options = SchedulerOptions(
            scheduler_name=NAME,
            preempt=True,
            strategy=chance.choice(("complete", "complete", "greedy")),
            plan_seconds=chance.choice((600.0, 600.0, 600.0, 40.0)),
            batch_roots=chance.choice((64, 64, 1)),
        )
        cluster = FullCluster(chance)
        super().__init__(cluster.present, options, Luck(chance, fails=chance.choice((0, 0, 0, 5))))
        for root in cluster.arrivals:
            self.at(chance.choice((0.0, chance.uniform(0, 5), chance.uniform(0, 120))), lambda root=root: self._arrive(root))
        for _ in range(chance.choice((0, 0, 1, 3))):
            self.at(chance.uniform(0, 60), self.start)

    def _arrive(self, root: list[Json]) -> None:
        for each in root:
            self.server.put(each)

    # Time.

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Do *action* in so many seconds."""
        heapq.heappush(self.timers, (self.now + seconds, next(self.numbers), action))

    def start(self) -> None:
        super().start()
        self.lives += 1
        self.results = []
        self.waiting: dict[str, list[Any]] = {kind: [] for kind in RESOURCES}
        """Events that are not delivered yet: each resource has its own watch."""
        self.open_at = dict.fromkeys(RESOURCES, 0.0)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(MOST_STEPS):
            if self.now >= end:
                return
            while self.timers and self.timers[0][0] <= self.now:
                heapq.heappop(self.timers)[2]()
            if not self.step():
                due = self.scheduler.due(self.now)
                moments = [end, *([] if due is None else [due]), *(at for at, *_ in self.timers[:1])]
                moments += [self.open_at[kind] for kind, events in self.waiting.items() if events]
                self.now = min(end, max(self.now + 0.001, min(moments)))
        raise AssertionError("it does not come to rest")

    def step(self) -> bool:
        self.hear(everything=not self.slow)
        due = self.scheduler.due(self.now)
        actions: list[Callable[[], None]] = [self._write] * (3 * bool(self.queue)) + [self._result] * (3 * bool(self.results))
        actions += [self._dry_run] * bool(self.plans) + [self._attempt] * (due is not None and due <= self.now)
        if actions:
            self.chance.choice(actions)()
            self._note_plans()
        return bool(actions)

    def hear(self, *, everything: bool) -> bool:
        """Deliver events, each kind by itself; some of them, and sometimes none for a while, unless *everything* is to be heard."""
        for event, each in self.server.events[self.heard :]:
            self.waiting[resource_of(each)].append((event, each))
        self.heard = len(self.server.events)
        some = False
        for kind, events in self.waiting.items():
            if not events or self.now < self.open_at[kind]:
                continue
            count = len(events) if everything else self.chance.randint(0, len(events))
            histories.feed(self.store, events[:count])
            some |= bool(count)
            del events[:count]
            if not everything:
                self.open_at[kind] = self.now + (self.chance.choice(LATE) if self.chance.random() < 0.3 else 0.01 * bool(events))
        return some

    def _attempt(self) -> None:
        for each in self.scheduler.attempt(self.now):
            self.queue += each.writes
            if each.plan:
                self.plans.append((each.root, each.plan))

    def _write(self) -> None:
        """Carry out one of the most urgent writes; those of one object are carried out in order."""
        first: dict[Any, Write] = {}
        for each in self.queue:
            first.setdefault((each.target, isinstance(each, RecordEvent)), each)
        write = self.chance.choice(sorted(first.values(), key=lambda each: each.urgency)[:WORKERS])
        self.queue.remove(write)
        if isinstance(write, RecordEvent):
            return
        outcome = WriteOutcome.DONE
        if self.luck.fails and self.chance.randrange(self.luck.fails) == 0:
            outcome = self.chance.choice([WriteOutcome.REFUSED, WriteOutcome.FAILED, WriteOutcome.FAILED, WriteOutcome.DROPPED])
        if outcome is WriteOutcome.DONE:
            outcome = self.carry_out(write)
        elif outcome is WriteOutcome.FAILED:
            self.lose(write)
        if isinstance(write, Evict) and outcome is not WriteOutcome.DONE:
            self.not_evicted.add(write.pod.uid)
        self.results.append((write, outcome))

    def _result(self) -> None:
        write, outcome = self.results.pop(self.chance.randrange(len(self.results)))
        self.queue += self.scheduler.done(write, outcome, "so it is", self.now)

    def _dry_run(self) -> None:
        root, plan = self.plans.pop(self.chance.randrange(len(self.plans)))
        self.hear(everything=not self.slow)
        if self.scheduler.awaits(root, plan):
            self.queue += self.scheduler.approve(root, self.now)

    def _bind(self, each: Json, write: Any) -> WriteOutcome | None:
        outcome = super()._bind(each, write)
        if outcome is None:
            self.binds.append((self.now, each["spec"].get("priority", 0)))
        return outcome

    def _change(self, each: Json, write: Write) -> WriteOutcome | None:
        begun = isinstance(write, Evict | Remove) and "deletionTimestamp" not in each["metadata"]
        outcome = super()._change(each, write)
        if begun and each["metadata"].get("deletionTimestamp") == TERMINATING:
            self._terminate(each)
        return outcome

    def _terminate(self, each: Json) -> None:
        """A kubelet ends the pod some time later, and its controller creates another: after that of the same name, or of another at once."""
        chance, name, uid = self.chance, ("Pod", each["metadata"]["namespace"], each["metadata"]["name"]), each["metadata"]["uid"]
        gone, delay, same = (
            chance.uniform(0, self.grace),
            chance.choice((0.0, chance.uniform(0, 2), chance.uniform(0, 40))),
            chance.random(),
        )
        made = fresh(each)
        self.losses.append((self.now, self._group_of(f"{name[1]}/{name[2]}")))
        if same < 0.5:
            made["metadata"]["name"] = f"{name[2].partition('.')[0]}.{next(self.numbers)}"

        def end() -> None:
            if self.server.objects.get(name, each)["metadata"]["uid"] == uid and name in self.server.objects:
                self.server.delete(name)

        def create() -> None:
            if ("Pod", name[1], made["metadata"]["name"]) not in self.server.objects:
                self.server.put(made)

        self.at(gone, end)
        if not name[2].startswith("fill") or chance.random() < 0.8:
            self.at(delay if same < 0.5 else gone + delay, create)

    def others(self) -> None:
        """All that others do has its time."""

    def check_commit(self, each: Json) -> None:
        """A gang can lose pods before its condition is written."""

    # What came of it.

    def _note_plans(self) -> None:
        """Record the plans whose evictions are sent now."""
        queue = self.scheduler._queue
        for root, plan in queue.entities.plans.items():
            name, made, entity = f"{root.kind}/{root.namespace}/{root.name}", (self.lives, plan.since), queue.get(root)
            if (
                entity is None
                or not isinstance(entity.state, Preempting)
                or any((each.root, each.made) == (name, made) for each in self.evicting)
            ):
                continue
            for each in self.evicting:
                each.carried_out |= each.root == name and all(map(self.is_placed, each.groups))
            victims = frozenset(ref.uid for ref in plan.victims.values())
            pods = frozenset(key for key, on in plan.nominations.items() if on)
            groups = frozenset(map(self._group_of, pods))
            self.evicting.append(Plan(name, groups, pods, victims, self.now, made))

    def _group_of(self, key: str) -> str:
        each = self.server.objects.get(("Pod", *key.split("/")), {"metadata": {}, "spec": {}})  # type: ignore[arg-type]
        group = group_of(each)
        return f"PodGroup/{key.partition('/')[0]}/{group}" if group else f"Pod/{key}"

    def in_vain(self) -> list[str]:
        """Plans that were not carried out although all victims were evicted, nothing of higher priority was bound since, and no pod was lost."""
        found = []
        for number, plan in enumerate(self.evicting):
            higher = any(at >= plan.at and priority > self.priority(plan.root) for at, priority in self.binds)
            robbed = any(at >= plan.at and group in plan.groups for at, group in self.losses)
            if higher or robbed or not self.not_evicted.isdisjoint(plan.victims):
                continue
            missing = [each for each in sorted(plan.groups) if self._has_minimum(each) and not self.is_placed(each)]
            later = [each for each in self.evicting[number + 1 :] if each.root == plan.root and each.pods & plan.pods]
            again = [] if plan.carried_out else [len(each.victims) for each in later if not each.victims <= plan.victims]
            if missing or again:
                found.append(f"{plan.root} evicted {len(plan.victims)} at {plan.at:.1f}: not placed {missing}, evicted again {again}")
        return found

    def _has_minimum(self, name: str) -> bool:
        """Return whether a group or pod, as ``Kind/namespace/name``, has as many pods as it needs."""
        each = self.server.objects.get(tuple(name.split("/")))  # type: ignore[call-overload]
        return each is not None and (each["kind"] == "Pod" or len(members(self.server.objects, each)) >= minimum(each))


def ended(seed: int) -> EvictionWorld:
    """The world of *seed* when it has come to rest."""
    world = EvictionWorld(seed)
    world.run(400)
    world.luck.fails, world.slow = 0, False
    world.run(1500)
    return world
