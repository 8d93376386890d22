"""Pods that compete for volumes and for devices that differ: the search, compared with all assignments of small clusters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests import builders
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, decided, leaf, node, placed
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_class, device_slice, request, template, wanting

Volume = tuple[int, frozenset[int]]
"""Size and nodes."""
Pod = tuple[int, int]
"""Size of its claim, 0 for none, and number of devices: a pair has one value of numa."""
CLASS = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"}}
CLASS |= {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}


def volume(number: int, size: int, nodes: frozenset[int]) -> Json:
    hosts = [f"n{each}" for each in sorted(nodes)]
    return builders.persistent_volume(f"v{number}", f"{size}Gi", "local", nodes=hosts) | {"status": {"phase": "Available"}}


def claim(number: int, size: int) -> Json:
    return builders.volume_claim(f"c{number}", f"{size}Gi", "local")


def objects(nodes: Sequence[Sequence[int]], volumes: Sequence[Volume], pods: Sequence[Pod]) -> list[Json]:
    """Return a gang of *pods* on *nodes*, each with the values of numa of its devices."""
    pair = template("t2", request(count=2))
    pair["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/numa"}]
    found = [CLASS, device_class(), template("t1", request()), pair, leaf("g", len(pods))]
    for number, values in enumerate(nodes):
        devices = [device(f"d{each}", {"numa": value}) for each, value in enumerate(values)]
        found += [node(f"n{number}", cpu="2"), *([device_slice(f"n{number}", *devices)] if devices else [])]
    found += [volume(number, *each) for number, each in enumerate(volumes)]
    for number, (size, count) in enumerate(pods):
        more = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"c{number}"}}]} if size else {}
        found += [wanting(f"p{number}", f"g:t{count}", group="g", **more), *([claim(number, size)] if size else [])]
    return found


def exists(nodes: Sequence[Sequence[int]], volumes: Sequence[Volume], pods: Sequence[Pod]) -> bool:
    """Return whether all pods fit, by trying all nodes, volumes and devices."""
    return any(
        all(where.count(each) <= 2 for each in where)
        and _have_volumes([(size, at) for (size, _), at in zip(pods, where, strict=True) if size], volumes)
        and all(_have_devices([count for (_, count), at in zip(pods, where, strict=True) if at == each], nodes[each]) for each in {*where})
        for where in itertools.product(range(len(nodes)), repeat=len(pods))
    )


def _have_volumes(claims: Sequence[tuple[int, int]], volumes: Sequence[Volume]) -> bool:
    return any(
        all(size <= capacity and at in reached for (size, at), (capacity, reached) in zip(claims, chosen, strict=True))
        for chosen in itertools.permutations(volumes, len(claims))
    )


def _have_devices(counts: Sequence[int], values: Sequence[int]) -> bool:
    if not counts:
        return True
    for chosen in itertools.combinations(range(len(values)), counts[0]):
        rest = [value for number, value in enumerate(values) if number not in chosen]
        if len({values[each] for each in chosen}) == 1 and _have_devices(counts[1:], rest):
            return True
    return False


def check(decision: Decision, nodes: Sequence[Sequence[int]], volumes: Sequence[Volume], pods: Sequence[Pod]) -> None:
    """Check the volumes and devices of a placed gang."""
    where = placed(decision)
    chosen = {key: each.volume for key, each in decision.volumes.items()}
    assert len({*chosen.values()}) == len(chosen) == sum(size > 0 for size, _ in pods)
    for number, (size, count) in enumerate(pods):
        at = where[f"p{number}"]
        devices = next(each for key, each in decision.devices.items() if key.label == f"pod/p{number}/g").devices
        assert len(devices) == count
        assert {(each.id[1], nodes[int(at[1:])][int(each.id[2][1:])]) for each in devices} <= {(at, value) for value in (0, 1)}
        assert len({nodes[int(at[1:])][int(each.id[2][1:])] for each in devices}) == 1
        if size:
            capacity, reached = volumes[int(chosen[f"default/c{number}"][1:])]
            assert size <= capacity
            assert int(at[1:]) in reached
    used = [each.id for allocation in decision.devices.values() for each in allocation.devices]
    assert len({*used}) == len(used)


CLUSTERS = st.integers(2, 3).flatmap(
    lambda count: st.tuples(
        st.lists(st.lists(st.integers(0, 1), max_size=4), min_size=count, max_size=count),
        st.lists(st.tuples(st.sampled_from((5, 20)), st.frozensets(st.integers(0, count - 1), min_size=1)), min_size=1, max_size=4),
        st.lists(st.tuples(st.sampled_from((0, 5, 20)), st.integers(1, 2)), min_size=2, max_size=4),
    )
)


@given(CLUSTERS)
@settings(max_examples=sampled(400), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_gang_is_placed_if_and_only_if_there_is_a_placement(cluster):
    nodes, volumes, pods = cluster
    decision = decided(objects(*cluster), strategy="complete")
    if exists(*cluster):
        assert decision.status is Status.SUCCESS
        check(decision, nodes, volumes, pods)
    else:
        assert (decision.assignments, decision.search.outcome) == ({}, "infeasible")


def test_the_only_volume_and_the_only_pair_are_kept_for_the_pods_that_need_them():
    nodes, volumes, pods = (
        [[0, 1, 0], [0, 1]],
        [(50, frozenset({0, 1})), (20, frozenset({0})), (5, frozenset({1}))],
        [(5, 1), (20, 2), (5, 1)],
    )
    decision = decided(objects(nodes, volumes, pods), strategy="complete")
    assert decision.status is Status.SUCCESS
    check(decision, nodes, volumes, pods)
    assert decided(objects(nodes, volumes[1:], pods), strategy="complete").search.outcome == "infeasible"


@pytest.mark.parametrize("spare", [0, 1])
def test_pairs_of_one_value_are_counted_on_each_node(spare):
    """Two nodes have four devices, but only one pair of one value each; a search pod by pod is too long."""
    nodes = [[0, 0, 1, 1]] * (18 + spare) + [[0, 0, 1, 2]] * 2
    decision = decided(objects(nodes, [], [(0, 2)] * 39), strategy="complete")
    assert ("placed" if spare else "infeasible") == decision.search.outcome
