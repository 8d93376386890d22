"""Kinds without an adapter: what is said of them, and whether they are unknown."""

from __future__ import annotations

import pytest

from workloadbuilder.adapters.skipped_kinds import skip_reason

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "main"}]}}
CASES = [
    pytest.param("v1", "Pod", {"containers": [{"name": "main"}]}, "", False, id="a pod"),
    pytest.param("apps/v1", "Pod", {}, "Pod is served in v1, not in apps/v1", False, id="a pod of another group"),
    pytest.param("extensions/v1beta1", "Deployment", {}, "Deployment is served in apps, not in extensions/v1beta1", False, id="old group"),
    pytest.param("app/v1", "StatefulSet", {}, "StatefulSet is served in apps, not in app/v1", False, id="misspelt group"),
    pytest.param("ray.io/v1", "JobSet", {}, "JobSet is served in jobset.x-k8s.io, not in ray.io/v1", False, id="group of another project"),
    pytest.param(
        "apps.kruise.io/v1beta1",
        "StatefulSet",
        {"template": TEMPLATE},
        "StatefulSet (apps.kruise.io) is not supported",
        False,
        id="StatefulSet of another project",
    ),
    pytest.param(
        "batch.volcano.sh/v1alpha1",
        "CronJob",
        {"jobTemplate": {"spec": {"tasks": [{"template": TEMPLATE}]}}},
        "CronJob (batch.volcano.sh) is not supported",
        False,
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
    pytest.param("a.example/v1", "Farm", {}, "Farm (a.example) is unknown, so it may create pods", True, id="unknown"),
    pytest.param(
        "monitoring.coreos.com/v1",
        "Prometheus",
        {},
        "Prometheus (monitoring.coreos.com) is unknown, so it may create pods",
        True,
        id="operator",
    ),
    pytest.param("monitoring.coreos.com/v1", "ServiceMonitor", {}, "", False, id="kind without pods"),
    pytest.param("external-secrets.io/v1", "ExternalSecret", {"target": {"replicas": 2}}, "", False, id="group without pods"),
    pytest.param(
        "keda.sh/v1",
        "ScaledJob",
        {"jobTargetRef": {"template": TEMPLATE}},
        "ScaledJob (keda.sh) is not supported",
        False,
        id="template in a group without pods",
    ),
    pytest.param("kyverno.io/v1", "ClusterPolicy", {"rules": [TEMPLATE]}, "", False, id="pattern of a policy"),
    pytest.param("v1", "ConfigMap", {}, "", False, id="built-in"),
    pytest.param("batch/v1", "job", {}, 'job is no kind of batch; did you mean "Job"?', False, id="misspelt built-in"),
    pytest.param(
        "apps/v1",
        "Deploymnet",
        {"template": TEMPLATE},
        'Deploymnet is no kind of apps; did you mean "Deployment"?',
        False,
        id="misspelt with a template",
    ),
    pytest.param("v1", "PodTemplate", {}, "", False, id="similar to a kind that is read"),
]


@pytest.mark.parametrize(("version", "kind", "spec", "want", "unknown"), CASES)
def test_reason(version: str, kind: str, spec: object, want: str, unknown: bool) -> None:
    assert (want, unknown) == skip_reason({"apiVersion": version, "kind": kind, "spec": spec})
