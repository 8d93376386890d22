from __future__ import annotations

import json

import pytest

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37
from scheduler_core.sidecar.cache.cache import RESOURCES, Cache
from scheduler_core.sidecar.cache.optional_watches import Reads
from scheduler_core.sidecar.controllers.runner import MAX_DELAY_SECONDS, MIN_INTERVAL_SECONDS, PAUSE_FACTOR, ControllerRunner
from scheduler_core.sidecar.controllers.validity import SETTLE_SECONDS
from scheduler_core.sidecar.process.enabled_controllers import enabled_controllers
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import AddFinalizer, RemoveFinalizer, SetCondition
from tests.scheduler_core.sidecar.histories import resource_of
from tests.scheduler_core.sidecar.test_disruption_target import owns
from tests.scheduler_core.sidecar.test_validity import circle, composite, condition, group


def raw(content):
    return json.dumps(content).encode()


class Clock:
    """Moves on by *step* each time it is asked."""

    def __init__(self, step=0.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def keeping(*objects, modes=frozenset(Mode), clock=None):
    store = Cache()
    for resource in RESOURCES:
        store.replace(resource, [raw(each) for each in objects if resource_of(each) == resource])
    telemetry = SidecarMetrics()
    controllers = enabled_controllers(Settings(modes=modes), store, telemetry, KUBERNETES_1_37)
    return store, ControllerRunner(tuple(controllers), clock or Clock()), telemetry


def pod(name, group, phase="Pending"):
    spec = {"schedulingGroup": {"podGroupName": group}, "containers": [{"name": "c"}]}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "5"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def leaving(content, finalizer):
    content["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]}
    return content


LEAF = "scheduling.k8s.io/podgroup-protection"


@pytest.mark.parametrize(
    ("modes", "want"),
    [
        pytest.param({Mode.VALIDATE}, {SetCondition}, id="validate"),
        pytest.param({Mode.PROTECT}, {AddFinalizer}, id="protect"),
        pytest.param({Mode.VALIDATE, Mode.PROTECT}, {SetCondition, AddFinalizer}, id="both"),
        pytest.param({Mode.PLACE}, set(), id="neither"),
    ],
)
def test_each_mode_writes_its_own(modes, want):
    _, found, telemetry = keeping(*circle(), modes=frozenset(modes))
    writes = [*found.wanted(0.0), *found.wanted(SETTLE_SECONDS)]

    assert want == {type(each) for each in writes}
    assert (f"muster_invalid_trees {1.0 if Mode.VALIDATE in modes else 0.0}").encode() in telemetry.text()


@pytest.mark.parametrize("kind", ["Workload", "PriorityClass"])
def test_trees_are_validated_only_while_the_kinds_are_listed_that_decide(kind):
    store = Cache(reads=Reads(validates=True))
    found = ControllerRunner(
        tuple(enabled_controllers(Settings(modes=frozenset({Mode.VALIDATE})), store, SidecarMetrics(), KUBERNETES_1_37)), Clock()
    )
    for each in RESOURCES:
        if each != kind:
            store.replace(each, [raw(group) for group in circle() if resource_of(group) == each])
    assert () == (*found.wanted(0.0), *found.wanted(SETTLE_SECONDS))
    store.replace(kind, ())
    found.changed(kind)
    assert {SetCondition} == {type(each) for now in (10.0, 10.0 + SETTLE_SECONDS) for each in found.wanted(now)}


@pytest.mark.parametrize(
    ("members", "want"),
    [
        pytest.param([pod("p", "leaf")], [], id="a member"),
        pytest.param([pod("p", "leaf", "Succeeded")], [RemoveFinalizer], id="one that has ended"),
        pytest.param([pod("p", "other")], [RemoveFinalizer], id="none"),
        pytest.param(
            [{**pod("p", "leaf"), "spec": {"schedulingGroup": {"podGroupName": "leaf"}, "containers": 7}}], [], id="one that cannot be read"
        ),
    ],
)
def test_members_protect_their_group(members, want):
    _, found, _ = keeping(leaving(group("leaf"), LEAF), *members, modes=frozenset({Mode.PROTECT}))

    assert want == [type(each) for each in found.wanted(0.0)]


@pytest.mark.parametrize(("mode", "want"), [(Mode.PREEMPT, [("DisruptionTarget", "")]), (Mode.PLACE, [])])
def test_a_group_that_runs_again_leaves_no_more_where_anybody_is_made_to_leave(mode, want):
    said = condition("DisruptionTarget", "True", "PreemptionByScheduler", "muster: preempting to accommodate a higher priority pod")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    member = pod("p", "leaf")
    member["spec"]["nodeName"] = "n1"
    ours = group("leaf", conditions=[said])
    ours["metadata"]["managedFields"] = [owns("muster-sidecar")]
    _, found, _ = keeping(ours, node, member, modes=frozenset({mode}))

    assert want == [(each.condition.type, each.condition.status) for each in found.wanted(0.0)]


def test_nothing_is_attempted_before_a_change():
    store, found, _ = keeping(composite("top"), modes=frozenset({Mode.VALIDATE}))
    found.wanted(0.0)

    assert found.due(1000.0) == 0.0  # the figures
    found.wanted(1000.0)
    assert found.due(1000.1) > MIN_INTERVAL_SECONDS
    store.apply("PodGroup", "ADDED", raw(group("leaf", "top")))
    found.changed("PodGroup")
    assert found.due(1000.1) <= MIN_INTERVAL_SECONDS


def test_a_look_that_takes_long_is_taken_seldom():
    _, found, _ = keeping(composite("top"), modes=frozenset({Mode.VALIDATE}), clock=Clock(step=3.0))
    found.wanted(0.0)
    found.changed("PodGroup")

    assert 3.0 * PAUSE_FACTOR == found.due(0.0)


@pytest.mark.parametrize(
    ("took", "want"),
    [pytest.param(0.25, 0.25, id="as long as the last took"), pytest.param(5.0, MAX_DELAY_SECONDS, id="no longer than that")],
)
def test_a_look_that_takes_long_is_put_off_after_a_change(took, want):
    _, found, _ = keeping(composite("top"), modes=frozenset({Mode.VALIDATE}), clock=Clock(step=took))
    found.wanted(0.0)
    found.wanted(1000.0)
    found.changed("PodGroup")
    waits = found.due(1055.0)  # before the figures are due
    found.changed("PodGroup")

    assert want == waits
    assert 0.0 == found.due(1055.0 + want), "a second change puts it off no further"


def test_who_begins_to_lead_looks_at_everything_anew():
    _, found, _ = keeping(*circle(), modes=frozenset({Mode.VALIDATE}))
    found.wanted(0.0)
    assert 3 == len(found.wanted(SETTLE_SECONDS))
    assert () == found.wanted(2 * SETTLE_SECONDS)
    found.restart()
    found.wanted(3 * SETTLE_SECONDS)

    assert 3 == len(found.wanted(4 * SETTLE_SECONDS))
