"""A sidecar with the role of its mode and no other: it reads all that its objects need, on a real API server."""

from __future__ import annotations

import pytest

from tests.cluster.api import ApiError
from tests.cluster.groups import pod_group
from tests.cluster.kubelet import pod
from tests.cluster.sidecars import ROOT, sidecar
from tests.cluster.test_sidecar_place import GATE, bound, racks, scheduled
from tests.cluster.test_sidecar_validate import circle, reported_condition
from tests.cluster.waiting import until
from tests.quick_yaml import documents

ROLES = {
    each["metadata"]["name"]: each["rules"]
    for each in documents((ROOT / "deploy/sidecar/rbac.yaml").read_text())
    if each["kind"] == "ClusterRole"
}
POLICY = "muster-sidecar-ungate"
TERM = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "other"}}}
OURS = {"schedulerName": "muster"}
GATED = {"schedulingGates": [{"name": GATE}]}


def group_that_needs_objects(api, namespace, spec):
    """Create a gang with a Workload, whose pods have labels and a namespace selector."""
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
    api.create(pod_group("g", namespace, minimum=2, workloadRef={"workloadName": "absent", "templateName": "g"}))
    spec = {**spec, "affinity": affinity}
    api.create_all([pod(f"g-{number}", namespace, group="g", spec=spec, labels={"app": "g"}, cpu=1) for number in range(2)])


def pinned(api, namespace):
    api.wait_all("Pod", namespace, until=lambda pods: all(GATE in each["metadata"].get("annotations", {}) for each in pods.values()))


def allow_marks(api, namespace):
    """Remove the policy of other tests that only the sidecar's service account may mark pods, and wait until it has no effect."""
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        if api.exists(kind, POLICY):
            api.delete(kind, POLICY)
    marked = pod("marked", namespace)
    marked["metadata"]["annotations"] = {GATE: "node"}
    until(lambda: is_accepted(api, marked))


def is_accepted(api, manifest):
    try:
        api.create(manifest, dryRun="All")
    except ApiError:
        return False
    return True


@pytest.mark.parametrize("modes", ["validate", "protect", "place", "place,preempt", "ungate"])
def test_role_of_a_mode_is_enough_for_the_mode(plane, api, namespace, nodes, tmp_path, modes):
    nodes(*racks(1))
    if modes == "ungate":
        allow_marks(api, namespace)
    rules = [rule for name in ("", *(f"-{mode}" for mode in modes.split(","))) for rule in ROLES[f"muster-sidecar{name}"]]
    config = plane.user(f"roles-{namespace}", rules)
    with sidecar(plane, tmp_path, "--mode", modes, "--lease", "none", "--settle", "0.1", through=config, fork=True) as running:
        group_that_needs_objects(api, namespace, GATED if modes == "ungate" else OURS)
        if modes == "validate":
            circle(api, namespace)
            reported_condition(api, "PodGroup", "leaf", namespace)
        elif modes == "ungate":
            pinned(api, namespace)
        elif "place" in modes:
            bound(api, namespace, 2)
            scheduled(api, "PodGroup", "g", namespace)
        until(lambda: running.get("/readyz") == (200, "ok\n"), told=lambda: str(running.get("/readyz")))
        assert [] == [line for line in running.lines if line["event"] in ("watch", "permissions", "write")]
