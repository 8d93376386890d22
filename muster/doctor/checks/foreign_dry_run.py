"""Webhooks of other programs that match groups or pods allow dry runs."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import by_configuration, fields_of
from muster.doctor.finding import Check, Result, warning
from muster.doctor.foreign import concerns, show_command
from muster.doctor.world import World

_ALLOWED = ("None", "NoneOnDryRun")


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with other side effects, which only older versions of Kubernetes have stored."""
    found = [each.entry for each in concerns(world) if each.anywhere.certain and each.entry.side_effects not in _ALLOWED]
    for same in by_configuration(found):
        values = " and ".join(sorted({each.side_effects for each in same}))
        message = f"is {values}: must be None or NoneOnDryRun; install a version of the program that sets it"
        yield warning(same[0].item, fields_of(same, "sideEffects"), message, show_command(same[0]))


CHECK = Check(
    id="foreign-dry-run",
    why="The API server refuses every dry run of a request that the webhook matches, with failurePolicy Ignore too: `kubectl diff`,"
    " `kubectl apply --dry-run=server`, `muster doctor --probe`.",
    examine=check,
)
