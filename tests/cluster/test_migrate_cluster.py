"""Custom resources of a cluster that serves the built-in kinds too are moved to these; interrupted at every write, and with running pods."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from apiserver import api as client
from muster import cli
from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import install
from tests.cluster.kubelet import node, pod
from tests.cluster.options import Options
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until

CUSTOM = "scheduling.muster.dev/v1beta1"
LABEL = "scheduling.muster.dev/pod-group"
FINALIZER = "scheduling.k8s.io/podgroup-protection"
KINDS = {"Workload": "train", "CompositePodGroup": "run", "PodGroup": "workers"}
CONDITION = {
    "type": "PodGroupInitiallyScheduled",
    "status": "True",
    "reason": "Scheduled",
    "message": "2 pods are placed",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


class Killed(BaseException):
    """The command ends after a write."""


@pytest.fixture(scope="module")
def plane(programs) -> Iterator[ControlPlane]:
    """A control plane with both API groups, whose garbage collector deletes what a deleted owner leaves."""
    with ControlPlane(programs=programs) as started:
        install(started.api)
        started.start_controllers(("garbage-collector-controller",))
        started.api.create(node("n1"))
        yield started


@pytest.fixture
def api(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    return plane.api


def muster(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, [*arguments])


def migrate(*arguments: str) -> Result:
    return muster("migrate", "--cluster", *arguments)


def custom(api: Api, kind: str, namespace: str, spec: Manifest, **metadata: Any) -> Manifest:
    metadata = {"name": KINDS[kind], "namespace": namespace, "labels": {"team": "a"}, "annotations": {"note": "b"}, **metadata}
    return create(api, {"apiVersion": CUSTOM, "kind": kind, "metadata": metadata, "spec": spec})


def create(api: Api, manifest: Manifest) -> Manifest:
    group, plural = manifest["apiVersion"], f"{manifest['kind'].lower()}s"
    path = f"/apis/{group}/namespaces/{manifest['metadata']['namespace']}/{plural}"
    created: Manifest = api.send("POST", path, manifest).content
    return created


def owner(content: Manifest) -> Manifest:
    return {
        "apiVersion": content["apiVersion"],
        "kind": content["kind"],
        "name": content["metadata"]["name"],
        "uid": content["metadata"]["uid"],
    }


def store_tree(api: Api, namespace: str) -> dict[str, str]:
    """Create a tree of custom resources with running pods, and objects that it owns; return the uids of what must stay."""
    leaf = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
    root = {"name": "run", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [leaf]}
    workload = custom(api, "Workload", namespace, {"compositePodGroupTemplates": [root]})
    reference = {"workloadName": "train", "templateName": "run"}
    custom(
        api,
        "CompositePodGroup",
        namespace,
        {"workloadRef": reference, "schedulingPolicy": {"basic": {}}},
        ownerReferences=[owner(workload)],
    )
    spec = {
        "workloadRef": {**reference, "templateName": "workers"},
        "parentCompositePodGroupName": "run",
        "schedulingPolicy": {"gang": {"minCount": 2}},
    }
    group = custom(api, "PodGroup", namespace, spec, ownerReferences=[owner(workload)], finalizers=[FINALIZER])
    status = {"conditions": [{**CONDITION, "observedGeneration": 1}]}
    api.set_status("PodGroup", "workers", namespace, status=status, version=CUSTOM)
    kept: dict[str, str] = {}
    for name in ("worker-0", "worker-1"):
        member = pod(name, namespace)
        member["metadata"] |= {"labels": {LABEL: "workers"}, "ownerReferences": [owner(group)]}
        kept[name] = api.create(member)["metadata"]["uid"]
        api.bind(name, namespace, "n1")
    configured = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hosts", "namespace": namespace, "ownerReferences": [owner(group)]},
    }
    api.create(configured)
    return kept


def left(api: Api, namespace: str) -> list[str]:
    return [each["metadata"]["name"] for kind in KINDS for each in api.objects(kind, namespace, version=CUSTOM)]


def check_moved(api: Api, namespace: str, kept: dict[str, str]) -> None:
    """Check that the tree is one of built-in kinds, with its status, its owners and the same pods; and that nothing else is left."""
    until(lambda: not left(api, namespace))
    workload, composite, group = (api.get(kind, name, namespace) for kind, name in KINDS.items())
    for each in (workload, composite, group):
        assert each["metadata"]["labels"] == {"team": "a"}
        assert each["metadata"]["annotations"] == {"note": "b"}
    assert group["spec"]["parentCompositePodGroupName"] == "run"
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert [{**each, "observedGeneration": 1} for each in group["status"]["conditions"]] == [{**CONDITION, "observedGeneration": 1}]
    for each in (composite, group):
        assert each["metadata"]["ownerReferences"] == [owner(workload)]
    for name, uid in kept.items():
        member = api.get("Pod", name, namespace)
        assert (member["metadata"]["uid"], member["metadata"]["labels"]) == (uid, {LABEL: "workers"})
        assert member["metadata"]["ownerReferences"] == [owner(group)]
        assert member["spec"]["nodeName"] == "n1"
        assert "deletionTimestamp" not in member["metadata"]
    assert api.get("ConfigMap", "hosts", namespace)["metadata"]["ownerReferences"] == [owner(group)]


def test_a_tree_moves_and_its_pods_stay(api: Api, namespace: str) -> None:
    kept = store_tree(api, namespace)
    dry = migrate("--dry-run")

    assert dry.exit_code == 0, dry.output
    assert "would be created" in dry.stdout
    assert sorted(left(api, namespace)) == sorted(KINDS.values())
    assert not any(api.exists(kind, name, namespace) for kind, name in KINDS.items())

    done = migrate()
    assert done.exit_code == 0, done.output
    check_moved(api, namespace, kept)
    assert f"PodGroup {namespace}/workers: 2 pods only have the label {LABEL}: kube-scheduler does not count them as members" in done.stdout
    assert done.stdout.endswith("3 of 3 custom resources moved\n")

    again = json.loads(migrate("--format", "json").stdout)
    assert (again["objects"], again["onlyLabelled"]) == ([], [])
    assert migrate().stdout == "there are no custom resources to move\n"


@pytest.fixture
def killed_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that lets the command end after that many writes; 0: it does not end."""
    send = client.Api.send
    remaining = [0]

    def counted(self: client.Api, method: str, path: str, body: bytes | None, **options: Any) -> bytes:
        answer = send(self, method, path, body, **options)
        if ("dryRun", "All") not in options.get("query", ()) and remaining[0]:
            remaining[0] -= 1
            if not remaining[0]:
                raise Killed
        return answer

    monkeypatch.setattr(client.Api, "send", counted)
    return lambda number: remaining.__setitem__(0, number)


