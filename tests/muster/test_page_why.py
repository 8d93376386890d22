"""Figures in words."""

from __future__ import annotations

import pytest

from muster.html.failure_text import headline, picture
from tests.muster import paged
from tests.muster.paged import RACK, gang, group, machine, member, racks
from tests.muster.test_page_figure import drawn, tree, turn_of


@pytest.mark.parametrize(
    ("objects", "name", "want"),
    [
        pytest.param(
            paged.many_gpus(),
            "job",
            "20 nvidia.com/gpu are free, but no rack has capacity for more than 2 of its 4 pods",
            id="no rack is large enough",
        ),
        pytest.param(
            [*racks(2, gpus=2), *gang("job", 2, gpus=3, cpu="1")],
            "job",
            "Only 4 nvidia.com/gpu are free; 6 are needed",
            id="there is too little in all",
        ),
        pytest.param(
            [*racks(1, gpus=1), *gang("job", 2, gpus=1, key=RACK)],
            "job",
            "Only 1 nvidia.com/gpu is free; 2 are needed in one rack",
            id="one",
        ),
        pytest.param(
            [*racks(3, cpu="3"), member("job", cpu="4")], "job", "9 cpu are free, but no node has capacity for its pod", id="a pod"
        ),
        pytest.param(
            [*racks(3, cpu="3"), *gang("job", 2, cpu="4")],
            "job",
            "9 cpu are free, but the nodes do not have capacity for even one of its 2 pods",
            id="no room for one",
        ),
        pytest.param(
            [*racks(3, cpu="5"), *gang("job", 4, cpu="3")],
            "job",
            "15 cpu are free, but the nodes do not have capacity for more than 3 of its 4 pods",
            id="no room for all",
        ),
        pytest.param(
            [machine("n", cordoned=True), *gang("job", 2)],
            "job",
            "4 cpu are free, but none on nodes where its 2 pods can run",
            id="nowhere it may run",
        ),
        pytest.param(
            [*paged.evicting(), *gang("small", 2, cpu="1", priority=1)],
            "small",
            "No cpu is free apart from the capacity for nominated pods; 2 are needed",
            id="promised to others",
        ),
        pytest.param(
            [*racks(2, 2, cpu="2"), *tree((2, RACK), (3, RACK), key="")],
            "t",
            "Only 8 cpu are free; 9 are needed in one rack for g1",
            id="a group of a tree",
        ),
        pytest.param(
            [*racks(2, 2, cpu="3"), *tree((2, RACK), (2, RACK), (2, RACK), key="")],
            "t",
            "Each of its groups fits alone, but they do not fit together",
            id="groups that fit one by one",
        ),
        pytest.param(
            [*racks(2, cpu="4"), group("job", 2, key=RACK), member("job-0", "job", cpu="3"), member("job-1", "job", cpu="5")],
            "job",
            "",
            id="pods that are not alike: counting does not tell",
        ),
    ],
)
def test_headline(objects, name, want):
    _, attempt = turn_of(objects, name)
    assert want == headline(drawn(objects, name), attempt.decision)


def test_the_headline_has_the_number_of_the_cause():
    """Rules about other pods reduce it, which a picture of free amounts does not show."""
    objects = [*racks(2, cpu="10"), *gang("job", 5, cpu="4")]
    rule = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    for each in objects[3:]:
        each["metadata"]["labels"] = {"app": "x"}
        each["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    _, attempt = turn_of(objects, "job")
    (figure,) = drawn(objects, "job")

    assert (4, 2) == (figure.most, attempt.decision.causes[0].domains[0].pods)
    assert "20 cpu are free, but the nodes do not have capacity for more than 2 of its 5 pods" == headline([figure], attempt.decision)


def told(objects, name="job"):
    (shown,) = [picture(figure, {}) for figure in drawn(objects, name)]
    return shown


def test_picture_says_what_it_draws():
    shown = told(paged.many_gpus())

    assert "nvidia.com/gpu free in each rack" == shown.caption
    assert [("job needs", "4 pods of 4 nvidia.com/gpu = 16", "in one rack; a pod takes 1 cpu, 4 nvidia.com/gpu")] == [
        (need.title, need.text, need.note) for need in shown.needs
    ]
    assert [
        ("rack r1", "capacity for 2 of 4 pods", "●●○○", "8 free"),
        ("rack r2", "capacity for 1 of 4 pods", "●○○○", "4 free; 8 more on 1 node with the taint {maintenance: yes}"),
    ] == [(row.title, row.text, row.pips, row.note) for row in shown.rows]
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


def test_needs_of_several_groups_are_reported_by_their_pods():
    shown = picture(drawn([*racks(2, 2, cpu="2"), *tree((2, RACK), (3, RACK), (2, RACK), key="")], "t")[0], {})
    assert ["g1 needs", "g0 and g2 need"] == [need.title for need in shown.needs]
    assert ["in one rack", "each in one rack"] == [need.note for need in shown.needs]
    assert ["capacity for 0 pods", "capacity for 0 pods"] == [row.text for row in shown.rows]


def test_many_pods_have_no_dots():
    assert [""] == [row.pips for row in told([*racks(2), *gang("job", 40, key=RACK)]).rows]


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
