{{- define "muster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
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

{{/* Labels and annotations of a pod: those of the Service and of Prometheus, and those of the values, which cannot replace the former. */}}
{{- define "muster.podMetadata" -}}
labels:
  app.kubernetes.io/name: {{ .name }}
  {{- with omit (.podLabels | default dict) "app.kubernetes.io/name" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  prometheus.io/scrape: "true"
  prometheus.io/port: "8080"
  prometheus.io/path: /metrics
  {{- with omit (.podAnnotations | default dict) "prometheus.io/scrape" "prometheus.io/port" "prometheus.io/path" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Where the pods of a Deployment may run, and what the image needs. */}}
{{- define "muster.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Settings of a section of the values as variables. Those that the chart sets, as variable or option, are refused: twice the same name is an
error of the API server, and an option hides its variable. own has them, with the value to set instead. Numbers of a file are written in
full: 8388608, not 8.388608e+06.
*/}}
{{- define "muster.env" -}}
{{- $root := . }}
{{- range $name, $value := .env }}
{{- if hasKey $root.own $name }}
{{- fail (printf "%s.env.%s: the chart sets this variable itself: %s" $root.section $name (get $root.own $name | default "leave it out")) }}
{{- end }}
- name: {{ $name }}
  value: {{ if kindIs "float64" $value }}{{ toJson $value | quote }}{{ else }}{{ quote $value }}{{ end }}
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

{{/* Values that contradict each other. */}}
{{- define "muster.check" -}}
{{- if not (or .Values.webhooks.enabled .Values.sidecar.enabled) }}
{{- fail "webhooks.enabled and sidecar.enabled are false, so nothing would be installed: set one of them to true" }}
{{- end }}
{{- $modes := .Values.sidecar.modes }}
{{- if and .Values.sidecar.enabled (has "preempt" $modes) (not (or (has "place" $modes) (has "ungate" $modes))) }}
{{- fail "sidecar.modes: preempt needs place or ungate" }}
{{- end }}
{{- with .Values.webhooks }}
{{- $seconds := get (.env | default dict) "MUSTER_REQUEST_SECONDS" | default 2.5 }}
{{- if and .enabled (ge (float64 $seconds) (float64 .timeoutSeconds)) }}
{{- fail (printf "webhooks.env.MUSTER_REQUEST_SECONDS=%v must be less than webhooks.timeoutSeconds=%v, after which the API server does not wait for the answer" $seconds .timeoutSeconds) }}
{{- end }}
{{- end }}
{{- if not .Values.networkPolicy.enabled }}
{{- range list "reviewsFrom" "metricsFrom" }}
{{- if get $.Values.networkPolicy . }}
{{- fail (printf "networkPolicy.%s has no effect while networkPolicy.enabled is false, which opens all ports: leave one of them out" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.certificate }}
{{- if and .certManager.issuerRef (ne .source "cert-manager") }}
{{- fail (printf "certificate.certManager.issuerRef has no effect with certificate.source=%s: set certificate.source=cert-manager, or leave it out" .source) }}
{{- end }}
{{- if and .caBundle (eq .source "cert-manager") }}
{{- fail "certificate.caBundle is not for certificate.source=cert-manager, which writes every caBundle: leave it out" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Replicas in different zones where that is possible. */}}
{{- define "muster.spread" -}}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app.kubernetes.io/name: {{ . }}
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

{{/* Replicas on different nodes where that is possible. */}}
{{- define "muster.antiAffinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: {{ . }}
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
- apiGroups: [scheduling.k8s.io]
  resources: [workloads, priorityclasses]
  verbs: [list, watch]
{{- end }}
