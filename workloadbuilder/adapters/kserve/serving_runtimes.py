"""Runtime of an InferenceService's model, and the specification of its pods.

A model names its runtime, or gets the first one that supports its format: those of the namespace before those of the cluster, by
priority, protocol, age and name.  Source: KServe 0.20, ``predictor_model.go`` and ``inferenceservice/utils``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.decode import Json
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.strategic_merge import merged
from workloadbuilder.blueprint import copied
from workloadbuilder.workload_item import WHOLE

GROUP = "serving.kserve.io"
MODEL_CONTAINER, TRANSFORMER_CONTAINER = "kserve-container", "transformer-container"
_KINDS = ("ServingRuntime", "ClusterServingRuntime")
_OF_RUNTIME = ("affinity", "imagePullSecrets", "nodeSelector", "schedulerName", "tolerations", "volumes")
POD_FIELDS = frozenset(
    [
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    ]
)
"""Fields of a pod's specification that a component has, besides its containers."""
_PROTOCOLS = {"v1": 1, "v2": 2, "grpc-v1": 3, "grpc-v2": 4}
_V2_FORMATS = frozenset({"huggingface", "onnx", "triton", "vllm"})
"""Formats whose models have the protocol v2 if they set none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Runtime:
    """Runtime *name* with its *spec*; errors in it are not those of the service."""

    name: str
    spec: Fields
    created: str

    def supports(self, model: Fields, *, several_nodes: bool) -> bool:
        """Return whether it is chosen for a *model* that names no runtime."""
        wanted = model.mapping("modelFormat")
        name, version = wanted.text("name"), wanted.text("version")
        formats = [each for each in self.spec.each_item("supportedModelFormats") if each.flag("autoSelect") and each.text("name") == name]
        protocols = self.spec.texts("protocolVersions")
        usable = not self.spec.flag("disabled") and not self.spec.flag("multiModel") and ("workerSpec" in self.spec) == several_nodes
        is_known = any(not version or each.text("version") == version for each in formats)
        protocol = model.text("protocolVersion") or ("v2" if name in _V2_FORMATS else "v1")
        return usable and is_known and (not protocols or protocol in protocols)

    def priority(self, name: str) -> int:
        """Return its priority for a format; one without a priority comes last."""
        formats = (each for each in self.spec.each_item("supportedModelFormats") if each.text("name") == name)
        first = next(formats, None)
        return 0 if first is None else first.number("priority", 0)

    @property
    def protocol(self) -> int:
        """The order of its first protocol."""
        return min((_PROTOCOLS.get(each, 0) for each in self.spec.texts("protocolVersions")), default=0)


def runtime_of(model: Fields, namespace: str, known: Known, *, several_nodes: bool) -> tuple[Runtime | None, str]:
    """Return the runtime of a *model*, or else the reason why its pods are not known."""
    listed = [[*_runtimes(known, kind, namespace if kind == _KINDS[0] else "")] for kind in _KINDS]
    named = model.text("runtime")
    if named:
        found = next((each for runtimes in listed for each in runtimes if each.name == named), None)
        return found, "" if found is not None else f"its runtime {named} is no ServingRuntime or ClusterServingRuntime in the input"
    name = model.mapping("modelFormat").text("name")
    for runtimes in listed:
        fitting = [each for each in runtimes if each.supports(model, several_nodes=several_nodes)]
        # Sorted by each criterion in turn, the least important one first.
        fitting.sort(key=lambda each: each.name)
        fitting.sort(key=lambda each: each.created, reverse=True)
        fitting.sort(key=lambda each: each.protocol)
        fitting.sort(key=lambda each: -each.priority(name))
        if fitting:
            return fitting[0], ""
    return None, f"no ServingRuntime or ClusterServingRuntime in the input supports its model format {name}"


def _runtimes(known: Known, kind: str, namespace: str) -> Iterator[Runtime]:
    spaces = {namespace, namespace or "default"} if namespace or kind == _KINDS[0] else {""}
    for space in sorted(spaces):
        for each in known.list_kind(GROUP, kind, space):
            fields = Fields(each, WHOLE, [])
            metadata = fields.mapping("metadata")
            yield Runtime(metadata.text("name"), fields.mapping("spec"), metadata.text("creationTimestamp"))


def pod_of(runtime: Fields, own: Json, component: Fields, container: str) -> dict[str, Json] | None:
    """Return the specification of pods of a *runtime*, with *own* merged into its *container*; None if the runtime has none of that name."""
    containers = [each.given for each in runtime.each_item("containers")]
    model = next((each for each in containers if each.get("name") == container), None)
    if model is None:
        return None
    given = {name: value for name in POD_FIELDS if (value := component.raw(name)) is not None}
    pod: dict[str, Json] = merged({name: copied(value) for name in _OF_RUNTIME if (value := runtime.raw(name)) is not None}, given)
    pod["containers"] = [{**merged(model, own), "name": container}]
    return pod


def with_further_containers(pod: dict[str, Json], runtime: Fields, predictor: Fields) -> None:
    """Add the other containers of the runtime and of the predictor to the pod of a model; those named transformer are merged."""
    of_runtime = [each.given for each in runtime.each_item("containers") if each.text("name") != MODEL_CONTAINER]
    own = [each.given for each in predictor.each_item("containers")]
    transformer = merged(
        {"containers": [each for each in of_runtime if each.get("name") == TRANSFORMER_CONTAINER]},
        {"containers": [each for each in own if each.get("name") == TRANSFORMER_CONTAINER]},
    )["containers"]
    rest = [each for each in (*of_runtime, *own) if each.get("name") != TRANSFORMER_CONTAINER]
    pod["containers"] += [copied(each) for each in (*transformer, *rest)]
