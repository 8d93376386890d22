"""Webhooks of other programs that are called for requests on which pods, groups, nodes or Muster depend."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from muster.doctor.entries import Entry, others, place_of
from muster.doctor.manifests import kubectl
from muster.doctor.refusals import Caught, caught, dependencies
from muster.doctor.requests import BACKEND_START, Place, Request
from muster.doctor.world import World


@dataclasses.dataclass(frozen=True, slots=True)
class Concern:
    """Webhook of another program, and the requests for which it is called.

    Attributes:
        entry: the webhook.
        anywhere: requests about groups and pods in a namespace that has no labels of its own.
        system: by namespace of the system and of Muster, the requests on which nodes, the control plane or Muster depend.
        cluster: requests of kubelets about objects without a namespace.
        backend: requests that start the pods of its own server.

    """

    entry: Entry
    anywhere: Caught
    system: Mapping[Place, Caught]
    cluster: Caught
    backend: Caught

    @property
    def every(self) -> tuple[Caught, ...]:
        """Return what it matches, by namespace."""
        return self.anywhere, *self.system.values(), self.cluster, self.backend

    @property
    def is_certain(self) -> bool:
        """Return whether it is surely called for one of the requests."""
        return any(each.certain for each in self.every)

    @property
    def requests(self) -> list[Request]:
        """Return the requests for which it is called, each once: the certain ones, or if there are none, the possible ones."""
        certain = self.is_certain
        return list(dict.fromkeys(request for each in self.every for request in (each.certain if certain else each.possible)))


def concerns(world: World) -> Iterator[Concern]:
    """Yield the webhooks of others that are called, or possibly called, for such requests."""
    anywhere, *system, cluster = dependencies(world)
    for entry in others(world):
        backend = Caught()
        if entry.service:
            backend = caught(world, entry, place_of(world, entry.service[0]), BACKEND_START)
        concern = Concern(
            entry,
            anywhere=caught(world, entry, *anywhere),
            system={place: caught(world, entry, place, requests) for place, requests in system},
            cluster=caught(world, entry, *cluster),
            backend=backend,
        )
        if any(each.certain or each.possible or each.unread for each in concern.every):
            yield concern


def alike(found: Iterable[tuple[Entry, str]]) -> list[tuple[list[Entry], str]]:
    """Return webhooks of one configuration that have the same text, together."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry, text in found:
        groups.setdefault((entry.item.label, text), []).append(entry)
    return [(listed, text) for (_, text), listed in groups.items()]


def names_of(listed: Iterable[Entry]) -> str:
    """Return the names of webhooks."""
    return ", ".join(each.name for each in listed)


def show_command(entry: Entry) -> str:
    """Return the command that shows the configuration of a webhook, with its owner."""
    return kubectl("", "get", entry.item.kind.lower(), entry.item.name, "--output=yaml")
