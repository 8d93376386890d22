"""Kinds without an adapter: those that create pods, those that create none, and unknown ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kubeapi.versions import served_versions
from workloadbuilder.adapters import kinds as adapted
from workloadbuilder.adapters.shared.known_objects import group_of

_WITHOUT_TEMPLATE = frozenset(
    {
        ("approuting.kubernetes.azure.com", "NginxIngressController"),
        ("controlplane.cluster.x-k8s.io", "K0smotronControlPlane"),
        ("controlplane.cluster.x-k8s.io", "KamajiControlPlane"),
        ("core.cnrm.cloud.google.com", "ConfigConnector"),
        ("core.cnrm.cloud.google.com", "ConfigConnectorContext"),
        ("infrastructure.cluster.x-k8s.io", "KubevirtMachine"),
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
_GROUPS_WITHOUT_PODS = {
    "networks, gateways and certificates": (
        "acme.cert-manager.io aga.k8s.aws agentgateway.dev aigateway.envoyproxy.io alb.networking.azure.io apisix.apache.org "
        "appgw.ingress.azure.io application-networking.k8s.aws awspca.cert-manager.io cert-manager.io cert-manager.k8s.cloudflare.com "
        "certmanager.step.sm cilium.io cloud.google.com configuration.konghq.com crd.k8s.amazonaws.com crd.projectcalico.org "
        "elbv2.k8s.aws enterprise.gloo.solo.io extensions.istio.io gateway.envoyproxy.io gateway.k8s.aws gateway.kgateway.dev "
        "gateway.networking.x-k8s.io gateway.nginx.org gateway.solo.io getambassador.io gloo.solo.io graphql.gloo.solo.io "
        "hub.traefik.io inference.networking.x-k8s.io k8s.cni.cncf.io k8s.nginx.org k8s.ovn.org linkerd.io multicluster.x-k8s.io "
        "net.gke.io networking.gke.io networking.internal.knative.dev networking.istio.io networking.k8s.aws policy.cert-manager.io "
        "policy.linkerd.io projectcalico.org projectcontour.io ratelimit.solo.io security.istio.io telemetry.istio.io "
        "traefik.containo.us traefik.io trust.cert-manager.io vpcresources.k8s.aws whereabouts.cni.cncf.io "
    ),
    "secrets and permissions": (
        "bitnami.com capsule.clastix.io clustersecret.io external-secrets.io generators.external-secrets.io hnc.x-k8s.io "
        "isindir.github.com onepassword.com policy.sigstore.dev rbacmanager.reactiveops.io secret-sync.gke.io "
        "secretgenerator.mittwald.de secrets-store.csi.x-k8s.io secrets.doppler.com secrets.hashicorp.com secrets.infisical.com spv.no "
    ),
    "metrics, logs and alerts": (
        "azmonitoring.coreos.com monitoring.googleapis.com openreports.io pyrra.dev reports.kyverno.io sloth.slok.dev wgpolicyk8s.io "
    ),
    "queues, nodes and autoscalers": (
        "addons.cluster.x-k8s.io anywhere.eks.amazonaws.com autoscaling.gke.io autoscaling.internal.knative.dev autoscaling.x-k8s.io "
        "bootstrap.cluster.x-k8s.io bus.volcano.sh caching.internal.knative.dev cluster.open-cluster-management.io cluster.x-k8s.io "
        "clusterctl.cluster.x-k8s.io config.koordinator.sh controlplane.cluster.x-k8s.io distro.eks.amazonaws.com eks.amazonaws.com "
        "eventing.keda.sh gkebackup.gke.io http.keda.sh hub.gke.io infrastructure.cluster.x-k8s.io instancetype.kubevirt.io "
        "ipam.cluster.x-k8s.io kai.scheduler karpenter.azure.com karpenter.k8s.aws karpenter.sh keda.sh kueue.x-k8s.io kwok.x-k8s.io "
        "llmd.ai metal3.io migrations.kubevirt.io nfd.k8s-sigs.io nodeinfo.volcano.sh nodemanagement.gke.io "
        "placement.kubernetes-fleet.io podsnapshot.gke.io readiness.node.x-k8s.io runtime.cluster.x-k8s.io scheduling.run.ai "
        "scheduling.volcano.sh slo.koordinator.sh topology.volcano.sh "
    ),
    "storage, databases and queues of messages": ("objectbucket.io "),
    "delivery, pipelines and serving": (
        "apiextensions.crossplane.io argocd-image-updater.argoproj.io image.toolkit.fluxcd.io kargo.akuity.io kro.run "
        "notification.toolkit.fluxcd.io pipelines.kubeflow.org policy.karmada.io protection.crossplane.io secrets.crossplane.io "
        "services.k8s.aws source.extensions.fluxcd.io source.toolkit.fluxcd.io "
    ),
    "OpenShift": (
        "authorization.openshift.io config.openshift.io image.openshift.io machine.openshift.io machineconfiguration.openshift.io "
        "project.openshift.io quota.openshift.io route.openshift.io security.openshift.io user.openshift.io "
    ),
}
"""API groups whose objects create no pods, if they have no pod template, by what they are for."""
_WITHOUT_PODS = {
    # Networks, gateways and certificates.
    "mellanox.com": "HostDeviceNetwork IPoIBNetwork MacvlanNetwork",
    "metallb.io": "BFDProfile BGPAdvertisement BGPPeer Community IPAddressPool L2Advertisement",
    "sriovnetwork.openshift.io": "OVSNetwork SriovIBNetwork SriovNetwork SriovNetworkNodePolicy SriovNetworkPoolConfig",
    # Secrets and permissions.
    "policies.kubewarden.io": "AdmissionPolicy AdmissionPolicyGroup ClusterAdmissionPolicy ClusterAdmissionPolicyGroup",
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
    "monitoring.grafana.com": "Integration LogsInstance MetricsInstance PodLogs",
    "opentelemetry.io": "Instrumentation",
    "operator.victoriametrics.com": (
        "VMAlertmanagerConfig VMNodeScrape VMPodScrape VMProbe VMRule VMScrapeConfig VMServiceScrape VMStaticScrape VMUser"
    ),
    # Queues, nodes and autoscalers.
    "accelerator.gke.io": "Slice",
    "grove.io": "ClusterTopology ClusterTopologyBinding",
    "resource.nvidia.com": "ComputeDomain ComputeDomainClique",
    "scheduling.koordinator.sh": "Device",
    "scheduling.x-k8s.io": "ElasticQuota",
    # Storage, databases and queues of messages.
    "ceph.rook.io": "CephBlockPool CephBlockPoolRadosNamespace CephClient CephFilesystemSubVolumeGroup CephObjectStoreUser",
    "kafka.strimzi.io": "KafkaRebalance KafkaTopic KafkaUser",
    "postgresql.cnpg.io": "ClusterImageCatalog Database ImageCatalog Publication Subscription",
    "rabbitmq.com": "Binding Exchange Permission Policy Queue User Vhost",
    "topolvm.io": "LogicalVolume",
    "velero.io": "BackupStorageLocation VolumeSnapshotLocation",
    # Delivery, pipelines and serving.
    "argoproj.io": "AnalysisTemplate AppProject ClusterAnalysisTemplate WorkflowEventBinding WorkflowTaskResult WorkflowTaskSet",
    "eventing.knative.dev": "EventType Trigger",
    "flagger.app": "AlertProvider MetricTemplate",
    "helm.cattle.io": "HelmChartConfig",
    "kubeflow.org": "PodDefault Profile",
    "operators.coreos.com": "OperatorCondition OperatorGroup",
    "pkg.crossplane.io": "Configuration ConfigurationRevision ControllerConfig DeploymentRuntimeConfig ImageConfig Lock",
    "serving.knative.dev": "DomainMapping Route",
    "serving.kserve.io": "ClusterStorageContainer LLMInferenceServiceConfig LocalModelNodeGroup TrainedModel",
    "triggers.tekton.dev": "ClusterInterceptor ClusterTriggerBinding Interceptor Trigger TriggerBinding TriggerTemplate",
}
"""Kinds that create no pods in other API groups, separated by spaces."""
_CLOUDS = (
    *(".azure.com", ".cnrm.cloud.google.com", ".grafana.crossplane.io", ".grafana.m.crossplane.io", ".grafana.o.crossplane.io"),
    *(".services.k8s.aws", ".upbound.io"),
)
"""Ends of API groups whose objects are resources of a cloud."""
_ALL_GROUPS_WITHOUT_PODS = frozenset(group for groups in _GROUPS_WITHOUT_PODS.values() for group in groups.split())
_POLICIES = frozenset(
    {
        "config.gatekeeper.sh",
        "connection.gatekeeper.sh",
        "constraints.gatekeeper.sh",
        "expansion.gatekeeper.sh",
        "externaldata.gatekeeper.sh",
        "kyverno.io",
        "mutations.gatekeeper.sh",
        "policies.kyverno.io",
        "status.gatekeeper.sh",
        "syncset.gatekeeper.sh",
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


class Skipped(NamedTuple):
    """Why an object of a kind without an adapter is skipped.

    Attributes:
        reason: the reason; empty if the object is known to create no pods.
        template: path of a pod template in it, or of the specification of a pod; empty if it has none.
        replicas: path of the number of its pods; empty if none is beside the template.
        unknown: whether it is not known that its kind creates pods.

    """

    reason: str = ""
    template: str = ""
    replicas: str = ""
    unknown: bool = False


_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""Names that a path has without quotes."""


