"""Adapter for InferenceService (serving.kserve.io): predictor, transformer and explainer, each a Deployment.

With the deployment mode Knative, Knative creates the Deployments, whose pods have its proxy too.  Source: KServe 0.20,
``inferenceservice/components`` and ``reconcilers``; Knative Serving 1.21.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.kserve import model_storage, multi_node, serving_runtimes
from workloadbuilder.adapters.kserve.serving_runtimes import MODEL_CONTAINER, POD_FIELDS
from workloadbuilder.adapters.shared import kueue_annotations, object_identity, pod_sets
from workloadbuilder.adapters.shared.adapter_result import Dependent, Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blueprint import copied

SERVICE, _COMPONENT = "serving.kserve.io/inferenceservice", "component"
_MODE, _STOP, _AUTOSCALER = (f"serving.kserve.io/{name}" for name in ("deploymentMode", "stop", "autoscalerClass"))
_STANDARD, _KNATIVE = frozenset({"RawDeployment", "Standard"}), frozenset({"Knative", "Serverless"})
_FRAMEWORKS = ("sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm", "paddle")
_TEMPLATE = FieldPath("spec", "template", "spec")
_DEFAULTS = {"cpu": "1", "memory": "2Gi"}
"""Requests and limits of a component that has a container of its own, as shipped."""
_PROXY = {"requests": {"cpu": "25m"}}
_SCALED = "an autoscaler changes the number of pods; those of the lower limit are placed"
_DEFAULT_MODE = "it has no deployment mode, so that of KServe as it is shipped is taken: Knative, with its proxy in every pod"


@dataclasses.dataclass(frozen=True, slots=True)
class _Component:
    """Pods of one component: their specification, metadata and number."""

    name: str
    kind: str
    fields: Fields
    pod: dict[str, Json]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    count: int


def adapt(manifest: Json, known: Known) -> Reading:
    """Read an InferenceService; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    result = Reading(about.owner, about.namespace)
    losses = [*kueue_annotations.queue(about.labels, about.annotations)]
    mode = top.mapping("status").text("deploymentMode") or about.annotations.get(_MODE, "")
    if not mode:
        losses.append(Loss(FieldPath("metadata", "annotations", Key(_MODE)), _DEFAULT_MODE))
    predictor = spec.mapping("predictor")
    if "predictor" not in spec:
        errors.append(field.required(predictor.path, "an InferenceService must have a predictor"))
    components, reason = _components(spec, about, known)
    if "canary" in spec:
        reason = "the pods of canaries (spec.canary) are not known"
    if mode and mode not in _STANDARD | _KNATIVE:
        reason = f"with the deployment mode {mode}, its model runs in pods that several services share"
    if about.annotations.get(_STOP) == "true":
        stopped = pod_sets.one_by_one(about, [], errors, warnings)
        return dataclasses.replace(stopped, losses=tuple(losses))
    losses += [Loss(each.fields.path, _SCALED) for each in components if each.fields.number("maxReplicas", 0) > each.count]
    made = tuple(_deployment(each, about, knative=mode not in _STANDARD) for each in components)
    return dataclasses.replace(
        result,
        dependents=() if reason else made,
        skipped=reason,
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(losses),
    )


def _components(spec: Fields, about: Subject, known: Known) -> tuple[list[_Component], str]:
    """Return the components of a service, or the reason why the pods of one are not known."""
    components, reason = _predictor(spec.mapping("predictor"), about, known)
    for kind in ("transformer", "explainer"):
        if kind in spec:
            fields = spec.mapping(kind)
            if "art" in fields:
                reason = reason or "the image and the resources of an explainer of ART are not known"
            else:
                components.append(_custom(fields, kind, about))
    return components, reason


