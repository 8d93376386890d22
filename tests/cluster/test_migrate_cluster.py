"""Custom resources of a cluster that serves the built-in kinds too are moved to these; interrupted at every write, and with running pods."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from apiserver import api as client
from muster import cli
from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import install
from tests.cluster.kubelet import node, pod
from tests.cluster.options import Options
from tests.cluster.page_shell import section
from tests.cluster.resources import Manifest
from tests.cluster.test_move_by_docs import PAGE
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


Interruptions = Callable[[Callable[[str, str], object]], None]


@pytest.fixture
def before_write(monkeypatch: pytest.MonkeyPatch) -> Interruptions:
    """Return a function that takes what happens right before the first try of each write, by its method and path."""
    send = client.Api.send
    happens: list[Callable[[str, str], object]] = []
    tried = set()

    def interrupted(self: client.Api, method: str, path: str, body: bytes | None, **options: Any) -> bytes:
        if (method, path) not in tried and happens and ("dryRun", "All") not in options.get("query", ()):
            tried.add((method, path))
            happens[0](method, path)
        return send(self, method, path, body, **options)

    monkeypatch.setattr(client.Api, "send", interrupted)
    return happens.append


def a_change(api: Api) -> Callable[[str, str], None]:
    """Return what changes the object of each write, for ``before_write``."""
    numbers = itertools.count()

    def change(method: str, path: str) -> None:
        if method in ("PATCH", "DELETE"):
            body = {"metadata": {"annotations": {f"touched-{next(numbers)}": "now"}}}
            api.send("PATCH", path.removesuffix("/status"), body, content_type="application/merge-patch+json")

    return change


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


def test_help_says_that_objects_are_moved() -> None:
    assert "nothing is written to it" not in " ".join(muster("migrate", "--help").output.split())
    assert "Move the custom resources of the live cluster" in " ".join(muster("migrate", "--help").output.split())


SPEC = {"schedulingPolicy": {"gang": {"minCount": 2}}}


def built_in(api: Api, namespace: str, **metadata: Any) -> Manifest:
    metadata = {"name": "workers", "namespace": namespace, **metadata}
    return create(api, {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": SPEC})


def test_a_built_in_object_that_is_being_deleted_takes_no_place(api: Api, namespace: str) -> None:
    custom(api, "PodGroup", namespace, SPEC)
    built_in(api, namespace, finalizers=["example.com/keep"])
    api.delete("PodGroup", "workers", namespace)
    done = migrate()

    assert done.exit_code == 1, done.output
    assert "not moved: the PodGroup of scheduling.k8s.io with this name is being deleted" in done.stdout
    assert left(api, namespace) == ["workers"]
    assert "deletionTimestamp" not in api.get("PodGroup", "workers", namespace, version=CUSTOM)["metadata"]
    api.patch("PodGroup", "workers", namespace, body={"metadata": {"finalizers": None}})
    assert migrate().exit_code == 0
    until(lambda: not left(api, namespace))
    assert api.exists("PodGroup", "workers", namespace)


def test_one_that_is_deleted_during_the_move_takes_no_place(api: Api, namespace: str, before_write: Interruptions) -> None:
    """It is deleted after it was read, right before the custom resource would be."""
    custom(api, "PodGroup", namespace, SPEC, finalizers=[FINALIZER])
    built_in(api, namespace, finalizers=["example.com/keep"])
    before_write(lambda method, path: api.delete("PodGroup", "workers", namespace) if method == "PATCH" else None)
    done = migrate()

    assert done.exit_code == 1, done.output
    assert left(api, namespace) == ["workers"]
    api.patch("PodGroup", "workers", namespace, body={"metadata": {"finalizers": None}})
    assert migrate().exit_code == 0


def test_labels_of_both_objects_are_kept(api: Api, namespace: str) -> None:
    account = api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner", "namespace": namespace}})
    custom(api, "PodGroup", namespace, SPEC, ownerReferences=[owner(account)])
    built_in(api, namespace, labels={"of": "built-in"})
    done = migrate()

    assert done.exit_code == 0, done.output
    metadata = api.get("PodGroup", "workers", namespace)["metadata"]
    assert metadata["labels"] == {"of": "built-in", "team": "a"}
    assert metadata["annotations"] == {"note": "b"}
    assert metadata["ownerReferences"] == [owner(account)]


def test_labels_that_differ_are_a_problem(api: Api, namespace: str) -> None:
    custom(api, "PodGroup", namespace, SPEC)
    built_in(api, namespace, labels={"team": "b"}, annotations={"note": "b"})
    done = migrate()

    assert done.exit_code == 1, done.output
    assert "scheduling.k8s.io has a PodGroup of this name that differs in metadata.labels[team], and counts" in done.stdout
    assert left(api, namespace) == ["workers"]
    api.delete("PodGroup", "workers", namespace, version=CUSTOM)


def test_writes_between_are_no_error(api: Api, namespace: str, before_write: Interruptions) -> None:
    """As the sidecar and other controllers do, somebody changes each object right before each of its writes."""
    kept = store_tree(api, namespace)
    before_write(a_change(api))
    done = migrate()

    assert done.exit_code == 0, done.output
    until(lambda: not left(api, namespace))
    for name in kept:
        assert api.get("Pod", name, namespace)["metadata"]["ownerReferences"] == [owner(api.get("PodGroup", "workers", namespace))]


def test_a_conflict_that_stays_is_a_problem(api: Api, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    custom(api, "PodGroup", namespace, SPEC)
    send = client.Api.send
    tries = []

    def touched(self: client.Api, method: str, path: str, body: bytes | None, **options: Any) -> bytes:
        if method == "DELETE":
            tries.append(path)
            change = {"metadata": {"annotations": {f"try-{len(tries)}": "now"}}}
            api.patch("PodGroup", "workers", namespace, body=change, version=CUSTOM)
        return send(self, method, path, body, **options)

    monkeypatch.setattr(client.Api, "send", touched)
    document = json.loads(migrate("--format", "json").stdout)

    assert len(tries) == 5
    assert document["objects"][0]["actions"] == ["create", "setMetadata"]
    assert "it has changed meanwhile: run the command again" in document["objects"][0]["problem"]
    monkeypatch.undo()
    api.delete("PodGroup", "workers", namespace, version=CUSTOM)


def test_only_this_run_is_reported(api: Api, namespace: str) -> None:
    custom(api, "PodGroup", namespace, SPEC, finalizers=["example.com/keep"])
    assert migrate().stdout.endswith("1 of 1 custom resource moved\n")
    until(lambda: api.get("PodGroup", "workers", namespace, version=CUSTOM)["metadata"]["finalizers"] == ["example.com/keep"])
    done = migrate()

    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"PodGroup {namespace}/workers as scheduling.k8s.io/v1beta1: the custom resource is being deleted, and waits for example.com/keep",
        "1 custom resource is being deleted since an earlier move: it waits for finalizers",
    ]
    assert json.loads(migrate("--format", "json").stdout)["objects"][0]["waitsFor"] == ["example.com/keep"]
    api.patch("PodGroup", "workers", namespace, body={"metadata": {"finalizers": None}}, version=CUSTOM)


def rules() -> list[Manifest]:
    (text,) = (each.text for each in section("Rights for the move", PAGE) if "ClusterRole" in each.text)
    listed: list[Manifest] = yaml.safe_load(text)["rules"]
    return listed


def without(verb: str, resource: str) -> list[Manifest]:
    """Return the rules of the page without one verb of one resource."""
    return [
        {**each, "resources": [name], "verbs": [every for every in each["verbs"] if (every, name) != (verb, resource)]}
        for each in rules()
        for name in each["resources"]
        if each["verbs"] != [verb] or name != resource
    ]


@pytest.mark.kubernetes("1.37")
def test_the_role_of_the_page_is_enough(plane: ControlPlane, api: Api, namespace: str, before_write: Interruptions) -> None:
    kept = store_tree(api, namespace)
    api.delete("ConfigMap", "hosts", namespace)  # which the role does not patch
    group = api.get("PodGroup", "workers", namespace, version=CUSTOM)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    owned = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim},
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {}},
    ]
    for each in owned:
        api.create({**each, "metadata": {"name": "data", "namespace": namespace, "ownerReferences": [owner(group)]}})
    built_in_workload = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "train", "namespace": namespace},
    }
    workload = api.get("Workload", "train", namespace, version=CUSTOM)
    create(api, {**built_in_workload, "spec": workload["spec"]})
    before_write(a_change(api))
    done = migrate("--kubeconfig", str(plane.user("mover", rules())))

    assert done.exit_code == 0, done.output
    until(lambda: not left(api, namespace))
    moved = owner(api.get("PodGroup", "workers", namespace))
    for kind, name in (*(("Pod", each) for each in kept), *((each["kind"], "data") for each in owned)):
        assert api.get(kind, name, namespace)["metadata"]["ownerReferences"] == [moved], kind


@pytest.mark.kubernetes("1.37")
def test_a_write_that_is_refused_is_not_reported_as_done(plane: ControlPlane, api: Api, namespace: str) -> None:
    store_tree(api, namespace)
    user = plane.user("without-status", without("patch", "podgroups/status"))
    document = json.loads(migrate("--format", "json", "--kubeconfig", str(user)).stdout)
    (group,) = (each for each in document["objects"] if each["object"].startswith("PodGroup"))

    assert group["actions"] == ["create"]
    assert 'cannot patch resource "podgroups/status"' in group["problem"]
    user = plane.user("without-config-maps", rules())
    done = migrate("--kubeconfig", str(user))
    assert done.exit_code == 1
    assert "not moved: it stays the owner of ConfigMap hosts: HTTP 403" in done.stdout
    assert "workers" in left(api, namespace)
    assert migrate().exit_code == 0


@pytest.mark.kubernetes("1.37")
def test_without_the_right_to_list_nothing_is_deleted(plane: ControlPlane, api: Api, namespace: str) -> None:
    custom(api, "PodGroup", namespace, SPEC)
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    groups = {"apiGroups": ["scheduling.k8s.io", "scheduling.muster.dev"], "resources": ["*"], "verbs": ["list"]}
    fewer = [each for each in rules() if each["resources"] != ["*"]]
    done = migrate("--kubeconfig", str(plane.user("without-lists", [*fewer, pods, groups])))

    assert done.exit_code == 1
    assert "what it owns is not known: " in done.stdout
    assert "configmaps" in done.stdout or "more resources" in done.stdout
    assert left(api, namespace) == ["workers"]
    refused = migrate("--kubeconfig", str(plane.user("without-pods", [*fewer, groups])))
    assert refused.exit_code == 2
    assert 'cannot list resource "pods"' in refused.stderr
    assert "--help" not in refused.stderr
    assert migrate().exit_code == 0


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
        leaf = {"name": "workers", "schedulingPolicy": {"basic": {}}}
        root = {"name": "run", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [leaf]}
        custom(plane.api, "Workload", "default", {"compositePodGroupTemplates": [root]})
        member = pod("worker-0", "default")
        member["metadata"]["labels"] = {LABEL: "workers"}
        plane.api.create(member)
        for done in (migrate("--dry-run"), migrate()):
            assert done.exit_code == 1, done.output
            assert (
                "PodGroup default/workers: not moved: the API server drops spec.schedulingConstraints: a feature gate is off" in done.stdout
            )
            assert "CompositePodGroup default/run: not moved: the API server has no CompositePodGroup of scheduling.k8s.io" in done.stdout
            assert (
                "Workload default/train: not moved: the API server drops a field that the rest needs: a feature gate is off ("
                in done.stdout
            )
            assert "0 of 3 custom resources" in done.stdout
            assert "kube-scheduler" not in done.stdout
        assert left(plane.api, "default") == ["train", "run", "workers"]
        assert plane.api.objects("PodGroup", "default") == []
