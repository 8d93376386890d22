"""The states of an entity in the queue: which event leads from which to which, and that nobody else changes them."""

from __future__ import annotations

import ast
import collections
import dataclasses
import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.queueing_hints import NO_HINT, UnschedulableEntities
from scheduler_core.sidecar.queue.root_status import RootStatus
from scheduler_core.sidecar.queue.states import (
    STATES,
    TABLE,
    Active,
    Backoff,
    Binding,
    Deleted,
    Event,
    Gated,
    IllegalTransitionError,
    PreBinding,
    Preempting,
    PreemptionPlan,
    PreemptionProposed,
    Scheduling,
    State,
    Unschedulable,
)
from scheduler_core.sidecar.scheduling.scheduler import SchedulerOptions
from scheduler_core.sidecar.writes import Bind, Ref, WriteOutcome
from tests.sampling import sampled
from tests.scheduler_core.builders import leaf, node, pod, promising
from tests.scheduler_core.sidecar.world import Json, Luck, World

ROOT = Path(__file__).parents[3]
SIDECAR = ROOT / "scheduler_core" / "sidecar"
POD = Ref("Pod", "default", "g-0", "uid")
PLAN = PreemptionPlan(Name("PodGroup", "default", "g"), {"default/low": Ref("Pod", "default", "low", "uid")}, {"default/g-0": "n1"}, 0.0)
UNSCHEDULABLE = Unschedulable(NO_HINT, 300.0)
VALUES: tuple[State, ...] = (
    Gated(),
    Backoff(),
    Backoff({POD: Bind(POD, "n1")}),
    UNSCHEDULABLE,
    Active(),
    Active(UNSCHEDULABLE),
    Scheduling(),
    Scheduling(UNSCHEDULABLE),
    PreBinding({POD: Bind(POD, "n1")}, Decision(Name("PodGroup", "default", "g"), Status.SUCCESS), {}, 0.0),
    Binding({POD: Bind(POD, "n1")}),
    PreemptionProposed(PLAN),
    Preempting(PLAN),
    Deleted(),
)
"""At least one value of each state."""


def status(name: str, priority: int = 0) -> RootStatus:
    root = Name("PodGroup", "default", name)
    return RootStatus(root, Ref("PodGroup", "default", name, f"uid-{name}"), 1, priority, (False, 0.0), ())


def empty() -> EntityQueue:
    return EntityQueue(UnschedulableEntities(Cache(), frozenset()))


def put(queue: EntityQueue, state: State, name: str = "g") -> QueuedEntity:
    """An entity in *state*, however it came there."""
    entity = queue.add(status(name))
    entity.state = state
    return entity


def documented() -> dict[tuple[str, str], str]:
    """The table of docs/architecture.md: the state that an event leads to in a state."""
    lines = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| event | in state | leads to | when |") + 2
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    ]
    return {(before, event): after for event, befores, after, _ in rows for before in befores.split(", ")}


def test_architecture_page_has_every_row_of_the_table():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [
        f"| {event} | {', '.join(each.__name__ for each in befores)} | {after.__name__} | {when} |" for event, befores, after, when in TABLE
    ]
    assert [] == [row for row in rows if row not in text.splitlines()]
    assert [*Event] == [event for event, *_ in TABLE]
    assert [] == [each.__name__ for each in (*STATES, Deleted) if f"| {each.__name__} | " not in text]


@pytest.mark.parametrize("event", list(Event))
@pytest.mark.parametrize("before", VALUES, ids=lambda state: f"{type(state).__name__}")
def test_event_leads_where_the_architecture_page_says_and_is_refused_elsewhere(before, event):
    wanted = documented().get((type(before).__name__, str(event)))
    for after in VALUES:
        queue = empty()
        entity = put(queue, before)
        if type(after).__name__ == wanted:
            queue.move(entity, event, after)
            assert entity.state is after
        else:
            with pytest.raises(IllegalTransitionError, match=f"PodGroup default/g: {event} in {type(before).__name__}"):
                queue.move(entity, event, after)
            assert entity.state is before


def test_every_state_can_be_reached_and_left():
    reached, left = {"Gated"}, {"Deleted"}
    edges = [(before, after) for (before, _), after in documented().items()]
    for _ in edges:
        reached |= {after for before, after in edges if before in reached}
        left |= {before for before, after in edges if after in left}
    assert {each.__name__ for each in (*STATES, Deleted)} == reached == left


def test_what_an_attempt_waits_for_outlasts_a_turn_for_something_else():
    queue = empty()
    entity = queue.add(status("g"))
    queue.activate(entity, UNSCHEDULABLE, 0)
    assert (UNSCHEDULABLE, True) == (entity.waiting, entity.root in queue.unschedulable)
    assert entity is queue.pop()
    assert (Scheduling(UNSCHEDULABLE), True) == (entity.state, entity.root in queue.unschedulable)
    queue.move(entity, Event.ADD_UNSCHEDULABLE, entity.waiting)
    assert UNSCHEDULABLE == entity.state


def agrees(queue: EntityQueue) -> None:
    """What is kept by state is what the states say."""
    entities = list(queue.by_root.values())
    assert collections.Counter((type(each.state), each.root.kind) for each in entities) == +queue.counts
    assert {each.root for each in entities if isinstance(each.waiting, Unschedulable)} == {
        each.root for each in entities if each.root in queue.unschedulable
    }
    assert len(queue.unschedulable) == sum(isinstance(each.waiting, Unschedulable) for each in entities)
    assert {each.root: each.state.plan for each in entities if isinstance(each.state, PreemptionProposed | Preempting)} == queue.plans
    assert any(isinstance(each.state, Active) for each in entities) == (queue.due(0.0) == 0.0)


