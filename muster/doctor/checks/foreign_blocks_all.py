"""No webhook of another program refuses pods or groups of all namespaces while its server is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import fields_of, set_command
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.foreign import alike, concerns, names_of
from muster.doctor.requests import listed
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with such webhooks.  Those that namespaces or objects select by labels are not among them."""
    failing = [each for each in concerns(world) if each.entry.fails]
    for same, text in alike((each.entry, listed(each.anywhere.certain)) for each in failing if each.anywhere.certain):
        which = "refuses" if len(same) == 1 else "refuse"
        message = f"{names_of(same)} {which} {text} in every namespace that is not exempt, while its server is down"
        yield warning(same[0].item, fields_of(same, "failurePolicy"), message, set_command(same, {"failurePolicy": "Ignore"}))
    for each in failing:
        if each.anywhere.possible and not each.anywhere.certain:
            conditions = f"the matchConditions of {each.entry.name} of {each.entry.item.label}"
            yield Unseen(
                f"{conditions} decide whether it refuses {listed(each.anywhere.possible)}; they depend on fields that are not known"
            )


CHECK = Check(
    id="foreign-blocks-all",
    why="Without that server, pods are not created or not bound, or groups not changed: also pods that would start it or its network again."
    " More replicas, an objectSelector, a namespaceSelector or failurePolicy Ignore limit this.",
    examine=check,
)
