"""Kinds without an adapter: what is said of them, and whether they are taken to create pods."""

from __future__ import annotations

import pytest

from workloadbuilder.adapters.skipped_kinds import skip_reason

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "main"}]}}
CASES = [
    pytest.param("extensions/v1beta1", "Deployment", {}, "Deployment is served in apps, not in extensions/v1beta1", True, id="old group"),
    pytest.param("app/v1", "StatefulSet", {}, "StatefulSet is served in apps, not in app/v1", True, id="misspelt group"),
    pytest.param("ray.io/v1", "JobSet", {}, "JobSet is served in jobset.x-k8s.io, not in ray.io/v1", True, id="group of another project"),
    pytest.param(
        "apps.kruise.io/v1beta1",
        "StatefulSet",
        {"template": TEMPLATE},
        "StatefulSet (apps.kruise.io) is not supported",
        True,
        id="StatefulSet of another project",
    ),
    pytest.param(
        "batch.volcano.sh/v1alpha1",
        "CronJob",
        {"jobTemplate": {"spec": {"tasks": [{"template": TEMPLATE}]}}},
        "CronJob (batch.volcano.sh) is not supported",
        True,
        id="CronJob of another project",
    ),
    pytest.param(
        "a.example/v1",
        "Farm",
        {"replicas": 2},
        "Farm (a.example) is unknown, and spec.replicas suggests that it creates pods",
        True,
        id="field",
    ),
    pytest.param("a.example/v1", "Farm", {}, "Farm (a.example) is unknown; it is taken to create no pods", False, id="unknown"),
    pytest.param("kyverno.io/v1", "ClusterPolicy", {"rules": [TEMPLATE]}, "", False, id="pattern of a policy"),
    pytest.param("v1", "ConfigMap", {}, "", False, id="built-in"),
]


@pytest.mark.parametrize(("version", "kind", "spec", "want", "creates"), CASES)
def test_reason(version: str, kind: str, spec: object, want: str, creates: bool) -> None:
    assert (want, creates) == skip_reason({"apiVersion": version, "kind": kind, "spec": spec})
