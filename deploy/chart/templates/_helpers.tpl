{{- define "muster.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "muster.labels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/part-of: muster
{{- end }}

{{/* Labels of a webhook configuration. */}}
{{- define "muster.configurationLabels" -}}
app.kubernetes.io/component: configuration
app.kubernetes.io/part-of: muster
{{- end }}

{{- define "muster.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .role }}
  labels:
    app.kubernetes.io/part-of: muster
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .role }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .namespace }}
{{- end }}

{{/* Security of a pod: it satisfies the Pod Security Standard "restricted". */}}
{{- define "muster.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "muster.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "muster.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: probes
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /healthz
    port: probes
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{/*
Labels and annotations of the pods of a component. They are annotated for Prometheus if somebody can read the metrics, and no monitor does:
a pod that is read twice would count as two replicas. The schema refuses values that contradict this.
*/}}
{{- define "muster.podMetadata" -}}
{{- $policy := .root.Values.networkPolicy }}
{{- $open := or (not $policy.enabled) $policy.metricsFrom .component.hostNetwork }}
{{- $annotations := .component.podAnnotations | default dict }}
{{- if or (and $open (not .root.Values.prometheus.monitors)) (eq (get $annotations "prometheus.io/scrape") "true") }}
{{- $annotations = merge (dict) $annotations (dict "prometheus.io/scrape" "true" "prometheus.io/port" "8080" "prometheus.io/path" "/metrics") }}
{{- end -}}
labels:
  app.kubernetes.io/name: {{ .name }}
  {{- with .component.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* ServiceAccount of a component. */}}
{{- define "muster.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: muster
  {{- with (.component.serviceAccount | default dict).annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Nodes on which the pods of a component can run. */}}
{{- define "muster.placement" -}}
{{- $labels := dict "matchLabels" (dict "app.kubernetes.io/name" .name) }}
{{- with .component }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ hasKey . "labelSelector" | ternary . (merge (dict "labelSelector" $labels) .) | toYaml | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Settings of a section of the values as variables, then its extraEnv. Those that the chart sets, as variable or option, are refused: twice the
same name is an error of the API server, and an option hides its variable. own has them, with the value to set instead. The schema refuses
settings in extraEnv. Numbers of a file are written in full: 8388608, not 8.388608e+06.
*/}}
{{- define "muster.env" -}}
{{- $root := . }}
{{- range $name, $value := .component.env }}
{{- if hasKey $root.own $name }}
{{- fail (printf "%s.env.%s: the chart sets this variable itself: %s" $root.section $name (get $root.own $name | default "leave it out")) }}
{{- end }}
- name: {{ $name }}
  value: {{ if kindIs "float64" $value }}{{ toJson $value | quote }}{{ else }}{{ quote $value }}{{ end }}
{{- end }}
{{- $names := dict }}
{{- range .component.extraEnv }}
{{- if hasKey $names .name }}
{{- fail (printf "%s.extraEnv: %s is in the list twice: leave one of them out" $root.section .name) }}
{{- end }}
{{- $_ := set $names .name true }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}

{{/*
Modes of enforcement of namespaces without a label, as the server reads them: the default, then those of rules. MUSTER_ENFORCEMENT
replaces webhooks.enforcement.
*/}}
{{- define "muster.modes" -}}
{{- $modes := dict "" "deny" }}
{{- $text := get (.Values.webhooks.env | default dict) "MUSTER_ENFORCEMENT" | default .Values.webhooks.enforcement }}
{{- range splitList "," ($text | replace "\n" ",") }}
{{- $parts := splitList "=" (trim .) }}
{{- if last $parts }}
{{- $_ := set $modes (initial $parts | join "=") (last $parts) }}
{{- end }}
{{- end }}
{{- get $modes "" }},{{ values (omit $modes "") | sortAlpha | uniq | join "," }}
{{- end }}

{{/*
Minor version of Kubernetes that the webhooks mirror: that of the API server, of those that Muster knows. Before 1.35 there were no built-in
kinds: custom resources have the rules of 1.37.
*/}}
{{- define "muster.kubernetes" -}}
{{- $minor := (semver .Capabilities.KubeVersion.Version).Minor -}}
1.{{ lt $minor 35 | ternary 37 (min 38 $minor) }}
{{- end }}

{{/* Kinds that both API groups have. */}}
{{- define "muster.kinds" -}}
{{ list "Workload" "PodGroup" "CompositePodGroup" | toJson }}
{{- end }}

{{/* Those of the kinds that the API server serves in a group, in JSON: of the root and the group. */}}
{{- define "muster.served" -}}
{{- $served := .root.Capabilities.APIVersions -}}
{{- $group := .group -}}
{{- $found := list -}}
{{- range $kind := include "muster.kinds" . | fromJsonArray -}}
{{- if or ($served.Has (printf "%s/v1beta1/%s" $group $kind)) ($served.Has (printf "%s/v1alpha3/%s" $group $kind)) -}}
{{- $found = append $found $kind -}}
{{- end -}}
{{- end -}}
{{- $found | toJson -}}
{{- end }}

{{/*
The kinds whose definitions are objects of this release ("own"), and those with a definition of something else ("foreign"), in JSON. With
api: auto, definitions are needed if a built-in kind is not served, because a tree can need all three, and if a definition exists: those of
this release stay in it after an upgrade of Kubernetes. Without a cluster, as in `helm template`, --api-versions lists what is served; without
that option the definitions are included.
*/}}
{{- define "muster.definitions" -}}
{{- $api := .Values.api | default "auto" -}}
{{- $kinds := include "muster.kinds" . | fromJsonArray -}}
{{- $builtIn := include "muster.served" (dict "root" . "group" "scheduling.k8s.io") | fromJsonArray -}}
{{- $needed := or (lt (len $builtIn) (len $kinds)) (include "muster.served" (dict "root" . "group" "scheduling.muster.dev") | ne "[]") -}}
{{- $own := list -}}
{{- $foreign := list -}}
{{- range $kind := $kinds -}}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%ss.scheduling.muster.dev" (lower $kind)) -}}
{{- $annotations := ($definition.metadata | default dict).annotations | default dict -}}
{{- $owner := printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name") -}}
{{- if and $definition (ne $owner (printf "%s/%s" $.Release.Namespace $.Release.Name)) -}}
{{- $foreign = append $foreign $kind -}}
{{- else -}}
{{- $own = append $own $kind -}}
{{- end -}}
{{- $needed = or $needed (not (empty $definition)) -}}
{{- end -}}
{{- if eq $api "custom" -}}
{{- $own = $kinds -}}
{{- $foreign = list -}}
{{- else if or (eq $api "kubernetes") (not $needed) -}}
{{- $own = list -}}
{{- end -}}
{{- dict "own" $own "foreign" $foreign | toJson -}}
{{- end }}

{{/*
The API that pods are scheduled by: custom, if a definition is an object of this release; kubernetes, the built-in kinds; or existing, custom
resources that were all defined otherwise.
*/}}
{{- define "muster.api" -}}
{{- $api := .Values.api | default "auto" -}}
{{- if ne $api "auto" -}}
{{- $api -}}
{{- else -}}
{{- $definitions := include "muster.definitions" . | fromJson -}}
{{- if $definitions.own }}custom{{ else if $definitions.foreign }}existing{{ else }}kubernetes{{ end -}}
{{- end -}}
{{- end }}

{{/* What values.schema.json cannot compare: sums of values, and values with the release and with the version of the API server. */}}
{{- define "muster.check" -}}
{{- $webhooks := .Values.webhooks.env | default dict }}
{{- $body := get $webhooks "MUSTER_BODY_BYTES" | default 7340032 | int64 }}
{{- $total := get $webhooks "MUSTER_TOTAL_BODY_BYTES" | default 33554432 | int64 }}
{{- if gt (mul $body 4) (mul $total 3) }}
{{- fail (printf "webhooks.env: MUSTER_BODY_BYTES=%d must be at most three quarters of MUSTER_TOTAL_BODY_BYTES=%d" $body $total) }}
{{- end }}
{{- $service := printf "muster-webhook.%s.svc" .Release.Namespace }}
{{- $names := get $webhooks "MUSTER_CERTIFICATE_NAMES" | toString | replace " " "" }}
{{- if and $names (not (has $service (splitList "," $names))) }}
{{- fail (printf "webhooks.env.MUSTER_CERTIFICATE_NAMES=%s must have %s, the name by which the API server calls the webhooks" $names $service) }}
{{- end }}
{{- range $section := list "webhooks" "sidecar" }}
{{- $env := (get $.Values $section).env | default dict }}
{{- $kubernetes := get $env "MUSTER_KUBERNETES" | default (include "muster.kubernetes" $) }}
{{- if and (contains "PodGroupPreemptionPolicy" (get $env "MUSTER_GATES" | toString)) (semverCompare ">=1.38" (toString $kubernetes)) }}
{{- fail (printf "%s.env.MUSTER_GATES: Kubernetes %v has no gate PodGroupPreemptionPolicy, which is always on: leave it out" $section $kubernetes) }}
{{- end }}
{{- end }}
{{- if and .Values.sidecar.enabled (eq (include "muster.api" .) "kubernetes") (semverCompare "<1.37.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "sidecar.enabled is true and api is kubernetes, but the built-in kinds are scheduled from Kubernetes 1.37 on, and the API server is %s: set api to custom or sidecar.enabled to false" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- $undo := and .Values.sidecar.enabled (eq .Values.sidecar.deviations "undo") }}
{{- if and $undo (not (has "ungate" (include "muster.sidecarModes" . | fromJsonArray))) }}
{{- fail "sidecar.deviations is undo, but sidecar.modes does not have ungate: only pods that another scheduler binds deviate" }}
{{- end }}
{{- $build := .Values.build }}
{{- if and $build.policy (not $build.enabled) }}
{{- fail "build.policy is true, but build.enabled is false: set build.enabled to true" }}
{{- end }}
{{- if and $build.policy (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "build.policy is true, but the API server, %s, has no MutatingAdmissionPolicy of version v1, which 1.36 has: set it to false" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and $build.enabled (not $build.policy) (not .Values.webhooks.enabled) }}
{{- fail "build.enabled is true, but nothing lets pods join groups: set webhooks.enabled or build.policy to true" }}
{{- end }}
{{- if and $build.enabled .Values.sidecar.enabled (eq $build.placedBy "scheduler") (eq .Values.sidecar.schedulerName "default-scheduler") }}
{{- fail "build.placedBy is scheduler and sidecar.schedulerName is default-scheduler, but kube-scheduler places the same pods: give the sidecar another name" }}
{{- end }}
{{- end }}

{{/* The modes of the sidecar: those of its values, and those without which pods that join groups would wait forever. */}}
{{- define "muster.sidecarModes" -}}
{{- $build := .Values.build }}
{{- $added := list }}
{{- if $build.enabled }}
{{- $added = list "build" (get (dict "gate" "ungate" "scheduler" "place" "none" "") $build.placedBy) | compact }}
{{- end }}
{{- concat .Values.sidecar.modes $added | uniq | toJson }}
{{- end }}

{{/* A drain evicts one replica at a time. */}}
{{- define "muster.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    app.kubernetes.io/part-of: muster
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
{{- end }}

{{/* Names of the components that are installed, in JSON. */}}
{{- define "muster.components" -}}
{{ list (ternary "muster-webhook" "" .Values.webhooks.enabled) (ternary "muster-sidecar" "" .Values.sidecar.enabled) | compact | toJson }}
{{- end }}

{{/* Metadata of an object that a Prometheus selects by its labels. */}}
{{- define "muster.prometheusMetadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  app.kubernetes.io/part-of: muster
  {{- with .root.Values.prometheus.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The part of a webhook that all have: of the root, the mode of enforcement of the namespaces ("" for those without a label), and the path. */}}
{{- define "muster.webhookClient" -}}
clientConfig:
  service:
    name: muster-webhook
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}{{ with .mode }}/{{ . }}{{ end }}
    port: 443
  {{- with .root.Values.certificate.caBundle }}
  caBundle: {{ . }}
  {{- end }}
{{- end }}

{{- define "muster.namespaces" -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: {{ concat (list .root.Release.Namespace) .root.Values.webhooks.exemptNamespaces | uniq | toJson }}
  - key: muster.dev/enforcement
    {{- if .mode }}
    operator: In
    values: [{{ .mode }}]
    {{- else }}
    operator: NotIn
    values: [deny, warn, audit]
    {{- end }}
{{- end }}

{{/* An annotation by which cert-manager writes caBundle. */}}
{{- define "muster.injectCA" -}}
{{- if eq .Values.certificate.source "cert-manager" }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/muster-webhook
{{- end }}
{{- end }}

{{/* Kinds that the modes place and ungate read. */}}
{{- define "muster.watchedByPlacement" -}}
# Watched once an object needs them: see docs/operate/sidecar.md.
- apiGroups: [""]
  resources: [namespaces, persistentvolumeclaims, persistentvolumes, services, replicationcontrollers]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csinodes, csidrivers, volumeattachments, csistoragecapacities]
  verbs: [list, watch]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims, resourceslices, deviceclasses, devicetaintrules]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [list, watch]
- apiGroups: [scheduling.k8s.io, scheduling.muster.dev]
  resources: [workloads]
  verbs: [list, watch]
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [list, watch]
{{- end }}

{{/* Rules for the kinds for which mode build creates groups. */}}
{{- define "muster.builtKinds" -}}
{{- $kinds := dict
  "apps" (list "deployments" "statefulsets")
  "batch" (list "jobs")
  "jobset.x-k8s.io" (list "jobsets")
  "kubeflow.org" (list "jaxjobs" "mpijobs" "paddlejobs" "pytorchjobs" "tfjobs" "xgboostjobs")
  "leaderworkerset.x-k8s.io" (list "leaderworkersets")
  "ray.io" (list "rayclusters")
  "trainer.kubeflow.org" (list "clustertrainingruntimes" "trainingruntimes" "trainjobs")
}}
{{- $suffix := .suffix }}{{ $verbs := .verbs }}
{{- range $group, $resources := $kinds }}
- apiGroups: [{{ $group }}]
  resources: [{{ range $index, $each := $resources }}{{ if $index }}, {{ end }}{{ $each }}{{ $suffix }}{{ end }}]
  verbs: [{{ $verbs }}]
{{- end }}
{{- end }}

{{/* Conditions for pods that join a group: a controller for which groups are built, and no group or scheduler of others. */}}
{{- define "muster.joinConditions" -}}
- name: names-no-group
  expression: >-
    !has(object.spec.schedulingGroup) && !(has(object.metadata.labels) && object.metadata.labels.exists(key, key in [
    "scheduling.muster.dev/pod-group", "scheduling.x-k8s.io/pod-group", "kueue.x-k8s.io/pod-group-name"])) &&
    !(has(object.metadata.annotations) && object.metadata.annotations.exists(key, key in [
    "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name"]))
- name: is-not-of-another-scheduler
  expression: >-
    (!has(object.spec.nodeName) || object.spec.nodeName == "") &&
    (!has(object.spec.schedulerName) || object.spec.schedulerName in {{ list "" "default-scheduler" .Values.sidecar.schedulerName | toJson }})
- name: is-not-excluded
  expression: >-
    !has(object.metadata.labels) || !("muster.dev/groups" in object.metadata.labels) || object.metadata.labels["muster.dev/groups"] == "build"
- name: has-a-controller-with-groups
  expression: >-
    has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, has(owner.controller) && owner.controller && (
    (owner.apiVersion.split("/")[0] + "/" + owner.kind) in [
    "batch/Job", "jobset.x-k8s.io/JobSet", "leaderworkerset.x-k8s.io/LeaderWorkerSet", "trainer.kubeflow.org/TrainJob",
    "ray.io/RayCluster", "kubeflow.org/MPIJob", "kubeflow.org/PyTorchJob", "kubeflow.org/TFJob",
    "kubeflow.org/XGBoostJob", "kubeflow.org/PaddleJob", "kubeflow.org/JAXJob"] ||
    (has(object.metadata.labels) && owner.apiVersion == "apps/v1" && (
    (owner.kind in ["ReplicaSet", "StatefulSet"] && "muster.dev/groups" in object.metadata.labels) ||
    (owner.kind == "StatefulSet" && "leaderworkerset.sigs.k8s.io/name" in object.metadata.labels)))))
{{- end }}
