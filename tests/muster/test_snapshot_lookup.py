"""Objects of other projects in snapshots and live clusters: ``muster fit`` gives the same answers as with the files themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node
from tests.muster.test_simulate_controllers import TEMPLATE, manifest
from tests.muster.test_snapshot_cluster import api  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", rack="a"), node("n2", rack="b"), node("n3", rack="b")]
CONTAINER = {"name": "node", "image": "i", "env": [{"name": "TOKEN", "value": "secret"}], "command": ["secret"]}
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def runtime(**job: Any) -> Json:
    entry = {
        "name": "node",
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": {"spec": {"containers": [CONTAINER], **job.pop("pods", {})}}, **job},
        },
    }
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [entry]}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch", "labels": {"a": "b"}, "annotations": {"note": "secret"}},
        "spec": spec,
    }


def train_job(nodes: int = 2) -> Json:
    resources = {"requests": {"cpu": "2"}}
    return manifest(
        "TrainJob",
        "trainer.kubeflow.org/v1alpha1",
        "tj",
        runtimeRef={"name": "torch"},
        trainer={"numNodes": nodes, "resourcesPerNode": resources},
    )


def clique_set(replicas: int) -> Json:
    clique = {"name": "w", "spec": {"roleName": "w", "replicas": replicas, "podSpec": TEMPLATE["spec"]}}
    template = {"cliques": [clique], "topologyConstraint": {"packDomain": "cage"}}
    return manifest("PodCliqueSet", "grove.io/v1alpha1", "pcs", replicas=1, template=template)


TOPOLOGY = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopology",
    "metadata": {"name": "grove-topology"},
    "spec": {"levels": [{"domain": "cage", "key": "rack"}]},
}
QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "ClusterQueue",
    "metadata": {"name": "cq"},
    "spec": {"fairSharing": {"weight": "secret"}},
}
POD_GROUPS = {**runtime(), "spec": {**runtime()["spec"], "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 5}}}}
SERVING_RUNTIME = {
    "apiVersion": "serving.kserve.io/v1alpha1",
    "kind": "ClusterServingRuntime",
    "metadata": {"name": "sklearn"},
    "spec": {
        "supportedModelFormats": [{"name": "sklearn", "autoSelect": True}],
        "containers": [
            {"name": "kserve-container", "image": "i", "env": [{"name": "a", "value": "secret"}], "resources": {"requests": {"cpu": "2"}}}
        ],
    },
}
LLM_CONFIG = {
    "apiVersion": "serving.kserve.io/v1alpha2",
    "kind": "LLMInferenceServiceConfig",
    "metadata": {"name": "large", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "template": {"containers": [{"name": "main", "image": "i", "args": ["secret"], "resources": {"requests": {"cpu": "2"}}}]},
    },
}


def service(kind: str, version: str, spec: Json) -> Json:
    return {"apiVersion": f"serving.kserve.io/{version}", "kind": kind, "metadata": {"name": "s", "namespace": "default"}, "spec": spec}


CASES = {
    "a runtime of models": (
        service("InferenceService", "v1beta1", {"predictor": {"sklearn": {}, "minReplicas": 2}}),
        SERVING_RUNTIME,
        0,
    ),
    "a runtime of models with too many pods": (
        service("InferenceService", "v1beta1", {"predictor": {"sklearn": {}, "minReplicas": 50}}),
        SERVING_RUNTIME,
        1,
    ),
    "a configuration of a model": (
        service("LLMInferenceService", "v1alpha2", {"model": {"uri": "hf://a/b"}, "baseRefs": [{"name": "large"}]}),
        LLM_CONFIG,
        0,
    ),
    "a runtime": (train_job(), runtime(), 0),
    "a runtime with gangs": (train_job(7), POD_GROUPS, 1),
    "a node selector of a runtime": (train_job(3), runtime(pods={"nodeSelector": {"rack": "a"}}), 1),
    "a topology constraint of a runtime": (
        train_job(3),
        runtime(scheduling={"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}),
        0,
    ),
    "a topology of Grove": (clique_set(4), TOPOLOGY, 0),
    "a topology of Grove that is too narrow": (clique_set(5), TOPOLOGY, 1),
    "queues": (train_job(), [runtime(), QUEUE], 0),
}


def write(name: str, *objects: Json) -> str:
    Path(name).write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    return name


def fit(*arguments: str) -> tuple[int, str]:
    """Return the status and the text, without the hashes of templates, which are of all their fields."""
    found = CliRunner().invoke(cli.main, ["fit", *arguments])
    return found.exit_code, re.sub(r"-[0-9a-f]{10}-", "-hash-", found.stdout)


@pytest.mark.parametrize(("mine", "other", "want"), CASES.values(), ids=CASES)
def test_a_snapshot_gives_the_answer_of_the_files(mine, other, want):
    others = other if isinstance(other, list) else [other]
    cluster = write("cluster.json", *NODES, *others)
    taken = CliRunner().invoke(cli.main, ["snapshot", cluster])
    assert (0, False) == (taken.exit_code, "secret" in taken.stdout)
    Path("snapshot.json").write_text(taken.stdout, encoding="utf-8")
    answer = fit(write("mine.json", mine), "--objects", cluster)
    assert want == answer[0]
    assert answer == fit("mine.json", "--objects", "snapshot.json")


def test_names_are_hashed_on_request():
    taken = CliRunner().invoke(cli.main, ["snapshot", "--redact", write("cluster.json", *NODES, runtime(), TOPOLOGY, QUEUE)]).stdout
    kinds = {each["kind"]: each for each in json.loads(taken)["items"]}
    assert not {"torch", "grove-topology", "cq"} & {each["metadata"]["name"] for each in kinds.values()}


def test_a_live_cluster_is_asked_for_them(api):  # noqa: F811 - the fixture
    group = "/apis/trainer.kubeflow.org"
    api.answers |= {
        group: {"versions": [{"version": "v1alpha1"}], "preferredVersion": {"version": "v1alpha1"}},
        f"{group}/v1alpha1": {"resources": [{"name": "clustertrainingruntimes"}]},
    }
    items = [{key: value for key, value in runtime().items() if key not in {"apiVersion", "kind"}}]
    api.lists[f"{group}/v1alpha1/clustertrainingruntimes"] = ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntimeList", items)
    write("mine.json", train_job(1))
    status, text = fit("mine.json", "--cluster", "--kubeconfig", "config")
    assert "✓ fits: TrainJob tj: 1 pod on " in text, text
    assert 0 == status
