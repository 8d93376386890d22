"""Volumes and devices in nested sets: what several roots of a cycle take, compared with exhaustive search."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.effects import Effects
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.placement.state import PlacementState
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.scheduling.decide import decide
from tests.sampling import sampled
from tests.scheduler_core.builders import leaf, node
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_class, device_slice, request, template, wanting
from tests.scheduler_core.plugins.test_delayed_claims import claim, storage_class, using, volume
from tests.scheduler_core.sidecar.histories import Server

RANDOM = settings(max_examples=sampled(300), deadline=None, suppress_health_check=list(HealthCheck))
SETS = {"all": "abc", "some": "ab", "a": "a", "c": "c"}
"""Models that a claim can use: nested and disjoint sets; no model is in ``all`` alone."""
Models = list[str]
"""Models of the volumes or devices of each node."""
Json = dict[str, Any]
cases = st.tuples(
    st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=2),
    st.lists(st.sampled_from(sorted(SETS)), min_size=2, max_size=4),
    st.booleans(),
)
COMPLETE = CycleOptions(strategy="complete")


def with_devices(models: Models, wanted: list[str], group: str) -> list[Json]:
    """Return nodes with devices, and pods that need one each."""
    expression = "device.attributes['{}'].model in [{}]"
    return [
        *(
            device_class(name, selectors=[{"cel": {"expression": expression.format(DRIVER, ", ".join(repr(each) for each in letters))}}])
            for name, letters in SETS.items()
        ),
        *(template(name, request("r", name)) for name in SETS),
        *(
            device_slice(f"n{at}", *(device(f"{at}-{number}", {"model": model}) for number, model in enumerate(here)))
            for at, here in enumerate(models)
        ),
        *(wanting(f"p{number}", f"c:{name}", group=group) for number, name in enumerate(wanted)),
    ]


def with_volumes(models: Models, wanted: list[str], group: str) -> list[Json]:
    """Return nodes with volumes, and pods that need one each."""
    objects = [storage_class("local")]
    for at, here in enumerate(models):
        for number, model in enumerate(here):
            written = volume(f"{at}-{number}", f"n{at}", storageClassName="local")
            objects.append({**written, "metadata": {**written["metadata"], "labels": {"model": model}}})
    for number, name in enumerate(wanted):
        written = claim(f"c{number}", storage_class="local")
        selector = {"matchExpressions": [{"key": "model", "operator": "In", "values": [*SETS[name]]}]}
        objects += [{**written, "spec": {**written["spec"], "selector": selector}}, using(f"c{number}", name=f"p{number}", group=group)]
    return objects


def taken(decision: Decision) -> list[tuple[str, str]]:
    """Return the pods of *decision* without its namespace, each with its volume or device."""
    by_claim = {each.label.split("/")[1]: allocation.devices[0].id[2] for each, allocation in decision.devices.items()}
    by_claim |= {f"p{name.removeprefix('default/c')}": each.volume for name, each in decision.volumes.items()}
    assert {pod.removeprefix("default/") for pod in decision.assignments} == by_claim.keys()
    return sorted(by_claim.items())


def is_possible(wanted: list[str], free: dict[str, str]) -> bool:
    """Return whether the claims *wanted* can have different ones of *free*, models by name."""
    return any(
        all(free[name] in SETS[each] for each, name in zip(wanted, names, strict=True))
        for names in itertools.permutations(free, len(wanted))
    )


@pytest.mark.parametrize("manifests", [with_volumes, with_devices])
@RANDOM
@given(cases)
@example((["acc"], ["all", "c", "a"], False))
@example((["acc"], ["all", "a", "c"], True))
@example((["abcc"], ["all", "all", "some", "some"], False))
def test_each_root_gets_what_earlier_roots_leave(manifests: Callable[..., list[Json]], case):
    models, wanted, together = case
    nodes = [node(f"n{number}", "9") for number in range(len(models))]
    group = [leaf("g", len(wanted))] if together else []
    snapshot = load([*nodes, *group, *manifests(models, wanted, "g" if together else "")])
    decisions = run_cycle(snapshot, COMPLETE).decisions
    free = {f"{at}-{number}": model for at, here in enumerate(models) for number, model in enumerate(here)}

    for number, decision in enumerate(decisions):
        needed = wanted if together else [wanted[int(decision.root.name[1:])]]
        assert is_possible(needed, free) == (decision.status is Status.SUCCESS), decision
        for pod, name in taken(decision):
            assert free.pop(name) in SETS[wanted[int(pod[1:])]]
            assert decision.assignments[f"default/{pod}"] == f"n{name[0]}"
        # The rows of a state that begins here count the same.
        after = Effects(snapshot.nodes, decisions[: number + 1]).apply(snapshot)
        ledger = PlacementState.from_snapshot(after, PlacingOptions()).ledger
        left = snapshot.nodes.allocatable - ledger.used
        sums = {sum(model in letters for model in free.values()) for letters in SETS.values()}
        assert {int(left[row].sum()) for row in snapshot.nodes.volume_rows | snapshot.nodes.counted} <= sums


def test_the_sidecar_counts_volumes_of_assumed_pods():
    cache, server = Cache(), Server()
    for each in [node("n0", "9"), *with_volumes(["acc"], ["all", "c", "a"], "")]:
        server.put(each)
    server.fill(cache)
    statuses = []
    for name in ("p0", "p1", "p2"):
        (decided,) = decide(cache, [Name("Pod", "default", name)], COMPLETE)
        statuses.append(decided.decision.status)
        for pod, on in decided.decision.assignments.items():
            volumes = {claim.removeprefix("default/"): each.volume for claim, each in decided.decision.volumes.items()}
            assert AssumedPods(cache).assume(cache.usage.pods.pods[pod].ref, on, volumes)

    assert [Status.SUCCESS, Status.SUCCESS, Status.UNSCHEDULABLE] == statuses