def skip_reason(content: Mapping[str, Any]) -> Skipped:
    """Return why an object of a kind without an adapter is skipped."""
    group, kind = group_of(str(content.get("apiVersion"))), str(content.get("kind"))
    without_pods = _WITHOUT_PODS.get(group, "").split()
    if (group, kind) in _TEMPLATES_ONLY or kind in without_pods or group in _POLICIES:
        return Skipped()
    if reason := _part_of_gang(group, kind) or _wrong_type(content, group, kind):
        return Skipped(reason)
    template = _pod_template(content, _DEEPEST)
    if (group, kind) in _WITHOUT_TEMPLATE or template is not None:
        return Skipped(f"{kind} ({group or 'v1'}) is not supported{_similar(kind)}", *(template or ()))
    if _is_built_in(group) or group in _ALL_GROUPS_WITHOUT_PODS or group.endswith(_CLOUDS) or served_versions.serves(group, kind):
        return Skipped()
    if fields := sorted(_fields_of_pods(content.get("spec"), _DEEPEST)):
        return Skipped(f"{kind} ({group}) is unknown, and {_SPEC}{fields[0]} suggests that it creates pods", unknown=True)
    return Skipped(f"{kind} ({group}) is unknown, so it may create pods", unknown=True)


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


def _pod_template(value: object, levels: int, path: str = "", replicas: str = "") -> tuple[str, str] | None:
    """Return the path of the first pod template, or of the specification of a pod, in a value, and of its number; None if there is none.

    *replicas* is the path of the number beside the value.  The paths are empty below the deepest level that is searched.
    """
    if not levels:
        return "", ""
    if isinstance(value, list):
        found = (_pod_template(each, levels - 1, f"{path}[*]", "") for each in value)
    elif isinstance(value, Mapping):
        if _has_containers(value) or (path and _has_containers(value.get("spec"))):
            return path, replicas
        number = _joined(path, "replicas") if type(value.get("replicas")) is int else ""
        found = (_pod_template(each, levels - 1, _joined(path, str(key)), number) for key, each in value.items())
    else:
        return None
    return next((each for each in found if each is not None), None)


def _has_containers(value: object) -> bool:
    containers = value.get("containers") if isinstance(value, Mapping) else None
    return isinstance(containers, list) and any(isinstance(each, Mapping) for each in containers)


def _joined(path: str, name: str) -> str:
    """Return the path of a field of the object at *path*, as ``kubeapi.json_path`` reads it."""
    if not _PLAIN.fullmatch(name):
        escaped = name.replace("\\", r"\\").replace("'", r"\'")
        return f"{path}['{escaped}']"
    return f"{path}.{name}".lstrip(".")
