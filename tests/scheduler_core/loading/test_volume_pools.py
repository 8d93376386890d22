"""Free volumes counted as rows of the nodes' allocatable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.proofs import certificates
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.resource_values import VolumesOfClass, row_of
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, decided, leaf, node, placed, with_objects
from tests.scheduler_core.plugins.test_delayed_claims import DYNAMIC, LOCAL, claim, storage_class, using, volume
from tests.scheduler_core.test_agreement import objects_of

NODES = [node("n1"), node("n2")]
GOLD, SILVER = {"matchLabels": {"tier": "gold"}}, {"matchLabels": {"metal": "silver"}}
CASES = json.loads((Path(__file__).parents[2] / "cases" / "delayed-claims.json").read_text(encoding="utf-8"))


def rows(*objects: Json, nodes: list[Json] = NODES) -> dict[str, list[int]]:
    """Return the rows that count volumes."""
    table = load([*nodes, *objects]).nodes
    return {table.resources[row]: table.allocatable[row].tolist() for row in sorted(table.volume_rows)}


def test_volumes_are_counted_by_node():
    volumes = [volume("a", "n1", "5Gi"), volume("b", "n1", "6Gi"), volume("c", "n2"), volume("gone", "n9"), volume("small", "n2", "1Gi")]
    taken = volume("d", "n2", claimRef={"namespace": "default", "name": "x"})
    assert {"volume of class local with 5Gi": [2, 1]} == rows(using("c"), claim(), LOCAL, taken, *volumes)


def test_the_volumes_of_a_row_are_a_resource_with_class_and_size():
    selected = (claim("c", selector=GOLD), claim("d", selector=SILVER), volume("a", "n1", labels={"tier": "gold"}))
    objects = [using("c", name="p0"), using("d", name="p1"), LOCAL, *selected, volume("b", "n2", labels={"metal": "silver"})]
    table = load([*NODES, *objects]).nodes

    assert {table.resource(row) for row in table.volume_rows} == {VolumesOfClass("local", 5 * 2**30, pool) for pool in (None, 2)}
    assert [row_of(table.resource(row)) for row in range(len(table.resources))] == [*table.resources]


def test_row_of_a_claim_without_a_size_is_named_by_its_class():
    assert {"volume of class local": [1, 0]} == rows(using("c"), claim(resources={}), LOCAL, volume("a", "n1"))


def test_larger_claims_count_in_the_rows_of_smaller_ones():
    snapshot = load(
        [
            *NODES,
            LOCAL,
            using("c", name="p0"),
            using("d", name="p1"),
            claim(),
            claim("d", "8Gi"),
            volume("a", "n1", "5Gi"),
            volume("b", "n1"),
        ]
    )
    names = snapshot.nodes.resources
    requested = [{names[row] for row, _ in pod.shape.requests if row in snapshot.nodes.volume_rows} for pod in snapshot.pods]
    assert [{"volume of class local with 5Gi"}, {"volume of class local with 5Gi", "volume of class local with 8Gi"}] == requested
    assert {"volume of class local with 5Gi": [2, 0], "volume of class local with 8Gi": [1, 0]} == {
        names[row]: snapshot.nodes.allocatable[row].tolist() for row in sorted(snapshot.nodes.volume_rows)
    }


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([using("c"), claim(), volume("a")], id="a volume of all nodes"),
        pytest.param([using("c", name="p0"), using("c", name="p1"), claim(), volume("a", "n1")], id="a claim of two pods"),
        pytest.param(
            [
                using("c", "d"),
                claim(selector=GOLD),
                claim("d", selector=SILVER),
                volume("a", "n1", labels={"tier": "gold"}),
                volume("b", "n1", labels={"metal": "silver"}),
                volume("both", "n1", labels={"tier": "gold", "metal": "silver"}),
            ],
            id="selectors that cross",
        ),
        pytest.param(
            [using("c"), claim(annotations={"volume.kubernetes.io/selected-node": "n1"}), volume("a", "n1")], id="a selected node"
        ),
    ],
)
def test_volumes_that_are_not_counted(objects):
    assert {} == rows(LOCAL, *objects)


def test_nodes_where_volumes_can_be_provisioned_have_as_many_as_are_needed():
    mixed = storage_class("local", "csi.example", "a")
    nodes = [node("n1", zone="a"), node("n2", zone="b")]
    pods = [each for n in range(3) for each in (using(f"c{n}", name=f"p{n}"), claim(f"c{n}"))]
    assert {"volume of class local with 5Gi": [3, 1]} == rows(mixed, *pods, volume("v", "n2"), nodes=nodes), "as many as are needed"


@pytest.mark.parametrize(
    ("volumes", "one_by_one"),
    [
        pytest.param([volume("a", "n1"), volume("b", "n1"), volume("c", "n2", "20Gi")], False, id="equal on each node"),
        pytest.param([volume("a", "n1"), volume("b", "n1", "20Gi")], True, id="different on a node"),
        pytest.param([volume("a")], True, id="not counted"),
    ],
)
def test_pods_with_equal_volumes_are_placed_together(volumes, one_by_one):
    (pod,) = load([*NODES, LOCAL, using("c"), claim(), *volumes]).pods
    assert one_by_one == pod.shape.picks_volumes


@pytest.mark.parametrize(
    "name", ["vb-wffc-gang-greedy-order-fails", "vb-cpg-siblings-one-volume"], ids=["the order of members matters", "one volume for two"]
)
def test_complete_search_counts_volumes(name):
    (case,) = [each for each in CASES if each["id"] == name]
    decision = decided(objects_of(case), strategy="complete")
    if name == "vb-cpg-siblings-one-volume":
        assert decision.status is not Status.SUCCESS
    else:
        assert {"p1": "r1-n1", "p2": "r1-n2"} == placed(decision)


def test_complete_search_leaves_a_volume_that_another_claim_needs():
    gold = [claim("d", "1Gi"), claim("c", "6Gi", selector=GOLD), volume("g", "n1", "8Gi", {"tier": "gold"}), volume("plain", "n1", "9Gi")]
    objects = [*NODES, LOCAL, leaf("g", 2), using("d", name="p0", group="g"), using("c", name="p1", group="g"), *gold]
    assert {} == placed(decided(objects, strategy="greedy"))
    decision = decided(objects, strategy="complete")
    assert {"p0": "n1", "p1": "n1"} == placed(decision)
    assert {"default/c": "g", "default/d": "plain"} == {claim: each.volume for claim, each in decision.volumes.items()}


def test_certificate_counts_the_volumes():
    objects = [*NODES, LOCAL, leaf("g", 2), volume("v", "n1")]
    objects += [each for n in range(2) for each in (using(f"c{n}", name=f"p{n}", group="g"), claim(f"c{n}"))]
    snapshot = load(objects)
    options = CycleOptions(strategy="complete")
    (decision,) = run_cycle(snapshot, options).decisions
    assert "infeasible" == decision.search.outcome
    (proof,) = certificates(snapshot, [decision], options)
    assert {"volume of class local with 5Gi": {"volumes": ["v"]}} == proof["counted"]


def test_rows_are_counted_again_for_changed_nodes():
    def numbers(snapshot: ClusterSnapshot) -> list[list[int]]:
        return [snapshot.nodes.allocatable[row].tolist() for row in sorted(snapshot.nodes.volume_rows)]

    snapshot = load([*NODES, LOCAL, DYNAMIC, using("c"), claim(), volume("a", "n1"), volume("b", "n2")])
    assert [[1, 1]] == numbers(snapshot)
    after = with_objects(snapshot, node("n1", cpu="8"), node("n0"))
    assert (("n0", "n1", "n2"), [[0, 1, 1]]) == (after.nodes.names, numbers(after))
    assert snapshot.nodes.resources == after.nodes.resources
