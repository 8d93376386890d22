"""What the builder of groups repeats, as nothing tells it the time: events about objects without groups, and looks at groups that are to go."""

from __future__ import annotations

import pytest

from apiserver.api import Api as Caller
from apiserver.connect import find_connection
from kubeapi.pods import POD_GROUP_LABEL
from scheduler_core.sidecar.building import builder
from scheduler_core.sidecar.building.builder import GroupBuilder
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from tests import builders
from tests.cluster.building import built_namespace
from tests.cluster.kubelet import pod
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", sampled="custom")
SECONDS = 0.2
STARTED = {"startTime": "2026-01-01T00:00:00Z"}
SCHEDULERS = frozenset({"", "default-scheduler"})


@pytest.fixture
def labelled(plane):
    with built_namespace(plane.api) as name:
        yield name


@pytest.fixture
def building(plane, monkeypatch):
    """A builder in this process, with short times."""
    for name in ("TELL_AGAIN", "USED_RETRY"):
        monkeypatch.setattr(builder, name, SECONDS)
    caller = Caller(find_connection(str(plane.kubeconfig)), "muster-sidecar")
    recorder = EventRecorder("muster.dev/sidecar", "here")
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
