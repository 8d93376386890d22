"""Selectors, matched against one object and against all nodes at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.affinity import PreferredSchedulingTerm
from kubeapi.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.model import selectors
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.selector_clause import parse_integer


def table(labels: list[dict[str, str]], first: int = 0) -> NodeTable:
    """Return nodes n0, n1, ..., starting at *first*, with these labels."""
    names = [f"n{number}" for number in range(first, first + len(labels))]
    return NodeTable(names, labels, [()] * len(labels), [False] * len(labels), ("cpu",), np.zeros((1, len(labels)), dtype=np.int64))


def expression(text: str, *values: str) -> Requirement:
    key, operator = text.split()
    return Requirement(key, operator, values or None)


LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param(None, False, id="an absent one: nothing"),
        pytest.param(LabelSelector(), True, id="an empty one: everything"),
        pytest.param(LabelSelector({}, ()), True, id="one of empty parts: everything"),
        pytest.param(LabelSelector({"app": "web"}), True, id="a label"),
        pytest.param(LabelSelector({"app": "web", "tier": "front"}), True, id="two labels"),
        pytest.param(LabelSelector({"app": "web", "tier": "back"}), False, id="one of two"),
        pytest.param(LabelSelector({"none": ""}), False, id="a label that is not there is not empty"),
        pytest.param(LabelSelector(None, (expression("app In", "web", "db"),)), True, id="In"),
        pytest.param(LabelSelector(None, (expression("app In", "db"),)), False, id="not In"),
        pytest.param(LabelSelector(None, (expression("none In", "db"),)), False, id="In, no such label"),
        pytest.param(LabelSelector(None, (expression("app NotIn", "db"),)), True, id="NotIn"),
        pytest.param(LabelSelector(None, (expression("app NotIn", "web", "db"),)), False, id="not NotIn"),
        pytest.param(LabelSelector(None, (expression("none NotIn", "db"),)), True, id="NotIn, no such label"),
        pytest.param(LabelSelector(None, (expression("app Exists"),)), True, id="Exists"),
        pytest.param(LabelSelector(None, (expression("none Exists"),)), False, id="not Exists"),
        pytest.param(LabelSelector(None, (expression("none DoesNotExist"),)), True, id="DoesNotExist"),
        pytest.param(LabelSelector(None, (expression("app DoesNotExist"),)), False, id="not DoesNotExist"),
        pytest.param(LabelSelector({"app": "web"}, (expression("tier Exists"),)), True, id="both parts"),
        pytest.param(LabelSelector({"app": "web"}, (expression("tier DoesNotExist"),)), False, id="one of both parts"),
    ],
)
def test_label_selector(selector: LabelSelector | None, want: bool) -> None:
    assert want == selectors.matches(selector, LABELS)


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param(expression("app In"), id="In without values"),
        pytest.param(Requirement("none", "NotIn", ()), id="NotIn of an empty list"),
        pytest.param(expression("app Exists", "web"), id="Exists with values"),
        pytest.param(expression("none DoesNotExist", "x"), id="DoesNotExist with values"),
        pytest.param(expression("none NotIn", "no value!"), id="a value that no label can have"),
        pytest.param(Requirement("no key!", "DoesNotExist"), id="a key that no label can have"),
        pytest.param(expression("app in", "web"), id="an operator in other letters"),
        pytest.param(expression("rank Gt", "1"), id="an operator of node selectors"),
    ],
)
def test_a_label_selector_that_the_api_server_refuses_matches_nothing(requirement: Requirement) -> None:
    """It matches nothing even if the expression alone would match."""
    assert not selectors.matches(LabelSelector(None, (requirement,)), {**LABELS, "rank": "2"})


NODES = [
    {"zone": "a", "rank": "1"},
    {"zone": "a", "rank": "05"},
    {"zone": "b", "rank": "ten"},
    {"rank": "9223372036854775808"},
    {},
]


def mask_text(mask: np.ndarray) -> str:
    return "".join("+" if each else "." for each in mask)


def node_term(*expressions: Requirement, fields: tuple[Requirement, ...] | None = None) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=expressions or None, match_fields=fields)


def by_name(operator: str, *values: str) -> NodeSelectorTerm:
    return node_term(fields=(Requirement("metadata.name", operator, values),))


TERMS = [
    pytest.param([], ".....", id="no terms"),
    pytest.param([node_term()], ".....", id="a term that says nothing"),
    pytest.param([NodeSelectorTerm((), ())], ".....", id="a term of empty parts"),
    pytest.param([node_term(expression("zone In", "a", "c"))], "++...", id="In"),
    pytest.param([node_term(expression("zone NotIn", "a"))], "..+++", id="NotIn"),
    pytest.param([node_term(expression("zone Exists"))], "+++..", id="Exists"),
    pytest.param([node_term(expression("zone DoesNotExist"))], "...++", id="DoesNotExist"),
    pytest.param([node_term(expression("rank Gt", "1"))], ".+...", id="Gt"),
    pytest.param([node_term(expression("rank Lt", "5"))], "+....", id="Lt"),
    pytest.param([node_term(expression("rank Gt", "004"))], ".+...", id="Gt of a number with zeros in front"),
    pytest.param([node_term(expression("rank Gt", "9223372036854775808"))], ".....", id="Gt of more than 64 bits"),
    pytest.param([node_term(expression("rank Lt", "9223372036854775807"))], "++...", id="Lt of the largest"),
    pytest.param([node_term(expression("rank Gt", "-1"))], ".....", id="Gt of a number that is no label value"),
    pytest.param([node_term(expression("rank Gt", "x"))], ".....", id="Gt of no number"),
    pytest.param([node_term(expression("rank Gt", "1", "2"))], ".....", id="Gt of two"),
    pytest.param([node_term(expression("zone Exists"), expression("rank Gt", "1"))], ".+...", id="all expressions"),
    pytest.param([node_term(expression("zone In", "b")), node_term(expression("rank In", "1"))], "+.+..", id="one of the terms"),
    pytest.param(
        [node_term(expression("zone In")), node_term(expression("rank In", "1"))], "+....", id="a term that is not sound, and one that is"
    ),
    pytest.param(
        [node_term(expression("zone In"), expression("rank In", "1"))], ".....", id="an expression that is not sound spoils its term"
    ),
    pytest.param([by_name("In", "n3")], "...+.", id="the name"),
    pytest.param([by_name("In", "elsewhere")], ".....", id="a name that no node has"),
    pytest.param([by_name("NotIn", "n3")], "+++.+", id="not the name"),
    pytest.param([by_name("NotIn", "elsewhere")], "+++++", id="not a name that no node has"),
    pytest.param([by_name("In", "n0", "n1")], ".....", id="two names"),
    pytest.param([by_name("Exists")], ".....", id="another operator on the name"),
    pytest.param([node_term(fields=(Requirement("spec.name", "In", ("n0",)),))], ".....", id="another field"),
    pytest.param([node_term(expression("zone In", "a"), fields=by_name("NotIn", "n0").match_fields)], ".+...", id="expressions and fields"),
]


@pytest.mark.parametrize(("terms", "want"), TERMS)
def test_node_selector(terms: list[NodeSelectorTerm], want: str) -> None:
    assert want == mask_text(selectors.node_mask(NodeSelector(tuple(terms)), table(NODES)))


@pytest.mark.parametrize(("terms", "want"), TERMS)
def test_node_selector_of_one_node(terms: list[NodeSelectorTerm], want: str) -> None:
    selector = NodeSelector(tuple(terms))
    alone = [selectors.node_mask(selector, table([labels], number)) for number, labels in enumerate(NODES)]

    assert want == mask_text(np.concatenate(alone))


@pytest.mark.parametrize("terms", [None, ()], ids=["absent", "empty"])
def test_a_node_selector_without_terms_matches_no_node(terms: tuple[NodeSelectorTerm, ...] | None) -> None:
    assert "....." == mask_text(selectors.node_mask(NodeSelector(terms), table(NODES)))


@pytest.mark.parametrize(
    ("pairs", "want"),
    [
        pytest.param((), "+++++", id="nothing is wanted"),
        pytest.param((("zone", "a"),), "++...", id="a label"),
        pytest.param((("zone", "a"), ("rank", "1")), "+....", id="two"),
        pytest.param((("none", "x"),), ".....", id="a label that no node has"),
        pytest.param((("zone", ""),), ".....", id="an absent label is not empty"),
    ],
)
def test_simple_mask(pairs: tuple[tuple[str, str], ...], want: str) -> None:
    assert want == mask_text(selectors.simple_mask(pairs, table(NODES)))


def test_preferred_scores_are_the_sums_of_the_weights_that_match() -> None:
    terms = [
        PreferredSchedulingTerm(10, node_term(expression("zone In", "a"))),
        PreferredSchedulingTerm(1, node_term(expression("rank Exists"))),
        PreferredSchedulingTerm(50, node_term()),
        PreferredSchedulingTerm(70, node_term(expression("zone In"))),
    ]

    assert [11, 11, 1, 1, 0] == selectors.preferred_scores(terms, table(NODES)).tolist()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("+7", 7, id="a plus"),
        pytest.param("-7", -7, id="a minus"),
        pytest.param("0" * 5000 + "12", 12, id="very many zeros"),
        pytest.param("9223372036854775807", 2**63 - 1, id="the largest"),
        pytest.param("9223372036854775808", None, id="one more"),
        pytest.param("-9223372036854775808", -(2**63), id="the smallest"),
        pytest.param("-9223372036854775809", None, id="one less"),
        pytest.param("9" * 20, None, id="twenty digits"),
        pytest.param("", None, id="nothing"),
        pytest.param("-", None, id="a sign alone"),
        pytest.param("1.0", None, id="a point"),
        pytest.param("1_0", None, id="an underscore"),
        pytest.param(" 1", None, id="a space"),
        pytest.param("1\n", None, id="a line end"),
        pytest.param("\u0661", None, id="digits of another script"),
    ],
)
def test_whole_numbers_are_read_as_go_reads_them(text: str, want: int | None) -> None:
    assert want == parse_integer(text)


some_labels = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2", "10", "z", ""]), max_size=2)
some_expressions = st.builds(
    Requirement,
    st.sampled_from(["x", "y"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Like"]),
    st.none() | st.lists(st.sampled_from(["1", "2", "z"]), max_size=2).map(tuple),
)
some_fields = st.builds(
    Requirement, st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), st.sampled_from([("n0",), ("n1",), ("q",), ()])
)
some_terms = st.builds(
    NodeSelectorTerm,
    st.none() | st.lists(some_expressions, max_size=2).map(tuple),
    st.none() | st.lists(some_fields, max_size=1).map(tuple),
)


def expected_match(requirement: Requirement, labels: Mapping[str, str]) -> bool | None:
    """Evaluate an expression of a label selector as the API documents it; None if the API server refuses it."""
    values = list(requirement.values or ())
    value = labels.get(requirement.key)
    if requirement.operator in {"In", "NotIn"}:
        return ((value in values) == (requirement.operator == "In")) if values else None
    if requirement.operator in {"Exists", "DoesNotExist"}:
        return None if values else (value is not None) == (requirement.operator == "Exists")
    return None


def expected_node_match(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    """Evaluate a term of a node selector as the API documents it; false if it is empty or a part of it is refused."""
    fields = [expected_match(each, {"metadata.name": name}) if len(each.values or ()) == 1 else None for each in term.match_fields or ()]
    expressions = [
        expected_comparison(each, labels) if each.operator in {"Gt", "Lt"} else expected_match(each, labels)
        for each in term.match_expressions or ()
    ]
    answers = [*fields, *expressions]
    return bool(answers) and all(answers)


def expected_comparison(requirement: Requirement, labels: Mapping[str, str]) -> bool | None:
    values, value = list(requirement.values or ()), labels.get(requirement.key) or ""
    if len(values) != 1 or not values[0].isdigit():
        return None
    return value.isdigit() and (int(value) > int(values[0]) if requirement.operator == "Gt" else int(value) < int(values[0]))


@given(st.lists(some_labels, max_size=4), st.lists(some_terms, max_size=3))
def test_all_nodes_at_once_agree_with_one_by_one(labels: list[dict[str, str]], terms: list[NodeSelectorTerm]) -> None:
    nodes = table(labels)
    one_by_one = [any(expected_node_match(term, name, each) for term in terms) for name, each in zip(nodes.names, labels, strict=True)]

    assert one_by_one == selectors.node_mask(NodeSelector(tuple(terms)), nodes).tolist()


@given(some_labels, st.lists(some_expressions, max_size=3), some_labels)
def test_label_selectors_mean_what_the_api_says(node_term: dict[str, str], expressions: list[Requirement], labels: dict[str, str]) -> None:
    answers = [expected_match(each, labels) for each in expressions]
    want = all(answers) and all(labels.get(key) == value for key, value in node_term.items())

    assert want == selectors.matches(LabelSelector(node_term, tuple(expressions)), labels)
