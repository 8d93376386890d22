"""``muster doctor --cluster`` about mode build, beside a running sidecar: findings are provoked and mended, and results are counted."""

from __future__ import annotations

import contextlib
import datetime as dt
import json

import pytest
import yaml

from kubeapi.pods import group_in
from muster.doctor import built_groups
from tests.cluster.conftest import new_namespace
from tests.cluster.doctor_installation import PROVOKED_ELSEWHERE, SIDECAR, demand_provoked, examination
from tests.cluster.installed import DEPLOY, NAMESPACE
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

STARTED = {"startTime": "2026-01-01T00:00:00Z"}
BAD = {"muster.dev/min-count": "many"}
WAITS = "muster.dev/pod-group"
MODES = ("--mode", "build,validate", "--lease", "none")


@pytest.fixture(scope="module")
def examined(plane, tmp_path_factory):
    """Muster without what mode build needs, which tests of sidecars leave on the control plane."""
    _delete_parts(plane.api)
    with examination(plane, tmp_path_factory.mktemp("installed")) as result:
        yield result
        _delete_parts(plane.api)


def _delete_parts(api):
    for file in ("components/join/policy.yaml", "sidecar/build.yaml", "sidecar/ungate.yaml"):
        for each in yaml.safe_load_all((DEPLOY / file).read_text(encoding="utf-8")):
            api.delete(each["kind"], each["metadata"]["name"])


@pytest.fixture(scope="module")
def building(examined, plane, tmp_path_factory):
    """A running sidecar with mode build; the Deployment and the rest are as doctor wants them."""
    for file in ("components/join/policy", "sidecar/build", "sidecar/ungate"):
        examined.mend(f"kubectl apply -f deploy/{file}.yaml")
    operation = {"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "--mode=build,validate,ungate"}
    plane.api.patch("Deployment", SIDECAR, NAMESPACE, body=[operation], how="json")
    with sidecar(plane, tmp_path_factory.mktemp("sidecar"), *MODES) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch):
    """Objects and pods are expected to have their groups at once."""
    monkeypatch.setattr(built_groups, "PATIENCE", dt.timedelta(0))


@pytest.fixture
def labelled(plane):
    """A namespace where groups are written although the server of the webhooks cannot be called."""
    with new_namespace(plane.api, {"muster.dev/groups": "build", "muster.dev/enforcement": "audit"}) as name:
        yield name


