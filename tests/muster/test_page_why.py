"""Figures in words."""

from __future__ import annotations

import dataclasses

import pytest

from muster.html.failure_text import picture
from scheduler_core.wording.headline import headline
from tests.muster import paged
from tests.muster.paged import RACK, gang, group, machine, member, racks
from tests.muster.test_page_figure import drawn, tree, turn_of


@pytest.mark.parametrize(
    ("objects", "name", "want"),
    [
        pytest.param(
            paged.many_gpus(),
            "job",
            "Only 8 nvidia.com/gpu are free in rack r1; 16 are needed, and no rack can hold more pods",
            id="no rack is large enough",
        ),
        pytest.param(
            [*racks(2, gpus=2), *gang("job", 2, gpus=3, cpu="1")],
            "job",
            "A pod requests 3 nvidia.com/gpu, more than any node has (2)",
            id="there is too little in all",
        ),
        pytest.param(
            [*racks(1, gpus=1), *gang("job", 2, gpus=1, key=RACK)],
            "job",
            "Only 1 nvidia.com/gpu is free in rack r1; 2 are needed",
            id="one",
        ),
        pytest.param([*racks(3, cpu="3"), member("job", cpu="4")], "job", "A pod requests 4 cpu, more than any node has (3)", id="a pod"),
        pytest.param(
            [*racks(3, cpu="3"), *gang("job", 2, cpu="4")],
            "job",
            "A pod requests 4 cpu, more than any node has (3)",
            id="no room for one",
        ),
        pytest.param(
            [*racks(3, cpu="5"), *gang("job", 4, cpu="3")],
            "job",
            "The nodes have capacity for only 3 of its 4 pods: 6 cpu more are free, but no node has 3 for one pod (at most 2)",
            id="no room for all",
        ),
        pytest.param(
            [machine("n", cordoned=True), *gang("job", 2)],
            "job",
            "Its 2 pods can run on no node",
            id="nowhere it may run",
        ),
        pytest.param(
            [*racks(2, cpu="4"), machine("closed", cordoned=True), *tree((5, ""), (4, ""), key="")],
            "t",
            "Only 8 cpu are free on nodes that the pods of g0 can use; 15 are needed",
            id="a group of a tree that cannot use a node",
        ),
        pytest.param(
            [*racks(1, 1, cpu="2"), machine("full", cpu="4"), member("other", on="full", cpu="4"), *gang("job", 4, cpu="2", key=RACK)],
            "job",
            "Only 2 cpu are free in rack r1; 8 are needed, and no rack can hold more pods",
            id="racks that hold as many",
        ),
        pytest.param(
            [*racks(1, cpu="4"), member("job-runs", "job", on="r1-1"), *gang("job", 2, cpu="4", minimum=1)],
            "job",
            "Only 3 cpu are free; 8 are needed",
            id="pods above the minimum",
        ),
        pytest.param(
            [*racks(1, cpu="3"), *gang("job", 2, cpu="2", key="kubernetes.io/hostname")],
            "job",
            "Only 3 cpu are free on node r1-1; 4 are needed",
            id="a node",
        ),
        pytest.param(
            [machine("n", cordoned=True, labels={RACK: "r1"}), *gang("job", 2, key=RACK)],
            "job",
            "No rack has capacity for even one of its 2 pods",
            id="no rack that it may use",
        ),
        pytest.param(
            [*paged.evicting(), *gang("small", 2, cpu="1", priority=1)],
            "small",
            "No cpu is free apart from the capacity for nominated pods; 2 are needed",
            id="promised to others",
        ),
        pytest.param(
            [*paged.evicting(), machine("closed", cordoned=True), *gang("small", 2, cpu="1", priority=1)],
            "small",
            "No cpu is free on nodes that its pods can use, apart from the capacity for nominated pods; 2 are needed",
            id="promised to others, and a node that it cannot use",
        ),
        pytest.param(
            [machine("n", cordoned=True, labels={RACK: "r1"}), *gang("job", 1, key=RACK)],
            "job",
            "No rack has capacity for its pod",
            id="one pod that no rack can hold",
        ),
        pytest.param(
            [*racks(2, 2, cpu="2"), *tree((2, RACK), (3, RACK), key="")],
            "t",
            "A pod of g0 requests 3 cpu, more than any node has (2)",
            id="a group of a tree",
        ),
        pytest.param(
            [*racks(2, 2, cpu="3"), *tree((2, RACK), (2, RACK), (2, RACK), key="")],
            "t",
            "g2 fits alone, but not together with g0 and g1",
            id="groups that fit one by one",
        ),
        pytest.param(
            [*racks(2, cpu="4"), group("job", 2, key=RACK), member("job-0", "job", cpu="3"), member("job-1", "job", cpu="5")],
            "job",
            "A pod requests 5 cpu, more than any node has (4)",
            id="pods that are not alike",
        ),
        pytest.param(
            [*racks(2, 1, cpu="4"), group("job", 4, key=RACK), *(member(f"job-{cpu}", "job", cpu=f"300{cpu}m") for cpu in "1234")],
            "job",
            "Only 8 cpu are free in rack r1; 12.01 are needed, and no rack can hold more pods",
            id="pods that are not alike, in sum",
        ),
        pytest.param(
            [*racks(1, 1, cpu="4"), group("job", 2, key=RACK), member("job-0", "job", cpu="5"), member("job-1", "job", cpu="3")],
            "job",
            "A pod requests 5 cpu, more than any node has (4)",
            id="the first of pods that are not alike",
        ),
        pytest.param(
            [
                *(machine(name, taint="a=b:NoSchedule", labels={RACK: name}) for name in ("r1", "r2")),
                group("job", 2, key=RACK),
                member("job-0", "job", cpu="2"),
                member("job-1", "job", cpu="3"),
            ],
            "job",
            "No rack has capacity for the first of its 2 pods",
            id="the first of pods that are not alike, for another reason",
        ),
        pytest.param(
            [machine("n", cordoned=True), group("job", 2), member("job-0", "job", cpu="2"), member("job-1", "job", cpu="3")],
            "job",
            "One of its 2 pods can run on no node",
            id="one of pods that are not alike",
        ),
    ],
)
def test_headline(objects, name, want):
    _, attempt = turn_of(objects, name)
    assert want == headline(attempt.decision.causes, promised=attempt.promised)


