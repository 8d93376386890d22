"""Examples as projects publish them, shortened: each has the pods that its controllers make, with what these request."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.workloadbuilder.adapters.compiling import sound

GPU = "nvidia.com/gpu"

RAY_SAMPLE = """
apiVersion: ray.io/v1
kind: RayService
metadata: {name: rayservice-sample}
spec:
  serveConfigV2: "applications: [{name: fruit_app, import_path: fruit.deployment_graph, deployments: [{name: MangoStand, num_replicas: 2}]}]"
  rayClusterConfig:
    rayVersion: 2.52.0
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-head, image: rayproject/ray, resources: {limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 2, memory: 4Gi}}}]}}
    workerGroupSpecs:
    - replicas: 1
      minReplicas: 1
      maxReplicas: 5
      groupName: small-group
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-worker, image: rayproject/ray, resources: {requests: {cpu: 500m, memory: 2Gi}}}]}}
"""
# The autoscaler beside Ray's head requests half a cpu.
RAY_LLM = """
apiVersion: ray.io/v1
kind: RayService
metadata: {name: llm}
spec:
  serveConfigV2: ""
  rayClusterConfig:
    enableInTreeAutoscaling: true
    headGroupSpec:
      rayStartParams: {num-cpus: '0'}
      template: {spec: {containers: [{name: ray-head, image: rayproject/ray-llm, resources: {requests: {cpu: 4}}}]}}
    workerGroupSpecs:
    - groupName: gpu-group
      replicas: 2
      minReplicas: 2
      maxReplicas: 4
      rayStartParams: {}
      template: {spec: {containers: [{name: ray-worker, image: rayproject/ray-llm, resources: {limits: {nvidia.com/gpu: '4'}}}]}}
    - {groupName: cpu-group, minReplicas: 0, maxReplicas: 4, rayStartParams: {}, template: {spec: {containers: [{name: w, image: i}]}}}
"""
RAY_MULTIHOST = RAY_SAMPLE.replace("replicas: 1", "replicas: 2\n      numOfHosts: 4", 1).replace("maxReplicas: 5", "maxReplicas: 2")

TORCH = "{spec: {containers: [{name: pytorch, image: mnist, resources: {requests: {cpu: 1}}}]}}"
WRAPPED_TORCH = f"""
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {{name: sample-pytorch-job, labels: {{kueue.x-k8s.io/queue-name: default-queue}}}}
spec:
  components:
  - template:
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      metadata: {{name: pytorch-simple}}
      spec:
        pytorchReplicaSpecs:
          Master: {{replicas: 1, restartPolicy: OnFailure, template: {TORCH}}}
          Worker: {{replicas: 2, restartPolicy: OnFailure, template: {TORCH}}}
"""
WRAPPED_GROUPS = """
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: sample-lws}
spec:
  components:
  - podSets:
    - {path: template.spec.leaderWorkerTemplate.leaderTemplate, replicas: 2}
    - {path: template.spec.leaderWorkerTemplate.workerTemplate, replicas: 4}
    template:
      apiVersion: leaderworkerset.x-k8s.io/v1
      kind: LeaderWorkerSet
      metadata: {name: nginx}
      spec:
        replicas: 2
        leaderWorkerTemplate:
          size: 3
          leaderTemplate: {spec: {containers: [{name: leader, image: nginx, resources: {requests: {cpu: 100m}}}]}}
          workerTemplate: {spec: {containers: [{name: worker, image: nginx, resources: {requests: {cpu: 250m}}}]}}
"""
WRAPPED_POD_AND_SERVICE = """
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: sample-pod}
spec:
  components:
  - template: {apiVersion: v1, kind: Service, metadata: {name: front}, spec: {selector: {app: x}, ports: [{port: 80}]}}
  - podSets: [{replicas: 1, path: template}]
    template: {apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
  - template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: x}},
      template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