def job(namespace, **annotations):
    """Return a Job whose pods nothing creates: no controller runs."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]}}
    metadata = {"name": "train", "namespace": namespace, "annotations": annotations}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }


def owned(kind, name, owner, **metadata):
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": owner["metadata"]["uid"], "controller": True}
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": owner["metadata"]["namespace"], "ownerReferences": [reference], **metadata},
    }


def waiting_pod(owner):
    """Return a pod as the webhook or the policy creates it."""
    spec = {"schedulingGates": [{"name": "muster.dev/placement"}, {"name": WAITS}], "containers": [{"name": "main", "image": "train"}]}
    of_job = {"batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/controller-uid": owner["metadata"]["uid"]}
    labels = {WAITS: "unknown", **of_job}
    return {"apiVersion": "v1", **owned("Pod", "train-0", owner, labels=labels), "spec": spec}


def results(examined):
    return [tuple(each.values()) for each in json.loads(examined.doctor().stdout)["built"]]


@contextlib.contextmanager
def created(api, manifest):
    """Create an object, a Job as if its controller had started it."""
    result = api.create(manifest)
    if result["kind"] == "Job":
        api.set_status("Job", result["metadata"]["name"], result["metadata"]["namespace"], status=STARTED)
    yield result
    place = result["metadata"]["name"], result["metadata"]["namespace"]
    api.delete(result["kind"], *place)


def test_what_a_labelled_namespace_needs_is_installed_step_by_step(examined, labelled) -> None:
    found = examined.findings()
    assert {check: len(each) for check, each in found.items()} == {"build-not-installed": 2}
    for each in found["build-not-installed"]:
        examined.mend(each["command"])
    modes = examined.api.get("Deployment", SIDECAR, NAMESPACE)["spec"]["template"]["spec"]["containers"][0]
    assert "build" in json.dumps(modes)
    found = examined.findings()
    assert {"build-places-nothing", "rights-missing"} == found.keys()
    examined.mend(found["build-places-nothing"][0]["command"])
    examined.mend(examined.provoked("rights-missing"))
    examined.well()


def test_a_label_with_another_value_is_mended(examined, plane) -> None:
    with new_namespace(plane.api, {"muster.dev/groups": "true"}):
        examined.mend(examined.provoked("build-not-installed"))
        examined.well()


@pytest.mark.usefixtures("impatient")
def test_objects_are_counted_by_result(examined, building, labelled) -> None:
    with created(examined.api, job(labelled)):
        until(lambda: results(examined) == [(labelled, "Job", "built", 1)], told=lambda: str(results(examined)))
        examined.well()
        until(lambda: building.metric('muster_build_objects{kind="Job",result="built"}') == 1)
        assert building.metric('muster_writes_total{kind="CreatePodGroup",outcome="done"}') >= 1


@pytest.mark.usefixtures("impatient")
def test_an_object_with_a_bad_annotation_and_its_pod(examined, building, labelled) -> None:
    with created(examined.api, job(labelled, **BAD)) as owner:
        assert results(examined) == [(labelled, "Job", "invalid", 1)]
        until(lambda: building.metric('muster_build_objects{kind="Job",result="invalid"}') == 1)
        examined.provoked("groups-not-built")

        joined = building.metric('muster_build_pods_total{outcome="joined"}')
        with created(examined.api, waiting_pod(owner)):
            found = examined.findings()
            assert found.keys() == {"groups-not-built", "group-awaited"}
            assert f"Job {labelled}/train has no groups: metadata.annotations[muster.dev/min-count]" in found["group-awaited"][0]["message"]
            until(lambda: building.metric("muster_build_waiting_pods") == 1)
            until(lambda: building.metric("muster_build_longest_wait_seconds") > 1)
            for name in ("train", "train-0"):
                code, text = building.get(f"/explain/{labelled}/{name}")
                assert (code, f"Job {labelled}/train: metadata.annotations[muster.dev/min-count]: Invalid value" in text) == (404, True)

            examined.mend(found["groups-not-built"][0]["command"])
            until(lambda: building.metric('muster_build_pods_total{outcome="joined"}') == joined + 1)
            examined.well()
            until(lambda: building.metric("muster_build_waiting_pods") == building.metric("muster_build_longest_wait_seconds") == 0)


@pytest.mark.usefixtures("impatient", "building")
def test_two_makers_of_groups(examined, labelled) -> None:
    """While a group has pods it stays, also when another program has begun to create groups."""
    api = examined.api
    with created(api, job(labelled)) as owner:
        until(lambda: results(examined) == [(labelled, "Job", "built", 1)])
        (ours,) = api.objects("Workload", labelled)
        theirs = {"apiVersion": ours["apiVersion"], **owned("Workload", "theirs", owner), "spec": ours["spec"]}
        with created(api, waiting_pod(owner)):
            until(lambda: group_in(api.get("Pod", "train-0", labelled)))
            with created(api, theirs):
                found = examined.findings()
                assert found.keys() == {"two-group-makers"}
                assert "and of another program: the Workload of" in found["two-group-makers"][0]["message"]
                examined.mend(found["two-group-makers"][0]["command"])
                api.delete("Pod", "train-0", labelled, gracePeriodSeconds=0)
                # A change of the object is looked at at once.
                api.patch("Job", "train", labelled, body={"metadata": {"annotations": {"changed": "true"}}})
                until(lambda: [each["metadata"]["name"] for each in api.objects("Workload", labelled)] == ["theirs"])
                examined.well()


def test_every_check_is_provoked(examined, request) -> None:
    demand_provoked(request, PROVOKED_ELSEWHERE["build"])
