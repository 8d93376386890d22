"""Order of the roots."""

from __future__ import annotations

import itertools

import pytest

from scheduler_core.causes.pre_enqueue import NotARoot
from scheduler_core.model.names import Name
from scheduler_core.queueing.queue_order import Order, OrderError
from scheduler_core.wording.pre_enqueue_words import order_words

ROOTS = {
    Name("PodGroup", "default", "low"): (1, "2026-08-01T00:00:00Z"),
    Name("CompositePodGroup", "default", "high"): (9, "2026-08-09T00:00:00Z"),
    Name("PodGroup", "default", "old"): (5, "2026-08-01T00:00:00Z"),
    Name("Pod", "default", "young"): (5, "2026-08-02T00:00:00Z"),
    Name("PodGroup", "default", "ageless"): (5, None),
    Name("PodGroup", "another", "young"): (5, "2026-08-02T00:00:00Z"),
    Name("PodGroup", "default", "young"): (5, "2026-08-02T00:00:00Z"),
}


def ordered(*requested: str, roots=ROOTS) -> list[str]:
    order = Order(requested, roots)
    return [f"{name.kind}/{name.namespace}/{name.name}" for name in sorted(roots, key=lambda name: order.place(name, *ROOTS[name]))]


USUAL = [
    "CompositePodGroup/default/high",
    "PodGroup/default/old",
    "PodGroup/another/young",
    "Pod/default/young",
    "PodGroup/default/young",
    "PodGroup/default/ageless",
    "PodGroup/default/low",
]


def test_priority_then_age_then_name():
    assert ordered() == USUAL


def test_whatever_the_order_of_the_input():
    assert {tuple(USUAL)} == {tuple(ordered(roots=dict.fromkeys(roots))) for roots in itertools.permutations(ROOTS)}


@pytest.mark.parametrize(
    ("requests", "first"),
    [
        pytest.param(["low"], ["PodGroup/default/low"], id="name"),
        pytest.param(["default/low", "old"], ["PodGroup/default/low", "PodGroup/default/old"], id="namespace and name"),
        pytest.param(["Pod/default/young"], ["Pod/default/young"], id="kind, namespace and name"),
        pytest.param(["young"], ["PodGroup/another/young", "Pod/default/young", "PodGroup/default/young"], id="several of one name"),
        pytest.param(["low", "old", "low"], ["PodGroup/default/low", "PodGroup/default/old"], id="named twice"),
    ],
)
def test_what_is_named_comes_first_the_rest_as_usual(requests, first):
    assert [*first, *(each for each in USUAL if each not in first)] == ordered(*requests)


@pytest.mark.parametrize(
    ("requests_made", "message"),
    [
        pytest.param("lwo", 'the order names "lwo", which is not a root; did you mean default/low?', id="a near miss"),
        pytest.param(
            "default/yung",
            'the order names "default/yung", which is not a root; did you mean another/young or default/young?',
            id="with its namespace",
        ),
        pytest.param(
            "defualt/low", 'the order names "defualt/low", which is not a root; did you mean default/low?', id="another namespace"
        ),
        pytest.param("xyz", 'the order names "xyz", which is not a root', id="nothing near"),
        pytest.param("", 'the order names "", which is not a root', id="empty"),
    ],
)
def test_an_unknown_name_is_refused(requests_made, message):
    with pytest.raises(OrderError) as caught:
        ordered("low", requests_made)

    assert message == order_words(caught.value.cause)


def test_without_roots_there_is_nothing_to_mean():
    with pytest.raises(OrderError) as caught:
        Order(["a"], [])

    assert order_words(caught.value.cause) == 'the order names "a", but there are no roots'


def test_other_objects_of_the_name_are_reported():
    stray = Name("Pod", "default", "a")
    with pytest.raises(OrderError) as caught:
        Order(["a"], [], lambda name: NotARoot(name, stray, Name("PodGroup", "default", "g")))

    assert caught.value.cause == NotARoot("a", stray, Name("PodGroup", "default", "g"))


def test_a_refused_order_is_a_value_error():
    assert issubclass(OrderError, ValueError)
