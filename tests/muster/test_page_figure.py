"""Figures: what groups need, and what each domain has."""

from __future__ import annotations

import numpy as np
import pytest

from muster.html.failure_figure import ROWS, figures
from muster.html.free_capacity import attempts
from scheduler_core.diagnosis.domain_amounts import NodeAmounts
from scheduler_core.model.devices import CANNOT_ALLOCATE
from scheduler_core.model.topology import Topology
from scheduler_core.plugins import registry
from scheduler_core.plugins.base import StaticPlugin
from scheduler_core.wording.node_words import closed_nodes
from scheduler_core.wording.phrases import shape_words
from tests.muster import paged
from tests.muster.paged import GPU, RACK, ZONE, gang, group, machine, member, racks


def turn_of(objects, name, **options):
    case = paged.case(objects, **options)
    (root,) = [decision.root for decision in case.unplaced if decision.root.name == name]
    (attempt,) = attempts(case.snapshot, case.answer, case.options, frozenset({root}))
    return case, attempt


def drawn(objects, name, **options):
    case, attempt = turn_of(objects, name, **options)
    return figures(attempt, Topology(case.snapshot.nodes), case.profile)


def tree(*leaves, minimum=0, key=ZONE):
    """A tree over gangs of so many pods; each with its key."""
    found = [group("t", minimum or len(leaves), kind="CompositePodGroup", key=key)]
    for number, (pods, own) in enumerate(leaves):
        found += gang(f"g{number}", pods, key=own, parent="t", cpu="3")
    return found


def test_what_runs_already_binds_to_its_domain():
    objects = [*racks(1, 1), *gang("t", 3, key=RACK, cpu="3", minimum=4), member("t-runs", "t", on="r2-1")]
    (figure,) = drawn(objects, "t")
    assert ["rack r2"] == [row.title for row in figure.rows]


def test_a_figure_of_a_gang_and_its_racks():
    (figure,) = drawn(paged.many_gpus(), "job")

    assert ("rack", GPU, 4, "1 cpu, 4 nvidia.com/gpu") == (figure.level, figure.resource, figure.unit, shape_words(figure.each))
    assert [(("job",), 4, 16)] == [(need.names, need.pods, need.amount) for need in figure.needs]
    assert [("rack r1", 2, 8, 0), ("rack r2", 1, 4, 8)] == [
        (row.title, row.amounts.capacity, row.amounts.free, row.amounts.closed) for row in figure.rows
    ]
    assert [[], ["1 node with the taint maintenance=yes:NoSchedule"]] == [[*map(closed_nodes, row.amounts.why)] for row in figure.rows]
    assert [(NodeAmounts(8, 0, 0),), (NodeAmounts(4, 0, 0), NodeAmounts(0, 0, 8))] == [row.segments for row in figure.rows]
    assert (2, 0) == (max(row.amounts.capacity for row in figure.rows), figure.others)


def test_a_closed_node_has_the_first_cause_only():
    objects = paged.many_gpus()
    for each in objects:
        if each["metadata"]["name"] == "r2-3":
            each["spec"]["unschedulable"] = True
    (figure,) = drawn(objects, "job")

    assert [["1 node, cordoned"]] == [[*map(closed_nodes, row.amounts.why)] for row in figure.rows if row.amounts.closed]


class Maintained(StaticPlugin):
    """Plugin that kube-scheduler does not have."""

    name = "Maintained"
    reason = ""

    def filters(self, shape):
        return [(self.reason, np.array([name != "r2-3" for name in self.nodes.names]))]


@pytest.mark.parametrize("reason", ["node(s) were not maintained", "node(s) were unschedulable", CANNOT_ALLOCATE])
def test_nodes_that_a_plugin_closes_have_its_name(monkeypatch, reason):
    monkeypatch.setattr(Maintained, "reason", reason)
    monkeypatch.setattr(registry, "STATIC", (*registry.STATIC, Maintained))
    objects = paged.many_gpus()
    for each in objects:
        each.get("spec", {}).pop("taints", None)
    (figure,) = drawn(objects, "job")

    refused = f"1 node, refused by plugin Maintained: {reason}"
    assert [[refused]] == [[*map(closed_nodes, row.amounts.why)] for row in figure.rows if row.amounts.closed]


def test_nodes_too_small_for_a_pod_are_distinguished():
    objects = [
        *racks(3, gpus=8),
        *(member(f"m{number}", on=f"r1-{number}", gpus=6) for number in (1, 2)),
        *gang("job", 4, gpus=3, key=RACK),
    ]
    (figure,) = drawn(objects, "job")
    assert [(NodeAmounts(6, 2, 0), NodeAmounts(0, 2, 0), NodeAmounts(0, 2, 0))] == [row.segments for row in figure.rows]
    assert [2] == [row.amounts.capacity for row in figure.rows]


