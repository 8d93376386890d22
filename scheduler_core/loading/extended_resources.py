"""Claims for extended resources that device classes provide (Kubernetes 1.37.1, createRequestsAndMappings)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from scheduler_core.loading.extended_requests import Containers
from scheduler_core.model.devices import Alternative, ExtendedSpec, Request

_Classes = Mapping[str, tuple[str, tuple[str, ...]]]


class ExtendedSpecs:
    """Requests for the containers of pods; *classes* are the device class and its selectors by extended resource."""

    def __init__(self, classes: _Classes) -> None:
        self._classes = classes
        self._specs: dict[Containers, ExtendedSpec | None] = {}

    def find(self, containers: Containers) -> ExtendedSpec | None:
        """Return the requests of *containers*; None if no class provides any of their resources."""
        if containers not in self._specs:
            names = sorted({name for each in containers for _, name, _ in each.amounts if name in self._classes})
            requests = tuple((name, tuple(self._requests(name, containers))) for name in names)
            self._specs[containers] = ExtendedSpec(requests) if requests else None
        return self._specs[containers]

    def _requests(self, name: str, containers: Containers) -> Iterator[Request]:
        """Yield the requests for one resource: containers that end use the devices of later ones, and share one request for the rest."""
        wanted = [next(((index, amount) for index, each, amount in one.amounts if each == name), (0, 0)) for one in containers]
        lasting = [0 if one.ends else amount for one, (_, amount) in zip(containers, wanted, strict=True)]
        most = 0, ""
        for number, (one, (index, amount)) in enumerate(zip(containers, wanted, strict=True)):
            if one.ends and (rest := amount - sum(lasting[number:])) > most[0]:
                most = rest, f"container-{number}-request-{index}"
        if most[0]:
            yield self._request(name, most[1], most[0])
        for number, amount in enumerate(lasting):
            if amount:
                yield self._request(name, f"container-{number}-request-{wanted[number][0]}", amount)

    def _request(self, resource: str, name: str, count: int) -> Request:
        device_class, selectors = self._classes[resource]
        return Request(
            name, (Alternative("", device_class, selectors, (), every=False, count=count, admin=False, tolerations=(), capacity={}),)
        )


def request_mappings(containers: Containers, resources: Container[str]) -> Iterator[tuple[int, str, str]]:
    """Yield container, resource and request of the claim for *resources* (Kubernetes 1.37.1, createRequestsAndMappings)."""
    for name in sorted({name for each in containers for _, name, _ in each.amounts if name in resources}):
        wanted = [next(((index, amount) for index, each, amount in one.amounts if each == name), (0, 0)) for one in containers]
        lasting = [(number, wanted[number][1]) for number, one in enumerate(containers) if not one.ends and wanted[number][1]]
        for number, _ in lasting:
            yield number, name, f"container-{number}-request-{wanted[number][0]}"
        ending: list[tuple[int, int]] = []
        for number, one in enumerate(containers):
            rest = wanted[number][1] if one.ends else 0
            for later, amount in lasting:
                if later >= number and rest > 0:
                    yield number, name, f"container-{later}-request-{wanted[later][0]}"
                    rest -= amount
            ending += [(rest, number)] if rest > 0 else []
        # Containers that end share the request of the one that needs most beyond that.
        most = max(ending, key=lambda each: each[0], default=(0, 0))[1]
        for _, number in ending:
            yield number, name, f"container-{most}-request-{wanted[most][0]}"
