"""Canaries in everything secret that Muster can touch on a cluster: no log, metric, event, condition, built object, report or snapshot has one."""

from __future__ import annotations

import base64
import json
import os

import pytest
import yaml

from tests import builders, forked
from tests.cluster.api import ApiError
from tests.cluster.building import NO_JOB_GROUPS, built_namespace
from tests.cluster.installed import installed
from tests.cluster.kubelet import node
from tests.cluster.resources import RESOURCES
from tests.cluster.sidecars import sidecar
from tests.cluster.unfit import unfit_group
from tests.cluster.waiting import until

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SECRETS = {
    place: f"canary-{number}-5dQz7w"
    for number, place in enumerate(("data", "env", "command", "argument", "applied", "annotation", "token", "configuration"))
}
MODES = ("--mode", "build,validate,ungate,preempt,protect", "--deviations", "undo", "--lease", "none", "--settle", "1")


def annotated(manifest, namespace=""):
    """Return a manifest as kubectl apply writes it, with an annotation of another tool."""
    applied = json.dumps({"kind": manifest["kind"], "data": SECRETS["applied"]})
    annotations = {APPLIED: applied, "vault.example.com/role": SECRETS["annotation"]}
    metadata = manifest["metadata"]
    return {
        **manifest,
        "metadata": {
            **metadata,
            **({"namespace": namespace} if namespace else {}),
            "annotations": {**metadata.get("annotations", {}), **annotations},
        },
    }


def container(cpu="1"):
    reference = {"name": "credentials", "key": "password"}
    return {
        "name": "main",
        "image": "train",
        "command": ["train", SECRETS["command"]],
        "args": [f"--password={SECRETS['argument']}"],
        "env": [{"name": "TOKEN", "value": SECRETS["env"]}, {"name": "PASSWORD", "valueFrom": {"secretKeyRef": reference}}],
        "envFrom": [{"secretRef": {"name": "credentials"}}],
        "resources": {"requests": {"cpu": cpu}},
    }


def job(name, cpu):
    spec = {"restartPolicy": "Never", "containers": [container(cpu)], "imagePullSecrets": [{"name": "credentials"}]}
    template = annotated({"kind": "Pod", "metadata": {}, "spec": spec})
    del template["kind"]
    return builders.manifest("batch/v1", "Job", name, {"parallelism": 2, "template": template})


@pytest.fixture(scope="module")
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed"), overlay="join") as created:
        yield created


@pytest.fixture
def labelled(plane):
    plane.start_controllers(("job-controller",), NO_JOB_GROUPS)
    with built_namespace(plane.api) as name:
        yield name
    plane.controllers.stop()


def commands(namespace: str, group: str, probes: str) -> list[tuple[str, ...]]:
    """Return commands about the cluster, and about all.json, which has its objects as kubectl get prints them."""
    explained = ("why", f"podgroup/{group}", "-n", namespace, f"--explain=http://{probes}")
    form = "--format"
    return [
        *((command, "--cluster", form, each) for command in ("lint", "doctor", "topology") for each in ("text", "json")),
        *((*explained, form, each) for each in ("text", "json")),
        *(("lint", "all.json", form, each) for each in ("json", "sarif", "junit", "github", "gitlab", "markdown")),
        *((command, "all.json", form, each) for command in ("simulate", "fit") for each in ("text", "json", "html")),
        ("tree", "all.json"),
        ("doctor", "--cluster", "--probe"),
        ("migrate", "--cluster"),
        ("snapshot",),
        ("snapshot", "all.json"),
        ("snapshot", "--redact"),
    ]


NAMELESS = (
    "metrics",
    "doctor",
    "topology",
    "migrate",
    "lint --cluster",
    "lint all.json --format g",
    "lint all.json --format m",
    "snapshot --redact",
)
"""Outputs that do not name the objects with the canaries, or not if nothing is wrong with them."""


