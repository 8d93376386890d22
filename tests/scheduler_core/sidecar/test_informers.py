"""What the watches of all kinds tell the inbox, and what they tell of themselves."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import msgspec
import pytest

from apiserver.watch import WatchStatus
from kubeapi.versions.served_versions import kind_of, resources
from scheduler_core.causes.live import Unlisted, UnlistedReason
from scheduler_core.sidecar.cache.cache import FROM_START, RESOURCES
from scheduler_core.sidecar.cache.informers import (
    NEEDED,
    PAGES_AHEAD,
    WATCHED,
    Bookmark,
    Changed,
    Informers,
    Listed,
    NotListed,
    Restored,
    Unserved,
)
from scheduler_core.sidecar.cache.optional_watches import ON_DEMAND, OPTIONAL
from scheduler_core.sidecar.process.mailbox import Mailbox
from tests.apiserver.fake import serving
from tests.apiserver.scripted_watch import page
from tests.cluster.waiting import WAIT_SECONDS, until


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("scheduler_core.sidecar.cache.informers.time", SimpleNamespace(monotonic=lambda: found.now))
    return found


class Watching:
    """A feed whose watches are spoken for, and what it logged."""

    def __init__(self, api=None):
        self.logged = []
        self.feed = Informers(api, Mailbox(), lambda *told: self.logged.append(told), silence=90.0)
        self.watchers = self.feed._watchers
        for each in self.feed.health.values():
            each.watched = True
        self.sinks = {kind: each._sink for kind, each in self.watchers.items()}

    def list_all(self, *but):
        for kind, sink in self.sinks.items():
            if kind not in but:
                sink.replace([page([], "1")])
                sink.set_status(WatchStatus.ACTIVE, "")

    def news(self):
        return [*self.feed.receiver.dequeue(0.0, 100)]


def test_every_kind_that_is_kept_is_watched():
    assert set(RESOURCES) == {each.name for each in WATCHED}
    assert {each: each for each in RESOURCES} == {each._name: name for name, each in Watching().watchers.items()}


def test_kinds_that_are_not_needed_from_the_start_are_watched_later(monkeypatch):
    started = []
    monkeypatch.setattr("apiserver.watch.Watcher.start", lambda watcher: started.append(watcher._name))
    feed = Informers(None, Mailbox(), lambda *_: None, silence=90.0)
    assert () == feed.unsynced()
    feed.start()
    assert set(FROM_START) == set(started)
    assert {f"{kind} objects are not listed yet" for kind in started} == set(feed.unsynced())
    feed.watch({"ReplicaSet"})
    assert "ReplicaSet" == started[-1]
    assert "ReplicaSet objects are not listed yet" in feed.unsynced()


def test_events_go_to_the_mailbox_in_order_with_their_kind():
    watching = Watching()
    one, two = msgspec.Raw(b'{"a": 1}'), msgspec.Raw(b'{"a": 2}')
    watching.sinks["Pod"].replace([page([one], "7")])
    watching.sinks["Node"].change("ADDED", two, "8")
    watching.sinks["Pod"].change("DELETED", one, "9")
    watching.sinks["Pod"].change("BOOKMARK", msgspec.Raw(b"{}"), "10")
    watching.sinks["Workload"].set_status(WatchStatus.NOT_SERVED, "")

    want = [
        Listed("Pod", (one,), "7"),
        Changed("Node", "ADDED", two, "8"),
        Changed("Pod", "DELETED", one, "9"),
        Bookmark("Pod", "10"),
        Unserved("Workload"),
    ]
    assert want == watching.news()


def test_a_restored_storage_is_logged_and_reported_before_the_next_list():
    watching = Watching()
    watching.sinks["Pod"].set_status(WatchStatus.RESTORED, "")
    watching.sinks["Pod"].replace([page((), "3")])

    assert [Restored("Pod"), Listed("Pod", (), "3")] == watching.news()
    assert [("Pod", WatchStatus.RESTORED.value)] == watching.logged


def test_status_is_not_a_change():
    watching = Watching()
    watching.sinks["Pod"].set_status(WatchStatus.ACTIVE, "")
    watching.sinks["Pod"].set_status(WatchStatus.FAILED, "x")

    assert [] == watching.news()


def test_each_kind_is_missed_until_it_is_listed():
    watching = Watching()
    assert {f"{kind} objects are not listed yet" for kind in RESOURCES} == set(watching.feed.unsynced())
    watching.list_all("Pod")
    assert ("Pod objects are not listed yet",) == watching.feed.unsynced()
    watching.list_all()

    assert () == watching.feed.unsynced()


@pytest.mark.parametrize("kind", RESOURCES)
def test_a_kind_that_is_not_served_is_missed_only_if_nothing_can_be_done_without_it(kind):
    watching = Watching()
    watching.list_all(kind)
    watching.sinks[kind].set_status(WatchStatus.NOT_SERVED, "")

    missed = NEEDED | ON_DEMAND - OPTIONAL
    assert (kind in missed and len(resources(kind)) == 1) == bool(watching.feed.unsynced())


@pytest.mark.parametrize("first", [False, True])
def test_pod_groups_must_be_served_in_some_api_group(first):
    """Whichever API group is found not to be served first, and whichever is served later."""
    watching = Watching()
    names = [each.name for each in resources("PodGroup")]
    watching.list_all(*names)
    for number, name in enumerate(names[:: -1 if first else 1]):
        assert len(names) - number == len(watching.feed.unsynced())
        watching.sinks[name].set_status(WatchStatus.NOT_SERVED, "")
    (why,) = watching.feed.unsynced()
    assert why == (
        "the API server does not serve PodGroup objects: look at its flags --feature-gates (GenericWorkload) and --runtime-config, "
        "or install the CustomResourceDefinitions of scheduling.muster.dev"
    )
    assert [("PodGroup", why)] == watching.logged
    for name in names:
        watching.sinks[name].replace([page([], "1")])
        assert () == watching.feed.unsynced()
        watching.sinks[name].set_status(WatchStatus.NOT_SERVED, "")
        assert (why,) == watching.feed.unsynced()


def test_a_kind_that_is_served_again_is_listed_anew():
    watching = Watching()
    watching.list_all()
    watching.sinks["Node"].set_status(WatchStatus.NOT_SERVED, "")
    (why,) = watching.feed.unsynced()
    assert why.startswith("the API server does not serve Node objects: ")
    assert ("Node", why) in watching.logged
    watching.sinks["Node"].replace([page([], "1")])

    assert () == watching.feed.unsynced()


def test_why_a_kind_cannot_be_watched_is_part_of_what_is_missed():
    watching = Watching()
    watching.list_all("Node")
    watching.sinks["Node"].set_status(WatchStatus.FAILED, "HTTP 403: forbidden")

    assert ("Node objects are not listed yet: HTTP 403: forbidden",) == watching.feed.unsynced()


FORBIDDEN = "HTTP 403: csinodes.storage.k8s.io is forbidden"
ALLOW = "allow the verbs list and watch for csinodes.storage.k8s.io in the sidecar's ClusterRole"


def test_forbidden_kind_names_the_missing_rule():
    watching = Watching()
    watching.list_all("CSINode")
    watching.sinks["CSINode"].set_status(WatchStatus.FORBIDDEN, FORBIDDEN)

    assert [("CSINode", f"{FORBIDDEN}; {ALLOW}")] == watching.logged
    assert (f"CSINode objects are not listed yet: {FORBIDDEN}; {ALLOW}",) == watching.feed.unsynced()


@pytest.mark.parametrize("kind", RESOURCES)
def test_each_new_reason_is_reported_to_pods_that_wait_for_the_kind(kind):
    watching = Watching()
    sink = watching.sinks[kind]
    for standing, reason in [(WatchStatus.FORBIDDEN, "no"), (WatchStatus.FORBIDDEN, "no!"), *[(WatchStatus.FAILED, "down")] * 2]:
        sink.set_status(standing, reason)
    want = [NotListed(kind, Unlisted(UnlistedReason.FORBIDDEN)), NotListed(kind, Unlisted(error="down"))]

    assert (want if kind_of(kind) in ON_DEMAND else []) == watching.news()
    sink.replace([page([], "1")])
    sink.set_status(WatchStatus.FORBIDDEN, "no")
    assert [Listed(kind, (), "1")] == watching.news()


def test_a_warning_is_logged_once_until_the_kind_has_events():
    watching = Watching()
    sink = watching.sinks["Node"]
    for standing, reason in (
        *[(WatchStatus.FAILED, "down")] * 3,
        (WatchStatus.FAILED, "still down"),
        (WatchStatus.ACTIVE, ""),
        (WatchStatus.FAILED, "down"),
    ):
        sink.set_status(standing, reason)

    assert [("Node", "down"), ("Node", "still down"), ("Node", "down")] == watching.logged


@pytest.mark.parametrize(
    ("seconds", "want"),
    [pytest.param(90.0, (), id="at the limit"), pytest.param(91.0, ("Pod objects: no watch event for 91 s",), id="beyond")],
)
def test_a_kind_without_events_is_reported(clock, seconds, want):
    watching = Watching()
    watching.list_all()
    clock.now += seconds
    for kind in set(RESOURCES) - {"Pod"}:
        watching.sinks[kind].set_status(WatchStatus.ACTIVE, "")

    assert want == watching.feed.silent(90.0)


def test_a_failure_does_not_count_as_an_event_and_is_reported_with_the_silence(clock):
    watching = Watching()
    watching.list_all()
    clock.now += 100.0
    for kind in set(RESOURCES) - {"Pod"}:
        watching.sinks[kind].set_status(WatchStatus.ACTIVE, "")
    watching.sinks["Pod"].set_status(WatchStatus.FAILED, "down")

    assert ("Pod objects: no watch event for 100 s: down",) == watching.feed.silent(90.0)


@pytest.mark.parametrize("standing", [pytest.param(None, id="not listed yet"), pytest.param(WatchStatus.NOT_SERVED, id="not served")])
def test_silence_of_an_unknown_kind_is_not_reported(clock, standing):
    watching = Watching()
    if standing is not None:
        watching.sinks["Workload"].set_status(standing, "")
    clock.now += 1000.0

    assert () == watching.feed.silent(90.0)


SERVED = {
    "/api/v1": ["nodes", "pods", "namespaces", "persistentvolumeclaims", "persistentvolumes", "services", "replicationcontrollers"],
    "/apis/apps/v1": ["replicasets", "statefulsets"],
    "/apis/scheduling.k8s.io/v1beta1": ["podgroups", "workloads"],
    "/apis/scheduling.k8s.io/v1alpha3": ["podgroups", "workloads", "compositepodgroups"],
    "/apis/scheduling.k8s.io/v1": ["priorityclasses"],
    "/apis/policy/v1": ["poddisruptionbudgets"],
    "/apis/storage.k8s.io/v1": ["storageclasses", "csinodes", "csidrivers", "volumeattachments", "csistoragecapacities"],
    "/apis/resource.k8s.io/v1": ["resourceclaims", "resourceslices", "deviceclasses"],
    "/apis/resource.k8s.io/v1beta2": ["resourceclaims", "resourceslices", "deviceclasses", "devicetaintrules"],
}


def discovery(_, path, __):
    if path == "/version":
        return 200, {}, {"minor": "37"}
    if path not in SERVED:
        return 404, {}, {}
    return 200, {}, {"resources": [{"name": each} for each in SERVED[path]]}


def test_each_kind_has_its_best_version_and_path_before_it_is_watched():
    with serving(discovery) as (_, api):
        watching = Watching(api)
        found = {kind: watcher._find() for kind, watcher in watching.watchers.items()}

    group = "/apis/scheduling.k8s.io"
    want = {
        "PriorityClass": f"{group}/v1/priorityclasses",
        "Node": "/api/v1/nodes",
        "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
        "Workload": f"{group}/v1beta1/workloads",
        "CompositePodGroup": f"{group}/v1alpha3/compositepodgroups",
        "PodGroup": f"{group}/v1beta1/podgroups",
        "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
        "PersistentVolume": "/api/v1/persistentvolumes",
        "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
        "CSINode": "/apis/storage.k8s.io/v1/csinodes",
        "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
        "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
        "CSIStorageCapacity": "/apis/storage.k8s.io/v1/csistoragecapacities",
        "ResourceClaim": "/apis/resource.k8s.io/v1/resourceclaims",
        "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
        "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
        "DeviceTaintRule": "/apis/resource.k8s.io/v1beta2/devicetaintrules",
        "Service": "/api/v1/services",
        "Namespace": "/api/v1/namespaces",
        "ReplicationController": "/api/v1/replicationcontrollers",
        "ReplicaSet": "/apis/apps/v1/replicasets",
        "StatefulSet": "/apis/apps/v1/statefulsets",
        "Pod": "/api/v1/pods",
    }
    assert want == watching.feed.paths == {name: path for name, path in found.items() if path}
    assert {
        each.name for kind in ("PodGroup", "CompositePodGroup", "Workload") for each in resources(kind)[1:]
    } == found.keys() - want.keys()


@pytest.mark.parametrize("kind", RESOURCES)
def test_a_proxy_that_has_lost_its_server_is_not_believed_that_a_kind_is_gone(monkeypatch, kind):
    """All that is known of it stays: to the others every pod, or every member of a tree, would seem to be gone."""
    monkeypatch.setattr("apiserver.watch.FIRST_WAIT", 0.0)
    asked = []

    def lost(_, path, __):
        asked.append(path)
        if len(asked) == 12:
            watcher.stop()
        return 404, {}, b"default backend - 404"

    with serving(lost) as (_, api):
        watching = Watching(api)
        watching.list_all()
        watching.news()
        watcher = watching.watchers[kind]
        watcher.run()

    assert [] == watching.news()
    assert {(kind, "HTTP 404: no reason given")} == set(watching.logged)
    assert () == watching.feed.unsynced()


@pytest.mark.parametrize("ends", ["stopped", "not awaited"])
def test_catching_up_is_repeated_until_it_is_not_needed(ends):
    watching, awaited, failures = Watching(), [True], []

    def catch_up(_report, done):
        assert not done()
        if len(failures) == 2:
            watching.feed.stop() if ends == "stopped" else awaited.clear()
            assert done()
        raise OSError("down")

    watching.watchers["Pod"].catch_up = catch_up
    watching.feed._stopped.wait = lambda _: None
    watching.feed._catch_up("Pod", 1, lambda _: bool(awaited), lambda *failure: failures.append(failure))

    assert [("Pod", "OSError: down")] * 3 == failures


def test_the_next_page_of_a_list_is_read_once_the_receiver_has_applied_those_before():
    watching, read = Watching(), []

    def pages():
        for number in range(PAGES_AHEAD + 2):
            read.append(number)
            yield page([], "7", "" if number > PAGES_AHEAD else "x")

    listing = threading.Thread(target=watching.sinks["Pod"].replace, args=(pages(),))
    listing.start()
    news = []
    for more in range(1, 3):
        until(lambda more=more: len(read) == PAGES_AHEAD + more)
        listing.join(0.05)
        assert PAGES_AHEAD + more == len(read)
        assert not watching.feed.health["Pod"].listed
        news += watching.news()
        news[more - 1].applied()
    listing.join(WAIT_SECONDS)
    news += watching.news()

    assert watching.feed.health["Pod"].listed
    assert [(True, False), *[(False, False)] * PAGES_AHEAD, (False, True)] == [(each.first, each.last) for each in news]


def test_a_list_whose_pages_are_not_applied_ends_when_the_process_stops(monkeypatch):
    monkeypatch.setattr("scheduler_core.sidecar.cache.informers.STOP_SECONDS", 0.01)
    watching = Watching()
    watching.feed.stop()
    watching.sinks["Pod"].replace(page([], "7", "x") for _ in range(PAGES_AHEAD + 1))

    assert not watching.feed.health["Pod"].listed