def test_killed_after_any_write_it_goes_on(api: Api, namespace: str, killed_after: Callable[[int], None]) -> None:
    for number in itertools.count(1):
        own = f"{namespace}-{number}"
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": own}})
        kept = store_tree(api, own)
        killed_after(number)
        try:
            migrate()
        except Killed:
            killed_after(0)
            done = migrate()
            assert done.exit_code == 0, (number, done.output)
            check_moved(api, own, kept)
            continue
        check_moved(api, own, kept)
        break
    # Three objects with one status, two pods and a ConfigMap, one finalizer, three deletions.
    assert number == 12


def test_an_object_that_differs_is_kept(api: Api, namespace: str) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    custom(api, "PodGroup", namespace, spec)
    other = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    api.create(
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "workers", "namespace": namespace},
            "spec": other,
        }
    )
    done = migrate()

    assert done.exit_code == 1, done.output
    assert "scheduling.k8s.io has a PodGroup of this name that differs in spec.schedulingPolicy, and counts" in done.stdout
    assert left(api, namespace) == ["workers"]
    api.delete("PodGroup", "workers", namespace, version=CUSTOM)


def test_what_the_api_server_would_drop_is_not_moved(programs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without their gate, constraints are dropped, and composites are not served."""
    gates = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": False, "CompositePodGroup": False}
    with ControlPlane(Options(gates=gates, served=("scheduling.k8s.io/v1beta1",)), programs=programs) as plane:
        monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
        install(plane.api)
        constraint = {"topology": [{"key": "rack"}]}
        custom(plane.api, "PodGroup", "default", {"schedulingPolicy": {"basic": {}}, "schedulingConstraints": constraint})
        reference = {"workloadName": "train", "templateName": "run"}
        custom(plane.api, "CompositePodGroup", "default", {"workloadRef": reference, "schedulingPolicy": {"basic": {}}})
        done = migrate()

        assert done.exit_code == 1, done.output
        assert "PodGroup default/workers: not moved: the API server drops spec.schedulingConstraints: a feature gate is off" in done.stdout
        assert "CompositePodGroup default/run: not moved: the API server has no CompositePodGroup of scheduling.k8s.io" in done.stdout
        assert left(plane.api, "default") == ["run", "workers"]
        assert plane.api.objects("PodGroup", "default") == []