@pytest.mark.parametrize(
    ("node", "asked_for", "want"),
    [
        pytest.param({"cpu": "9", "gpus": 2}, {"cpu": "1", "gpus": 1}, GPU, id="a device"),
        pytest.param({"cpu": "2", "gpus": 8}, {"cpu": "1", "gpus": 1}, "cpu", id="cpu"),
        pytest.param({"cpu": "2", "gpus": 2}, {"cpu": "1", "gpus": 1}, "cpu", id="of equal ones the first of the cause"),
    ],
)
def test_the_resource_of_the_cause_is_shown(node, asked_for, want):
    (figure,) = drawn([machine("n", **node), *gang("job", 5, **asked_for)], "job")
    assert want == figure.resource


def test_a_device_is_shown_where_the_cause_names_no_resource():
    (figure,) = drawn([machine("n", gpus=8, cordoned=True), *gang("job", 2, cpu="1", gpus=1)], "job")
    assert (GPU, [0]) == (figure.resource, [row.amounts.capacity for row in figure.rows])


def test_slots_for_pods_are_shown_where_they_alone_are_short():
    small = machine("n")
    small["status"]["allocatable"]["pods"] = "2"
    (figure,) = drawn([small, *gang("job", 3, cpu="1m")], "job")
    assert ("pods", [2]) == (figure.resource, [row.amounts.capacity for row in figure.rows])


def test_pods_that_are_not_alike_are_summed_up():
    objects = [*racks(2, cpu="4"), group("job", 2, key=RACK), member("job-0", "job", cpu="3"), member("job-1", "job", cpu="7")]
    (figure,) = drawn(objects, "job")
    assert (0, ()) == (figure.unit, figure.each)
    assert [(2, 10_000)] == [(need.pods, need.amount) for need in figure.needs]
    assert [(None, 8_000)] == [(row.amounts.capacity, row.amounts.free) for row in figure.rows]


def test_groups_with_equal_requests_share_a_figure():
    found = drawn([*racks(2, 2, cpu="2"), *tree((2, RACK), (3, RACK), (2, RACK), minimum=1)], "t")
    assert [("zone", [(("all of t",), 2)]), ("rack", [(("g1",), 3), (("g0", "g2"), 2)])] == [
        (figure.level, [(need.names, need.pods) for need in figure.needs]) for figure in found
    ]


def test_domains_of_the_same_name_are_distinguished_by_their_parents():
    nodes = [machine(f"n{number}", cpu="3", labels={ZONE: f"z{number // 2}", RACK: f"r{number % 2}"}) for number in range(4)]
    found = drawn([*nodes, *tree((1, RACK), (1, RACK), (1, RACK))], "t")
    assert ["rack r0, zone z0", "rack r0, zone z1", "rack r1, zone z0", "rack r1, zone z1"] == sorted(row.title for row in found[1].rows)


def test_of_many_domains_those_that_are_alike_are_one_row():
    objects = [*racks(*([1] * 30), cpu="2"), member("m", on="r7-1"), *gang("job", 9, key=RACK)]
    (figure,) = drawn(objects, "job")
    assert [("rack r1, rack r2, rack r3 and 26 more", 29, 2), ("rack r7", 1, 1)] == [
        (row.title, row.represented, row.amounts.capacity) for row in figure.rows
    ]
    assert 0 == figure.others


def test_of_many_unlike_domains_the_roomiest_are_shown():
    objects = [*(machine(f"n{cpu:02d}", cpu=str(cpu), labels={RACK: f"r{cpu:02d}"}) for cpu in range(1, 21)), *gang("job", 30, key=RACK)]
    (figure,) = drawn(objects, "job")
    assert [f"rack r{cpu:02d}" for cpu in range(20, 20 - ROWS, -1)] == [row.title for row in figure.rows]
    assert 20 - ROWS == figure.others


def test_of_many_nodes_the_sum_is_shown():
    (figure,) = drawn([*racks(40, gpus=3), *gang("job", 60, gpus=2, key=RACK)], "job")
    assert [(NodeAmounts(80, 40, 0),)] == [row.segments for row in figure.rows]


def test_a_key_that_no_node_has_makes_no_figure():
    assert [] == drawn([machine("n"), *gang("job", 2, key="not/there")], "job")
