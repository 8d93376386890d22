"""How a page words things."""

# ruff: noqa: RUF001 - the multiplication sign is meant to be one

from __future__ import annotations

import pytest

from kubeapi.base_structs import replaced
from kubeapi.problem import Problem
from muster.html import page, sentences
from muster.html.sentences import CountedSentence
from muster.render.answer import Answer, Heading
from muster.render.file_notes import DocumentUnreadable
from muster.render.object_heading import answer_heading
from muster.render.tree_rows import Kinship
from scheduler_core.model.resource_values import AttachableVolumes, VolumesOfClass
from scheduler_core.model.status import Status
from scheduler_core.wording.sentences import Clause, Sentence
from tests.muster import paged, simulated


def test_a_clause_for_verdicts_only_is_not_on_the_page():
    clauses = (Clause("r1"), Clause("r2"), Clause("r3", is_further=True))

    assert CountedSentence("no rack", ("r1", "r2")) == sentences.counted_sentence(Sentence("no rack", clauses))


@pytest.mark.parametrize(
    ("clauses", "want"),
    [
        pytest.param((), CountedSentence("no rack: a. b; c"), id="nothing after a colon"),
        pytest.param(("r1 holds 2",), CountedSentence("no rack: a. b; c: r1 holds 2"), id="one clause"),
        pytest.param(("r1 (x; y)", "r2: 3. z"), CountedSentence("no rack: a. b; c", ("r1 (x; y)", "r2: 3. z")), id="several"),
    ],
)
def test_several_clauses_are_points_whatever_they_contain(clauses, want):
    assert want == sentences.counted_sentence(Sentence("no rack: a. b; c", tuple(map(Clause, clauses))))


@pytest.mark.parametrize(
    ("answer", "want", "sign"),
    [
        pytest.param(Answer(()), "There are no pending pods", "✓", id="nothing"),
        pytest.param(
            Answer((), (), (Problem(DocumentUnreadable("bad", left_out=False), place="Pod x"),)),
            "Nothing could be decided",
            "✗",
            id="problems alone",
        ),
        pytest.param(
            Answer.from_decisions([simulated.placed_tree()]),
            "CompositePodGroup run fits: 4 pods in zone z1, rack r1, rack r2 on n1 ×2, n2, n10",
            "✓",
            id="one root",
        ),
        pytest.param(
            Answer.from_decisions([simulated.failed_gang()]),
            "PodGroup g does not fit: no feasible placements found",
            "✗",
            id="one that is not",
        ),
        pytest.param(
            Answer.from_decisions([simulated.preempting()]),
            "PodGroup urgent fits after evicting 3 pods: Pod low-0, Pod low-1, Pod web",
            "→",
            id="one that waits for others to leave",
        ),
        pytest.param(
            Answer.from_decisions([simulated.single_left("p", status=Status.WAIT)]),
            "Pod p does not fit: 0/3 nodes are available: 3 Insufficient cpu",
            "✗",
            id="one that waits",
        ),
        pytest.param(
            Answer.from_decisions([simulated.placed_tree(), simulated.failed_gang()]),
            "1 of 2 objects fit. PodGroup g does not: no feasible placements found",
            "✗",
            id="several",
        ),
    ],
)
def test_verdict(answer, want, sign):
    heading = answer_heading(answer, Kinship())
    assert (sign, want) == (heading.sign, heading.text)


def test_a_heading_is_parted_where_its_fields_are():
    answer, snapshot, options = paged.decided(paged.placed_tree())
    heading = Heading("✗", "a: b", ("c: d", "e"), ".")
    text = page.render(replaced(answer, heading=heading), snapshot, options)

    assert "a: b. c: d. e" == heading.text
    assert '</span> a: b<span class="stop-full">.</span> <span class="why">c: d.</span> <span class="why">e.</span></h1>' in text


def test_a_root_with_pods_left_over_is_not_all_placed():
    decision = simulated.placed_tree()
    left = type(decision)(decision.root, Status.SUCCESS, assignments=decision.assignments, pending={"default/more": ()})
    assert (
        "CompositePodGroup run does not fit: no reason is known (1 of 5 pods has no node)"
        == answer_heading(Answer.from_decisions([left]), Kinship()).text
    )


@pytest.mark.parametrize(
    ("count", "want"), [(0, ""), (2, "a0, a1"), (3, "a0, a1, a2"), (4, "a0, a1 and 2 more")], ids=["none", "few", "one more", "many"]
)
def test_long_lists_are_cut(count, want):
    assert want == sentences.some([f"a{number}" for number in range(count)], most=2)


def test_names_are_counted_in_the_order_in_which_people_count():
    assert "g2 ×3, g10" == sentences.tallied({"g10": 1, "g2": 3})


@pytest.mark.parametrize(
    ("resources", "want"),
    [(["cpu", "nvidia.com/gpu"], "gpu"), (["amd.com/gpu", "nvidia.com/gpu"], "nvidia.com/gpu")],
    ids=["one of that name", "two of that name"],
)
def test_short_names_are_not_ambiguous(resources, want):
    assert want == sentences.short("nvidia.com/gpu", resources)


def test_problems_of_one_kind_are_reported_together():
    found = [
        Problem(DocumentUnreadable(why, left_out=False), place=name)
        for name, why in (("Pod a", "bad"), ("Pod b", "worse"), ("Pod c", "bad"))
    ]
    assert [("Pod a, Pod c", "bad"), ("Pod b", "worse")] == sentences.problems(found)


@pytest.mark.parametrize(
    ("resource", "value", "want"),
    [
        pytest.param("memory", 1_900_000 * 2**30, "1.81Pi memory", id="memory of thousands of nodes"),
        pytest.param("ephemeral-storage", 5000 * 400 * 2**40, "1.9Ei ephemeral-storage", id="disks of thousands of nodes"),
        pytest.param("memory", 16 * 2**30, "16Gi memory", id="memory of a node"),
        pytest.param("cpu", 1_900_000_500, "1,900,000 cpu", id="cores of thousands of nodes"),
        pytest.param("cpu", 31_850, "31.85 cpu", id="cores of a node"),
        pytest.param("cpu", 127_500, "127 cpu", id="many cores, without a fraction"),
        pytest.param("nvidia.com/gpu", 40_000, "40,000 nvidia.com/gpu", id="devices"),
        pytest.param("pods", 1, "1 pod slot", id="a name of its own"),
        pytest.param(VolumesOfClass("fast", 2**30, 2), 1, "1 volume of class fast with 1Gi (2)", id="a volume"),
        pytest.param(VolumesOfClass("fast"), 2, "2 volumes of class fast", id="volumes"),
        pytest.param(AttachableVolumes("a.b"), 1, "1 attachable volume of CSI driver a.b", id="a volume that is attached"),
        pytest.param(AttachableVolumes("a.b"), 0, "0 attachable volumes of CSI driver a.b", id="volumes that are attached"),
        pytest.param("volume of class fast", 2, "2 volume of class fast", id="a resource that is named like a row of volumes"),
    ],
)
def test_amounts_are_short(resource, value, want):
    assert want == sentences.amount_text(resource, value)
    assert sentences.of_whole(resource, 0, value) == f"0 of {want.split()[0]}"
