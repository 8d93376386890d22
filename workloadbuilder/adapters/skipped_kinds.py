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
_PARTS = {("grove.io", "PodClique"): "PodCliqueSet", ("grove.io", "PodCliqueScalingGroup"): "PodCliqueSet"}
"""Kinds of objects with a part of the pods of a gang, and the kind of the object that makes the gang and them."""
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
_ALL = "*"
_WITHOUT_PODS = {
    # Networks, gateways and certificates.
    "acme.cert-manager.io": _ALL,
    "aigateway.envoyproxy.io": _ALL,
    "apisix.apache.org": _ALL,
    "application-networking.k8s.aws": _ALL,
    "cert-manager.io": _ALL,
    "cilium.io": _ALL,
    "cloud.google.com": _ALL,
    "configuration.konghq.com": _ALL,
    "crd.k8s.amazonaws.com": _ALL,
    "crd.projectcalico.org": _ALL,
    "elbv2.k8s.aws": _ALL,
    "extensions.istio.io": _ALL,
    "gateway.envoyproxy.io": _ALL,
    "gateway.kgateway.dev": _ALL,
    "getambassador.io": _ALL,
    "hub.traefik.io": _ALL,
    "inference.networking.x-k8s.io": _ALL,
    "k8s.cni.cncf.io": _ALL,
    "k8s.nginx.org": _ALL,
    "k8s.ovn.org": _ALL,
    "linkerd.io": _ALL,
    "mellanox.com": "HostDeviceNetwork IPoIBNetwork MacvlanNetwork",
    "metallb.io": "BFDProfile BGPAdvertisement BGPPeer Community IPAddressPool L2Advertisement",
    "networking.gke.io": _ALL,
    "networking.istio.io": _ALL,
    "policy.linkerd.io": _ALL,
    "projectcalico.org": _ALL,
    "projectcontour.io": _ALL,
    "security.istio.io": _ALL,
    "sriovnetwork.openshift.io": "OVSNetwork SriovIBNetwork SriovNetwork SriovNetworkNodePolicy SriovNetworkPoolConfig",
    "telemetry.istio.io": _ALL,
    "traefik.containo.us": _ALL,
    "traefik.io": _ALL,
    "trust.cert-manager.io": _ALL,
    "vpcresources.k8s.aws": _ALL,
    "whereabouts.cni.cncf.io": _ALL,
    # Secrets and permissions.
    "bitnami.com": _ALL,
    "external-secrets.io": _ALL,
    "generators.external-secrets.io": _ALL,
    "hnc.x-k8s.io": _ALL,
    "isindir.github.com": _ALL,
    "onepassword.com": _ALL,
    "policies.kubewarden.io": "AdmissionPolicy AdmissionPolicyGroup ClusterAdmissionPolicy ClusterAdmissionPolicyGroup",
    "rbacmanager.reactiveops.io": _ALL,
    "secrets-store.csi.x-k8s.io": _ALL,
    "secrets.hashicorp.com": _ALL,
    "secrets.infisical.com": _ALL,
    "security-profiles-operator.x-k8s.io": "AppArmorProfile ProfileBinding SeccompProfile SelinuxProfile",
    # Metrics, logs and alerts.
    "datadoghq.com": "DatadogDashboard DatadogMetric DatadogMonitor DatadogPodAutoscaler DatadogSLO",
    "grafana.integreatly.org": (
        "GrafanaAlertRuleGroup GrafanaContactPoint GrafanaDashboard GrafanaDatasource GrafanaFolder GrafanaLibraryPanel "
        "GrafanaMuteTiming GrafanaNotificationPolicy GrafanaNotificationTemplate"
    ),
    "logging.banzaicloud.io": "ClusterFlow ClusterOutput Flow Output",
    "loki.grafana.com": "AlertingRule RecordingRule RulerConfig",
    "monitoring.coreos.com": "AlertmanagerConfig PodMonitor Probe PrometheusRule ScrapeConfig ServiceMonitor",
    "monitoring.googleapis.com": _ALL,
    "opentelemetry.io": "Instrumentation",
    "operator.victoriametrics.com": (
        "VMAlertmanagerConfig VMNodeScrape VMPodScrape VMProbe VMRule VMScrapeConfig VMServiceScrape VMStaticScrape VMUser"
    ),
    "pyrra.dev": _ALL,
    "sloth.slok.dev": _ALL,
    # Queues, nodes and autoscalers.
    "accelerator.gke.io": "Slice",
    "autoscaling.x-k8s.io": _ALL,
    "bus.volcano.sh": _ALL,
    "cluster.x-k8s.io": _ALL,
    "config.koordinator.sh": _ALL,
    "eks.amazonaws.com": _ALL,
    "eventing.keda.sh": _ALL,
    "grove.io": "ClusterTopology ClusterTopologyBinding",
    "kai.scheduler": _ALL,
    "karpenter.azure.com": _ALL,
    "karpenter.k8s.aws": _ALL,
    "karpenter.sh": _ALL,
    "keda.sh": _ALL,
    "kueue.x-k8s.io": _ALL,
    "nfd.k8s-sigs.io": _ALL,
    "nodeinfo.volcano.sh": _ALL,
    "resource.nvidia.com": "ComputeDomain ComputeDomainClique",
    "scheduling.koordinator.sh": "Device",
    "scheduling.run.ai": _ALL,
    "scheduling.volcano.sh": _ALL,
    "scheduling.x-k8s.io": "ElasticQuota",
    "slo.koordinator.sh": _ALL,
    "topology.volcano.sh": _ALL,
    # Storage, databases and queues of messages.
    "ceph.rook.io": "CephBlockPool CephBlockPoolRadosNamespace CephClient CephFilesystemSubVolumeGroup CephObjectStoreUser",
    "kafka.strimzi.io": "KafkaRebalance KafkaTopic KafkaUser",
    "objectbucket.io": _ALL,
    "postgresql.cnpg.io": "ClusterImageCatalog Database ImageCatalog Publication Subscription",
    "rabbitmq.com": "Binding Exchange Permission Policy Queue User Vhost",
    "topolvm.io": "LogicalVolume",
    "velero.io": "BackupStorageLocation VolumeSnapshotLocation",
    # Delivery, pipelines and serving.
    "argoproj.io": "AnalysisTemplate AppProject ClusterAnalysisTemplate WorkflowEventBinding",
    "eventing.knative.dev": "EventType Trigger",
    "flagger.app": "AlertProvider MetricTemplate",
    "helm.cattle.io": "HelmChartConfig",
    "image.toolkit.fluxcd.io": _ALL,
    "kubeflow.org": "PodDefault Profile",
    "notification.toolkit.fluxcd.io": _ALL,
    "operators.coreos.com": "OperatorCondition OperatorGroup",
    "policy.karmada.io": _ALL,
    "serving.kserve.io": "ClusterStorageContainer LLMInferenceServiceConfig LocalModelNodeGroup TrainedModel",
    "serving.knative.dev": "DomainMapping Route",
    "source.toolkit.fluxcd.io": _ALL,
    "triggers.tekton.dev": "ClusterInterceptor ClusterTriggerBinding Interceptor Trigger TriggerBinding TriggerTemplate",
    # OpenShift.
    "authorization.openshift.io": _ALL,
    "config.openshift.io": _ALL,
    "image.openshift.io": _ALL,
    "machine.openshift.io": _ALL,
    "machineconfiguration.openshift.io": _ALL,
    "project.openshift.io": _ALL,
    "quota.openshift.io": _ALL,
    "route.openshift.io": _ALL,
    "security.openshift.io": _ALL,
    "user.openshift.io": _ALL,
}
"""Kinds that create no pods by API group, separated by spaces; ``_ALL``: every kind of the group, if the object has no pod template."""
_CLOUDS = (".aws.upbound.io", ".azure.upbound.io", ".cnrm.cloud.google.com", ".gcp.upbound.io", ".services.k8s.aws")
"""Ends of API groups whose objects are resources of a cloud."""
_POLICIES = frozenset(
    {
        "config.gatekeeper.sh",
        "constraints.gatekeeper.sh",
        "expansion.gatekeeper.sh",
        "externaldata.gatekeeper.sh",
        "kyverno.io",
        "mutations.gatekeeper.sh",
        "policies.kyverno.io",
        "templates.gatekeeper.sh",
    }
)
"""API groups of policies, which can have patterns of pods."""
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


