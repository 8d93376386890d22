"""Results of volume writes, and the roots that wait for them."""

from __future__ import annotations

from scheduler_core.model.decision import Decision, Status
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.pre_binds import PreBindsInFlight
from scheduler_core.sidecar.queue.states import PreBinding
from scheduler_core.sidecar.writes import Ref, SelectNode, WriteOutcome
from tests.scheduler_core.sidecar.test_entities import begun, empty

CLAIM = Ref("PersistentVolumeClaim", "default", "c", "u")


def started(entities: EntityQueue, pre_binds: PreBindsInFlight, name: str, node: str) -> QueuedEntity:
    entity = begun(entities, name)
    entities.pop()
    pre_binds.start(entity, PreBinding({}, Decision(entity.root, Status.SUCCESS, ""), {CLAIM: SelectNode(CLAIM, node)}, 0.0), 0.0)
    return entity


def test_result_goes_to_each_root_that_waits_for_an_equal_write():
    entities = empty()
    pre_binds = PreBindsInFlight(entities)
    one, two, other = (started(entities, pre_binds, name, node) for name, node in (("a", "n"), ("b", "n"), ("c", "m")))
    pre_binds.ended(SelectNode(CLAIM, "n"), WriteOutcome.DONE, "")
    assert [one, two] == [entity for entity, _ in pre_binds.pop_changed(0.0)]
    pre_binds.ended(SelectNode(CLAIM, "m"), WriteOutcome.REFUSED, "no")
    ((entity, state),) = pre_binds.pop_changed(0.0)
    assert (other, {CLAIM: WriteOutcome.REFUSED}, {CLAIM: "no"}) == (entity, state.outcomes, state.failures)
