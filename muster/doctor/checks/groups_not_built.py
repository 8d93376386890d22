"""An object that asks for groups has them: mode build creates them within a minute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muster.doctor.built_groups import MISSING, Asked, asked_for, builders, exclude_command, is_settled
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.manifests import kubectl
from muster.doctor.world import World
from workloadbuilder.adapters.shared.group_annotations import KEYS, path

if TYPE_CHECKING:
    from scheduler_core.causes.built_groups import NotBuilt

_NAMED = 3


def check(world: World) -> Iterator[Result]:
    """Yield a result for the objects of a kind in a namespace that have no groups for one reason, at the first of them."""
    if not builders(world):
        return
    from scheduler_core.causes.built_groups import EXPECTED
    from scheduler_core.wording.built_group_words import not_built_words

    unread = {"workloads", "podgroups", "compositepodgroups"} & world.unread
    if unread:
        yield Unseen("Workloads and groups could not be read")
    alike: dict[tuple[str, str, NotBuilt | None], list[Asked]] = {}
    for each in asked_for(world):
        is_missing = each.result == MISSING and not unread and is_settled(world, each.item)
        if is_missing or (each.why is not None and each.why.why not in EXPECTED):
            alike.setdefault((each.item.namespace, each.item.kind, each.why), []).append(each)
    for (_, kind, why), found in alike.items():
        first, more = found[0], len(found) - 1
        words = f"groups that it asks for do not exist: {', '.join(first.missing[:_NAMED])}" if why is None else not_built_words(why)
        others = f"; so it is with {more} more {kind} objects" if more else ""
        yield warning(first.item, _field(first), f"{words}{others}", _command(first))


def _field(asked: Asked) -> str:
    """Return the field, if there is one error."""
    return asked.why.errors[0][0] if asked.why is not None and len(asked.why.errors) == 1 else ""


def _command(asked: Asked) -> str:
    """Return the command that removes an annotation with an error, shows why a write was refused, or asks for no groups."""
    item = asked.item
    if asked.why is None:
        return kubectl(item.namespace, "describe", item.kind, item.name)
    bad = [key for key in sorted(KEYS) if any(where == str(path(key)) for where, _ in asked.why.errors)]
    if bad and len(bad) == len(asked.why.errors):
        return kubectl(item.namespace, "annotate", item.kind, item.name, *(f"{key}-" for key in bad))
    return exclude_command(item)


CHECK = Check(
    id="groups-not-built",
    why="Its pods stay pending with the gate muster.dev/pod-group, or are placed one by one.",
    examine=check,
)
