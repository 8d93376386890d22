"""Extended resources that the containers of a pod request, which devices can provide."""

from __future__ import annotations

from kubeapi import quantity
from kubeapi.base_structs import Record
from kubeapi.pod_requests import counted
from kubeapi.pods import Container, PodSpec
from kubeapi.resource_names import BUILT_IN


class ContainerRequests(Record, frozen=True):
    """Extended resources of one container.

    Attributes:
        ends: True for an init container that ends before the next one starts.
        amounts: index among the sorted names of all requests of the container, name and amount; amounts above 0.

    """

    ends: bool
    amounts: tuple[tuple[int, str, int], ...]


Containers = tuple[ContainerRequests, ...]
"""Init containers, then the others; nothing if none requests an extended resource."""


def extended_requests(spec: PodSpec) -> Containers:
    """Return the extended resources of the containers of a pod; all quantities are readable."""
    starting = [ContainerRequests(each.restart_policy != "Always", _amounts(each)) for each in spec.init_containers or ()]
    found = (*starting, *(ContainerRequests(ends=False, amounts=_amounts(each)) for each in spec.containers or ()))
    return found if any(each.amounts for each in found) else ()


def _amounts(container: Container) -> tuple[tuple[int, str, int], ...]:
    resources = container.resources
    # As the API server completes requests.
    requests = {**(resources.limits or {}), **(resources.requests or {})}
    return tuple(
        (index, name, amount)
        for index, name in enumerate(sorted(requests))
        if "/" in name and name not in BUILT_IN and counted(name) and (amount := quantity.value(requests[name])) > 0
    )
