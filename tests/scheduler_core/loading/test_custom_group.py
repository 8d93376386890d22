"""Custom resources and pods that name their group by label are placed as the built-in kinds and pods with a schedulingGroup are."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.loading.feature_gates import apply_feature_gates
from tests.custom_group import in_custom_group
from tests.scheduler_core.builders import composite, leaf, message_of, node, pods, run
from tests.scheduler_core.oracle.test_oracle import SCENARIOS, objects_of
from validators.gates import COMPOSITE, GENERIC_WORKLOAD, TOPOLOGY, Gates

Json = dict[str, Any]


def told(objects: list[Json], **options: Any) -> list[object]:
    result = run(objects, **options)
    return [
        (each.root, each.status, each.assignments, each.nominations, each.victims, each.groups, message_of(each))
        for each in result.decisions
    ]


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case["id"])
def test_a_scenario_is_placed_alike(case: Json) -> None:
    objects = objects_of(case)

    assert told(in_custom_group(objects)) == told(objects)


TREE = [node("n1", rack="r1"), composite("run"), leaf("workers", 2, "rack", "run"), *pods("workers", 2)]


@pytest.mark.parametrize("gate", [GENERIC_WORKLOAD, COMPOSITE, TOPOLOGY])
def test_a_gate_that_is_off_takes_nothing_from_custom_resources(gate: str) -> None:
    gates = Gates(frozenset({gate}))
    custom = in_custom_group(TREE)

    assert told(custom, gates=gates) == told(custom)
    assert told(TREE, gates=gates) != told(TREE)
    assert apply_feature_gates(load(custom), gates).problems == load(custom).problems


def test_pods_with_the_label_keep_their_built_in_group_unless_its_kind_is_off() -> None:
    """A tree that was migrated: the pods that run have only the label."""
    migrated = [*TREE[:3], *in_custom_group(TREE[3:])]
    snapshot = apply_feature_gates(load(migrated), Gates(frozenset({GENERIC_WORKLOAD})))

    assert told(migrated) == told(TREE)
    assert [each.group for each in snapshot.pods] == ["workers", "workers"]
    assert [each.kind for each in snapshot.groups] == ["CompositePodGroup"]


def test_a_field_that_is_dropped_leaves_the_label() -> None:
    both = [{**each, "metadata": {**each["metadata"], "labels": {"scheduling.muster.dev/pod-group": "workers"}}} for each in TREE[3:]]
    snapshot = apply_feature_gates(load([*in_custom_group(TREE[:3]), *both]), Gates(frozenset({GENERIC_WORKLOAD})))

    assert [each.group for each in snapshot.pods] == ["workers", "workers"]
