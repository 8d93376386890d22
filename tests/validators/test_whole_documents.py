"""Documents that create pods are validated in all of their fields; misspelt fields hide no other mistakes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from tests.cluster.manifest_verdicts import MANIFESTS, recorded
from tests.validators.whole_objects import OBJECTS
from validators import document_head, pipeline, whole_documents
from validators.built_in import shapes
from validators.rules.base import Profile, Settings, Severity

SETTINGS = Settings(linting=True, whole_documents=True)
POD = "containers: [{name: main, image: registry.example/train:1}]"


def told(text: str, settings: Settings = SETTINGS) -> list[str]:
    examined = pipeline.examine(yaml.safe_load(text), settings)
    found = (*examined.violations, *examined.further)
    return [f"{each.severity.value[0]} {each.error.origin} {each.error.path}" for each in found]


def job(spec: str = "", pod: str = f"restartPolicy: Never, {POD}", head: str = "metadata: {name: train}") -> str:
    return f"apiVersion: batch/v1\nkind: Job\n{head}\nspec: {{{spec}template: {{spec: {{{pod}}}}}}}\n"


def deployment(spec: str, pod: str = POD, head: str = "metadata: {name: web}") -> str:
    labels = "metadata: {labels: {app: web}}"
    return f"apiVersion: apps/v1\nkind: Deployment\n{head}\nspec: {{{spec}template: {{{labels}, spec: {{{pod}}}}}}}\n"


def jobset(jobs: str, spec: str = "") -> str:
    return f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: train}}\nspec: {{{spec}{jobs}}}\n"


def ray(group: str) -> str:
    head = f"headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {{{POD}}}}}}}"
    return f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: tune}}\nspec: {{{head}, workerGroupSpecs: [{group}]}}\n"


SELECTOR = "selector: {matchLabels: {app: web}}, "
WORKERS = f"{{name: w, template: {{spec: {{template: {{spec: {{{POD}}}}}}}}}}}"
UNKNOWN = "schema-unknown-field"
FOUND = {
    "a misspelt field of a Job, and a value that it refuses": (
        job("paralellism: 2, ", f"restartPolicy: Always, {POD}"),
        [f"e {UNKNOWN} spec.paralellism", "e built-in-values spec.template.spec.restartPolicy"],
    ),
    "a misspelt field in a misspelt field, and a value in it": (
        jobset("replicatedJob: [{name: w, replica: two, template: {spec: {template: {spec: {}}}}}]"),
        [f"e {UNKNOWN} spec.replicatedJob", f"e {UNKNOWN} spec.replicatedJob[0].replica", "e schema-type spec.replicatedJob[0].replica"],
    ),
    "an unknown field with content, beside one of the right name": (
        job("parallelism: 2, paralellism: {x: 1}, "),
        [f"e {UNKNOWN} spec.paralellism"],
    ),
    "an unknown field that is like none, and a wrong type": (
        deployment(f"{SELECTOR}replicas: two, qqq: 1, "),
        [f"e {UNKNOWN} spec.qqq", "e schema-type spec.replicas"],
    ),
    "an unknown field of another project that is like none": (
        jobset(f"replicatedJobs: [{WORKERS}]", "qqq: 1, "),
        [f"w {UNKNOWN} spec.qqq"],
    ),
    "a misspelt field in a list of a RayCluster, and no image": (
        ray("{groupName: w, replicas: 1, rayStartParams: {}, template: {spec: {container: [], containers: [{name: m}]}}}"),
        [
            f"e {UNKNOWN} spec.workerGroupSpecs[0].template.spec.container",
            "e project-values spec.workerGroupSpecs[0].template.spec.containers[0].image",
        ],
    ),
    "labels that do not match": (
        deployment("selector: {matchLabels: {app: api}}, "),
        ["e built-in-values spec.template.metadata.labels"],
    ),
    "a Deployment without a selector": (deployment(""), ["w built-in-values spec.selector"]),
    "a retired version": (deployment(SELECTOR).replace("apps/v1", "apps/v1beta1"), ["e schema-enum apiVersion"]),
    "a wrong type in the first pass is reported once": (job("parallelism: '4', "), ["e schema-type spec.parallelism"]),
}


@pytest.mark.parametrize(("text", "want"), FOUND.values(), ids=FOUND)
def test_everything_in_a_document_is_reported_once(text: str, want: list[str]) -> None:
    assert sorted(want) == sorted(told(text))


CLEAN = {
    "a Job": job("parallelism: 2, "),
    "a Deployment": deployment(SELECTOR),
    "a JobSet": jobset(f"replicatedJobs: [{WORKERS}]"),
    "placeholders": job(
        pod=f'restartPolicy: Never, serviceAccountName: "$(SA)", nodeSelector: {{a: "<KIND>"}}, serviceAccount: A_B, {POD}'
    ),
    "a name with a variable": deployment(SELECTOR, head='metadata: {name: "web-${ID}"}'),
    "a number that a template sets": ray('{groupName: w, replicas: "{{ n }}", rayStartParams: {}, template: {spec: {' + POD + "}}}"),
    "a template of Spark": "apiVersion: v1\nkind: Pod\nmetadata: {name: driver}\nspec: {nodeSelector: {a: b}}\n",
    "a patch of the replicas": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n",
    "a patch of a container": deployment("", "containers: [{name: main, volumeMounts: [{name: v, mountPath: /v}]}]"),
    "a field of Kubernetes 1.36, which another rule reports": deployment(SELECTOR, f"workloadRef: {{name: a, podGroup: b}}, {POD}"),
    "a stored object": job(head="metadata: {name: train, uid: u}", pod="restartPolicy: Always"),
    "a created object": deployment("", head="metadata: {name: x, ownerReferences: [{kind: Rollout, name: x}]}"),
    "an object with a status": job(pod="restartPolicy: Always") + "status: {active: 1}\n",
    "a kind of the same name in another group": job().replace("batch/v1", "example.com/v1"),
    "a kind in a later version of its project": jobset("replicas: 2").replace("v1alpha2", "v1beta9"),
}


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN)
def test_what_can_be_right_is_not_reported(text: str) -> None:
    assert [each for each in told(text) if "retired-workload-ref" not in each] == []


KUEUE, KSERVE, SPARK = "kueue.x-k8s.io/v1beta2", "serving.kserve.io", "sparkoperator.k8s.io/v1beta2"
ROLES = "mainApplicationFile: x, driver: {cores: 1}, executor: {cores: 1, instances: 2}"
CLUSTER = f"headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {{{POD}}}}}}}"
FLAVORS = "resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 9}]}]}]"
OTHERS = [
    ("ray.io/v1", "RayService", f"serveConfigV2: x, rayClusterConfig: {{{CLUSTER}}}", "rayClusterConfig", "rayClusterConfigs"),
    (f"{KSERVE}/v1beta1", "InferenceService", "predictor: {minReplicas: 2, containers: [{name: kserve-container}]}", "minReplicas", "minReplica"),
    (f"{KSERVE}/v1alpha1", "LLMInferenceService", "model: {uri: 'hf://a/b'}, replicas: 2, template: {containers: [{name: main}]}", "replicas", "replica"),
    (f"{KSERVE}/v1alpha2", "LLMInferenceService", "model: {uri: 'hf://a/b'}, worker: {containers: [{name: main}]}", "worker", "workers"),
    (SPARK, "SparkApplication", f"type: Scala, sparkVersion: '4', {ROLES}", "executor", "executors"),
    (SPARK, "ScheduledSparkApplication", f"schedule: '@daily', template: {{type: Scala, sparkVersion: '4', {ROLES}}}", "instances", "instance"),
    ("argoproj.io/v1alpha1", "Workflow", "entrypoint: a, templates: [{name: a, inputs: {parameters: [{name: p, value: 3}]}, container: {image: i}}]", "entrypoint", "entryPoint"),
    ("argoproj.io/v1alpha1", "CronWorkflow", "schedules: ['@daily'], workflowSpec: {parallelism: 2, templates: []}", "parallelism", "paralellism"),
    ("workload.codeflare.dev/v1beta2", "AppWrapper", "components: [{template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]", "components", "component"),
    (KUEUE, "ClusterQueue", f"namespaceSelector: {{}}, cohortName: c, {FLAVORS}", "nominalQuota", "nominalQuotas"),
    (KUEUE, "LocalQueue", "clusterQueue: c, stopPolicy: Hold", "clusterQueue", "clusterqueue"),
    (KUEUE, "Cohort", f"parentName: p, {FLAVORS}", "parentName", "parentname"),
    (KUEUE, "ResourceFlavor", "nodeLabels: {a: b}, topologyName: t", "topologyName", "topology"),
    (KUEUE, "Topology", "levels: [{nodeLabel: rack}]", "nodeLabel", "nodeLabels"),
]  # fmt: skip
"""API version, kind and spec of objects without mistakes, a field in it and the same field misspelt."""


@pytest.mark.parametrize(("version", "kind", "spec", "field", "misspelt"), OTHERS, ids=[f"{each[0]} {each[1]}" for each in OTHERS])
def test_kinds_of_other_projects_have_the_fields_of_their_release(version: str, kind: str, spec: str, field: str, misspelt: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: mine}}\nspec: {{{spec}}}\n"
    assert [] == told(text)

    found = told(text.replace(f"{field}:", f"{misspelt}:"))
    assert [each for each in found if each.startswith(f"e {UNKNOWN} spec.") and each.endswith(misspelt)], found
    assert [each for each in told(text.replace("spec: {", "spec: {qqq: 1, ", 1)) if each == f"w {UNKNOWN} spec.qqq"]


def test_objects_that_an_app_wrapper_wraps_are_validated() -> None:
    head = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: mine}\n"
    wrapped = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{paralellism: 2, template: {{spec: {{{POD}}}}}}}}}"
    at = "spec.components[0].template.spec"
    assert [f"e {UNKNOWN} {at}.paralellism", f"e project-values {at}.template.spec.restartPolicy"] == told(
        f"{head}spec: {{components: [{{template: {wrapped}}}]}}\n"
    )
    right = wrapped.replace("paralellism", "parallelism").replace("{spec: {c", "{spec: {restartPolicy: Never, c")
    assert [] == told(f"{head}spec: {{components: [{{template: {right}}}]}}\n")


@pytest.mark.parametrize("manifest", OBJECTS, ids=[f"{each['apiVersion']} {each['kind']}" for each in OBJECTS])
def test_objects_with_all_fields_are_clean(manifest: dict[str, Any]) -> None:
    assert told(yaml.safe_dump({**manifest, "status": {}})) == []


ANSWERS = recorded()
NOT_REPORTED = {"a Job without containers", "two controllers"}


@pytest.mark.parametrize("name", MANIFESTS)
def test_refused_manifests_are_reported(name: str) -> None:
    """What the API server refuses has a finding, and what it accepts none; but for what can be a part, or comes from a cluster."""
    got = told(yaml.safe_dump(copy.deepcopy(MANIFESTS[name])))
    assert bool(got) is (bool(ANSWERS[name]) and name not in NOT_REPORTED)


def test_profile_and_severities_are_those_of_rules() -> None:
    refused = jobset(f"replicatedJobs: [{WORKERS.replace('name: w', 'name: W', 1)}]")
    assert told(refused) == ["e project-values spec.replicatedJobs[0].name"]
    assert told(refused, Settings(profile=Profile.UPSTREAM, linting=True, whole_documents=True)) == []
    severities = (("project-values", Severity.WARNING),)
    assert told(refused, Settings(linting=True, whole_documents=True, severities=severities)) == [
        "w project-values spec.replicatedJobs[0].name"
    ]
    assert told(refused, Settings(linting=True)) == []


def test_every_known_shape_is_validated() -> None:
    heads = [
        document_head.head(f"{group}/{each}" if group else each, kind, 37)
        for (group, kind), versions in shapes.kinds().items()
        for each in versions
    ]
    assert len(heads) > 20
    assert all(map(whole_documents.is_known, heads))


def test_a_field_of_a_later_kubernetes_is_a_warning() -> None:
    text = job("qqq: 1, ")
    assert told(text) == [f"e {UNKNOWN} spec.qqq"]
    assert told(text, Settings(minor=38, linting=True, whole_documents=True)) == [f"w {UNKNOWN} spec.qqq"]