@settings(max_examples=sampled(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(Event)), st.sampled_from(VALUES)), max_size=60))
def test_whatever_happens_what_is_kept_by_state_is_true(steps):
    queue, table = empty(), documented()
    for name, event, after in steps:
        entity = queue.add(status(name))
        before = entity.state
        if table.get((type(before).__name__, str(event))) != type(after).__name__:
            with pytest.raises(IllegalTransitionError):
                queue.move(entity, event, after)
            assert before is entity.state
        elif event is Event.DELETE:
            queue.delete(entity)
        elif isinstance(after, Active):
            queue.activate(entity, after.waiting, status(name).order)
        elif event is Event.POP:
            first = min(each.root.name for each in queue.by_root.values() if isinstance(each.state, Active))
            popped = queue.pop()
            assert popped is not None
            assert (first, Scheduling) == (popped.root.name, type(popped.state))
        else:
            queue.move(entity, event, after)
        agrees(queue)


class Watchful(World):
    """A world in which the queue is checked after each step, and each status that it is given."""

    def start(self) -> None:
        super().start()
        queue = self.scheduler._queue
        reconsider = queue.reconsider

        def checked(root: Name, now: float, *, hint: bool, status: RootStatus | None = None) -> None:
            assert status in (None, queue.status_of(root)), "it was surveyed before, and is so still"
            reconsider(root, now, hint=hint, status=status)

        queue.reconsider = checked  # type: ignore[method-assign]

    def step(self) -> bool:
        done = super().step()
        queue = self.scheduler._queue
        agrees(queue.entities)
        assert not queue.entities.counts[Scheduling, "PodGroup"], "an attempt ends in the call in which it begins"
        for entity in queue.entities.by_root.values():
            match entity.state:
                case Binding(binds, _, outcomes):
                    left = {ref for ref in binds if queue.binds.by_pod.get(ref) is entity}
                    assert left
                    assert (set(), {*binds}) == (left & {*outcomes}, left | {*outcomes})
                case Backoff() | Unschedulable():
                    assert queue.entities.due(self.now) is not None, "it is looked at again though nothing happens"
        return done

    def check_commit(self, each: Json) -> None:
        """Members may be deleted between their binds and the record of these."""


@settings(max_examples=sampled(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(promising(apart=True), st.integers(0, 2**32), st.sampled_from([0, 3]), st.sampled_from([600.0, 5.0]))
def test_whatever_fails_the_queue_refuses_nothing_that_happens(objects, seed, fails, plan_seconds):
    options = SchedulerOptions(scheduler_name="default-scheduler", preempt=True, plan_seconds=plan_seconds, partial_seconds=5.0)
    world = Watchful(objects, options, Luck(random.Random(seed), fails=fails, late=True, recreates=True))
    world.run(100)
    world.luck.fails = 0
    world.run(600)
    assert {} == world.scheduler._queue.binds.by_pod


def test_a_root_whose_pods_leave_for_one_before_it_in_the_batch_is_surveyed_again():
    pods = [pod("g-0", "g", on="n1", priority=10), pod("g-1", "g", "8", priority=10), pod("high", priority=100)]
    options = SchedulerOptions(scheduler_name="default-scheduler", preempt=True)
    scheduler = Watchful([node("n1", "1"), leaf("g", priority=10), *pods], options, Luck(random.Random(0))).scheduler
    assert [(Name("PodGroup", "default", "g"), None)] == [(each.root, each.decision) for each in scheduler.attempt(0.0)], "it is recorded"
    attempts = scheduler.attempt(1.0)
    assert [("high", ["default/g-0"]), ("g", [])] == [(each.root.name, [write.pod.key for write in each.plan]) for each in attempts]


def test_outcomes_of_binds_say_what_is_unconfirmed():
    other = Ref("Pod", "default", "g-1", "uid")
    binding = Binding({ref: Bind(ref, "n1") for ref in (POD, other)})
    assert (False, {}) == (binding.failed, binding.unconfirmed)
    binding.outcomes[POD] = WriteOutcome.DONE
    assert (False, {}) == (binding.failed, binding.unconfirmed)
    binding.outcomes[other] = WriteOutcome.FAILED
    assert (True, {other: Bind(other, "n1")}) == (binding.failed, binding.unconfirmed)


# Who changes a state.


def _assigned(tree: ast.Module) -> list[tuple[int, str]]:
    """Attributes of anything but ``self`` that a module assigns or deletes, each with its line."""
    found = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            if not (isinstance(each.value, ast.Name) and each.value.id == "self"):
                found.append((each.lineno, each.attr))
    return found


@pytest.mark.parametrize("file", sorted(path for path in SIDECAR.rglob("*.py") if path.parent.name != "queue"), ids=lambda path: path.stem)
def test_only_the_queue_changes_an_entity(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    fields = {field.name for field in dataclasses.fields(QueuedEntity)}
    names: set[Any] = {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
    assert [] == [(line, name) for line, name in _assigned(tree) if name in fields]
    assert set() == names & {"Event", "TRANSITIONS"}


@pytest.mark.parametrize(
    ("source", "want"),
    [
        pytest.param("entity.state = x", [(1, "state")], id="assigned"),
        pytest.param("a.entity.attempts += 1", [(1, "attempts")], id="added to"),
        pytest.param("del entity.refusal", [(1, "refusal")], id="deleted"),
        pytest.param("entity.size, b = 1, 2", [(1, "size")], id="among others"),
        pytest.param("self.state = x", [], id="its own"),
        pytest.param("x = entity.state", [], id="read"),
    ],
)
def test_assignment_is_seen(source, want):
    assert want == _assigned(ast.parse(source))


def test_states_cannot_be_changed():
    for state in VALUES:
        assert type(state).__dataclass_params__.frozen
