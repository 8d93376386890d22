"""InferenceService: the Deployments of its components, with the runtime of its model."""

from __future__ import annotations

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, sound

STANDARD = "annotations: {serving.kserve.io/deploymentMode: Standard}"
SKLEARN = """
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: kserve-sklearnserver}
spec:
  annotations: {prometheus.kserve.io/port: "8080"}
  labels: {from: runtime}
  supportedModelFormats: [{name: sklearn, version: "1", autoSelect: true, priority: 1}]
  protocolVersions: [v1, v2]
  nodeSelector: {pool: serving}
  tolerations: [{key: serving, operator: Exists}]
  containers:
  - {name: kserve-container, image: kserve/sklearnserver, args: [--a], resources: {requests: {cpu: "1", memory: 2Gi}, limits: {cpu: "1", memory: 2Gi}}}
"""
VLLM = """
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: multinode, namespace: ml}
spec:
  supportedModelFormats: [{name: huggingface, autoSelect: true}]
  protocolVersions: [v2, v1]
  containers: [{name: kserve-container, image: i, resources: {requests: {cpu: "2", memory: 6Gi}, limits: {cpu: "4", memory: 12Gi}}}]
  workerSpec:
    pipelineParallelSize: 2
    tensorParallelSize: 1
    containers: [{name: worker-container, image: i, resources: {requests: {cpu: "2"}, limits: {cpu: "4"}}}]
"""


def service(predictor: str, more: str = "", metadata: str = STANDARD) -> str:
    return f"""
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: m, namespace: ml, labels: {{team: a}}, {metadata}}}
spec: {{predictor: {predictor}{more}}}
"""


IRIS = "{model: {modelFormat: {name: sklearn}, storageUri: 'gs://kfserving-examples/models/sklearn/1.0/model'}}"
LARGE = "{model: {modelFormat: {name: huggingface}, storageUri: 'pvc://llama/hf'}, workerSpec: {%s}}"


def pods(found):
    return [each for each in found.objects if each["kind"] == "Pod"]


def by_deployment(found):
    """Return the number of pods by the ReplicaSet that owns them, without its hash."""
    counts: dict[str, int] = {}
    for each in pods(found):
        name = each["metadata"]["ownerReferences"][0]["name"].rpartition("-")[0]
        counts[name] = counts.get(name, 0) + 1
    return counts


