"""New claims at PATH of ``muster fit``: the default StorageClass, and classes that bind at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import node
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", **{"topology.kubernetes.io/zone": "a"}), node("n2", **{"topology.kubernetes.io/zone": "b"})]
DEFAULT = "storageclass.kubernetes.io/is-default-class"
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def storage_class(name: str = "std", mode: str | None = "WaitForFirstConsumer", created: str = "", **fields: Any) -> Json:
    metadata = {"name": name, "annotations": fields.pop("annotations", {DEFAULT: "true"})}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata | ({"creationTimestamp": created} if created else {}),
        "provisioner": "csi.example.com",
        **({"volumeBindingMode": mode} if mode else {}),
        **fields,
    }


def stateful(**claim: Any) -> Json:
    made = manifest("StatefulSet", name="db", replicas=2, serviceName="db", selector={"matchLabels": {"app": "x"}}, template=TEMPLATE)
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {**SPEC, **claim}}]
    return made


def mounting(volume: Json) -> Json:
    spec = {**RUN_ONCE["spec"], "volumes": [{"name": "data", **volume}]}
    return {**job(1), "spec": {**job(1)["spec"], "template": {**RUN_ONCE, "spec": spec}}}


CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}, "spec": SPEC}
MOUNTED = mounting({"persistentVolumeClaim": {"claimName": "data"}})


def write(name: str, *objects: Json) -> str:
    Path(name).write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    return name


def fit(mine: list[Json], *cluster: Json) -> tuple[int, Json]:
    arguments = ["fit", write("mine.json", *mine), "--objects", write("cluster.json", *NODES, *cluster), "--format", "json"]
    found = CliRunner().invoke(cli.main, arguments)
    return found.exit_code, json.loads(found.stdout)


ALLOWED = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["b"]}]}]
BETA = {"storageclass.beta.kubernetes.io/is-default-class": "true"}
CASES = {
    "default class of a StatefulSet": ([stateful()], [storage_class()], 0),
    "default class of a claim at PATH": ([CLAIM, MOUNTED], [storage_class()], 0),
    "default class of an ephemeral volume": ([mounting({"ephemeral": {"volumeClaimTemplate": {"spec": SPEC}}})], [storage_class()], 0),
    "default class by the beta annotation": ([stateful()], [storage_class(annotations=BETA)], 0),
    "no default class": ([stateful()], [storage_class(annotations={})], 1),
    "no class by intent": ([stateful(storageClassName="")], [storage_class()], 1),
    "a class that does not exist": ([stateful(storageClassName="fast")], [storage_class()], 1),
    "the default class that was created last": (
        [stateful()],
        [
            storage_class("z", provisioner="kubernetes.io/no-provisioner", created="2026-01-01T00:00:00Z"),
            storage_class("a", created="2026-02-01T00:00:00Z"),
        ],
        0,
    ),
    "a class that binds at once": ([stateful(storageClassName="now")], [storage_class("now", "Immediate", annotations={})], 0),
    "the binding mode of a class that names none": ([stateful(storageClassName="now")], [storage_class("now", None, annotations={})], 0),
    "no provisioner": (
        [stateful(storageClassName="now")],
        [storage_class("now", "Immediate", annotations={}, provisioner="kubernetes.io/no-provisioner")],
        1,
    ),
}


@pytest.mark.parametrize(("mine", "cluster", "want"), CASES.values(), ids=CASES)
def test_status(mine, cluster, want):
    assert want == fit(mine, *cluster)[0]
    taken = CliRunner().invoke(cli.main, ["snapshot", write("all.json", *NODES, *cluster)]).stdout
    Path("snapshot.json").write_text(taken, encoding="utf-8")
    assert want == CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "snapshot.json"]).exit_code


def test_the_place_of_a_volume_that_is_provided_at_once_is_noted():
    _, answer = fit([stateful(storageClassName="now")], storage_class("now", "Immediate"))
    messages = {each["message"] for each in answer["notes"]}
    assert {"its class provides the volume at once: that it can be used on the nodes of the pods is taken for granted"} == messages


def test_allowed_topologies_restrict_the_pods_of_a_volume_that_is_provided_at_once():
    _, answer = fit([stateful(storageClassName="now")], storage_class("now", "Immediate", allowedTopologies=ALLOWED))
    assert {"n2"} == {node for decision in answer["decisions"] for node in decision["assignments"].values()}


def test_a_claim_that_the_cluster_has_is_as_it_is():
    existing = {**CLAIM, "metadata": {**CLAIM["metadata"], "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert 1 == fit([MOUNTED], existing, storage_class())[0]