def _predictor(predictor: Fields, about: Subject, known: Known) -> tuple[list[_Component], str]:
    framework = next((each for each in _FRAMEWORKS if each in predictor), "")
    model = predictor.mapping(framework or "model")
    if not framework and "model" not in predictor:
        return [_custom(predictor, "predictor", about)], ""
    if framework:
        given = {**model.given, "modelFormat": {"name": framework}, "protocolVersion": model.raw("protocolVersion")}
        model = Fields(given, model.path, model.errors)
    several = "workerSpec" in predictor
    runtime, reason = serving_runtimes.runtime_of(model, about.namespace, known, several_nodes=several)
    if runtime is None:
        return [], reason
    pod = serving_runtimes.pod_of(runtime.spec, _container_of(model), predictor, MODEL_CONTAINER)
    if pod is None:
        return [], f"its runtime {runtime.name} has no container {MODEL_CONTAINER}"
    workers, reason = multi_node.workers_of(predictor, runtime.spec, pod) if several else (None, "")
    serving_runtimes.with_further_containers(pod, runtime.spec, predictor)
    uri = _uri(model, predictor)
    model_storage.attach(pod, uri)
    name = "-".join(filter(None, (about.owner.name, predictor.text("name"), "predictor")))
    of_runtime = runtime.spec.annotations("labels"), runtime.spec.annotations()
    head = _component(name, "predictor", predictor, pod, about, of_runtime)
    if workers is None:
        return [head], reason
    model_storage.attach(workers.pod, uri)
    worker_spec = runtime.spec.mapping("workerSpec")
    worker = _component(
        f"{about.owner.name}-predictor-worker",
        "predictor",
        predictor,
        workers.pod,
        about,
        (worker_spec.annotations("labels"), worker_spec.annotations()),
    )
    return [dataclasses.replace(head, count=1), dataclasses.replace(worker, count=workers.count)], reason


_OF_MODEL = frozenset({"modelFormat", "protocolVersion", "runtime", "runtimeVersion", "storage", "storageUri"})


def _container_of(model: Fields) -> dict[str, Json]:
    """Return the fields of a container that a model has."""
    return {name: copied(value) for name, value in model.given.items() if name not in _OF_MODEL and value is not None}


def _uri(model: Fields, component: Fields) -> str:
    """Return where a model is stored; empty if nothing is loaded."""
    if uri := model.text("storageUri"):
        return uri
    several = [each.text("uri") for each in component.each_item("storageUris")]
    return several[0] if several else "storage" if "storage" in model else ""


def _custom(component: Fields, kind: str, about: Subject) -> _Component:
    """Return a component whose containers are its own."""
    pod: dict[str, Json] = {name: copied(value) for name in POD_FIELDS if (value := component.raw(name)) is not None}
    containers = [copied(each.given) for each in component.each_item("containers")]
    if not containers:
        component.errors.append(field.required(component.path, f"the {kind} must have a model or a container"))
    for container in containers[:1]:
        container.setdefault("name", MODEL_CONTAINER)
        resources = Fields(container, component.path, []).mapping("resources")
        container["resources"] = {
            **resources.given,
            **{part: {**_DEFAULTS, **resources.mapping(part).given} for part in ("requests", "limits")},
        }
    pod["containers"] = containers
    environment = [each for container in containers[:1] for each in Fields(container, component.path, []).each_item("env")]
    model_storage.attach(pod, next((each.text("value") for each in environment if each.text("name") == "STORAGE_URI"), ""))
    return _component(f"{about.owner.name}-{kind}", kind, component, pod, about, ({}, {}))


def _component(
    name: str,
    kind: str,
    fields: Fields,
    pod: dict[str, Json],
    about: Subject,
    of_runtime: tuple[Mapping[str, str], Mapping[str, str]],
) -> _Component:
    if "logger" in fields or "batcher" in fields:
        model_storage.add_agent(pod)
    labels = {**of_runtime[0], **about.labels, **fields.annotations("labels"), SERVICE: about.owner.name, _COMPONENT: kind}
    annotations = {**of_runtime[1], **about.annotations, **fields.annotations()}
    least = fields.number("minReplicas", 1)
    count = least if annotations.get(_AUTOSCALER) == "none" else max(least, 1)
    return _Component(name, kind, fields, pod, labels, annotations, count)


def _deployment(component: _Component, about: Subject, *, knative: bool) -> Dependent:
    """Return the Deployment of a component; that of Knative is the first revision of its service."""
    pod = component.pod
    labels = {**component.labels, "app": f"isvc.{component.name}"}
    name = component.name
    if knative:
        pod["containers"] = [*pod["containers"], model_storage.container("queue-proxy", _PROXY)]
        labels = {**component.labels, "serving.knative.dev/service": name}
        name = f"{name}-00001-deployment"
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": dict(component.labels)},
        "spec": {
            "replicas": component.count,
            "selector": {"matchLabels": dict(list(labels.items())[-1:])},
            "template": {"metadata": {"labels": labels, "annotations": dict(component.annotations)}, "spec": pod},
        },
    }
    return Dependent(pod_sets.owned(deployment, about.owner), component.fields.path, _TEMPLATE)
