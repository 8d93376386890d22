"""Why the groups of a root fail, in full: each once."""

from __future__ import annotations

import pytest

from scheduler_core.causes.groups import (
    ChildrenDoNotFit,
    ChildrenInDomain,
    PartlyPlaced,
    PodDemand,
    PodsDoNotFit,
    SiblingPlacement,
    failing_groups,
)
from scheduler_core.model.names import Domain, Name

TOP, A, B, S = Name("CompositePodGroup", "ml", "t"), *(Name("PodGroup", "ml", name) for name in "abs")
RACK, WORLD = Domain("rack", "r1"), Domain("", "")
FAILED = {name: PodsDoNotFit((TOP, name), RACK, PodDemand(2, 2, 0, ()), ()) for name in (A, B)}
TAKEN = SiblingPlacement(S, None, 2, 0)


def tree(domain, *taken):
    return ChildrenDoNotFit((TOP,), 3, 3, (ChildrenInDomain(domain, 1, tuple(FAILED.values()), taken),), domain.key)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("domain", "around"), [(RACK, (RACK,)), (WORLD, ())])
def test_groups_that_fail_are_in_their_order_with_the_domains_around_them(domain, around, wrapped):
    cause = tree(domain)
    assert [(FAILED[A], around), (FAILED[B], around)] == list(failing_groups((PartlyPlaced((cause,)) if wrapped else cause,)))


def test_a_group_that_fits_alone_is_there_once_with_what_its_siblings_took():
    cause = tree(RACK, TAKEN)
    assert [(cause.domains[0], (RACK,)), (FAILED[B], (RACK,))] == list(failing_groups((cause,)))
