"""Kinds without an adapter: those that create pods, those that create none, and unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.versions import served_versions
from workloadbuilder.adapters import kinds as adapted
from workloadbuilder.adapters.shared.known_objects import group_of

_WITHOUT_TEMPLATE = frozenset(
    {
        ("argoproj.io", "CronWorkflow"),
        ("argoproj.io", "Workflow"),
        ("serving.kserve.io", "InferenceService"),
        ("serving.kserve.io", "LLMInferenceService"),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("nvidia.com", "DynamoGraphDeployment"),
        ("flink.apache.org", "FlinkDeployment"),
        ("kubevirt.io", "VirtualMachine"),
        ("kubevirt.io", "VirtualMachineInstance"),
        ("kubevirt.io", "VirtualMachineInstanceReplicaSet"),
        ("tekton.dev", "PipelineRun"),
        ("tekton.dev", "TaskRun"),
    }
)
"""Kinds that create pods and need not have a pod template."""
_TEMPLATES_ONLY = frozenset(
    {
        ("", "Pod"),
        ("", "PodTemplate"),
        ("argoproj.io", "ClusterWorkflowTemplate"),
        ("argoproj.io", "WorkflowTemplate"),
        ("serving.kserve.io", "ClusterServingRuntime"),
        ("serving.kserve.io", "ServingRuntime"),
        ("tekton.dev", "ClusterTask"),
        ("tekton.dev", "Pipeline"),
        ("tekton.dev", "Task"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
    }
)
"""Kinds that have a pod template, or its parts, and create no further pods."""
_WITHOUT_PODS = frozenset(
    {
        ("argoproj.io", "AppProject"),
        ("grove.io", "ClusterTopology"),
        ("grove.io", "ClusterTopologyBinding"),
        ("kubeflow.org", "Profile"),
        ("monitoring.coreos.com", "AlertmanagerConfig"),
        ("monitoring.coreos.com", "PodMonitor"),
        ("monitoring.coreos.com", "Probe"),
        ("monitoring.coreos.com", "PrometheusRule"),
        ("monitoring.coreos.com", "ScrapeConfig"),
        ("monitoring.coreos.com", "ServiceMonitor"),
        ("resource.nvidia.com", "ComputeDomain"),
    }
)
"""Kinds that create no pods, of groups in which other kinds do."""
_POLICIES = frozenset({"constraints.gatekeeper.sh", "kyverno.io", "policies.kyverno.io", "templates.gatekeeper.sh"})
_BUILT_IN = ".k8s.io"
_WITH_READ_KINDS = frozenset({"", "apps", "batch"})
"""Built-in API groups with kinds that create pods."""
_LIKE_READ_KINDS = frozenset({"PodTemplate"})
"""Kinds of these groups whose names are similar to such kinds."""
_DEEPEST = 40
"""Levels of nesting that are searched for a pod template."""
_OF_PODS = frozenset(
    {
        "affinity",
        "image",
        "imagePullPolicy",
        "imagePullSecrets",
        "nodeSelector",
        "parallelism",
        "podSpec",
        "podTemplate",
        "podTemplateSpec",
        "priorityClassName",
        "replicas",
        "resources",
        "schedulerName",
        "tolerations",
        "topologySpreadConstraints",
        "volumeMounts",
    }
)
"""Fields that an object of an unknown kind has if it creates pods."""
_GROUPS_WITHOUT_PODS = frozenset(
    {
        "acme.cert-manager.io",
        "autoscaling.x-k8s.io",
        "bitnami.com",
        "cert-manager.io",
        "cilium.io",
        "cluster.x-k8s.io",
        "crd.projectcalico.org",
        "external-secrets.io",
        "gateway.envoyproxy.io",
        "image.toolkit.fluxcd.io",
        "k8s.cni.cncf.io",
        "kai.scheduler",
        "karpenter.azure.com",
        "karpenter.k8s.aws",
        "karpenter.sh",
        "keda.sh",
        "kueue.x-k8s.io",
        "networking.istio.io",
        "nfd.k8s-sigs.io",
        "notification.toolkit.fluxcd.io",
        "projectcalico.org",
        "projectcontour.io",
        "scheduling.run.ai",
        "scheduling.volcano.sh",
        "secrets-store.csi.x-k8s.io",
        "security.istio.io",
        "source.toolkit.fluxcd.io",
        "telemetry.istio.io",
        "topology.volcano.sh",
        "traefik.containo.us",
        "traefik.io",
    }
)
"""API groups whose objects without a pod template create no pods."""


def skip_reason(content: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the reason why an object of a kind without an adapter is skipped, and whether its kind is unknown.

    The reason is empty if the object is known to create no pods.
    """
    group, kind = group_of(str(content.get("apiVersion"))), str(content.get("kind"))
    if (group, kind) in _TEMPLATES_ONLY | _WITHOUT_PODS or group in _POLICIES:
        return "", False
    if wrong := _wrong_type(content, group, kind):
        return wrong, False
    if (group, kind) in _WITHOUT_TEMPLATE or _has_pod_template(content, _DEEPEST):
        return f"{kind} ({group or 'v1'}) is not supported{_similar(kind)}", False
    if _is_built_in(group) or group in _GROUPS_WITHOUT_PODS or served_versions.serves(group, kind):
        return "", False
    if fields := sorted(_fields_of_pods(content.get("spec"), _DEEPEST)):
        return f"{kind} ({group}) is unknown, and {_SPEC}{fields[0]} suggests that it creates pods", True
    return f"{kind} ({group}) is unknown, so it may create pods", True


