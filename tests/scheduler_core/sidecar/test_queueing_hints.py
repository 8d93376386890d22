"""A root that waits is not one that could be placed; and what cannot help it does not wake it."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.plugins.base import ClusterEvent
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.cluster_changes import ClusterChanges
from scheduler_core.sidecar.queue.entities import QueuedEntity
from scheduler_core.sidecar.queue.queueing_hints import NO_HINT, QueueingHint, UnschedulableEntities
from scheduler_core.sidecar.queue.states import Unschedulable
from scheduler_core.sidecar.scheduling.decide import decide
from scheduler_core.sidecar.scheduling.scheduler import SchedulerOptions
from tests.sampling import sampled
from tests.scheduler_core.builders import HOST, node, pod, promising
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import Json, Server
from tests.scheduler_core.sidecar.world import Luck, World

LONG = 1e9
MANY = settings(max_examples=sampled(60), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])


class Happening:
    """Something that happens to a cluster."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.server, self.chance = world.server, chance

    def happen(self) -> None:
        chosen = self.chance.choice(
            [self.leave, self.leave, self.come, self.node_gone, self.node_new, self.node_other, self.node_other, self.budget]
        )
        chosen()

    def _some(self, kind: str, **running: bool) -> Json | None:
        found = [each for name, each in self.server.objects.items() if name[0] == kind]
        if running:
            found = [each for each in found if each["spec"].get("nodeName")]
        return copy.deepcopy(self.chance.choice(found)) if found else None

    def leave(self) -> None:
        if (each := self._some("Pod", running=True)) is not None:
            self.server.delete(histories.name_of(each))

    def come(self) -> None:
        each, there = self._some("Pod", running=True), self._some("Node")
        if each is not None and there is not None:
            each["metadata"]["name"] = f"stranger-{self.server.version}"
            each["spec"] = {**each["spec"], "schedulerName": "other", "nodeName": there["metadata"]["name"]}
            each["spec"].pop("schedulingGroup", None)
            self.server.put(each)

    def node_gone(self) -> None:
        if sum(name[0] == "Node" for name in self.server.objects) > 1 and (each := self._some("Node")) is not None:
            gone = each["metadata"]["name"]
            self.server.delete(("Node", "", gone))
            for name, pod_ in list(self.server.objects.items()):
                if name[0] == "Pod" and pod_["spec"].get("nodeName") == gone:
                    self.server.delete(name)

    def node_new(self) -> None:
        if (each := self._some("Node")) is not None:
            each["metadata"]["name"] = each["metadata"]["labels"][HOST] = f"new-{self.server.version}"
            self.server.put({**each, "spec": {}})

    def node_other(self) -> None:
        if (each := self._some("Node")) is None:
            return
        match self.chance.randrange(4):
            case 0:
                each["spec"]["unschedulable"] = not each["spec"].get("unschedulable", False)
            case 1:
                each["metadata"]["labels"][self.chance.choice(["rack", "zone"])] = self.chance.choice(["r1", "r2", "r3", "z1", "z2"])
            case 2:
                each["status"]["allocatable"]["cpu"] = str(self.chance.randint(1, 6))
            case _:
                each["spec"]["taints"] = self.chance.choice([[], [{"key": "team", "value": "a", "effect": "NoSchedule"}]])
        self.server.put(each)

    def budget(self) -> None:
        if (each := self._some("PodDisruptionBudget")) is not None:
            each["status"]["disruptionsAllowed"] = self.chance.randint(0, 3)
            self.server.put(each)


class Lenient(World):
    """Members may be deleted between their binds and the record of these."""

    def check_commit(self, each: Json) -> None:
        assert each["kind"] in ("PodGroup", "CompositePodGroup")


@MANY
@given(promising(apart=True), st.integers(0, 2**32), st.sampled_from(["complete", "greedy"]), st.booleans())
def test_root_that_waits_could_not_be_placed(objects, seed, strategy, preempt):
    chance = random.Random(seed)
    options = SchedulerOptions(
        scheduler_name="default-scheduler",
        preempt=preempt,
        strategy=strategy,
        flush_seconds=LONG,
        partial_seconds=LONG,
        plan_seconds=LONG,
    )
    world = Lenient(objects, options, Luck(chance))
    world.run(200)
    for _ in range(4):
        Happening(world, chance).happen()
        world.run(200)
        world.hear(everything=True)
        assert [] == _missed(world)


