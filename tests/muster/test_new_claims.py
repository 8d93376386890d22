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


def volume(name: str = "pv", size: str = "1Gi", node_name: str = "n2", reserved: Json | None = None, **spec: Any) -> Json:
    """A local volume on one node."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]}
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        "local": {"path": "/data"},
        **({"claimRef": reserved} if reserved else {}),
        **spec,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(**spec: Any) -> Json:
    return {**CLAIM, "spec": {**SPEC, **spec}}


MINE = {"namespace": "default", "name": "data"}
STATIC = {
    "volume that the claim names": ([claim(volumeName="pv")], [volume()], "n2"),
    "volume that the claim names, reserved for it": ([claim(volumeName="pv")], [volume(reserved=MINE)], "n2"),
    "volume that the claim names, at PATH too": ([claim(volumeName="pv"), volume()], [], "n2"),
    "volume that is reserved for the claim, of another class": ([claim(storageClassName="none")], [volume(reserved=MINE)], "n2"),
    "volume that is reserved, before a smaller one": (
        [claim()],
        [volume("a", node_name="n1"), volume("b", "9Gi", reserved=MINE)],
        "n2",
    ),
    "smallest free volume": ([claim()], [volume("a", "9Gi", "n1"), volume("b", "5Gi")], "n2"),
    "free volume of the class": (
        [claim(storageClassName="x")],
        [volume("a", node_name="n1"), volume("b", storageClassName="x")],
        "n2",
    ),
    "free volume before one that the class would provide": (
        [claim(storageClassName="now")],
        [storage_class("now", "Immediate"), volume(storageClassName="now")],
        "n2",
    ),
}
UNBOUND = {
    "volume that does not exist": ([claim(volumeName="other")], [volume()]),
    "volume of another class": ([claim(volumeName="pv", storageClassName="x")], [volume()]),
    "volume that is reserved for another claim": ([claim(volumeName="pv")], [volume(reserved={**MINE, "name": "other"})]),
    "volume that an earlier claim of this name had": ([claim(volumeName="pv")], [volume(reserved={**MINE, "uid": "old"})]),
    "volume that is too small": ([claim(volumeName="pv")], [volume(size="1Mi")]),
    "access mode that the volume does not have": ([claim(volumeName="pv", accessModes=["ReadWriteMany"])], [volume()]),
    "volume of another mode": ([claim(volumeName="pv")], [volume(volumeMode="Block")]),
    "selector": ([claim(selector={"matchLabels": {"a": "b"}})], [volume()]),
    "volume that is released": ([claim()], [{**volume(), "status": {"phase": "Released"}}]),
}


@pytest.mark.parametrize(("mine", "cluster", "want"), STATIC.values(), ids=STATIC)
def test_a_new_claim_is_bound_to_an_existing_volume(mine, cluster, want):
    status, answer = fit([*mine, MOUNTED], *cluster)
    assert (0, {want}) == (status, {name for each in answer["decisions"] for name in each["assignments"].values()})
    assert "notes" not in answer


@pytest.mark.parametrize(("mine", "cluster"), UNBOUND.values(), ids=UNBOUND)
def test_a_claim_is_not_bound_to_a_volume_that_does_not_suit_it(mine, cluster):
    assert 1 == fit([*mine, MOUNTED], *cluster)[0]


def test_a_volume_whose_size_cannot_be_read_is_bound_to_no_claim():
    status, answer = fit([claim(volumeName="pv"), MOUNTED], volume(size="large"))
    assert (2, "does-not-fit") == (status, answer["verdict"])


def test_two_claims_are_not_bound_to_one_volume():
    second = {**CLAIM, "metadata": {**CLAIM["metadata"], "name": "second"}}
    status, answer = fit([claim(), second, MOUNTED], volume(), volume("other", "5Gi", "n1"))
    assert (0, {"n2"}) == (status, {name for each in answer["decisions"] for name in each["assignments"].values()})
    both = mounting({"persistentVolumeClaim": {"claimName": "data"}})
    both["spec"]["template"]["spec"]["volumes"].append({"name": "more", "persistentVolumeClaim": {"claimName": "second"}})
    assert 1 == fit([claim(), second, both], volume())[0]


def test_a_claim_that_waits_for_a_pod_is_left_to_the_scheduler():
    free = volume(storageClassName="std")
    status, answer = fit([claim(storageClassName="std"), MOUNTED], storage_class(provisioner="kubernetes.io/no-provisioner"), free)
    assert (0, {"n2"}) == (status, {name for each in answer["decisions"] for name in each["assignments"].values()})


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