def _wrong_type(content: Mapping[str, Any], group: str, kind: str) -> str:
    """Return the reason if a kind is not served in the group of the object, or is misspelt in a built-in group; empty if not."""
    groups = sorted(each for each, name in (*adapted.KINDS, *adapted.SINGLE, ("", "Pod")) if name == kind)
    if groups and group not in groups and (_is_built_in(group) or kind not in _AMBIGUOUS):
        expected = " or ".join(each or "v1" for each in groups)
        return f"{kind} is served in {expected}, not in {content.get('apiVersion')}"
    if group in _WITH_READ_KINDS and kind not in _LIKE_READ_KINDS and (similar := _similar(kind, group)):
        return f"{kind} is no kind of {group or 'v1'}{similar}"
    return ""


_AMBIGUOUS = frozenset({"CronJob", "DaemonSet", "Deployment", "Job", "PodGroup", "StatefulSet"})
"""Kinds that several projects define."""


def _is_built_in(group: str) -> bool:
    return "." not in group or group.endswith(_BUILT_IN)


def _fields_of_pods(value: object, levels: int, path: str = "") -> Iterator[str]:
    """Yield the paths of fields that objects have if they create pods."""
    for name, each in value.items() if isinstance(value, Mapping) and levels else ():
        if name in _OF_PODS and each not in (None, "", {}, []):
            yield f"{path}{name}"
        yield from _fields_of_pods(each, levels - 1, f"{path}{name}.")
    for index, each in enumerate(value if isinstance(value, list) and levels else ()):
        yield from _fields_of_pods(each, levels - 1, f"{path[:-1]}[{index}].")


_SPEC = "spec."
_SIMILAR = 0.75


def _similar(kind: str, group: str | None = None) -> str:
    """Return a question with the known kind, of *group* if given, that is similar to *kind*; empty if there is none."""
    listed = (("", "Pod"), *adapted.KINDS, *adapted.SINGLE)
    known = {name.lower(): name for each, name in listed if name != kind and group in (None, each)}
    near = difflib.get_close_matches(kind.lower(), sorted(known), n=1, cutoff=_SIMILAR)
    return f'; did you mean "{known[near[0]]}"?' if near else ""


def _has_pod_template(value: object, levels: int) -> bool:
    """Return whether a value contains a list of containers."""
    if not levels:
        return True
    if isinstance(value, Mapping):
        containers = value.get("containers")
        if isinstance(containers, list) and any(isinstance(each, Mapping) for each in containers):
            return True
        return any(_has_pod_template(each, levels - 1) for each in value.values())
    return isinstance(value, list) and any(_has_pod_template(each, levels - 1) for each in value)
