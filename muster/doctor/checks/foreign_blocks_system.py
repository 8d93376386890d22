"""No webhook of another program refuses what nodes, the control plane or Muster need while its server is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import Entry, fields_of, set_command
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.foreign import Concern, alike, concerns, names_of
from muster.doctor.refusals import Caught, exempting_selector
from muster.doctor.requests import listed
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each webhook that refuses such requests in a namespace, and for each configuration that refuses nodes."""
    failing = [each for each in concerns(world) if each.entry.fails]
    for each in failing:
        if refused := {name: found.certain for name, found in each.system.items() if found.certain}:
            texts = "; ".join(f"{listed(requests)} in {name}" for name, requests in refused.items())
            message = f"{each.entry.name} refuses {texts}, while its server is down"
            selector = exempting_selector(each.entry, [*refused])
            command = each.entry.set_command({"namespaceSelector": selector})
            yield warning(each.entry.item, each.entry.field("namespaceSelector"), message, command)
        yield from _unseen(each)
    for same, text in alike((each.entry, listed(each.cluster.certain)) for each in failing if each.cluster.certain):
        message = f"{names_of(same)} refuses {text}, which no namespaceSelector exempts, while its server is down"
        yield warning(same[0].item, fields_of(same, "failurePolicy"), message, set_command(same, {"failurePolicy": "Ignore"}))


def _unseen(concern: Concern) -> Iterator[Unseen]:
    entry = concern.entry
    for name, found in concern.system.items():
        if found.unread:
            yield Unseen(f"the labels of namespace {name}, which {entry.name} of {entry.item.label} selects by, cannot be read")
        elif found.possible and not found.certain:
            yield _undecided(entry, found, f" in {name}")
    if concern.cluster.possible and not concern.cluster.certain:
        yield _undecided(entry, concern.cluster, "")


def _undecided(entry: Entry, found: Caught, place: str) -> Unseen:
    conditions = f"the matchConditions of {entry.name} of {entry.item.label}"
    return Unseen(f"{conditions} decide whether it refuses {listed(found.possible)}{place}; they depend on fields that are not known")


CHECK = Check(
    id="foreign-blocks-system",
    why="Without that server, network, DNS and leader election fail, nodes become NotReady, or Muster does not start, and its certificate is"
    " not renewed.",
    examine=check,
)
