"""Number of pods that a domain holds."""

from __future__ import annotations

import pytest

from tests.scheduler_core.builders import decided, leaf, message_of, node, pod


@pytest.mark.parametrize(
    ("strategy", "held"), [("complete", "can hold 2 in the order of the queue (short of"), ("greedy", "can hold 2 (short of")]
)
def test_the_number_of_unequal_pods_that_a_domain_holds_depends_on_their_order(strategy, held):
    sizes = enumerate(("2", "2", "1", "1", "1"))
    objects = [node("n", cpu="4"), leaf("g", 4), *(pod(f"p{number}", "g", cpu=cpu) for number, cpu in sizes)]
    assert held in message_of(decided(objects, strategy=strategy))
