"""The sidecar with the profile of a scheduler configuration."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from apiserver.connection import Connection
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, behavior_of
from scheduler_core.cluster.load import load
from scheduler_core.loading.configuration.scheduler_configuration import read_by_any_version, read_configuration
from scheduler_core.model.scheduler_profile import MOST_ALLOCATED, SchedulerProfile, SchedulerProfiles, ScoringStrategy
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.process import main
from scheduler_core.sidecar.settings import Settings
from scheduler_core.sidecar.writes import Bind
from scheduler_core.wording.problem_words import problem_words
from tests.apiserver.fake import serving
from tests.scheduler_core.builders import GPU, leaf, node, pod, pods
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice, request, resource_claim, wanting
from tests.scheduler_core.sidecar.device_world import DeviceWorld
from tests.scheduler_core.sidecar.histories import Server
from tests.scheduler_core.sidecar.test_crashes import options
from tests.scheduler_core.sidecar.test_devices_crashes import ATTACHED
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene
from tests.scheduler_core.sidecar.volume_world import DYNAMIC, VolumeWorld, storage_classes, with_claims
from tests.scheduler_core.sidecar.world import Luck
from validators.gates import ALL_ON, COMPOSITE, TOPOLOGY, Gates

PACKING = SchedulerProfile(strategy=ScoringStrategy(MOST_ALLOCATED, ((GPU, 5), ("cpu", 1))))


def nodes_of(*objects: Any, **options: Any) -> set[str]:
    return {write.node for write in Scene(*objects, **options).writes() if isinstance(write, Bind)}


def test_pods_are_bound_by_the_profile():
    objects = [node("n1", gpu="8"), node("n2", gpu="8"), pod("old", cpu="1", gpu="2", on="n2")]
    objects += [leaf("g", 2), *pods("g", 2, "100m", gpu="1", **MUSTER)]

    assert nodes_of(*objects) == {"n1"}
    assert nodes_of(*objects, profile=PACKING) == {"n2"}
    assert nodes_of(*objects, profile=SchedulerProfile(ignored=frozenset({GPU}))) == {"n1"}
    full = [*objects, pod("all", cpu="1", gpu="8", on="n1"), pod("rest", cpu="1", gpu="6", on="n2")]
    assert nodes_of(*full) == set()
    assert nodes_of(*full, profile=SchedulerProfile(ignored=frozenset({GPU}))) == {"n1"}


def test_the_cache_is_the_snapshot_with_the_profile():
    profile = SchedulerProfile(strategy=PACKING.strategy, ignored=frozenset({"example.com/fpga"}))
    fpga = pod("b", schedulerName="muster")
    fpga["spec"]["containers"][0]["resources"]["requests"]["example.com/fpga"] = "1"
    objects = [node("n1", gpu="8"), pod("a", gpu="2", on="n1", schedulerName="muster"), fpga]
    server, store = Server(), Cache()
    for each in objects:
        server.put(each)
    server.fill(store)
    store.usage.set_options(ungates=False, profile=profile)
    state, want = store.usage.placement_state(), load(objects, SchedulerProfiles({"muster": profile}))

    assert state.nodes.scored.position == want.nodes.scored.position
    assert state.allocatable.tolist() == want.nodes.allocatable[want.nodes.scored.rows].tolist()
    for name in ("a", "b"):
        (record,) = (each for each in want.pods if each.name == name)
        found = store.usage.record(store.usage.pods.pods[f"default/{name}"]).shape
        assert (record.shape.profile, record.shape.requests, record.shape.unchecked) == (profile, found.requests, found.unchecked)
    before = state.requested.sums().sum()
    store.usage.set_options(ungates=False)
    assert store.usage.placement_state().nodes.scored.position.keys() == {"cpu", "memory"}
    assert store.usage.placement_state().requested.sums().sum() == before


@pytest.mark.parametrize(("others", "want"), [("a", "profile a"), ("ba", "profiles a, b")])
def test_profiles_of_other_schedulers_are_named_at_the_start(others, want):
    profiles = [{"schedulerName": each} for each in ("default-scheduler", *others)]
    written = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles}
    settings = Settings(lease=None, scheduler_config=read_configuration(written), scheduler_name="default-scheduler")
    message = f"the sidecar serves the profile default-scheduler, not {want}: run one sidecar for each schedulerName"
    assert [("info", message)] == [*main._configuration_messages(settings)]


@pytest.mark.parametrize("share", [None, 10])
def test_what_is_not_modelled_is_logged_at_the_start(share, monkeypatch):
    lines: list[tuple[str, str, Mapping[str, Any]]] = []
    written = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "percentageOfNodesToScore": share}
    settings = Settings(lease=None, scheduler_config=read_configuration(written), scheduler_name="default-scheduler")
    monkeypatch.setattr(main, "_wait_for_minor_version", lambda *_: None)
    monkeypatch.setattr("sys.setswitchinterval", lambda _: None)
    before = threading.excepthook
    with serving(lambda *_: (404, {}, {})) as (_, api):
        main.run(Connection(api.host), settings, ("127.0.0.1", 0), log=lambda *line: lines.append(line), as_json=str)
    assert "scheduler-config" not in [event for _, event, _ in lines]
    assert settings == main.with_configuration_of(settings, 37, lambda *line: lines.append(line))

    told = [(level, fields["message"]) for level, event, fields in lines if event == "scheduler-config"]
    message = (
        "percentageOfNodesToScore: every feasible node is scored; of a domain or cluster with more than 100 nodes "
        "kube-scheduler scores a part, which depends on timing"
    )
    assert told == ([("warning", message)] if share else [])
    assert threading.excepthook is before
    assert main.options(settings).profile == SchedulerProfile(percentage_of_nodes=share)


REFUSED = "does not start with it: percentageOfPlacementsToScore"


@pytest.mark.parametrize(
    ("minor", "kubernetes", "gates", "read", "warned"),
    [
        pytest.param(38, None, ALL_ON, 50, "", id="the server has the field"),
        pytest.param(37, None, ALL_ON, 50, f"kube-scheduler 1.37 {REFUSED}", id="the server does not"),
        pytest.param(38, KUBERNETES_1_37, ALL_ON, 50, f"kube-scheduler 1.37 {REFUSED}", id="given"),
        pytest.param(38, None, Gates(frozenset({TOPOLOGY, COMPOSITE})), 50, f"kube-scheduler 1.38 {REFUSED}", id="a gate is off"),
    ],
)
def test_the_configuration_is_read_by_the_version_of_the_server(minor, kubernetes, gates, read, warned):
    lines: list[tuple[str, str, Mapping[str, Any]]] = []
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configuration = read_by_any_version({**header, "percentageOfPlacementsToScore": read})
    settings = Settings(lease=None, scheduler_config=configuration, scheduler_name="default-scheduler", kubernetes=kubernetes, gates=gates)

    profile = main.with_configuration_of(settings, minor, lambda *line: lines.append(line)).profile

    assert profile is not None
    assert read == profile.percentage_of_placements
    assert [warned] * bool(warned) == [str(fields["message"])[: len(warned)] for level, _, fields in lines if level == "warning"]


@pytest.mark.parametrize("minor", [37, 38])
def test_what_is_logged_of_the_configuration_is_that_of_the_version(minor):
    lines: list[tuple[str, str, Mapping[str, Any]]] = []
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    profile = {"schedulerName": "default-scheduler", "plugins": {"permit": {"disabled": [{"name": "GangScheduling"}]}}}
    written = {**header, "profiles": [profile]}
    settings = Settings(lease=None, scheduler_config=read_by_any_version(written), scheduler_name="default-scheduler")

    main.with_configuration_of(settings, minor, lambda *line: lines.append(line))

    notes = {each: read_configuration(written, behavior_of(each)).problems() for each in (37, 38)}
    assert notes[37] != notes[38]
    assert [*map(problem_words, notes[minor])] == [fields["message"] for _, _, fields in lines]


@pytest.mark.parametrize("seconds", [20, 0])
def test_volumes_and_devices_are_awaited_as_long_as_the_profile_says(seconds):
    profile = SchedulerProfile(volume_seconds=seconds, device_seconds=30)
    chosen = dataclasses.replace(options("place"), profile=profile)
    volumes = VolumeWorld([node("n"), *storage_classes(), *with_claims([pod("p")], DYNAMIC)], chosen, Luck(random.Random(0)))
    volumes.provisioning = False
    waiting = resource_claim("c", request("gpu"))
    devices = DeviceWorld(
        [node("n"), device_class(), device_slice("n", device("d", **ATTACHED)), waiting, wanting("p", "g=c")],
        chosen,
        Luck(random.Random(0)),
    )
    devices.drives = False

    volumes.run(19)
    devices.run(29)
    assert (seconds == 0, False) == tuple(any("failed" in each.message for each in world.told) for world in (volumes, devices))
    volumes.run(3)
    devices.run(3)

    text = "binding volumes failed: claim default/data-p is not bound within {} s; it is retried"
    assert text.format(seconds) in {each.message for each in volumes.told}
    assert "allocating devices failed: claim default/c is not ready within 30 s; it is retried" in {each.message for each in devices.told}
