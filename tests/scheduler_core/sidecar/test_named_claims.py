"""A live cluster whose waiting pods name claims that running pods use: victims, compared with all sets of running pods."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.decide import decide
from tests.sampling import sampled
from tests.scheduler_core.exact.devices import brute
from tests.scheduler_core.exact.devices.small_clusters import HELD, Cluster, Device, Pod, Pool, Request, Spec, clusters, manifests
from tests.scheduler_core.sidecar.histories import Server


def cache_of(cluster: Cluster) -> Cache:
    """Return a cache of *cluster*, where the claim of each template exists."""
    server, cache = Server(), Cache()
    for each in manifests(cluster):
        if each["kind"] == "ResourceClaimTemplate":
            server.put({**each, "kind": "ResourceClaim", "spec": each["spec"]["spec"]})
            continue
        for entry in each["spec"].get("resourceClaims", ()) if each["kind"] == "Pod" else ():
            entry["resourceClaimName"] = entry.pop("resourceClaimTemplateName", None) or entry["resourceClaimName"]
        server.put(each)
    server.fill(cache)
    return cache


def decided(cluster: Cluster) -> Decision:
    root = Name("CompositePodGroup", "default", "root") if "root" in cluster.minimum else Name("PodGroup", "default", "g0")
    (found,) = decide(cache_of(cluster), [root], CycleOptions(strategy="complete"))
    return found.decision


def victims(cluster: Cluster) -> frozenset[str]:
    return frozenset(key.removeprefix("default/") for key in decided(cluster).victims)


@settings(max_examples=sampled(1_000), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
@given(st.booleans().flatmap(lambda counted: clusters(counted=counted, running=3, priority=0, named=True)))
def test_pods_are_evicted_if_and_only_if_that_frees_enough_devices(cluster):
    running = [each.name for each in cluster.pods if each.node]
    sets = [frozenset(each) for size in range(len(running) + 1) for each in itertools.combinations(running, size)]
    enough = next((each for each in sets if brute.possible(cluster, without=each)), None)
    decision = decided(cluster)
    evicted = frozenset(key.removeprefix("default/") for key in decision.victims)
    assert (enough == frozenset()) == (decision.status is Status.SUCCESS)
    assert bool(enough) == bool(evicted), decision
    assert not evicted or brute.possible(cluster, without=evicted)


def test_a_claim_that_another_waiting_pod_names_is_free_when_its_user_is_evicted():
    pool = Pool("pool-n0", "kubernetes.io/hostname", "n0", (Device("d0", "x"),))
    pods = [Pod("p0", "g0", [HELD], []), Pod("other", "", [], ["held-0"], cpu=9), Pod("q0", "", [], [], "n0", 0, 0)]
    assert {"q0"} == victims(Cluster({"n0": "r0"}, [pool], pods, {}, [("pool-n0/d0", ("q0",))], {"g0": 1}, []))


@pytest.mark.parametrize(("priority", "victim"), [(9, {"q0"}), (10, set())])
def test_a_claim_is_freed_for_the_root_only_if_its_users_have_a_lower_priority(priority, victim):
    """The node of the claim is full."""
    pools = [Pool(f"pool-{name}", "kubernetes.io/hostname", name, (Device("d0", "x"),)) for name in ("n0", "n1")]
    users = [Pod("q0", "", [], [], "n0", priority, 1), Pod("q1", "", [], [], "n0", 11, 1)]
    pods = [Pod("p0", "g0", [], ["held-0"], cpu=2), *users]
    cluster = Cluster({"n0": "r0", "n1": "r0"}, pools, pods, {}, [("pool-n0/d0", ("q0",))], {"g0": 1}, [])
    assert victim == victims(cluster)


def test_a_device_that_an_eviction_frees_serves_one_claim_of_the_root():
    """One pod requests a device that is counted by node; the other names the claim whose device would be free."""
    pool = Pool("pool-n0", "kubernetes.io/hostname", "n0", (Device("d0", "x"),))
    pods = [Pod("p0", "g0", [], ["held-0"]), Pod("p1", "g0", [Spec((Request("r0", ("x",)),))], []), Pod("q0", "", [], [], "n0", 0, 0)]
    cluster = Cluster({"n0": "r0"}, [pool], pods, {}, [("pool-n0/d0", ("q0",))], {"g0": 2}, [])
    assert not victims(cluster)
    two = dataclasses.replace(pool, devices=(*pool.devices, Device("d1", "x")))
    assert Status.SUCCESS is decided(dataclasses.replace(cluster, pools=[two])).status
