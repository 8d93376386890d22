"""Results of volume writes, and the roots that wait for them."""

from __future__ import annotations

import pytest

from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from scheduler_core.sidecar.queue.entities import EntityQueue, QueuedEntity
from scheduler_core.sidecar.queue.pre_binds import PreBindsInFlight
from scheduler_core.sidecar.queue.states import PreBinding
from scheduler_core.sidecar.writes import Ref, SelectNode, WriteOutcome
from tests.scheduler_core.builders import Json, leaf, node
from tests.scheduler_core.plugins.test_delayed_claims import DYNAMIC, capacity, claim, driver, using
from tests.scheduler_core.sidecar.test_entities import begun, empty
from tests.scheduler_core.sidecar.test_scheduler import Scene, of

CLAIM = Ref("PersistentVolumeClaim", "default", "c", "u")


def started(entities: EntityQueue, pre_binds: PreBindsInFlight, name: str, node: str) -> QueuedEntity:
    entity = begun(entities, name)
    entities.pop()
    pre_binds.start(entity, PreBinding({}, Decision(entity.root, Status.SUCCESS), {CLAIM: SelectNode(CLAIM, node)}, 0.0), 0.0)
    return entity


def test_the_first_result_of_equal_writes_goes_to_the_root_that_sent_first():
    entities = empty()
    pre_binds = PreBindsInFlight(entities)
    one, two, other = (started(entities, pre_binds, name, node) for name, node in (("a", "n"), ("b", "n"), ("c", "m")))
    for entity in (one, two):
        assert pre_binds.ended(SelectNode(CLAIM, "n"), WriteOutcome.DONE, "")
        assert [entity] == [changed for changed, _ in pre_binds.pop_changed(0.0)]
    pre_binds.ended(SelectNode(CLAIM, "m"), WriteOutcome.REFUSED, "no")
    ((entity, state),) = pre_binds.pop_changed(0.0)
    assert (other, {CLAIM: WriteOutcome.REFUSED}, {CLAIM: "no"}) == (entity, state.outcomes, state.failures)


@pytest.mark.parametrize(("size", "selected"), [("9Gi", {"c-g"}), ("10Gi", {"c-g", "c-h"})], ids=["too little", "enough"])
def test_storage_of_volumes_that_are_being_bound_counts_in_later_cycles(size, selected):
    def gang(name: str) -> list[Json]:
        return [
            claim(f"c-{name}", storage_class="dyn"),
            leaf(name, 1),
            using(f"c-{name}", name=f"p-{name}", group=name, schedulerName="muster"),
        ]

    scene = Scene(
        node("n", zone="a"),
        DYNAMIC,
        driver(),
        capacity("cap", "a", capacity=size),
        *gang("g"),
        strategy="complete",
        scheduler_name="muster",
    )
    writes = scene.writes()
    scene.put(*gang("h"))
    writes += scene.wait(1)
    assert selected == {each.target.name for each in of(SelectNode, writes)}


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize(
    ("fields", "nodes"),
    [
        pytest.param({"maximumVolumeSize": "5Gi"}, {"n1", "n2"}, id="largest volume"),
        pytest.param({"maximumVolumeSize": "4Gi"}, set(), id="largest volume too small"),
        pytest.param({}, set(), id="no figure"),
    ],
)
def test_a_csi_storage_capacity_without_capacity_limits_volumes_and_is_no_score(fields, nodes, strategy):
    """kube-scheduler 1.37.1 crashes when it scores several nodes by such an object."""
    scene = Scene(
        *(node(name, zone="a") for name in ("n1", "n2")),
        DYNAMIC,
        driver(),
        capacity("cap", "a", **fields),
        leaf("g", 2),
        *(
            each
            for name in ("g-0", "g-1")
            for each in (claim(f"c-{name}", storage_class="dyn"), using(f"c-{name}", name=name, group="g", cpu="3", schedulerName="muster"))
        ),
        strategy=strategy,
        scheduler_name="muster",
    )
    writes = scene.writes()
    assert nodes == {each.node for each in of(SelectNode, writes)}
    scene.put(capacity("cap", "a", capacity="100Gi"))
    assert {"n1", "n2"} == {each.node for each in of(SelectNode, [*writes, *scene.wait(60)])}
