"""Services and controllers of pods of a live cluster: their selectors, and the topology spread that they give to pods."""

from __future__ import annotations

import random

from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.workload_selectors import WorkloadSelectors
from scheduler_core.sidecar.scheduling.decide import decide
from tests.sampling import sampled
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.sidecar.histories import Watched, raw
from tests.scheduler_core.spread_clusters import ZONE, cluster
from tests.scheduler_core.worded_problems import worded

OPTIONS = CycleOptions()


def service(name: str, selector):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}


def controller(kind: str, selector, name: str = "c"):
    api_version = "v1" if kind == "ReplicationController" else "apps/v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}


def decisions(watched: Watched) -> dict[str, str]:
    """Return the nodes of the pods of all roots, decided in one cycle of the sidecar."""
    queued = run_cycle.queued(load([raw(each) for each in watched.server.objects.values()]), OPTIONS)
    decided = decide(watched.store, [root.name for root in queued], OPTIONS)
    return {key: where for each in decided for key, where in each.decision.assignments.items()}


def test_selectors_are_those_that_load_reads():
    kept = [service("s", {"app": "a"}), controller("ReplicaSet", {"matchLabels": {"app": "a"}}), controller("StatefulSet", {})]
    watched = Watched(*kept, service("gone", {"app": "b"}), controller("ReplicationController", {"app": "b"}))
    watched.happens(("Service", "default", "gone"), service("t", {"app": "c"}), service("t", None), service("s", {"app": "d"}))
    want = load([raw(each) for each in watched.server.objects.values()]).selectors

    assert want == watched.store.snapshot().selectors
    assert {"default": {"s": {"app": "d"}}} == want.services
    watched.happens(*[(each["kind"], "default", each["metadata"]["name"]) for each in [*watched.server.objects.values()]])
    assert WorkloadSelectors() == watched.store.snapshot().selectors


def test_an_object_that_cannot_be_used_is_a_problem():
    watched = Watched(service("s", {"app": "a"}))
    watched.happens(service("s", ["app"]))

    assert not watched.store.snapshot().selectors
    assert ["Service default/s"] == [each.object for each in worded(watched.store.problems())]
    watched.happens(service("s", {"app": "b"}))
    assert () == watched.store.problems()


def test_a_service_that_comes_spreads_pods_and_one_that_goes_does_not():
    nodes = [node(f"n{number}", **{ZONE: zone}) for number, zone in enumerate("aab")]
    pods = [pod(f"g-{number}", "g") for number in range(3)]
    watched = Watched(*nodes, leaf("g", 3), *pods, pod("x", on="n2"))
    plain = decisions(watched)
    watched.happens(service("s", {}), *({**each, "metadata": {**each["metadata"], "labels": {"app": "a"}}} for each in pods))

    assert plain == decisions(watched)
    watched.happens(service("s", {"app": "a"}))
    spread = decisions(watched)
    assert spread != plain
    assert {"n0", "n1", "n2"} == set(spread.values())
    # The counts are kept, and a pod that is bound is counted.
    watched.happens({**pods[0], "metadata": {**pods[0]["metadata"], "labels": {"app": "a"}}, "spec": {**pods[0]["spec"], "nodeName": "n0"}})
    assert "n2" == decisions(watched)["default/g-1"]
    watched.happens(("Service", "default", "s"))
    assert {"n0", "n1"} == {plain[key] for key in decisions(watched)}


def test_a_cycle_decides_as_a_simulation():
    placed = 0
    for seed in range(sampled(200)):
        objects = cluster(random.Random(seed))
        watched = Watched(*objects)
        result = run_cycle.run_cycle(load([raw(each) for each in objects]), OPTIONS)
        want = {key: where for each in result.decisions for key, where in each.assignments.items()}

        assert want == decisions(watched), seed
        assert want == decisions(watched), seed
        placed += len(want)
    assert placed > sampled(200)
