"""Kinds without an adapter: what is said of them, and whether they are unknown."""

from __future__ import annotations

import pytest

from kubeapi.json_path import parse_path
from workloadbuilder.adapters.skipped_kinds import Skipped, skip_reason

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
    found = skip_reason({"apiVersion": version, "kind": kind, "spec": spec})
    assert (want, unknown) == (found.reason, found.unknown)


WITHOUT_PODS = {
    "monitoring of a cloud": ("monitoring.googleapis.com/v1", "PodMonitoring", {"endpoints": [{"port": "metrics"}]}),
    "certificate of a cloud": ("networking.gke.io/v1", "ManagedCertificate", {"domains": ["a.example"]}),
    "FrontendConfig": ("networking.gke.io/v1beta1", "FrontendConfig", {"sslPolicy": "a"}),
    "BackendConfig": ("cloud.google.com/v1", "BackendConfig", {"healthCheck": {"port": 80}}),
    "ComputeClass": ("cloud.google.com/v1", "ComputeClass", {"priorities": [{"machineFamily": "a3"}]}),
    "InferencePool": ("inference.networking.k8s.io/v1", "InferencePool", {"selector": {"matchLabels": {"app": "a"}}}),
    "InferencePool of an early version": ("inference.networking.x-k8s.io/v1alpha2", "InferencePool", {"selector": {"app": "a"}}),
    "InferenceModel": ("inference.networking.x-k8s.io/v1alpha2", "InferenceModel", {"modelName": "a"}),
    "HTTPRoute": ("gateway.networking.k8s.io/v1", "HTTPRoute", {"rules": []}),
    "Gateway": ("gateway.networking.k8s.io/v1", "Gateway", {"gatewayClassName": "a"}),
    "VirtualService": ("networking.istio.io/v1", "VirtualService", {"hosts": ["a"]}),
    "PodMonitor": ("monitoring.coreos.com/v1", "PodMonitor", {"selector": {}}),
    "Issuer": ("cert-manager.io/v1", "Issuer", {"selfSigned": {}}),
    "solver with a pod's fields": (
        "cert-manager.io/v1",
        "ClusterIssuer",
        {"acme": {"solvers": [{"http01": {"ingress": {"podTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}}}]}},
    ),
    "SealedSecret": ("bitnami.com/v1alpha1", "SealedSecret", {"encryptedData": {"a": "b"}}),
    "autoscaler with replicas": ("keda.sh/v1alpha1", "ScaledObject", {"fallback": {"replicas": 2}}),
    "network of an operator": ("sriovnetwork.openshift.io/v1", "SriovNetwork", {"resourceName": "a"}),
    "resource of a cloud": ("s3.services.k8s.aws/v1alpha1", "Bucket", {"name": "a"}),
    "configuration with a pod template": (
        "serving.kserve.io/v1alpha1",
        "LLMInferenceServiceConfig",
        {"template": {"containers": [{"name": "main"}]}},
    ),
    "resource of another cloud": ("storage.azure.com/v1api20230101", "StorageAccount", {"location": "a"}),
    "provider of a cloud": ("aws.upbound.io/v1beta1", "ProviderConfig", {"credentials": {}}),
    "machine of another cluster": (
        "infrastructure.cluster.x-k8s.io/v1beta2",
        "AWSMachineTemplate",
        {"template": {"spec": {"replicas": 2}}},
    ),
    "control plane of another cluster": ("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane", {"replicas": 3}),
    "composition": ("apiextensions.crossplane.io/v1", "Composition", {"resources": []}),
    "report of policies": ("wgpolicyk8s.io/v1alpha2", "PolicyReport", {}),
    "scaling by requests": ("http.keda.sh/v1alpha1", "HTTPScaledObject", {"replicas": {"max": 3}}),
    "backend of a gateway": ("gateway.k8s.aws/v1beta1", "LoadBalancerConfiguration", {}),
    "exported service": ("net.gke.io/v1", "ServiceExport", {}),
    "mutation of pods": ("mutations.gatekeeper.sh/v1", "Assign", {"parameters": {"assign": {"value": TEMPLATE["spec"]}}}),
}


@pytest.mark.parametrize(("version", "kind", "spec"), WITHOUT_PODS.values(), ids=WITHOUT_PODS)
def test_known_kinds_create_no_pods(version: str, kind: str, spec: object) -> None:
    assert Skipped() == skip_reason({"apiVersion": version, "kind": kind, "spec": spec})


CREATE_PODS = {
    "Alertmanager beside its configuration": ("monitoring.coreos.com/v1", "Alertmanager", {"replicas": 1}),
    "device plugin of an operator": ("sriovnetwork.openshift.io/v1", "SriovOperatorConfig", {}),
    "database beside its users": ("postgresql.cnpg.io/v1", "Cluster", {"instances": 3}),
    "group that ends like one of a cloud": ("xservices.k8s.aws/v1", "Farm", {}),
    "control plane in pods": ("controlplane.cluster.x-k8s.io/v1alpha1", "KamajiControlPlane", {"replicas": 3}),
    "controller in a group of clouds": ("approuting.kubernetes.azure.com/v1alpha1", "NginxIngressController", {}),
    "provider that is installed": ("pkg.crossplane.io/v1", "Provider", {"package": "a"}),
    "pod template in a group of networks": ("networking.gke.io/v1", "Proxy", {"template": TEMPLATE}),
}


@pytest.mark.parametrize(("version", "kind", "spec"), CREATE_PODS.values(), ids=CREATE_PODS)
def test_other_kinds_of_these_projects_may_create_pods(version: str, kind: str, spec: object) -> None:
    assert skip_reason({"apiVersion": version, "kind": kind, "spec": spec}).reason


@pytest.mark.parametrize("kind", ["PodClique", "PodCliqueScalingGroup"])
def test_parts_of_a_gang_name_the_object_that_makes_it(kind: str) -> None:
    found = skip_reason({"apiVersion": "grove.io/v1alpha1", "kind": kind, "spec": {"replicas": 2}})
    reason = found.reason

    assert not found.unknown
    assert "the gang of its PodCliqueSet, which is not in the input" in reason


TEMPLATES = {
    "template": ({"workers": 4, "template": TEMPLATE}, ("spec.template", "")),
    "number beside it": ({"replicas": 4, "template": TEMPLATE}, ("spec.template", "spec.replicas")),
    "list of roles": ({"roles": [{"name": "a", "replicas": 2, "pod": TEMPLATE}]}, ("spec.roles[*].pod", "spec.roles[*].replicas")),
    "pod itself": ({"containers": [{"name": "c"}]}, ("spec", "")),
    "specification": ({"size": "2", "podSpec": {"containers": [{"name": "c"}]}}, ("spec.podSpec", "")),
    "name with a slash": ({"example.com/it's": TEMPLATE}, (r"spec['example.com/it\'s']", "")),
    "replicas that is no number": ({"replicas": "2", "template": TEMPLATE}, ("spec.template", "")),
}


@pytest.mark.parametrize(("spec", "want"), TEMPLATES.values(), ids=TEMPLATES)
def test_the_path_of_the_pod_template(spec: dict[str, object], want: tuple[str, str]) -> None:
    content = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}
    found = skip_reason(content)
    assert want == (found.template, found.replicas)
    values = [value for _, value in parse_path(found.template).matches(content)]
    assert values
    assert all("containers" in value.get("spec", value) for value in values)