@pytest.mark.parametrize(
    ("racks_of_nodes", "cpus", "want"),
    [
        (
            ["r1", "r2"],
            ("3", "2", "3"),
            "Only 4 cpu are free in rack r1; 8 are needed, and no rack can hold more pods in the order of the queue",
        ),
        (
            ["r1", "r1"],
            ("2500m", "2500m", "2", "500m"),
            (
                "No rack has capacity for more than 2 of its 4 pods in the order of the queue: 3 cpu more are free in rack r1,"
                " but no node has 2 for one pod (at most 1.5)"
            ),
        ),
        (["r1"], ("5", "2", "3"), "A pod requests 5 cpu, more than any node has (4)"),
    ],
)
def test_headline_of_unequal_pods_that_another_order_could_place(racks_of_nodes, cpus, want):
    members = [member(f"job-{number}", "job", cpu=cpu) for number, cpu in enumerate(cpus)]
    machines = [machine(f"n{number}", labels={RACK: rack}) for number, rack in enumerate(racks_of_nodes)]
    objects = [*machines, group("job", len(cpus), key=RACK), *members]
    _, attempt = turn_of(objects, "job", strategy="complete")
    assert want == headline(attempt.decision.causes)


def test_the_headline_has_the_number_of_the_cause():
    """Rules about other pods reduce it, which a picture of free amounts does not show."""
    objects = [*racks(2, cpu="10"), *gang("job", 5, cpu="4")]
    rule = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    for each in objects[3:]:
        each["metadata"]["labels"] = {"app": "x"}
        each["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    _, attempt = turn_of(objects, "job")

    assert 2 == attempt.decision.causes[0].domains[0].pods
    assert "The nodes have capacity for only 2 of its 5 pods" == headline(attempt.decision.causes)


@pytest.mark.parametrize("closed", [{"cordoned": True}, {"taint": "maintenance"}], ids=["cordoned", "tainted"])
def test_the_headline_has_the_amounts_of_the_cause(closed):
    """Capacity on nodes that the pods cannot use is drawn as closed, and is not free for them."""
    objects = [*racks(2, cpu="4"), machine("closed", cpu="16", **closed), *gang("job", 4, cpu="3")]
    _, attempt = turn_of(objects, "job")
    (shown,) = [picture(figure, {}) for figure in drawn(objects, "job")]

    shortage = attempt.decision.causes[0].domains[0].decisive[0]
    assert (8_000, 12_000) == (shortage.free, shortage.needed)
    assert "Only 8 cpu are free on nodes that its pods can use; 12 are needed" == headline(attempt.decision.causes)
    assert ["8 free", "16 more on 1 node"] == [part[:17] for row in shown.rows for part in row.note.split("; ")]
    assert "closed" in shown.kinds


def told(objects, name="job"):
    (shown,) = [picture(figure, {}) for figure in drawn(objects, name)]
    return shown


def test_a_picture_of_nodes_says_on_and_not_in():
    (figure,) = drawn(paged.many_gpus(), "job")
    shown = picture(dataclasses.replace(figure, level="node"), {})

    assert shown.caption.endswith(" free on each node")
    assert shown.needs[0].note.startswith("on one node; ")


def test_picture_says_what_it_draws():
    shown = told(paged.many_gpus())

    assert "nvidia.com/gpu free in each rack" == shown.caption
    assert [("job needs", "4 pods of 4 nvidia.com/gpu = 16", "in one rack; a pod takes 1 cpu, 4 nvidia.com/gpu")] == [
        (need.title, need.text, need.note) for need in shown.needs
    ]
    assert [
        ("rack r1", "capacity for 2 of 4 pods", "8 free"),
        ("rack r2", "capacity for 1 of 4 pods", "4 free; 8 more on 1 node with the taint maintenance=yes:NoSchedule"),
    ] == [(row.title, row.text, row.note) for row in shown.rows]
    assert [False, False] == [row.enough for row in shown.rows]
    assert ("fit", "closed", "short") == shown.kinds


@pytest.mark.parametrize(
    ("used", "want"),
    [
        pytest.param(6, "6 free, all of it in parts too small for a pod", id="all"),
        pytest.param(5, "9 free, all of it in parts too small for a pod", id="larger pieces"),
        pytest.param(4, "12 free", id="none"),
    ],
)
def test_pieces_that_are_too_small_are_reported(used, want):
    objects = [
        *racks(3, gpus=8),
        *(member(f"m{number}", on=f"r1-{number}", gpus=used) for number in (1, 2, 3)),
        *gang("job", 4, gpus=4, key=RACK),
    ]
    assert [want] == [row.note for row in told(objects).rows]


@pytest.mark.parametrize(
    ("small", "note"),
    [
        pytest.param(0, "8 free", id="none is too small"),
        pytest.param(2, "10 free, 2 of it in parts too small for a pod", id="others are too small"),
    ],
)
def test_pieces_where_another_resource_is_short_are_not_too_small(small, note):
    nodes = [machine("a", memory="8Gi"), machine("b", memory="1Gi"), *(machine(f"c{number}", cpu="1") for number in range(small))]
    container = {"name": "main", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}
    shown = told([*nodes, group("job", 4), *(member(f"job-{number}", "job", containers=[container]) for number in range(4))])
    assert [("capacity for 2 of 4 pods", note)] == [(row.text, row.note) for row in shown.rows]
    assert "closed" in shown.kinds


def test_needs_of_several_groups_are_reported_by_their_pods():
    shown = picture(drawn([*racks(2, 2, cpu="2"), *tree((2, RACK), (3, RACK), (2, RACK), minimum=1, key="")], "t")[0], {})
    assert ["g1 needs", "g0 and g2 need"] == [need.title for need in shown.needs]
    assert ["in one rack", "each in one rack"] == [need.note for need in shown.needs]
    assert ["capacity for 0 pods", "capacity for 0 pods"] == [row.text for row in shown.rows]


def test_domains_that_are_not_shown_are_counted():
    objects = [*(machine(f"n{cpu:02d}", cpu=str(cpu), labels={RACK: f"r{cpu:02d}"}) for cpu in range(1, 15)), *gang("job", 30, key=RACK)]
    assert "2 more racks, with at most the same capacity" == told(objects).rest
    assert "1 more rack, with at most the same capacity" == told(objects[1:]).rest
    assert "" == told(objects[2:]).rest


def test_a_domain_leads_to_its_place_on_the_map():
    case = paged.case(paged.many_gpus())
    (figure,) = drawn(paged.many_gpus(), "job")
    titles = {area.number: area.title for area in case.area_map.whole.walk()}
    assert ["rack r1", "rack r2"] == [titles[row.area] for row in picture(figure, case.area_map.numbers).rows]


def test_pod_slots_have_their_noun():
    node = machine("n")
    node["status"]["allocatable"]["pods"] = "1"
    objects = [node, member("r", on="n"), *gang("job", 2)]
    _, attempt = turn_of(objects, "job")
    shown = told(objects)
    assert "No pod slot is free; 2 are needed" == headline(attempt.decision.causes)
    assert ("pod slots free", "2 pods of 1 pod slot = 2") == (shown.caption, shown.needs[0].text)


def test_many_taints_are_one_item():
    nodes = [machine(f"n{number}", cpu="2", taint=f"t{number}") for number in range(5)]
    (row,) = told([machine("small", cpu="1"), machine("closed", cpu="3", cordoned=True), *nodes, *gang("job", 2)]).rows
    taints = "t0=yes:NoSchedule, t1=yes:NoSchedule, t2=yes:NoSchedule and 2 more"
    assert f"1 free; 13 more on 1 node, cordoned, 5 nodes with the taints {taints}" == row.note
