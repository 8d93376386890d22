"""Free volumes: a search for one claim takes no longer if many other claims are known."""

from __future__ import annotations

from collections import Counter

import pytest

from scheduler_core.loading.free_volumes import FreeVolumes
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.volumes import VolumeObjects

SEARCHES = {
    "everywhere": lambda volumes, request: volumes.everywhere(request),
    "on a node": lambda volumes, request: volumes.matching(request, 0),
    "groups": lambda volumes, request: volumes.groups(request),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_claim_is_looked_up_among_many_others(search, monkeypatch):
    hashed, own = Counter(), ClaimRequest.__hash__

    def count(request):
        hashed[request.storage_class] += 1
        return own(request)

    monkeypatch.setattr(ClaimRequest, "__hash__", count)
    numbers = []
    for size in (50, 200):
        volumes = FreeVolumes(VolumeObjects(), lambda _: (), 1)
        requests = [ClaimRequest("other", each) for each in range(size)]
        volumes.register([*requests, ClaimRequest("own", 5)])
        hashed.clear()
        search(volumes, ClaimRequest("own", 5))
        numbers.append(hashed.total())
    assert numbers[0] == numbers[1] > 0
