"""Two sidecars on one cluster, each with a scheduler name, a Lease and a pool of nodes of its own: neither needs the other."""

from __future__ import annotations

import contextlib

import pytest

from tests.cluster.groups import LABEL, pod_group
from tests.cluster.kubelet import Kubelet, node, pod
from tests.cluster.sidecars import NAMESPACE, install, sidecar
from tests.cluster.waiting import until

POOL = "example.com/pool"
POOLS = ("red", "blue")
GANGS, SIZE, NODES = 6, 3, 4
ACCOUNT = {"kind": "ServiceAccount", "name": "muster-sidecar", "namespace": NAMESPACE}
LEASES = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "patch"]}
"""The shipped Role is for the Lease ``muster-sidecar``; creating one is granted for any name."""


def gang(name, namespace, pool):
    """A gang in one rack of a pool, whose pods take a third of a node."""
    place = {"schedulerName": pool, "nodeSelector": {POOL: pool}, "schedulingGroup": {"podGroupName": name}}
    pods = [pod(f"{name}-{number}", namespace, spec=place, cpu="1") for number in range(SIZE)]
    return [pod_group(name, namespace, minimum=SIZE, key=LABEL), *pods]


@pytest.fixture
def started(plane, api, nodes, tmp_path):
    """Sidecars by pool, and what stops one of them before the end."""
    nodes(*(node(f"{pool}-{number}", {LABEL: f"{pool}-{number % 2}", POOL: pool}, cpu=6) for pool in POOLS for number in range(NODES)))
    install(api)
    with contextlib.ExitStack() as stack:
        stack.enter_context(Kubelet(api))
        own = {pool: stack.enter_context(contextlib.ExitStack()) for pool in POOLS}
        for pool, each in own.items():
            options = ("--mode", "place,preempt", "--scheduler-name", pool, "--lease", f"{NAMESPACE}/{pool}")
            plane.grant(f"lease-{pool}", [LEASES | {"resourceNames": [pool]}], ACCOUNT, namespace=NAMESPACE)
            (folder := tmp_path / pool).mkdir()
            each.enter_context(sidecar(plane, folder, *options, fork=True))
        yield own


def placed(api, namespace, names):
    """Return the pools in which all pods of gangs are, once all are bound."""

    def found():
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in api.objects("Pod", namespace)}

    wanted = [f"{name}-{number}" for name in names for number in range(SIZE)]
    until(lambda: all(found().get(each) for each in wanted), told=lambda: str(found()))
    return {found()[each].partition("-")[0] for each in wanted}


def test_each_places_the_gangs_of_its_pool_and_goes_on_without_the_other(api, namespace, started):
    names = {pool: [f"{pool}-{number}" for number in range(GANGS)] for pool in POOLS}
    api.create_all([each for number in range(GANGS) for pool in POOLS for each in gang(names[pool][number], namespace, pool)])

    assert {pool: {pool} for pool in POOLS} == {pool: placed(api, namespace, names[pool]) for pool in POOLS}

    started["red"].close()
    api.create_all([each for pool in POOLS for each in gang(f"late-{pool}", namespace, pool)])
    assert {"blue"} == placed(api, namespace, ["late-blue"])
    late = [api.get("Pod", f"late-red-{number}", namespace)["spec"].get("nodeName") for number in range(SIZE)]
    assert [None] * SIZE == late, "nobody else binds the pods of a pool whose sidecar is away"
