"""Number of pods that a domain holds."""

from __future__ import annotations

import pytest

from scheduler_core.causes.groups import PodsLeftOver, failing_groups
from scheduler_core.causes.resources import ComparedNodes, FragmentedResource, InsufficientResource, RequestTooLarge
from tests.scheduler_core.builders import decided, leaf, message_of, node, pod, racks


def missing(objects, strategy="complete"):
    """Return what is short in the domain that holds the most pods."""
    cause, _ = next(failing_groups(decided(objects, strategy=strategy).causes))
    return (cause.domain if isinstance(cause, PodsLeftOver) else cause.domains[0]).decisive


def gang(minimum, *sizes):
    return [leaf("g", minimum), *(pod(f"p{number}", "g", cpu=size) for number, size in enumerate(sizes))]


@pytest.mark.parametrize(
    ("strategy", "held"), [("complete", "can hold 2 in the order of the queue (short of"), ("greedy", "can hold 2 (short of")]
)
def test_the_number_of_unequal_pods_that_a_domain_holds_depends_on_their_order(strategy, held):
    sizes = enumerate(("2", "2", "1", "1", "1"))
    objects = [node("n", cpu="4"), leaf("g", 4), *(pod(f"p{number}", "g", cpu=cpu) for number, cpu in sizes)]
    assert held in message_of(decided(objects, strategy=strategy))


@pytest.mark.parametrize("strategy", ["complete", "greedy"])
@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(gang(4, "3", "3", "2", "1"), InsufficientResource("cpu", 8000, 9000, 2), id="other pods are smaller"),
        pytest.param(gang(4, "3", "3", "2", "4"), InsufficientResource("cpu", 8000, 12000, 2), id="other pods are larger"),
        pytest.param(gang(4, "3", "3", "3", "4", "2"), InsufficientResource("cpu", 8000, 11000, 2), id="the smallest of the others"),
        pytest.param(
            gang(4, "2500m", "2500m", "2", "500m"), FragmentedResource("cpu", 2000, 3000, 1500, others_fit=True), id="enough in sum"
        ),
        pytest.param(gang(2, "9", "1"), RequestTooLarge("cpu", 9000, 4000, ComparedNodes.ALL), id="the first is too large"),
    ],
)
def test_amounts_of_unequal_pods_are_those_of_each(objects, want, strategy):
    assert (want,) == missing([node("n1", cpu="4"), node("n2", cpu="4"), *objects], strategy)


def test_pods_that_can_use_other_nodes_do_not_compete_for_those_of_the_refused_one():
    sizes = zip(("3", "3", "2", "1"), ("a", "b", "a", "b"), strict=True)
    chosen = [pod(f"p{number}", "g", cpu=size, nodeSelector={"pool": pool}) for number, (size, pool) in enumerate(sizes)]
    objects = [node("n1", cpu="4", pool="a"), node("n2", cpu="4", pool="b"), leaf("g", 4), *chosen]
    assert (InsufficientResource("cpu", 4000, 5000, 1),) == missing(objects)


def test_the_rest_of_unequal_pods_needs_its_own_amounts():
    objects = [node("n", cpu="4"), pod("runs", "g", cpu="3", on="n"), *gang(1, "3", "2")]
    assert (InsufficientResource("cpu", 1000, 5000, 1),) == missing(objects)


def test_a_domain_whose_pods_were_not_all_tried_is_not_said_to_hold_none():
    objects = [*racks({"r1": 1, "r2": 1}), leaf("g", 2, "rack"), pod("p0", "g", cpu="9"), pod("p1", "g", cpu="1")]
    assert "r1 and r2 can hold none in the order of the queue (a pod requests 9 cpu" in message_of(decided(objects, strategy="complete"))
