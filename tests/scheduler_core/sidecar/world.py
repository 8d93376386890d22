"""A cluster with a scheduler on it, in small: an API server, what kubelets and controllers do, writes that fail, and crashes."""

from __future__ import annotations

import copy
import dataclasses
import random
from collections import Counter
from typing import Any

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.model.names import HOSTNAME
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.scheduler import Scheduler, SchedulerOptions
from scheduler_core.sidecar.writes import Bind, Evict, Nominate, RecordEvent, Ref, Remove, SetCondition, Ungate, Write, WriteOutcome
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.gangs import is_bound, is_complete, tree_of
from tests.scheduler_core.sidecar.histories import Json, Server

HAPPENS = (WriteOutcome.DONE, WriteOutcome.FAILED)
TERMINATING = "2026-08-02T00:00:00Z"


class CrashError(Exception):
    """The process is killed."""


@dataclasses.dataclass
class Luck:
    """What may go wrong, by chance.

    Attributes:
        chance: where chance comes from.
        fails: one write in so many fails; 0 for none.
        late: whether events may come late.
        recreates: whether pods that are deleted come again, as controllers see to.

    """

    chance: random.Random
    fails: int = 0
    late: bool = False
    recreates: bool = False


class World:
    """Time goes on in steps; each is an event, a write, or a decision."""

    def __init__(self, objects: list[Json], options: SchedulerOptions, luck: Luck) -> None:
        self.server = Server()
        for each in objects:
            self.server.put(each)
        self.options, self.luck = options, luck
        self.now = 0.0
        self.bound: Counter[str] = Counter()
        self.evicted: list[tuple[str, str]] = []
        """Victims by uid, and the root that each left for."""
        self.promised: dict[str, str] = {}
        self.placed: set[str] = set()
        """Roots for which others left, and which were placed then, or whose room one of higher priority has taken."""
        self.removed: list[str] = []
        self.told: list[RecordEvent] = []
        self.written: list[Write] = []
        self.budget = -1
        """Writes until the crash; -1 for no crash."""
        self.start()

    def start(self) -> None:
        """A new process: nothing is known but what the server has."""
        self.store = Cache()
        self.server.fill(self.store)
        self.heard = len(self.server.events)
        self.scheduler = Scheduler(self.store, self.options)
        self.queue: list[Write] = []
        self.plans: list[Any] = []

    def run(self, seconds: float) -> None:
        """Until nothing is to be done for so long."""
        end = self.now + seconds
        while self.now < end:
            if not self.step():
                due = self.scheduler.due(self.now)
                if any("deletionTimestamp" in each["metadata"] or is_pinned(each) for each in self.server.objects.values()):
                    due = self.now + 1
                self.now = min(end, max(self.now + 0.001, due)) if due is not None else end

    def step(self) -> bool:
        """One thing that is to be done; False if there is nothing now."""
        self.others()
        self.hear(everything=not self.luck.late)
        if self.queue and (self.luck.chance.random() < 0.7 or self.scheduler.due(self.now) is None):
            self.write(self.queue.pop(0))
            return True
        if self.plans and self.luck.chance.random() < 0.5:
            self.dry_run_evictions(*self.plans.pop(0))
            return True
        due = self.scheduler.due(self.now)
        if due is not None and due <= self.now:
            for each in self.scheduler.attempt(self.now):
                self.queue += each.writes
                if each.plan:
                    self.plans.append((each.root, each.plan))
            return True
        if self.queue:
            self.write(self.queue.pop(0))
            return True
        if self.plans:
            self.dry_run_evictions(*self.plans.pop(0))
            return True
        return self.hear(everything=True)

    def hear(self, *, everything: bool) -> bool:
        """Tell the store what happened; some of it, if events may come late."""
        count = len(self.server.events) - self.heard
        if not everything:
            count = self.luck.chance.randint(0, count)
        events = self.server.events[self.heard : self.heard + count]
        self.heard += count
        histories.feed(self.store, events)
        return bool(events)

    def dry_run_evictions(self, root: Any, plan: tuple[Evict, ...]) -> None:
        """Try the evictions of a plan dry, then ask for them."""
        refused = next((write for write in plan if self.forbidden(write)), None)
        self.hear(everything=True)
        if not self.scheduler.awaits(root, plan):
            return
        if refused is not None:
            self.queue += self.scheduler.eviction_refused(root, refused.pod, "a budget forbids it", self.now)
        else:
            self.promised |= {write.pod.uid: f"{root.kind}/{root.namespace}/{root.name}" for write in plan}
            self.queue += self.scheduler.approve(root, self.now)

    def forbidden(self, write: Evict) -> bool:
        """Whether a disruption budget forbids it."""
        pod = self.find(write.pod)
        labels = (pod or {}).get("metadata", {}).get("labels") or {}
        for name, each in self.server.objects.items():
            if name[0] == "PodDisruptionBudget":
                wanted = each["spec"]["selector"]["matchLabels"].items()
                if all(labels.get(key) == value for key, value in wanted) and each["status"]["disruptionsAllowed"] <= 0:
                    return True
        return False

    def write(self, write: Write) -> None:
        """Carry a write out, or not, and tell how it ended."""
        if isinstance(write, RecordEvent):
            self.told.append(write)
            return
        if self.budget == 0:
            raise CrashError
        self.budget -= self.budget > 0
        outcome = WriteOutcome.DONE
        if self.luck.fails and self.luck.chance.randrange(self.luck.fails) == 0:
            outcome = self.luck.chance.choice([WriteOutcome.REFUSED, WriteOutcome.FAILED, WriteOutcome.FAILED, WriteOutcome.DROPPED])
        if outcome is WriteOutcome.DONE:
            outcome = self.carry_out(write)
        elif outcome is WriteOutcome.FAILED:
            self.lose(write)
        self.written.append(write)
        self.queue += self.scheduler.done(write, outcome, "so it is", self.now)

    def lose(self, write: Write) -> None:
        """Carry out a write whose response is lost, or do not."""
        if self.luck.chance.random() < 0.5:
            self.carry_out(write)

    def find(self, ref: Ref) -> Json | None:
        found = self.server.objects.get((ref.kind, ref.namespace, ref.name))
        assert found is None or histories.resource_of(found) == ref.resource
        return found if found is not None and ref.uid in ("", found["metadata"]["uid"]) else None

    def carry_out(self, write: Write) -> WriteOutcome:
        """What the API server does with it."""
        target = self.find(write.target if isinstance(write, SetCondition) else write.pod)  # type: ignore[union-attr]
        if target is None:
            return WriteOutcome.GONE
        each = copy.deepcopy(target)
        each.setdefault("status", {})
        outcome = self._bind(each, write) if isinstance(write, Bind | Ungate) else self._change(each, write)
        if outcome is None:
            self.server.put(each)
        return outcome or WriteOutcome.DONE

    def _bind(self, each: Json, write: Bind | Ungate) -> WriteOutcome | None:
        """None: *each* is as it is to be now."""
        spec = each["spec"]
        gates = spec.get("schedulingGates") or []
        if isinstance(write, Bind):
            if spec.get("nodeName"):
                return WriteOutcome.DONE if spec["nodeName"] == write.node else WriteOutcome.REFUSED
            if "deletionTimestamp" in each["metadata"] or gates:
                return WriteOutcome.REFUSED
            spec["nodeName"] = write.node
        elif {"name": PLACEMENT_GATE} not in gates:
            return WriteOutcome.DONE
        else:
            spec["schedulingGates"] = [gate for gate in gates if gate["name"] != PLACEMENT_GATE]
            spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), HOSTNAME: write.hostname}
            each["metadata"]["annotations"] = {PLACEMENT_GATE: write.node}
        self.bound[each["metadata"]["uid"]] += 1
        self.server.put(each)
        self.placed.update(root for _, root in self.evicted if self.is_placed(root) or self.priority(root) < spec.get("priority", 0))
        return None

    def priority(self, root: str) -> int:
        """That of a root, as ``Kind/namespace/name``; 0 where it is not there."""
        each: Any = self.server.objects.get(tuple(root.split("/")))  # type: ignore[call-overload]
        return (each or {}).get("spec", {}).get("priority") or 0

    def is_placed(self, root: str) -> bool:
        """Whether a root, as ``Kind/namespace/name``, is there and has what it needs."""
        each: Any = self.server.objects.get(tuple(root.split("/")))  # type: ignore[call-overload]
        return each is not None and (is_bound(each) if each["kind"] == "Pod" else is_complete(self.server.objects, each))

    def _change(self, each: Json, write: Write) -> WriteOutcome | None:
        """None: *each* is as it is to be now."""
        status, uid = each["status"], each["metadata"]["uid"]
        match write:
            case Nominate(node=node):
                status["nominatedNodeName"] = node
            case SetCondition(condition=condition):
                kept = [other for other in status.get("conditions") or [] if other["type"] != condition.type]
                made = {"type": condition.type, "status": condition.status, "reason": condition.reason, "message": condition.message}
                status["conditions"] = [*kept, made]
                if condition.status == "True" and condition.type.endswith("InitiallyScheduled"):
                    self.check_commit(each)
            case Evict():
                if self.forbidden(write):
                    return WriteOutcome.REFUSED
                self.evicted.append((uid, self.promised.get(uid, "")))
                reason = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                status["conditions"] = [*(status.get("conditions") or []), reason]
                each["metadata"]["deletionTimestamp"] = TERMINATING
            case Remove():
                self.removed.append(uid)
                each["metadata"]["deletionTimestamp"] = TERMINATING
        return None

    def check_commit(self, each: Json) -> None:
        """A condition says that a gang was placed: then it was."""
        found = tree_of(self.server.objects, each)
        assert is_complete(self.server.objects, found), f"{each['metadata']['name']} is said to be placed"

    def others(self) -> None:
        """Kubelets finish pods off, controllers make them again, and another scheduler binds what is pinned."""
        for name, each in list(self.server.objects.items()):
            if name[0] != "Pod":
                continue
            if "deletionTimestamp" in each["metadata"] and self.luck.chance.random() < 0.3:
                self.server.delete(name)
                ours = each["metadata"]["uid"] in self.removed
                if self.luck.recreates and ours:
                    self.server.put(fresh(each))
            elif is_pinned(each) and self.luck.chance.random() < 0.3:
                bound = copy.deepcopy(each)
                bound["spec"]["nodeName"] = each["metadata"]["annotations"][PLACEMENT_GATE]
                self.server.put(bound)


def fresh(pod: Json) -> Json:
    """The pod that a controller makes in place of one that was deleted."""
    made = copy.deepcopy(pod)
    made["metadata"] = {key: pod["metadata"][key] for key in ("name", "namespace", "labels", "creationTimestamp") if key in pod["metadata"]}
    made["spec"].pop("nodeName", None)
    if (pod["metadata"].get("annotations") or {}).get(PLACEMENT_GATE):
        made["spec"]["nodeSelector"].pop(HOSTNAME)
        made["spec"]["schedulingGates"] = [{"name": PLACEMENT_GATE}]
    made["status"] = {}
    return made


def is_pinned(each: Json) -> bool:
    """Whether it is a pod that was opened for another scheduler, which has not bound it yet."""
    spec = each.get("spec") or {}
    return (
        bool((each["metadata"].get("annotations") or {}).get(PLACEMENT_GATE))
        and not spec.get("nodeName")
        and not spec.get("schedulingGates")
    )