def test_no_secret_is_written_anywhere(plane, api, nodes, webhooks, labelled, tmp_path):
    token = tmp_path / "explain-token"
    token.write_text(SECRETS["token"], encoding="utf-8")
    nodes(annotated(node("only", cpu=4)))
    data = base64.b64encode(SECRETS["data"].encode()).decode()
    of_namespace = {"name": "credentials", "namespace": labelled}
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": of_namespace, "data": {"password": data}})
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": of_namespace, "data": {"settings": SECRETS["configuration"]}})
    with sidecar(plane, tmp_path, *MODES, f"--explain-token-file={token}") as running:
        api.create(annotated(job("small", "1"), labelled))
        api.create(annotated(job("large", "9"), labelled))
        api.create(annotated(job("bad", "1") | {"metadata": {"name": "bad", "annotations": {"muster.dev/min-count": "many"}}}, labelled))
        with pytest.raises(ApiError):
            api.create(annotated(unfit_group("refused", labelled)))

        def told():
            return [each.get("reason") for each in api.objects("Event", labelled)]

        def group_of(name):
            (found,) = (each for each in api.objects("PodGroup", labelled) if each["metadata"]["name"].startswith(name))
            return str(found["metadata"]["name"])

        until(lambda: "GroupsNotCreated" in told(), told=lambda: str(told()))
        until(lambda: len(api.objects("PodGroup", labelled)) == 2)
        until(lambda: "False" in json.dumps(api.get("PodGroup", group_of("large"), labelled).get("status", {})))
        until(lambda: all("status" in running.explain(labelled, group_of(name)) for name in ("small", "large")))
        every = [
            each for kind in ("Node", "Job", "Pod", "Workload", "PodGroup", "ConfigMap", "Secret") for each in listed(api, kind, labelled)
        ]
        every.append(annotated(unfit_group("refused", labelled)))
        (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": every}, indent=1), encoding="utf-8")
        outputs = {
            "/explain": json.dumps([running.explain(labelled, group_of(name)) for name in ("small", "large")]),
            "metrics of the sidecar": running.get("/metrics")[1],
            "metrics of the webhooks": webhooks.probe("/metrics")[1],
            "events": json.dumps([each for each in api.objects("Event", labelled) if "muster" in str(each.get("reportingComponent"))]),
            "built": json.dumps([each for kind in ("Workload", "PodGroup") for each in api.objects(kind, labelled)]),
            **{
                " ".join(command): done.stdout + done.stderr
                for command in commands(labelled, group_of("large"), running.probes)
                if (done := run(tmp_path, *command, KUBECONFIG=str(plane.kubeconfig)))
            },
        }
        outputs["log of the sidecar"] = running.log.read_text(encoding="utf-8")
    outputs["log of the webhooks"] = webhooks.server.log.read_text(encoding="utf-8")

    stored = json.dumps([each for kind in ("Job", "Pod", "Secret", "ConfigMap") for each in api.objects(kind, labelled)])
    assert [place for place, text in SECRETS.items() if place != "token" and text not in stored and data not in stored] == []
    canaries = {**SECRETS, "data in base64": data, **keys_and_tokens(plane, webhooks)}
    assert all(len(text) > 10 for text in canaries.values())
    found = [(name, place) for name, text in outputs.items() for place, canary in canaries.items() if canary in text]
    # A new node like another one has its annotations.
    assert [(name, place) for name, place in found if place != "annotation" or not name.startswith(("why", "simulate", "fit"))] == []
    assert [name for name, text in outputs.items() if not text] == []
    nameless = [name for name, text in outputs.items() if labelled not in text and not name.startswith(NAMELESS)]
    assert nameless == []


def listed(api, kind, namespace):
    """Return the objects of a kind as kubectl get prints them."""
    return [{"apiVersion": RESOURCES[kind][0], "kind": kind, **each} for each in api.objects(kind, "" if kind == "Node" else namespace)]


def run(folder, *command, **environ):
    return forked.run(command, folder, {**os.environ, **environ})


def keys_and_tokens(plane, webhooks):
    """Return what Muster's own processes and its commands authenticate and serve with."""
    users = {
        name: yaml.safe_load(path.read_text(encoding="utf-8"))["users"][0]["user"]
        for name, path in {
            "sidecar": next(plane.folder.glob("muster-sidecar-*.kubeconfig")),
            "webhooks": next(plane.folder.glob("muster-webhook-*.kubeconfig")),
            "administrator": plane.kubeconfig,
        }.items()
    }
    material = {
        f"{name} {kind}": value[:60] for name, user in users.items() for kind, value in user.items() if kind in ("token", "client-key-data")
    }
    # A line in the middle of the key, after the part that all keys share.
    lines = (webhooks.certificates / "tls.key").read_text(encoding="utf-8").splitlines()
    return {**material, "serving key": lines[2][:40]}
