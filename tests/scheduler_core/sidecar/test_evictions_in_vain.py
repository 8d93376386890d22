"""A root for which pods were evicted is placed as planned, whatever is late, fails, restarts, or is created again."""

from __future__ import annotations

import pytest

from tests.sampling import WHOLE
from tests.scheduler_core.sidecar.eviction_worlds import EvictionWorld, ended
from tests.scheduler_core.sidecar.gangs import partial
from tests.scheduler_core.sidecar.test_crashes import overcommitted

MET = (79, 202, 213, 330, 433, 466, 490, 553, 595, 605)
"""Seeds of worlds in which pods were evicted in vain before nominations were written first."""
SEEDS = range(3000) if WHOLE else (*MET, *range(20))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_pod_is_evicted_in_vain(seed):
    before = overcommitted(EvictionWorld(seed))
    world = ended(seed)
    assert ([], []) == (world.in_vain(), partial(world.server.objects))
    assert {at: amount for at, amount in overcommitted(world).items() if amount > before.get(at, 0)} == {}
    assert set() <= {1} >= set(world.bound.values())
