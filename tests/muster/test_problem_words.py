"""Problems: each has a kind and words, and the words of the kinds are those of the JSON."""

from __future__ import annotations

import itertools
import random
import re
import typing
from pathlib import Path

import pytest

import scheduler_core
from expansion.notes import FieldsUnreadable, JudgedAsGang, NotOneGang, ObjectNote, ObjectsUncounted, QuotaExceeded, RefusedByServer
from kubeapi.problem import ObjectLeftOut, Problem, ProblemKind, in_order
from muster.render import answer_json
from muster.render.cause_keys import ProblemFact, member_word
from muster.render.problem_words import grouped, object_words, problem_words, reason_words
from scheduler_core.causes.input_problems import AttributeUnknown, FieldDropped
from scheduler_core.model.names import Name
from scheduler_core.wording.titles import label
from tests.scheduler_core.wording.examples import examples

ROOT = Path(__file__).parents[2]
PODS = tuple(Name("Pod", "default", f"p{number}") for number in range(5))
MANY = [
    Problem(fact, PODS[:number], "a/file:1")
    for kind in typing.get_args(ProblemFact)
    for fact in itertools.islice(examples(kind), 8)
    for number in (0, 2)
]


def test_every_kind_but_one_is_that_of_a_fact() -> None:
    assert {each.kind for each in MANY} | {ProblemKind.OTHER_PROGRAM} == {*ProblemKind}


@pytest.mark.parametrize("kind", ProblemKind)
def test_words_of_kinds(kind: ProblemKind) -> None:
    assert kind.value == kind.name.lower().replace("_", "-")
    assert member_word(kind) == kind.name.title().replace("_", "")


def test_encoded_problems() -> None:
    dropped, noted = Problem.about(PODS[0], FieldDropped("spec.x", "Gate")), Problem.about(PODS[0], ObjectNote.HAS_ENDED)
    assert answer_json.problems_json([dropped, noted]) == [
        {
            "object": "Pod default/p0",
            "message": "spec.x is dropped: the feature gate Gate is off",
            "reason": "FieldDropped",
            "causes": [{"reason": "FieldDropped", "field": "spec.x", "gate": "Gate"}],
        },
        {"object": "Pod default/p0", "message": "it has ended and creates no more pods", "reason": "HasEnded"},
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(Name("Pod", "default", "p"), "Pod default/p", id="in a namespace"),
        pytest.param(Name("Node", "", "n1"), "Node n1", id="cluster-scoped"),
        pytest.param(Name("Pod", "", ""), "Pod", id="without a name"),
    ],
)
def test_an_object_in_problems(name: Name, text: str) -> None:
    assert text == label(name) == object_words(Problem.about(name, ObjectLeftOut("why")))


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        pytest.param(Problem(RefusedByServer("why"), PODS[:2]), "Pod default/p0, Pod default/p1", id="two objects"),
        pytest.param(
            Problem(RefusedByServer("why"), PODS),
            "Pod default/p0, Pod default/p1, Pod default/p2, Pod default/p3 and 1 more",
            id="many objects",
        ),
        pytest.param(Problem(JudgedAsGang(), PODS), "Pod default/p0 (and 4 more pods)", id="one gang"),
        pytest.param(Problem(NotOneGang(namespaces=("a", "b")), PODS[:1]), "Pod default/p0", id="one pod"),
        pytest.param(Problem(AttributeUnknown("example.com/x")), "attribute example.com/x", id="an attribute"),
        pytest.param(Problem(ObjectLeftOut("why"), place="a/file:1"), "a/file:1", id="a place"),
    ],
)
def test_what_a_problem_is_about(problem: Problem, text: str) -> None:
    assert text == object_words(problem)


@pytest.mark.parametrize(
    ("fact", "kind", "reason"),
    [
        pytest.param(
            QuotaExceeded(Name("ResourceQuota", "a", "q"), "pods", 1, 2),
            ProblemKind.REFUSED,
            "quota a/q leaves 1 pods, 2 needed",
            id="refused",
        ),
        pytest.param(
            QuotaExceeded(Name("ResourceQuota", "a", "q"), "pods", 1, 2, may_exist=True),
            ProblemKind.QUOTA_UNKNOWN,
            "quota a/q leaves 1 pods, 2 needed, unless some of them exist already: they are not in the input",
            id="some may exist",
        ),
        pytest.param(
            ObjectsUncounted(Name("ResourceQuota", "a", "q"), "pods"),
            ProblemKind.QUOTA_UNKNOWN,
            "quota a/q limits pods; how many its controller creates is not considered",
            id="uncounted",
        ),
    ],
)
def test_a_quota_refuses_objects_or_may_refuse_them(fact: ProblemFact, kind: ProblemKind, reason: str) -> None:
    problem = Problem(fact, PODS[:1])
    assert (kind, reason) == (problem.kind, reason_words(problem))
    assert problem_words(problem) == (f"refused by the API server: {reason}" if kind is ProblemKind.REFUSED else reason)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_depends_on_the_content_alone(seed: int) -> None:
    shuffled = random.Random(seed).sample(MANY, len(MANY))
    assert in_order({*MANY}) == in_order({*shuffled})


def test_problems_that_differ_only_in_their_place_are_in_its_order() -> None:
    places = [f"file-{number}" for number in range(9)]
    assert places == [each.place for each in in_order({Problem(ObjectLeftOut("why"), (), place) for place in reversed(places)})]


def test_what_fields_have_no_effect_of_depends_on_the_kind() -> None:
    fact = FieldsUnreadable((("spec.x", "is no quantity"),))
    problems = [Problem.about(Name(kind, "", "x"), fact) for kind in ("RuntimeClass", "LimitRange", "RuntimeClass")]
    assert [["RuntimeClass", "RuntimeClass"], ["LimitRange"]] == [[each.names[0].kind for each in alike] for alike in grouped(problems)]
    assert problem_words(problems[0]) != problem_words(problems[1])


def test_problems_that_one_message_can_tell_are_grouped() -> None:
    node, left_out = Name("Node", "", "n"), ObjectLeftOut("why")
    problems = [Problem.about(PODS[0], left_out), Problem.about(node, left_out), Problem.about(PODS[1], left_out)]
    problems += [Problem.about(each, FieldDropped("spec.x", "Gate")) for each in (node, PODS[0])]
    assert [[0, 2], [1], [3, 4]] == [[problems.index(each) for each in alike] for alike in grouped(problems)]
    assert all(len({*map(problem_words, alike)}) == 1 for alike in grouped(MANY))


def test_a_public_problem_has_words() -> None:
    problem = Problem.about(PODS[0], FieldDropped("spec.x", "Gate"))
    public = scheduler_core.Problem(
        "Pod default/p0", "spec.x is dropped: the feature gate Gate is off", ProblemKind.FIELD_DROPPED, PODS[:1]
    )
    assert public == scheduler_core.Problem.worded(problem)
    assert scheduler_core.Problem("Node n", "broken").kind is ProblemKind.OTHER_PROGRAM


def test_the_documentation_lists_all_reasons() -> None:
    _, _, table = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8").partition("| reason | meaning |\n|---|---|\n")
    listed = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    assert listed == [member_word(each) for each in ProblemKind if each is not ProblemKind.OTHER_PROGRAM]
