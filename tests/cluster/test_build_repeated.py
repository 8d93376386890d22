"""What the builder of groups repeats, as nothing tells it the time: events about objects without groups, and looks at groups that are to go.

And a write about a group that was replaced, which is repeated without an event: its user cannot mend it.
"""

from __future__ import annotations

import pytest

from apiserver.api import Api as Caller
from apiserver.connect import find_connection
from apiserver.discovery import base_path
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions.api_versions import SCHEDULING
from kubeapi.versions.served_versions import WORKLOAD_VERSIONS, other_group
from scheduler_core.sidecar.building import builder
from scheduler_core.sidecar.building.builder import GroupBuilder
from scheduler_core.sidecar.building.group_plan import Target
from scheduler_core.sidecar.building.group_writer import GoneError, GroupWriter
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.writes import Ref, WriteOutcome
from tests import builders
from tests.cluster.building import built_namespace
from tests.cluster.custom_resources import VERSION
from tests.cluster.groups import pod_group
from tests.cluster.kubelet import pod
from tests.cluster.waiting import until
from workloadbuilder.adapters.group_objects import Step, StepKind

pytestmark = pytest.mark.custom_resources("1.30", sampled="custom")
SECONDS = 0.2
STARTED = {"startTime": "2026-01-01T00:00:00Z"}
SCHEDULERS = frozenset({"", "default-scheduler"})


@pytest.fixture
def labelled(plane):
    with built_namespace(plane.api) as name:
        yield name


@pytest.fixture
def caller(plane):
    return Caller(find_connection(str(plane.kubeconfig)), "muster-sidecar")


@pytest.fixture
def recorder():
    return EventRecorder("muster.dev/sidecar", "here")


@pytest.fixture
def building(plane, caller, recorder, monkeypatch):
    """A builder in this process, with short times."""
    for name in ("TELL_AGAIN", "USED_RETRY"):
        monkeypatch.setattr(builder, name, SECONDS)
    running = GroupBuilder(
        caller,
        plane.programs.minor(),
        SCHEDULERS,
        recorder,
        term=lambda: 1,
        log=lambda *logged: print(logged),
        silence=30,
        metrics=SidecarMetrics(),
    )
    running.start()
    yield running
    running.stop()


def job(namespace, **annotations):
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    manifest = builders.manifest("batch/v1", "Job", "train", {"parallelism": 2, "template": {"spec": spec}})
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace, "annotations": annotations}}


def test_an_event_is_repeated_while_its_cause_lasts(api, building, labelled):
    api.create(job(labelled, **{"muster.dev/min-count": "many"}))
    api.set_status("Job", "train", labelled, status=STARTED)

    def count():
        events = [each for each in api.objects("Event", labelled) if each["reason"] == "GroupsNotCreated"]
        return sum((each.get("series") or {}).get("count", 1) for each in events)

    until(lambda: count() >= 3, told=lambda: str(api.objects("Event", labelled)))
    api.patch("Job", "train", labelled, body={"metadata": {"annotations": {"muster.dev/min-count": "2"}}})
    until(lambda: api.objects("PodGroup", labelled))


def test_groups_of_a_suspended_object_go_when_their_pods_are_gone(api, building, labelled):
    """No object that is watched changes then."""
    api.create(job(labelled))
    api.set_status("Job", "train", labelled, status=STARTED)
    until(lambda: api.objects("PodGroup", labelled))
    (group,) = (each["metadata"]["name"] for each in api.objects("PodGroup", labelled))
    api.create(pod("late", labelled, labels={POD_GROUP_LABEL: group}))

    def gone():
        return all("deletionTimestamp" in each["metadata"] for each in api.objects("PodGroup", labelled))

    api.patch("Job", "train", labelled, body={"spec": {"suspend": True}})
    with pytest.raises(AssertionError):
        until(gone, 5 * SECONDS)
    api.delete("Pod", "late", labelled, gracePeriodSeconds=0)
    until(gone)


@pytest.mark.parametrize("kind", [StepKind.PATCH, StepKind.DELETE], ids=lambda kind: kind.value)
def test_a_group_that_was_replaced_is_gone(api, caller, recorder, labelled, kind, custom):
    """The builder knows a group by its uid; the watch may be late."""
    version = VERSION if custom else f"{SCHEDULING}/{WORKLOAD_VERSIONS[0]}"
    ref = Ref("PodGroup", labelled, "train", group=other_group("PodGroup", version.partition("/")[0]))
    paths, outcomes = Paths({ref.resource: f"{base_path(version)}/podgroups"}), []
    writer = GroupWriter(caller, paths, recorder, lambda: (0.0, ""), lambda *outcome: outcomes.append(outcome))
    api.create(pod_group("train", labelled, minimum=1))
    # That of the group before.
    uid = "11111111-1111-1111-1111-111111111111"
    step = Step(kind, ("PodGroup", "train"), {"metadata": {"labels": {"a": "b"}}} if kind is StepKind.PATCH else None)
    with pytest.raises(GoneError):
        writer.carry_out(labelled, step, Target(version, 30), uid)
    assert outcomes == [(f"{kind.value.capitalize()}PodGroup", WriteOutcome.GONE)]
    (group,) = api.objects("PodGroup", labelled)
    assert "labels" not in group["metadata"]
    assert group["metadata"]["uid"] != uid