"""

CUSTOM = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: torchserve-transformer, annotations: {serving.kserve.io/deploymentMode: RawDeployment}}
spec:
  transformer: {containers: [{name: kserve-container, image: transformer, resources: {requests: {cpu: 100m}}}]}
  predictor: {minReplicas: 2, containers: [{name: kserve-container, image: torchserve, resources: {limits: {nvidia.com/gpu: 1}, requests: {cpu: 1}}}]}
"""
HUGGING_FACE = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: huggingface-llama3, annotations: {serving.kserve.io/deploymentMode: Standard}}
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      storageUri: hf://meta-llama/meta-llama-3-8b-instruct
      resources: {limits: {cpu: '6', nvidia.com/gpu: '1'}, requests: {cpu: '6', nvidia.com/gpu: '1'}}
---
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: kserve-huggingfaceserver}
spec:
  supportedModelFormats: [{name: huggingface, version: '1', autoSelect: true, priority: 1}]
  containers: [{name: kserve-container, image: huggingfaceserver, resources: {requests: {cpu: '1', memory: 2Gi}}}]
"""

PREFILL = """
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: qwen2-7b-instruct-pd}
spec:
  replicas: 1
  model: {uri: 'hf://Qwen/Qwen2.5-7B-Instruct', name: Qwen/Qwen2.5-7B-Instruct}
  router: {route: {}, gateway: {}, scheduler: {}}
  template: {containers: [{name: main, image: v, resources: {limits: {nvidia.com/gpu: '1'}, requests: {cpu: '2', nvidia.com/gpu: '1'}}}]}
  prefill:
    replicas: 2
    template: {containers: [{name: main, image: v, resources: {limits: {nvidia.com/gpu: '1'}, requests: {cpu: '2', nvidia.com/gpu: '1'}}}]}
"""
EXPERTS = """
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: deepseek-r1}
spec:
  model: {uri: 'hf://deepseek-ai/DeepSeek-R1-0528', name: deepseek-ai/DeepSeek-R1-0528}
  replicas: 1
  parallelism: {data: 32, dataLocal: 8, expert: true, tensor: 1}
  router: {route: {}, gateway: {}}
  template: {containers: [{name: main, image: v, resources: {limits: {nvidia.com/gpu: '8'}, requests: {cpu: 128, nvidia.com/gpu: '8'}}}]}
  worker: {containers: [{name: main, image: v, resources: {limits: {nvidia.com/gpu: '8'}, requests: {cpu: 128, nvidia.com/gpu: '8'}}}]}
"""
CPU_ONLY = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: facebook-opt-125m-single}
spec:
  model: {uri: 'hf://facebook/opt-125m', name: facebook/opt-125m}
  replicas: 3
  router: {route: {}}
  template: {containers: [{name: main, image: vllm-cpu, resources: {requests: {cpu: 100m}}, livenessProbe: {initialDelaySeconds: 30, failureThreshold: 5}}]}
"""

SPARK_PI = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: spark-pi}
spec:
  type: Scala
  mode: cluster
  image: docker.io/library/spark:4.0.0
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: local:///opt/spark/examples/jars/spark-examples.jar
  sparkVersion: 4.0.0
  driver: {cores: 1, memory: 512m, serviceAccount: spark-operator-spark}
  executor: {instances: 2, cores: 1, memory: 512m, gpu: {name: nvidia.com/gpu, quantity: 1}}
"""
SPARK_DYNAMIC = (
    SPARK_PI.replace("instances: 2", "cores: 2")
    .replace(
        "  sparkVersion", "  dynamicAllocation: {enabled: true, initialExecutors: 3, minExecutors: 2, maxExecutors: 5}\n  sparkVersion"
    )
    .replace("cores: 2, cores: 1", "cores: 2")
)
SPARK_PYTHON = SPARK_PI.replace("type: Scala", "type: Python\n  pythonVersion: '3'").replace("instances: 2, ", "")

DIAMOND = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: dag-diamond}
spec:
  entrypoint: diamond
  templates:
  - name: diamond
    dag:
      tasks: [{name: A, template: echo}, {name: B, depends: A, template: echo}, {name: C, depends: A, template: echo}, {name: D, depends: B && C, template: echo}]
  - {name: echo, container: {image: busybox, resources: {limits: {nvidia.com/gpu: 2}}}}
"""
LOOP = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: loops-maps}
spec:
  entrypoint: loop
  parallelism: 3
  templates:
  - name: loop
    steps: [[{name: test-linux, template: cat, arguments: {parameters: [{name: image, value: '{{item.image}}'}]}, withItems: [{image: a}, {image: a}, {image: a}, {image: a}]}]]
  - {name: cat, inputs: {parameters: [{name: image}]}, container: {image: '{{inputs.parameters.image}}', resources: {requests: {cpu: 1}}}}
