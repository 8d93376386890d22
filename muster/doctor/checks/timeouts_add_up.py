"""All webhooks that the API server calls for one request answer, or time out, before it ends the request."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.control_plane import observed_api_server
from muster.doctor.entries import CONFIGURATIONS, Entry, by_configuration, entries, fields_of, others, set_command
from muster.doctor.finding import Check, Result, warning
from muster.doctor.requests import ANYWHERE, PODS, Matched, Request, group_requests
from muster.doctor.world import World

LIMIT_SECONDS = 34
"""``requestTimeoutUpperBound`` of kube-apiserver."""
ADVISED_SECONDS = 3
_MUTATING = CONFIGURATIONS[0]


def check(world: World) -> Iterator[Result]:
    """Yield a result for each set of webhooks that can wait for longer; mutating ones wait one after the other, validating ones together."""
    every = [*entries(world), *others(world)]
    foreign = [*others(world)]
    server = observed_api_server(world)
    seen = set[tuple[tuple[str, int], ...]]()
    for request in (*PODS, *group_requests(server.resources if server else None)):
        called = [each for each in every if each.matched(request, ANYWHERE) is Matched.YES]
        key = tuple((each.item.label, each.number) for each in called)
        seconds = _longest(called)
        if seconds > LIMIT_SECONDS and key not in seen and len(called) > 1 and (mine := [each for each in called if each in foreign]):
            seen.add(key)
            yield _result(request, called, mine, seconds)


def _result(request: Request, called: list[Entry], foreign: list[Entry], seconds: int) -> Result:
    slowest = max(by_configuration(foreign), key=lambda listed: sum(each.timeout_seconds for each in listed))
    long = [each for each in slowest if each.timeout_seconds > ADVISED_SECONDS] or slowest
    names = ", ".join(f"{each.name} ({each.timeout_seconds} s)" for each in called)
    message = f"for {request}, timeouts add up to {seconds} s, and the API server ends a request after {LIMIT_SECONDS} s: {names}"
    return warning(long[0].item, fields_of(long, "timeoutSeconds"), message, set_command(long, {"timeoutSeconds": ADVISED_SECONDS}))


def _longest(called: list[Entry]) -> int:
    mutating = sum(each.timeout_seconds for each in called if each.item.kind == _MUTATING)
    return mutating + max((each.timeout_seconds for each in called if each.item.kind != _MUTATING), default=0)


CHECK = Check(
    id="timeouts-add-up",
    why="While these servers hang, as in an outage of the network, the request fails with a timeout, even if failurePolicy is Ignore"
    " everywhere, and the error names no webhook.",
    examine=check,
)
