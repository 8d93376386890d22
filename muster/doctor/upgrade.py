"""Answers of the API server of a newer version about the stored objects of a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.versions import releases
from muster.doctor.control_plane import observed_api_server
from muster.doctor.world import Item, World
from validators import pipeline
from validators.field import FieldError
from validators.gates import NEEDS, Gates
from validators.lookup import KnownObjects
from validators.rules.base import Operation, Profile, Settings, Severity

KINDS = ("Workload", "CompositePodGroup", "PodGroup", "Job", "CronJob")
"""Kinds whose rules depend on the version, parents first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Object of which the API server of the newer version refuses a request, and the errors, in order of field path."""

    item: Item
    errors: tuple[FieldError, ...]

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
    yield from _refused(world, Operation.UPDATE)


def refused_creations(world: World) -> Iterator[Refusal]:
    """Yield the stored objects that could not be created again, although their own version accepts them."""
    stuck = {refusal.item.label for refusal in refused_updates(world)}
    present = {refusal.item.label for refusal in _refused(world, Operation.CREATE, _present(world))}
    yield from (each for each in _refused(world, Operation.CREATE) if each.item.label not in stuck | present)


def _present(world: World) -> int:
    server = observed_api_server(world)
    minor = server.minor if server is not None else 0
    return min(max(minor or releases.TODAY, releases.OLDEST), releases.NEWEST)


def _refused(world: World, operation: Operation, minor: int = 0) -> Iterator[Refusal]:
    settings = Settings(profile=Profile.UPSTREAM, minor=minor or world.upgrade_to, gates=_gates(world))
    stored = [each for kind in KINDS for each in world.of_kind(kind)]
    lookup = KnownObjects(filter(None, (pipeline.decode_for_lookup(each.content) for each in stored)), complete=False)
    for item in stored:
        violations = pipeline.validate(
            item.kind,
            item.content,
            item.content if operation is Operation.UPDATE else None,
            operation,
            api_version=str(item.content.get("apiVersion")),
            settings=settings,
            lookup=lookup,
        )
        if errors := tuple(each.error for each in violations if each.severity is Severity.ERROR):
            yield Refusal(item, errors)


def _gates(world: World) -> Gates:
    server = observed_api_server(world)
    known = server.gates if server is not None else None
    return Gates(frozenset(name for name in NEEDS if known is not None and not known.get(name, False)))