def _missed(world: World) -> list[Any]:
    """The roots that are parked, although they could be placed, or others made to leave for them."""
    queue = world.scheduler._queue
    missed = []
    for root, entity in queue.entities.by_root.items():
        if not isinstance(entity.state, Unschedulable):
            continue
        fresh = Cache()
        world.server.fill(fresh)
        survey = queue.status_of(root)
        assert survey is not None
        (found,) = decide(fresh, [root], world.scheduler._parameters, survey.excluded)
        decision = found.decision
        allowed = world.scheduler._preemption.blocked(decision) is None and not _is_refused(world, entity, decision)
        if decision.status is Status.SUCCESS or (decision.victims and allowed):
            missed.append(decision)
    return missed


def _is_refused(world: World, entity: QueuedEntity, decision: Decision) -> bool:
    """Whether the server would not let one of these leave when it was asked, and no budget has changed since."""
    queue, refusal = world.scheduler._queue, entity.refusal
    unchanged = refusal is not None and refusal.budgets == queue.cache.reporter.budgets
    return refusal is not None and unchanged and refusal.victim in world.scheduler._preemption.victims(decision)


ROOT = Name("PodGroup", "default", "g")


def parked(interest_of: Any) -> tuple[UnschedulableEntities, Cache]:
    """A root that needs 2 cpu, on a cluster where n1 has 1 free, n2 has 3, and n3, tainted, has all."""
    server = Server()
    objects = [
        *(node("n1", "2"), node("n2", "4"), node("n3", "4", taints=[{"key": "x", "effect": "NoSchedule"}])),
        *(pod("a", on="n1"), pod("b", on="n2"), pod("g-0", "g", cpu="2")),
    ]
    for each in objects:
        server.put(each)
    store = Cache()
    server.fill(store)
    found = UnschedulableEntities(store, frozenset())
    found.add(ROOT, interest_of(frozenset({store.usage.pods.pods["default/g-0"].parsed_pod.form})))
    return found, store


@pytest.mark.parametrize(
    ("interest_of", "news", "want"),
    [
        pytest.param(QueueingHint, ClusterChanges(freed_nodes={"n2"}), True, id="room for a pod of it"),
        pytest.param(QueueingHint, ClusterChanges(freed_nodes={"n1"}), False, id="too little room"),
        pytest.param(
            lambda forms: QueueingHint(forms, preempts=True),
            ClusterChanges(freed_nodes={"n1"}),
            True,
            id="too little room, and others may leave",
        ),
        pytest.param(
            lambda forms: QueueingHint(forms, preempts=True), ClusterChanges(freed_nodes={"n3"}), False, id="room where it may not run"
        ),
        pytest.param(QueueingHint, ClusterChanges(nodes={"n2"}), True, id="a node that changed"),
        pytest.param(QueueingHint, ClusterChanges(nodes={"n9"}), False, id="a node that went"),
        pytest.param(
            lambda forms: QueueingHint(forms, hosts=frozenset({"n9"})),
            ClusterChanges(nodes={"n9"}),
            True,
            id="a node that went with members",
        ),
        pytest.param(QueueingHint, ClusterChanges(pods_moved=True), False, id="a pod that moved"),
        pytest.param(
            lambda forms: QueueingHint(forms, events=frozenset({ClusterEvent.NODE, ClusterEvent.POD})),
            ClusterChanges(pods_moved=True),
            True,
            id="a pod that moved, and it hangs on others",
        ),
        pytest.param(
            lambda forms: QueueingHint(forms, events=frozenset({ClusterEvent.NODE, ClusterEvent.POD})),
            ClusterChanges(nodes={"n9"}),
            True,
            id="a node that went, and it hangs on others",
        ),
        pytest.param(QueueingHint, ClusterChanges(budgets=True), False, id="a budget"),
        pytest.param(
            lambda forms: QueueingHint(forms, preempts=True), ClusterChanges(budgets=True), True, id="a budget, and others may leave"
        ),
        pytest.param(
            lambda forms: QueueingHint(forms, preempts=True), ClusterChanges(units=True), True, id="a group, and others may leave"
        ),
        pytest.param(lambda _: NO_HINT, ClusterChanges(priorities_changed=True), True, id="a priority class"),
        pytest.param(
            lambda _: NO_HINT,
            ClusterChanges(freed_nodes={"n2"}, nodes={"n2"}, pods_moved=True),
            False,
            id="anything, and only its own can help",
        ),
        pytest.param(QueueingHint, ClusterChanges(roots={ROOT}), False, id="nothing but its own"),
        pytest.param(QueueingHint, ClusterChanges(), False, id="nothing"),
    ],
)
def test_root_is_woken_by_what_could_help_it(interest_of, news, want):
    found, _ = parked(interest_of)
    assert ([ROOT] if want else []) == found.woken(news)
    assert want == (ROOT not in found)
