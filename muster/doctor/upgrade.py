"""Answers of a newer version of Kubernetes about the stored objects of a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from kubeapi.groups import TREE_KINDS
from kubeapi.versions import kubernetes_releases
from muster.doctor.control_plane import observed_api_server
from muster.doctor.world import Item, World
from validators.field import FieldError
from validators.gates import NEEDS, Gates
from validators.migrate.stored_objects import ObjectsToUpgrade
from validators.rules.base import Operation

KINDS = (*TREE_KINDS, "Job", "CronJob")
"""Kinds whose rules depend on the version, parents first."""
Errors = tuple[FieldError, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Object that the newer version refuses in some way, and its errors, in order of field path."""

    item: Item
    errors: Errors

    @property
    def field(self) -> str:
        """Return the field path of the first error."""
        return str(self.errors[0].path)

    def message(self, consequence: str) -> str:
        """Return a *consequence* with the first error, and the number of the others."""
        more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
        return f"{consequence}: {self.errors[0]}{more}"


def refused_updates(world: World) -> Iterator[Refusal]:
    """Yield the stored objects of which every update is refused, even one that changes only a label."""
    stored = _stored(world)
    return _refused(world, lambda item: stored.errors(item.content, Operation.UPDATE))


def refused_creations(world: World) -> Iterator[Refusal]:
    """Yield the stored objects that can be updated but not created again, although their own version would create them."""
    stored, present = _stored(world), _present(world)

    def errors(item: Item) -> Errors:
        if stored.errors(item.content, Operation.UPDATE) or stored.errors(item.content, Operation.CREATE, present):
            return ()
        return stored.errors(item.content, Operation.CREATE)

    return _refused(world, errors)


def unplaced_groups(world: World) -> Iterator[Refusal]:
    """Yield the stored groups because of which the newer scheduler places no group of their trees."""
    stored = _stored(world)
    return _refused(world, lambda item: stored.tree_errors(item.content))


def _refused(world: World, errors_of: Callable[[Item], Errors]) -> Iterator[Refusal]:
    for kind in KINDS:
        for item in world.of_kind(kind):
            if errors := errors_of(item):
                yield Refusal(item, errors)


def _stored(world: World) -> ObjectsToUpgrade:
    server = observed_api_server(world)
    known = server.gates if server is not None else None
    off = frozenset(name for name in NEEDS if known is not None and not known.get(name, False))
    return ObjectsToUpgrade((each.content for kind in KINDS for each in world.of_kind(kind)), world.upgrade_to, Gates(off))


def _present(world: World) -> int:
    server = observed_api_server(world)
    minor = server.minor if server is not None else 0
    return min(max(minor or kubernetes_releases.TODAY, kubernetes_releases.OLDEST), kubernetes_releases.NEWEST)
