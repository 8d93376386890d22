"""Requests and mappings of the claim for extended resources, as createRequestsAndMappings of Kubernetes 1.37.1 makes them."""

from __future__ import annotations

import pytest

from scheduler_core.loading.extended_requests import ContainerRequests
from scheduler_core.loading.extended_resources import ExtendedSpecs, request_mappings

GPU, NIC = "example.com/gpu", "example.com/nic"


def container(gpu: int = 0, *, ends: bool = False, nic: int = 0) -> ContainerRequests:
    """A container; cpu has the index 0 among its requests."""
    amounts = [(index, name, amount) for index, (name, amount) in enumerate(((GPU, gpu), (NIC, nic)), 1) if amount]
    return ContainerRequests(ends, tuple(amounts))


def init(gpu: int) -> ContainerRequests:
    return container(gpu, ends=True)


CASES = [
    pytest.param([container(2)], {"container-0-request-1": 2}, [(0, "container-0-request-1")], id="one container"),
    pytest.param(
        [container(1), container(2)],
        {"container-0-request-1": 1, "container-1-request-1": 2},
        [(0, "container-0-request-1"), (1, "container-1-request-1")],
        id="two containers",
    ),
    pytest.param(
        [init(1), container(2)],
        {"container-1-request-1": 2},
        [(1, "container-1-request-1"), (0, "container-1-request-1")],
        id="an init container that a later container covers",
    ),
    pytest.param(
        [init(3), container(2)],
        {"container-0-request-1": 1, "container-1-request-1": 2},
        [(1, "container-1-request-1"), (0, "container-1-request-1"), (0, "container-0-request-1")],
        id="an init container that needs more",
    ),
    pytest.param(
        [init(3), init(5), container(2), container(1)],
        {"container-1-request-1": 2, "container-2-request-1": 2, "container-3-request-1": 1},
        [
            (2, "container-2-request-1"),
            (3, "container-3-request-1"),
            *[(0, f"container-{number}-request-1") for number in (2, 3)],
            *[(1, f"container-{number}-request-1") for number in (2, 3, 1)],
        ],
        id="two init containers share the largest rest",
    ),
    pytest.param(
        [container(2), init(1)],
        {"container-0-request-1": 2, "container-1-request-1": 1},
        [(0, "container-0-request-1"), (1, "container-1-request-1")],
        id="devices of a sidecar that started before are in use",
    ),
]


@pytest.mark.parametrize(("containers", "counts", "mappings"), CASES)
def test_every_container_gets_its_number_of_devices(containers, counts, mappings):
    spec = ExtendedSpecs({GPU: ("class", ())}).find(tuple(containers))
    assert spec is not None
    claim = spec.spec((GPU,))
    assert claim is not None
    assert counts == {each.name: each.alternatives[0].count for each in claim.requests}
    assert sorted((number, GPU, request) for number, request in mappings) == sorted(request_mappings(tuple(containers), (GPU,)))


def test_resources_that_the_node_has_itself_are_not_mapped():
    containers = (container(1, nic=1),)
    assert [(0, NIC, "container-0-request-2")] == list(request_mappings(containers, (NIC,)))
    assert [(0, GPU, "container-0-request-1"), (0, NIC, "container-0-request-2")] == list(request_mappings(containers, (NIC, GPU)))