"""
GRAPH = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: graph}
spec:
  entrypoint: main
  templates:
  - name: main
    containerSet:
      containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}, {name: b, image: i, dependencies: [a], resources: {requests: {cpu: 2}}}]
"""

EXAMPLES = {
    "RayService: sample": (RAY_SAMPLE, {"rayservice-sample-head": 1, "rayservice-sample-small-group-worker": 1}, {"cpu": 2.5}),
    "RayService: two groups, one without pods": (RAY_LLM, {"llm-head": 1, "llm-gpu-group-worker": 2}, {"cpu": 4.5, GPU: 8}),
    "RayService: several hosts": (RAY_MULTIHOST, {"rayservice-sample-head": 1, "rayservice-sample-small-group-worker": 8}, {"cpu": 6}),
    "AppWrapper: PyTorchJob": (WRAPPED_TORCH, {"pytorch-simple-master": 1, "pytorch-simple-worker": 2}, {"cpu": 3}),
    "AppWrapper: LeaderWorkerSet": (WRAPPED_GROUPS, {"nginx-0": 3, "nginx-1": 3}, {"cpu": 1.2}),
    "AppWrapper: several objects": (WRAPPED_POD_AND_SERVICE, {"one": 1, "web": 2}, {"cpu": 1.2}),
    "InferenceService: own containers": (CUSTOM, {"torchserve-transformer-predictor": 2, "torchserve-transformer-transformer": 1}, {"cpu": 2.1, GPU: 2}),
    "InferenceService: a runtime": (HUGGING_FACE, {"huggingface-llama3-predictor": 1}, {"cpu": 6, GPU: 1}),
    "LLMInferenceService: prefill": (PREFILL, {"qwen2-7b-instruct-pd-kserve": 4}, {"cpu": 7, GPU: 3}),
    "LLMInferenceService: experts": (EXPERTS, {"deepseek-r1-kserve": 4}, {"cpu": 512, GPU: 32}),
    "LLMInferenceService: without GPUs": (CPU_ONLY, {"facebook-opt-125m-single-kserve": 3}, {"cpu": 0.3}),
    "SparkApplication: pi": (SPARK_PI, {"spark-pi-driver": 1, "spark-pi-exec": 2}, {"cpu": 3, GPU: 2}),
    "SparkApplication: dynamic": (SPARK_DYNAMIC, {"spark-pi-driver": 1, "spark-pi-exec": 3}, {"cpu": 7, GPU: 3}),
    "SparkApplication: Python": (SPARK_PYTHON, {"spark-pi-driver": 1, "spark-pi-exec": 1}, {"cpu": 2, GPU: 1}),
    "Workflow: diamond": (DIAMOND, {"dag-diamond-echo": 2}, {GPU: 4}),
    "Workflow: loop": (LOOP, {"loops-maps-cat": 3}, {"cpu": 3}),
    "Workflow: containers in order": (GRAPH, {"graph-main": 1}, {"cpu": 3}),
}  # fmt: skip
"""Object, its pods by the beginning of their names, and what they request together."""


def amount(written: object) -> float:
    text = str(written)
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


@pytest.mark.parametrize(("text", "want", "requests"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_has_the_pods_of_its_controllers(text: str, want: dict[str, int], requests: dict[str, float]) -> None:
    made = [each for each in sound(text, pods=True).objects if each["kind"] == "Pod"]
    found: Counter[str] = Counter()
    amounts: Counter[str] = Counter()
    for each in made:
        name = each["metadata"]["name"]
        found[next((prefix for prefix in want if name.startswith(prefix)), name)] += 1
        for container in each["spec"]["containers"]:
            given = container.get("resources") or {}
            for key, value in ((given.get("limits") or {}) | (given.get("requests") or {})).items():
                amounts[key] += amount(value) if key in requests else 0
    assert (want, requests) == (dict(found), {key: round(value, 3) for key, value in amounts.items() if key in requests})
