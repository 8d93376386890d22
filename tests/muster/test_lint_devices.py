"""Lint of claims to devices: the compiler of selectors, allocated claims, other schedulers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from kubeapi.meta import ObjectMeta
from muster import cli
from muster.commands import device_selectors
from validators.model.views import Device, DeviceCapacity, ResourceSlice, ResourceSliceSpec

CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "fabric"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "workers"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": [{"name": "fabric", "resourceClaimTemplateName": "fabric"}]},
}


def pod(number: int, *claims: dict[str, str], **spec: Any) -> dict[str, Any]:
    whole = {
        "schedulingGroup": {"podGroupName": "workers"},
        "resourceClaims": list(claims),
        "containers": [{"name": "m", "image": "i"}],
        **spec,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"worker-{number}"}, "spec": whole}


SHARED = {"name": "fabric", "resourceClaimName": "fabric"}
OWN = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}


def rules_of(folder: Path, *objects: dict[str, Any]) -> list[str]:
    """Return the rules with a finding about *objects*."""
    (folder / "a.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["lint", str(folder / "a.yaml"), "--format", "json"])
    return [each["rule"] for each in yaml.safe_load(result.stdout)["findings"]]


def with_selector(expression: str) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    return {**CLAIM, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("device.driver == 'a'", []),
        ("device.driver == ", ["device-selectors"]),
        ("device.driver", ["device-selectors"]),
        ("", ["device-selectors"]),
        (f"device.driver == '{'a' * 11_000}'", ["device-selectors"]),
    ],
    ids=["valid", "cut", "not a bool", "empty", "too long"],
)
def test_selectors_are_compiled(tmp_path: Path, expression: str, found: list[str]) -> None:
    assert rules_of(tmp_path, with_selector(expression)) == found


def test_without_the_libraries_only_empty_expressions_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cel_expr_python" else real(name))

    assert device_selectors.installed_selectors() is None
    assert rules_of(tmp_path, with_selector("device.driver == ")) == []
    assert rules_of(tmp_path, with_selector("")) == ["device-selectors"]


def test_the_order_of_claims_matters_only_while_the_shared_claim_is_not_allocated(tmp_path: Path) -> None:
    pods = [pod(0, SHARED, OWN), pod(1, OWN, SHARED)]

    assert rules_of(tmp_path, *pods, CLAIM) == ["shared-claim-last"]
    assert rules_of(tmp_path, *pods, {**CLAIM, "status": {"allocation": {"devices": {}}}}) == []
    assert rules_of(tmp_path, pods[0], CLAIM) == []


def test_other_schedulers_are_not_judged(tmp_path: Path) -> None:
    pods = [pod(each, SHARED, OWN, schedulerName="muster") for each in range(2)]

    assert rules_of(tmp_path, GROUP, *pods, CLAIM) == []


def test_a_gang_that_shares_the_claim_of_its_group(tmp_path: Path) -> None:
    entry = {"name": "fabric", "resourceClaimTemplateName": "fabric"}
    created = {**GROUP, "status": {"resourceClaimStatuses": [{"name": "fabric", "resourceClaimName": "fabric"}]}}
    single = {**GROUP, "spec": {**GROUP["spec"], "schedulingPolicy": {"gang": {"minCount": 1}}}}  # type: ignore[dict-item]
    pods = [pod(each, entry) for each in range(2)]

    assert rules_of(tmp_path, GROUP, *pods) == ["gang-shares-claim"]
    assert rules_of(tmp_path, GROUP, pods[0], pod(1, OWN)) == []
    assert rules_of(tmp_path, single, *pods) == []
    assert rules_of(tmp_path, created, *pods, {**CLAIM, "status": {"allocation": {}}}) == []


def test_a_tree_that_needs_one_of_two_groups(tmp_path: Path) -> None:
    """Groups that need not be placed together can use the same claim one after the other."""
    composite = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "root"},
        "spec": {"workloadRef": {"workloadName": "w", "templateName": "root"}, "schedulingPolicy": {"basic": {}}},
    }
    leaves = [
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {
                "parentCompositePodGroupName": "root",
                "workloadRef": {"workloadName": "w", "templateName": name},
                "schedulingPolicy": {"gang": {"minCount": 1}},
            },
        }
        for name in ("a", "b")
    ]
    pods = [{**pod(0, SHARED, schedulingGroup={"podGroupName": name}), "metadata": {"name": f"{name}-0"}} for name in ("a", "b")]
    gang = {**composite, "spec": {**composite["spec"], "schedulingPolicy": {"gang": {"minGroupCount": 2}}}}  # type: ignore[dict-item]

    assert rules_of(tmp_path, composite, *leaves, *pods) == []
    assert rules_of(tmp_path, gang, *leaves, *pods) == ["claim-of-one-leaf"] * 2


def test_pods_are_counted_once_with_the_objects_that_create_them(tmp_path: Path) -> None:
    """``kubectl get`` lists a Deployment, its ReplicaSet and its pods."""
    template = {"spec": pod(0, SHARED)["spec"]}
    owners: list[dict[str, Any]] = []
    listed: list[dict[str, Any]] = []
    for kind, name in (("Deployment", "a"), ("ReplicaSet", "a-0"), ("Pod", "a-0-0")):
        metadata = {"name": name, "ownerReferences": owners}
        spec = template["spec"] if kind == "Pod" else {"replicas": 1, "selector": {}, "template": template}
        listed.append({"apiVersion": "v1" if kind == "Pod" else "apps/v1", "kind": kind, "metadata": metadata, "spec": spec})
        owners = [{"kind": kind, "name": name, "controller": True}]
    gang = {**GROUP, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}

    assert "gang-shares-claim" not in rules_of(tmp_path, gang, *listed)
    assert "gang-shares-claim" in rules_of(tmp_path, gang, listed[2], {**listed[2], "metadata": {**listed[2]["metadata"], "name": "b"}})
    listed[0]["spec"]["replicas"] = 2
    assert "gang-shares-claim" in rules_of(tmp_path, gang, *listed)


def test_groups_that_the_jobs_of_a_jobset_get(tmp_path: Path) -> None:
    """A policy at the root or in the Job template; pods that name a group belong to that."""
    block = {"schedulingPolicy": {"gang": {}}}
    template: dict[str, Any] = {
        "spec": {"containers": [{"name": "m", "image": "i"}], "restartPolicy": "Never", "resourceClaims": [SHARED, OWN]}
    }

    def jobset(root: dict[str, Any] | None, own: dict[str, Any] | None, **pod_spec: Any) -> dict[str, Any]:
        spec = {
            "parallelism": 2,
            "completions": 2,
            "template": {"spec": {**template["spec"], **pod_spec}},
            **({} if own is None else {"scheduling": own}),
        }
        whole = {"replicatedJobs": [{"name": "w", "template": {"spec": spec}}], **({} if root is None else {"scheduling": root})}
        return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"}, "spec": whole}

    both = ["gang-shares-claim", "shared-claim-last"]
    assert rules_of(tmp_path, jobset(None, None)) == []
    assert rules_of(tmp_path, jobset(None, block)) == both
    assert rules_of(tmp_path, jobset({"replicatedJobPolicies": [{"targetReplicatedJob": "w", **block}]}, None)) == both
    assert rules_of(tmp_path, jobset(block, None)) == ["shared-claim-last"]
    assert rules_of(tmp_path, jobset(None, block, schedulerName="muster")) == []
    assert rules_of(tmp_path, jobset(None, block, schedulingGroup={"podGroupName": "g"})) == ["shared-claim-last"]


def test_a_job_whose_pods_are_ready_has_its_claims(tmp_path: Path) -> None:
    template = {"spec": {"containers": [{"name": "m", "image": "i"}], "restartPolicy": "Never", "resourceClaims": [SHARED]}}
    spec = {"parallelism": 2, "scheduling": {"schedulingPolicy": {"gang": {}}}, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}

    assert rules_of(tmp_path, job) == ["gang-shares-claim"]
    assert rules_of(tmp_path, {**job, "status": {"ready": 2}}) == []


def test_a_device_whose_capacity_cannot_be_read_is_left_out() -> None:
    device = Device(name="gpu-0", capacity={"memory": DeviceCapacity(value="much")})
    published = ResourceSlice(metadata=ObjectMeta(name="a"), spec=ResourceSliceSpec(driver="d", devices=(device,)))

    assert device_selectors.CompiledSelectors().evaluation_error(["device.attributes['d'].model == 'a'"], [published]) == ""


CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
ALL = {"deviceClassName": "gpu", "allocationMode": "All"}


def gpus(*numas: int | None, node: str = "n1", taints: int = 0) -> dict[str, Any]:
    """Return the devices of a node with these values; None for a device without the attribute."""
    devices: list[dict[str, Any]] = [
        {"name": f"g{at}", "attributes": {} if each is None else {"numa": {"int": each}}} for at, each in enumerate(numas)
    ]
    for each in devices[:taints]:
        each["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "nodeName": node, "pool": pool, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def constrained(request: dict[str, Any], **constraint: Any) -> dict[str, Any]:
    devices = {"requests": [{"name": "gpu", **request}, {"name": "one", "exactly": {"deviceClassName": "gpu"}}]}
    return {**CLAIM, "spec": {"devices": {**devices, "constraints": [constraint or {"matchAttribute": "d/numa"}]}}}


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ([constrained({"exactly": ALL}), CLASS, gpus(0, 1)], True),
        ([constrained({"exactly": ALL}), CLASS, gpus(0, None)], True),
        ([constrained({"exactly": ALL}, distinctAttribute="d/numa"), CLASS, gpus(0, 1, 0)], True),
        (
            [constrained({"firstAvailable": [{"name": "all", **ALL}]}, matchAttribute="d/numa", requests=["gpu/all"]), CLASS, gpus(0, 1)],
            True,
        ),
        ([constrained({"exactly": ALL}), CLASS, gpus(0, 0), gpus(1, 1, node="n2")], False),
        ([constrained({"exactly": ALL}, distinctAttribute="d/numa"), CLASS, gpus(0, 1)], False),
        ([constrained({"exactly": ALL}, matchAttribute="d/numa", requests=["one"]), CLASS, gpus(0, 1)], False),
        ([constrained({"exactly": {"deviceClassName": "gpu", "count": 2}}), CLASS, gpus(0, 1)], False),
        ([constrained({"exactly": ALL}), CLASS, gpus(0, 1, taints=1)], False),
        ([constrained({"exactly": ALL}), CLASS, gpus()], False),
        ([{**constrained({"exactly": ALL}), "status": {"allocation": {}}}, CLASS, gpus(0, 1)], False),
    ],
    ids=[
        "values",
        "missing",
        "distinct",
        "alternative",
        "by node",
        "different",
        "other request",
        "number",
        "taint",
        "no devices",
        "allocated",
    ],
)
def test_a_constraint_that_splits_all_devices_of_a_node(tmp_path: Path, objects: list[dict[str, Any]], found: bool) -> None:
    assert rules_of(tmp_path, *objects) == (["all-devices-agree"] if found else [])


def test_a_class_that_is_not_known_selects_no_devices(tmp_path: Path) -> None:
    assert rules_of(tmp_path, constrained({"exactly": ALL}), gpus(0, 1)) == []
