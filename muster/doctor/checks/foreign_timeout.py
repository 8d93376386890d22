"""The API server waits at most ten seconds for a webhook of another program, and less than clients of leases wait."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import by_configuration, fields_of, set_command
from muster.doctor.finding import Check, Result, warning
from muster.doctor.foreign import Concern, concerns
from muster.doctor.requests import listed
from muster.doctor.world import World

LONGEST_SECONDS, LONGEST_FOR_LEASES, ADVISED_FOR_LEASES = 10, 4, 3
"""Leader election gives up a renewal after 5 s (half of the renew deadline of kube-controller-manager and kube-scheduler)."""


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with a longer timeout: failurePolicy Ignore waits too."""
    certain = [each for each in concerns(world) if each.is_certain]
    leases = [each for each in certain if _has_leases(each) and each.entry.timeout_seconds > LONGEST_FOR_LEASES]
    for limit, wanted, found in (
        (LONGEST_FOR_LEASES, ADVISED_FOR_LEASES, leases),
        (
            LONGEST_SECONDS,
            LONGEST_SECONDS,
            [each for each in certain if each not in leases and each.entry.timeout_seconds > LONGEST_SECONDS],
        ),
    ):
        for same in by_configuration(each.entry for each in found):
            requests = dict.fromkeys(request for each in found if each.entry in same for request in each.requests)
            values = ", ".join(map(str, sorted({each.timeout_seconds for each in same})))
            unset = "" if all("timeoutSeconds" in each.content for each in same) else " (the default)"
            matched = "update leases" if limit == LONGEST_FOR_LEASES else listed(requests)
            message = f"is {values} s{unset}: must be at most {limit} s for {matched}"
            yield warning(same[0].item, fields_of(same, "timeoutSeconds"), message, set_command(same, {"timeoutSeconds": wanted}))


def _has_leases(concern: Concern) -> bool:
    return any(request.resource == "leases" for found in concern.every for request in found.certain)


CHECK = Check(
    id="foreign-timeout",
    why="While that server hangs, every such request takes that long, with failurePolicy Ignore too. Renewals of leases are given up after"
    " 5 s: controllers lose their leadership and restart.",
    examine=check,
)
