"""The server of a webhook of another program starts without requests that this webhook refuses while it is down."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.finding import Check, Result, Unseen, error, warning
from muster.doctor.foreign import concerns
from muster.doctor.refusals import exempting_selector
from muster.doctor.requests import listed
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each webhook that fails closed and matches the pods of its own server."""
    for each in concerns(world):
        entry, found = each.entry, each.backend
        if not entry.fails or entry.service is None:
            continue
        namespace = entry.service[0]
        if found.unread:
            yield Unseen(f"the labels of namespace {namespace}, which {entry.name} of {entry.item.label} selects by, cannot be read")
        if not found.certain and "services" in world.unread and world.named("Service", *entry.service) is None:
            if found.possible:
                yield Unseen(f"the Service {entry.target} of {entry.name} of {entry.item.label} cannot be read")
            continue
        if not (found.certain or found.possible):
            continue
        message = f"{entry.name} refuses {listed(found.certain or found.possible)} in {namespace}, the namespace of its own server,"
        message += " while that is down"
        if not found.certain:
            message += ", unless its matchConditions or its objectSelector exempt them, which depend on fields that are not known"
        command = entry.set_command({"namespaceSelector": exempting_selector(entry, [namespace])})
        yield (error if found.certain else warning)(entry.item, entry.field("namespaceSelector"), message, command)


CHECK = Check(
    id="foreign-self-lock",
    why="Once all its pods are gone, as after an outage of the network or of all nodes, the webhook refuses the pods that would replace them:"
    " only changing the configuration helps.",
    examine=check,
)