def gpus(found):
    return [each["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] for each in pods(found)]


def test_a_model_runs_in_the_pods_of_its_runtime():
    found = sound(service(IRIS), further=SKLEARN, pods=True)
    (pod,) = pods(found)
    assert {"m-predictor": 1} == by_deployment(found)
    labels = pod["metadata"]["labels"]
    assert ("m", "predictor", "isvc.m-predictor", "a", "runtime") == tuple(
        labels[key] for key in ("serving.kserve.io/inferenceservice", "component", "app", "team", "from")
    )
    (container,) = pod["spec"]["containers"]
    assert ("kserve-container", {"cpu": "1", "memory": "2Gi"}) == (container["name"], container["resources"]["requests"])
    assert ({"pool": "serving"}, [{"key": "serving", "operator": "Exists"}]) == (pod["spec"]["nodeSelector"], pod["spec"]["tolerations"])
    (loader,) = pod["spec"]["initContainers"]
    assert ("storage-initializer", {"cpu": "100m", "memory": "100Mi"}) == (loader["name"], loader["resources"]["requests"])
    assert [] == names(found, "PodGroup")


def test_what_the_service_says_about_the_container_is_merged_into_that_of_the_runtime():
    model = "{modelFormat: {name: sklearn}, args: [--b], resources: {requests: {cpu: '4'}, limits: {nvidia.com/gpu: '1'}}}"
    text = service(
        f"{{model: {model}, nodeSelector: {{zone: b}}, tolerations: [{{operator: Exists}}], containers: [{{name: side, image: s}}]}}"
    )
    (pod,) = pods(sound(text, further=SKLEARN, pods=True))
    model_container, side = pod["spec"]["containers"]
    assert {"requests": {"cpu": "4", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1"}} == model_container[
        "resources"
    ]
    assert ("side", {"pool": "serving", "zone": "b"}, [{"operator": "Exists"}]) == (
        side["name"],
        pod["spec"]["nodeSelector"],
        pod["spec"]["tolerations"],
    )


@pytest.mark.parametrize(
    ("predictor", "count"),
    [
        ("minReplicas: 3, maxReplicas: 5", 3),
        ("minReplicas: 0", 1),
        ("maxReplicas: 4", 1),
        ("minReplicas: 0, annotations: {serving.kserve.io/autoscalerClass: none}", 0),
    ],
)
def test_the_lower_limit_is_the_number_of_pods(predictor, count):
    found = sound(service(f"{{sklearn: {{}}, {predictor}}}"), further=SKLEARN, pods=True)
    assert count == len(pods(found))
    assert ("spec.predictor" in lost_fields(found)) == ("maxReplicas" in predictor)


def test_in_knatives_mode_each_pod_has_its_proxy():
    for metadata in ("uid: u", "annotations: {serving.kserve.io/deploymentMode: Serverless}"):
        found = sound(service(IRIS, metadata=metadata), further=SKLEARN, pods=True)
        assert {"m-predictor-00001-deployment": 1} == by_deployment(found)
        proxy = pods(found)[0]["spec"]["containers"][-1]
        assert ("queue-proxy", {"requests": {"cpu": "25m"}}) == (proxy["name"], proxy["resources"])
        assert ("uid" in metadata) == bool(lost_fields(found))


def test_transformer_and_explainer_are_deployments_with_default_resources():
    own = "{containers: [{image: i, resources: {requests: {cpu: '2'}}}], minReplicas: 2}"
    found = sound(
        service(IRIS, f", transformer: {own}, explainer: {{containers: [{{name: e, image: i}}], logger: {{mode: all}}}}"),
        further=SKLEARN,
        pods=True,
    )
    assert {"m-predictor": 1, "m-transformer": 2, "m-explainer": 1} == by_deployment(found)
    transformer, explainer = pods(found)[1], pods(found)[3]
    assert {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}} == transformer["spec"]["containers"][0][
        "resources"
    ]
    assert ["e", "agent"] == [each["name"] for each in explainer["spec"]["containers"]]


@pytest.mark.parametrize(
    ("uri", "volumes", "containers"),
    [
        ("pvc://models/llama", ["models"], ["kserve-container"]),
        ("oci://registry/model", [], ["kserve-container", "modelcar"]),
        ("oci+native://registry/model", [], ["kserve-container"]),
    ],
)
def test_what_a_model_needs_is_added(uri, volumes, containers):
    (pod,) = pods(sound(service(f"{{model: {{modelFormat: {{name: sklearn}}, storageUri: '{uri}'}}}}"), further=SKLEARN, pods=True))
    assert volumes == [each["persistentVolumeClaim"]["claimName"] for each in pod["spec"].get("volumes", [])]
    assert containers == [each["name"] for each in pod["spec"]["containers"]]


@pytest.mark.parametrize(
    ("worker", "runtime", "want"),
    {
        "the sizes of the runtime": ("", "", ["1", "1"]),
        "those of the service": ("pipelineParallelSize: 3, tensorParallelSize: 1", "", ["1", "1", "1"]),
        "GPUs of the worker": (
            "tensorParallelSize: 8, pipelineParallelSize: 2, containers: [{name: worker-container, resources: {requests: {nvidia.com/gpu: '8'}}}]",
            "",
            ["8", "8"],
        ),
        "a rest for the head": (
            "tensorParallelSize: 5, pipelineParallelSize: 1, containers: [{name: worker-container, resources: {requests: {nvidia.com/gpu: '2'}}}]",
            "",
            ["1", "2", "2"],
        ),
        "one node": (
            "tensorParallelSize: 2, pipelineParallelSize: 1, containers: [{name: worker-container, resources: {requests: {nvidia.com/gpu: '2'}}}]",
            "",
            ["2"],
        ),
        "processes in place of Ray": ("tensorParallelSize: 4", "annotations: {multinode/executor-backend: mp}", ["4", "4"]),
    }.values(),
)
def test_head_and_workers_of_several_nodes(worker, runtime, want):
    text = VLLM.replace("spec:\n  supported", f"spec:\n  {runtime}\n  supported")
    found = sound(service(LARGE % worker), further=text, pods=True)
    assert want == gpus(found)
    assert {"m-predictor": 1, "m-predictor-worker": len(want) - 1} | {} == {"m-predictor-worker": 0} | by_deployment(found)
    assert all("llama" == each["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for each in pods(found))


def runtimes(*texts: str) -> str:
    """Return runtimes for sklearn, each with a name and further fields of its specification."""
    listed = []
    for text in texts:
        name, _, fields = text.partition(" ")
        content = yaml.safe_load(SKLEARN)
        content["metadata"]["name"] = name
        content["spec"]["labels"] = {"from": name}
        for key, value in yaml.safe_load(f"{{{fields}}}").items():
            (content["spec"]["supportedModelFormats"][0] if key in {"priority", "autoSelect", "version"} else content["spec"])[key] = value
        if name.startswith("own"):
            content["kind"], content["metadata"]["namespace"] = "ServingRuntime", "ml"
        listed.append(yaml.safe_dump(content))
    return "---\n".join(listed)


@pytest.mark.parametrize(
    ("given", "model", "want"),
    {
        "the higher priority": (("b priority: 1", "a priority: 2"), "", "a"),
        "the first name": (("b priority: 1", "a priority: 1"), "", "a"),
        "that of the namespace": (("a priority: 2", "own priority: 1"), "", "own"),
        "the one that is named": (("a priority: 2", "b autoSelect: false"), ", runtime: b", "b"),
        "none that is disabled": (("a disabled: true", "b priority: 1"), "", "b"),
        "none for several models": (("a multiModel: true", "b priority: 1"), "", "b"),
        "none of another protocol": (("a protocolVersions: [v2]", "b priority: 1"), "", "b"),
        "the version": (("a version: '2'", "b version: '3'"), ", modelFormat: {name: sklearn, version: '3'}", "b"),
    }.values(),
)
def test_the_runtime_of_a_model(given, model, want):
    model = model if "modelFormat" in model else f", modelFormat: {{name: sklearn}}{model}"
    found = sound(service(f"{{model: {{storageUri: 's3://b/m'{model}}}}}"), further=runtimes(*given), pods=True)
    assert want == pods(found)[0]["metadata"]["labels"]["from"]


@pytest.mark.parametrize(
    ("predictor", "more", "metadata", "reason"),
    [
        (
            "{model: {modelFormat: {name: onnx}}}",
            "",
            STANDARD,
            "no ServingRuntime or ClusterServingRuntime in the input supports its model format onnx",
        ),
        (
            "{model: {modelFormat: {name: onnx}, runtime: r}}",
            "",
            STANDARD,
            "its runtime r is no ServingRuntime or ClusterServingRuntime in the input",
        ),
        (LARGE % "", "", STANDARD, "no ServingRuntime or ClusterServingRuntime in the input supports its model format huggingface"),
        ("{model: {modelFormat: {name: a}, runtime: kserve-sklearnserver}, workerSpec: {}}", "", STANDARD, "its runtime has no workerSpec"),
        (IRIS, ", canary: [{trafficPercent: 10}]", STANDARD, "the pods of canaries (spec.canary) are not known"),
        (IRIS, ", explainer: {art: {type: SquareAttack}}", STANDARD, "the image and the resources of an explainer of ART are not known"),
        (
            IRIS,
            "",
            "annotations: {serving.kserve.io/deploymentMode: ModelMesh}",
            "with the deployment mode ModelMesh, its model runs in pods that several services share",
        ),
    ],
)
def test_a_service_whose_pods_are_not_known_is_not_judged(predictor, more, metadata, reason):
    found = sound(service(predictor, more, metadata), further=SKLEARN, pods=True)
    assert (reason, ()) == (found.skipped, found.objects)


def test_a_stopped_service_has_no_pods():
    found = sound(service(IRIS, metadata='annotations: {serving.kserve.io/stop: "true"}'), further=SKLEARN, pods=True)
    assert () == found.objects


@pytest.mark.parametrize(
    ("predictor", "reason"),
    [
        ("[]", 'spec.predictor: Invalid value: "[…]": must be a mapping'),
        ("{}", "spec.predictor: Required value: the predictor must have a model or a container"),
        ("{model: {modelFormat: sklearn}}", 'spec.predictor.model.modelFormat: Invalid value: "sklearn": must be a mapping'),
        ("{sklearn: {}, minReplicas: a}", 'spec.predictor.minReplicas: Invalid value: "a": must be an integer'),
        ("{containers: [x]}", 'spec.predictor.containers[0]: Invalid value: "x": must be a mapping'),
    ],
)
def test_a_wrong_type_is_an_error(predictor, reason):
    assert reason in error_lines(compiled(service(predictor), further=SKLEARN, pods=True).errors)