def skip_reason(content: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the reason why an object of a kind without an adapter is skipped, and whether its kind is unknown.

    The reason is empty if the object is known to create no pods.
    """
    group, kind = group_of(str(content.get("apiVersion"))), str(content.get("kind"))
    without_pods = _WITHOUT_PODS.get(group, "").split()
    if (group, kind) in _TEMPLATES_ONLY or kind in without_pods or group in _POLICIES:
        return "", False
    if reason := _part_of_gang(group, kind) or _wrong_type(content, group, kind):
        return reason, False
    if (group, kind) in _WITHOUT_TEMPLATE or _has_pod_template(content, _DEEPEST):
        return f"{kind} ({group or 'v1'}) is not supported{_similar(kind)}", False
    if _is_built_in(group) or _ALL in without_pods or group.endswith(_CLOUDS) or served_versions.serves(group, kind):
        return "", False
    if fields := sorted(_fields_of_pods(content.get("spec"), _DEEPEST)):
        return f"{kind} ({group}) is unknown, and {_SPEC}{fields[0]} suggests that it creates pods", True
    return f"{kind} ({group}) is unknown, so it may create pods", True


def _part_of_gang(group: str, kind: str) -> str:
    """Return the reason if an object has only a part of the pods of a gang; empty if not."""
    whole = _PARTS.get((group, kind))
    return f"its pods are a part of the gang of its {whole}, which is not in the input: give that in its place" if whole else ""


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
