"""Before an upgrade from Kubernetes 1.37 to 1.38: what the newer version would refuse is found, and the printed steps leave nothing of it."""

from __future__ import annotations

import json

import pytest

from tests.cluster.api import ApiError
from tests.cluster.conftest import built
from tests.cluster.control_plane import ControlPlane
from tests.cluster.page_shell import Shell
from tests.cluster.waiting import until
from tests.muster.doctor.worlds import scheduler

pytestmark = pytest.mark.kubernetes("1.37")
NEWER = "1.38"
STUCK = {"upgrade-blocks-updates", "upgrade-blocks-placement"}
BLOCKED_UPDATE = "must have"


@pytest.fixture
def plane(programs):
    """A control plane of its own, for which the garbage collector orphans what a deleted owner leaves."""
    with ControlPlane(programs=programs) as started:
        started.start_controllers(("garbage-collector-controller",))
        yield started


@pytest.fixture
def shell(plane, tmp_path):
    return Shell(plane, tmp_path)


def workload(namespace):
    leaf = {"name": "workers", "schedulingPolicy": {"basic": {}}}
    root = {"name": "root", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [leaf]}
    metadata = {"name": "train", "namespace": namespace, "labels": {"team": "a"}, "finalizers": ["example.com/keep"]}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"compositePodGroupTemplates": [root]},
    }


def store_tree(api, namespace):
    """Create a Workload with a gang above a child that is no gang, and the groups of its templates, which it owns."""
    stored = api.create(workload(namespace))
    owner = {"apiVersion": stored["apiVersion"], "kind": "Workload", "name": "train", "uid": stored["metadata"]["uid"]}
    root = {"workloadRef": {"workloadName": "train", "templateName": "root"}, "schedulingPolicy": {"gang": {"minGroupCount": 1}}}
    leaf = {
        "workloadRef": {"workloadName": "train", "templateName": "workers"},
        "parentCompositePodGroupName": "root-0",
        "schedulingPolicy": {"basic": {}},
    }
    for kind, version, name, spec in (("CompositePodGroup", "v1alpha3", "root-0", root), ("PodGroup", "v1beta1", "workers-0", leaf)):
        metadata = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
        api.create({"apiVersion": f"scheduling.k8s.io/{version}", "kind": kind, "metadata": metadata, "spec": spec})


def findings(shell):
    """Return the ids of the findings of the doctor about the upgrade."""
    done = shell("muster doctor --cluster --upgrade-to 1.38 --format json")
    assert done.returncode in (0, 1), done.stderr
    return {each["id"] for each in json.loads(done.stdout)["findings"]}


def test_after_the_printed_steps_nothing_would_be_refused(plane, api, shell, namespace):
    store_tree(api, namespace)
    other = {"name": "other", "schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}
    metadata = {"name": "other", "namespace": namespace}
    api.create({**workload(namespace), "metadata": metadata, "spec": {"podGroupTemplates": [other]}})
    until(lambda: api.exists("Namespace", "kube-system"))
    api.create(scheduler())
    assert STUCK | {"upgrade-blocks-creation", "upgrade-gates"} == findings(shell)
    before = {
        kind: api.get(kind, name, namespace)["metadata"]["uid"] for kind, name in (("Workload", "train"), ("CompositePodGroup", "root-0"))
    }

    printed = shell("muster migrate --cluster --to-kubernetes 1.38")
    assert printed.returncode == 1, printed.stderr
    (plane.folder / "steps.sh").write_text(printed.stdout, encoding="utf-8")
    shell.run(f"bash -eu {plane.folder / 'steps.sh'}")

    assert not STUCK & findings(shell)
    assert shell("muster migrate --cluster --to-kubernetes 1.38").returncode == 0
    created = api.get("Workload", "train", namespace)
    assert created["metadata"]["labels"] == {"team": "a"}
    assert created["metadata"]["uid"] != before["Workload"]
    kept, made = api.get("CompositePodGroup", "root-0", namespace), api.get("PodGroup", "workers-0", namespace)
    assert kept["metadata"]["uid"] == before["CompositePodGroup"]
    assert made["spec"]["schedulingPolicy"] == {"gang": {"minCount": 1}}
    for each in (kept, made):
        assert [owner["uid"] for owner in each["metadata"]["ownerReferences"]] == [created["metadata"]["uid"]]


def test_the_newer_version_refuses_every_update_unless_the_steps_were_taken(plane, api, shell):
    """The API server of the newer version starts with the stored objects of the older one; what it cannot delete ends with the plane."""
    namespace = "default"
    newer = built(NEWER)
    store_tree(api, namespace)
    api.create({**workload(namespace), "metadata": {**workload(namespace)["metadata"], "name": "left"}})
    steps = shell("muster migrate --cluster --to-kubernetes 1.38").stdout.split("\n\n")
    (chosen,) = (each for each in steps if "Workload" in each and "/train" in each)
    (plane.folder / "steps.sh").write_text(chosen, encoding="utf-8")
    shell.run(f"bash -eu {plane.folder / 'steps.sh'}")
    plane.controllers.stop()
    plane.programs = newer
    plane.restart_apiserver()

    label = {"metadata": {"labels": {"upgraded": "yes"}}}
    until(lambda: api.exists("Workload", "train", namespace))
    assert api.patch("Workload", "train", namespace, body=label)["metadata"]["labels"]["upgraded"] == "yes"
    assert api.patch("PodGroup", "workers-0", namespace, body=label)["metadata"]["labels"]["upgraded"] == "yes"
    with pytest.raises(ApiError, match=BLOCKED_UPDATE):
        api.patch("Workload", "left", namespace, body=label)
    with pytest.raises(ApiError, match=BLOCKED_UPDATE):
        api.patch("Workload", "left", namespace, body={"metadata": {"finalizers": []}})
