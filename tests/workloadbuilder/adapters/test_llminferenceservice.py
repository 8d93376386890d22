"""LLMInferenceService: Deployments and LeaderWorkerSets, merged with configurations."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, sound

GPU = "{containers: [{name: main, image: v, resources: {requests: {nvidia.com/gpu: '%s'}, limits: {nvidia.com/gpu: '%s'}}}]}"


def service(spec: str, metadata: str = "labels: {team: a}", version: str = "v1alpha2") -> str:
    return f"""
apiVersion: serving.kserve.io/{version}
kind: LLMInferenceService
metadata: {{name: llm, namespace: ml, {metadata}}}
spec: {{model: {{uri: 'hf://Qwen/Qwen2.5-7B-Instruct'}}, {spec}}}
"""


def config(name: str, spec: str, namespace: str = "ml") -> str:
    return f"""
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {{name: {name}, namespace: {namespace}}}
spec: {spec}
"""


def pods(found):
    return [each for each in found.objects if each["kind"] == "Pod"]


def test_a_template_is_a_deployment_and_a_scheduler_is_another_one():
    text = service(f"replicas: 3, template: {GPU % (1, 1)}, router: {{gateway: {{}}, route: {{}}, scheduler: {{}}}}", version="v1alpha1")
    found = sound(text, pods=True, groups=True)
    assert {"Pod", "ReplicaSet"} == {each["kind"] for each in found.objects}
    *workers, scheduler = pods(found)
    assert [3, "1"] == [len(workers), workers[0]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"]]
    assert {"llm"} == {each["metadata"]["labels"]["app.kubernetes.io/name"] for each in pods(found)}
    assert ("llminferenceservice-workload", "both") == tuple(
        workers[0]["metadata"]["labels"][key] for key in ("app.kubernetes.io/component", "llm-d.ai/role")
    )
    assert ["storage-initializer"] == [each["name"] for each in workers[0]["spec"]["initContainers"]]
    (own,) = scheduler["spec"]["containers"]
    assert {"cpu": "1", "memory": "2Gi"} == own["resources"]["requests"]
    assert "llminferenceservice-router-scheduler" == scheduler["metadata"]["labels"]["app.kubernetes.io/component"]


def test_a_service_can_change_the_probes_of_the_preset_in_part():
    template = "{containers: [{name: main, image: v, livenessProbe: {periodSeconds: 30}, startupProbe: {failureThreshold: 9}}]}"
    (pod,) = pods(sound(service(f"template: {template}"), pods=True))
    (container,) = pod["spec"]["containers"]
    assert [30, 9] == [container["livenessProbe"]["periodSeconds"], container["startupProbe"]["failureThreshold"]]
    assert all("httpGet" in container[each] for each in ("livenessProbe", "startupProbe", "readinessProbe"))


def test_a_worker_makes_a_leader_worker_set_with_its_groups():
    parallel = "parallelism: {data: 32, dataLocal: 8, expert: true, tensor: 1}"
    found = sound(service(f"replicas: 2, {parallel}, template: {GPU % (8, 8)}, worker: {GPU % (8, 8)}"), pods=True, groups=True)
    assert [f"llm-kserve-mn-{replica}{worker}" for replica in range(2) for worker in ("", "-1", "-2", "-3")] == [
        each["metadata"]["name"] for each in pods(found)
    ]
    (workload,) = [each for each in found.objects if each["kind"] == "Workload"]
    assert "LeaderWorkerSet" == workload["spec"]["controllerRef"]["kind"]
    assert 2 == len([each for each in found.objects if each["kind"] == "CompositePodGroup"])
    leader, worker = pods(found)[:2]
    components = [each["metadata"]["labels"]["app.kubernetes.io/component"] for each in (leader, worker)]
    assert ["llminferenceservice-workload-leader", "llminferenceservice-workload-worker"] == components


def test_the_size_of_pipelines_and_the_preset_that_kserve_does_not_ship():
    text = service(f"parallelism: {{pipeline: 3}}, template: {GPU % (1, 1)}, worker: {GPU % (1, 1)}")
    preset = "kserve-config-llm-worker-pipeline-parallel"
    assert (
        f"it needs the LLMInferenceServiceConfig {preset}, which is not in the input, and which KServe does not ship" == sound(text).skipped
    )
    found = sound(text + config(preset, "{worker: {nodeSelector: {a: b}}}", namespace="kserve"), pods=True)
    assert [None, {"a": "b"}, {"a": "b"}] == [each["spec"].get("nodeSelector") for each in pods(found)]


def test_prefill_and_decode_are_workloads_of_their_own():
    prefill = f"prefill: {{replicas: 2, parallelism: {{data: 16, dataLocal: 8}}, template: {GPU % (4, 4)}, worker: {GPU % (4, 4)}, labels: {{l: m}}}}"
    found = sound(service(f"template: {GPU % (1, 1)}, {prefill}"), pods=True, groups=True)
    roles = [each["metadata"]["labels"].get("llm-d.ai/role") for each in pods(found)]
    assert ["decode", "prefill", None, "prefill", None] == roles
    assert ["llm-kserve-mn-prefill-0", "llm-kserve-mn-prefill-0-1"] == [each["metadata"]["name"] for each in pods(found)[1:3]]
    assert ["llm-d-routing-sidecar", "storage-initializer"] == [each["name"] for each in pods(found)[0]["spec"]["initContainers"]]
    assert "m" == pods(found)[1]["metadata"]["labels"]["l"]


def test_configurations_are_merged_in_their_order():
    first = config(
        "first",
        "{replicas: 2, template: {nodeSelector: {a: first, b: first}, containers: [{name: main, image: first, resources: {limits: {cpu: '1'}}}]}}",
    )
    second = config("second", "{template: {nodeSelector: {a: second}}}", namespace="kserve")
    own = "baseRefs: [{name: first}, {name: second}], template: {nodeSelector: {c: own}, containers: [{name: main, resources: {limits: {memory: 1Gi}}}]}"
    found = pods(sound(service(own) + first + second, pods=True))
    assert [{"a": "second", "b": "first", "c": "own"}] * 2 == [each["spec"]["nodeSelector"] for each in found]
    container = found[0]["spec"]["containers"][0]
    assert ("first", {"cpu": "1", "memory": "1Gi"}) == (container["image"], container["resources"]["limits"])


def test_a_configuration_that_is_missing_is_an_error():
    assert [
        "spec.baseRefs[0].name: Not found: \"frist\": there must be a LLMInferenceServiceConfig of this name in the input; did you mean 'first'?"
    ] == (error_lines(compiled(service("baseRefs: [{name: frist}]") + config("first", "{}")).errors))


def test_the_lower_limit_of_an_autoscaler_is_the_number_of_replicas():
    found = sound(service("scaling: {minReplicas: 2, maxReplicas: 5}"), pods=True)
    assert (2, ["spec.scaling"]) == (len(pods(found)), lost_fields(found))


def test_labels_and_annotations_of_kueue_are_passed_to_the_pods():
    metadata = "labels: {kueue.x-k8s.io/queue-name: q, other: o}, annotations: {k8s.v1.cni.cncf.io/networks: roce, other: o}"
    (pod,) = pods(sound(service(f"template: {GPU % (1, 1)}", metadata), pods=True))
    assert ("q", {"k8s.v1.cni.cncf.io/networks": "roce"}) == (
        pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
        pod["metadata"]["annotations"],
    )
    assert "other" not in pod["metadata"]["labels"]


def test_the_tokenizer_is_there_only_for_the_scorer_that_needs_it():
    inline = "config: {inline: {plugins: [{type: precise-prefix-cache-scorer}]}}"
    found = pods(sound(service(f"router: {{scheduler: {{replicas: 2, {inline}}}}}"), pods=True))
    assert [["main", "tokenizer"]] * 2 == [[container["name"] for container in each["spec"]["containers"]] for each in found[1:]]
    assert 1 == len(pods(sound(service("router: {scheduler: {pool: {ref: {name: p}}}}"), pods=True)))


def test_models_in_claims_are_volumes():
    text = service("model: {uri: 'pvc://models/llama', lora: {adapters: [{uri: 'pvc://adapters/a', name: a}]}}")
    (pod,) = pods(sound(text.replace("model: {uri: 'hf://Qwen/Qwen2.5-7B-Instruct'}, ", ""), pods=True))
    assert ["models", "adapters"] == [each["persistentVolumeClaim"]["claimName"] for each in pod["spec"]["volumes"]]
    (pod,) = pods(sound(service("storageInitializer: {enabled: false}"), pods=True))
    assert "initContainers" not in pod["spec"]


@pytest.mark.parametrize(
    ("spec", "metadata", "reason"),
    [
        (
            "",
            "annotations: {serving.kserve.io/exp-dra-device-class: gpu}",
            "the devices that KServe requests for it (managed DRA) are not known",
        ),
        (
            "kvCacheOffloading: {cpu: 1Gi, secondary: [{fileSystem: {pvc: {ref: {name: c}}}}]}",
            "uid: u",
            "the volumes of its cache (kvCacheOffloading) are not known",
        ),
        (
            "router: {scheduler: {config: {inline: {plugins: [{type: predicted-latency-producer}]}}}}",
            "uid: u",
            "the pods of a latency predictor are not known",
        ),
    ],
)
def test_a_service_whose_pods_are_not_known_is_not_judged(spec, metadata, reason):
    found = sound(service(spec, metadata), pods=True)
    assert (reason, ()) == (found.skipped, found.objects)


def test_a_stopped_service_has_no_pods():
    assert () == sound(service("", 'annotations: {serving.kserve.io/stop: "true"}'), pods=True).objects


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("replicas: many", 'spec.replicas: Invalid value: "many": must be an integer'),
        ("template: []", 'spec.template: Invalid value: "[…]": must be a mapping'),
        ("model: x", 'spec.model: Invalid value: "x": must be a mapping'),
        ("parallelism: {data: -1}", "spec.parallelism.data: Invalid value: -1: must be greater than or equal to 0"),
        ("baseRefs: [1]", "spec.baseRefs[0]: Invalid value: 1: must be a mapping"),
    ],
)
def test_a_wrong_type_is_an_error(spec, reason):
    worker = ", worker: {}" if "data" in spec else ""
    assert reason in error_lines(
        compiled(service(spec + worker).replace("model: {uri: 'hf://Qwen/Qwen2.5-7B-Instruct'}, " if "model" in spec else "\0", "")).errors
    )
