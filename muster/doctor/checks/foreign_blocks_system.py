"""No webhook of another program refuses what nodes, the control plane or Muster need while its server is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import Entry, by_configuration, fields_of, set_command
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.foreign import Concern, alike, concerns, names_of
from muster.doctor.manifests import kubectl_patch
from muster.doctor.refusals import Caught, exempting_selector
from muster.doctor.requests import listed, listed_by_place
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration that refuses such requests in a namespace, and for each that refuses nodes."""
    failing = [each for each in concerns(world) if each.entry.fails]
    for same in by_configuration(each.entry for each in failing):
        refusing = [each for each in failing if each.entry in same and any(found.certain for found in each.system.values())]
        if refusing:
            texts = "; ".join(
                f"{each.entry.name} refuses {listed_by_place({place: found.certain for place, found in each.system.items()})}"
                for each in refusing
            )
            down = "its server is" if len(refusing) == 1 else "their servers are"
            entries = [each.entry for each in refusing]
            yield warning(same[0].item, fields_of(entries, "namespaceSelector"), f"{texts}, while {down} down", _exempting(refusing))
    for same, text in alike((each.entry, listed(each.cluster.certain)) for each in failing if each.cluster.certain):
        message = f"{names_of(same)} refuses {text}, which no namespaceSelector exempts, while its server is down"
        yield warning(same[0].item, fields_of(same, "failurePolicy"), message, set_command(same, {"failurePolicy": "Ignore"}))
    for each in failing:
        yield from _unseen(each)


def _exempting(refusing: list[Concern]) -> str:
    """Return the command that exempts the namespaces."""
    operations = []
    for each in refusing:
        names = [place.namespace for place, found in each.system.items() if found.certain]
        selector = exempting_selector(each.entry, names)
        operations.append({"op": "add", "path": f"/webhooks/{each.entry.number}/namespaceSelector", "value": selector})
    item = refusing[0].entry.item
    return kubectl_patch(item.kind, "", item.name, operations)


def _unseen(concern: Concern) -> Iterator[Unseen]:
    entry = concern.entry
    for place, found in concern.system.items():
        if found.unread:
            yield Unseen(f"the labels of namespace {place.namespace}, which {entry.name} of {entry.item.label} selects by, cannot be read")
        elif found.possible and not found.certain:
            yield _undecided(entry, found, f" in {place.namespace}")
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
