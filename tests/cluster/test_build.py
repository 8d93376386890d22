"""Mode build: objects of real controllers get groups, their pods join them, and run, with nothing but the label of the namespace."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import yaml

from kubeapi.pods import group_in
from tests.cluster import controllers, go_tools
from tests.cluster.building import NO_JOB_GROUPS, RACK, Building, apply, building_plane, built_namespace, selected
from tests.cluster.conftest import available
from tests.cluster.controllers import FAST
from tests.cluster.kubelet import Kubelet, finish_pod, node
from tests.cluster.sidecars import sidecar
from tests.cluster.test_controllers import RESTARTED
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", sampled="built-in")
CASES = Path(__file__).parents[1] / "cases"
MODES = ("--mode", "build,validate,ungate,protect", "--lease", "none", "--settle", "1")
EXAMPLES = {
    "job-indexed": 3,
    "jaxjob": 2,
    "jobset-pytorch": 4,
    "jobset-startup-policy": 5,
    "lws": 12,
    "lws-vllm": 4,
    "mpijob-tensorflow": 3,
    "pytorchjob": 3,
    "raycluster-autoscaler": 2,
    "rayjob-pytorch": 4,
    "tfjob": 6,
    "trainjob-torch": 2,
}
"""Pods of each of ``cases/public_examples``."""
KINDS = ("Job", "JobSet", "LeaderWorkerSet", "MPIJob", "RayCluster", "RayJob", "TrainJob", "PyTorchJob", "TFJob", "JAXJob")


@pytest.fixture(scope="module")
def plane(programs, custom, tmp_path_factory):
    """One of its own: the controllers and their kinds stay on it.  kube-scheduler binds, and nodes have racks and GPUs."""
    for name in controllers.CONTROLLERS:
        available(functools.partial(go_tools.find, name))
    room = {"memory": "4Ti", "ephemeral-storage": "8Ti", "nvidia.com/gpu": 8}
    with building_plane(programs, tmp_path_factory.mktemp("installed"), *controllers.CONTROLLERS, custom=custom) as started:
        started.api.create_all([node(f"{rack}-{number}", {RACK: rack}, cpu=256, **room) for rack in "ab" for number in range(2)])
        started.start_scheduler()
        with Kubelet(started.api), sidecar(started, tmp_path_factory.mktemp("sidecar"), *MODES):
            yield started


@pytest.fixture
def building(plane):
    with built_namespace(plane.api, *KINDS) as name:
        yield Building(plane, name)


def manifests(path):
    return list(yaml.safe_load_all((CASES / path).read_text(encoding="utf-8")))


def case(name):
    return manifests(f"controllers/{name}.yaml")


def runs(building, count, *, old=()):
    """Wait until *count* pods run that are not *old*, all in their groups, where the sidecar has placed them."""

    def troubles():
        found = building.troubles(count)
        for each in building.pods():
            name, spec = each["metadata"]["name"], each["spec"]
            if each["status"]["phase"] != "Running" or each["metadata"]["uid"] in old:
                found.append(f"{name} is {each['status']['phase']} on {spec.get('nodeName')}")
            elif group_in(each) and selected(each) != spec["nodeName"]:
                found.append(f"{name} is on {spec['nodeName']}, not on {selected(each)}")
        return found

    until(lambda: not troubles(), told=lambda: f"{troubles()}\n{building.events()}")


def has_nothing(building):
    """Wait until there is no pod and no group, also none that ends."""
    until(lambda: not building.there() and not building.all_pods(), told=lambda: f"{building.there()} {building.all_pods()}")


def uids(building):
    return {each["metadata"]["uid"] for each in building.pods()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_public_example_runs_with_nothing_but_the_label_and_leaves_nothing(plane, api, building, name):
    path = CASES / f"public_examples/{name}.yaml"
    plane.kubectl("apply", "--validate=false", f"--namespace={building.namespace}", f"--filename={path}", check=True)

    runs(building, EXAMPLES[name])
    assert [] == [each for each in building.events() if each[0] == "Warning" and each[1].startswith("Groups")]
    created = next(each for each in manifests(f"public_examples/{name}.yaml") if each["kind"] in KINDS)
    api.delete(created["kind"], created["metadata"]["name"], building.namespace, propagationPolicy="Background")
    has_nothing(building)


@pytest.mark.parametrize("name", ["jobset", "mpijob", "raycluster"])
def test_an_object_is_placed_in_one_rack(api, building, name):
    *_, manifest = case(name)
    if name == "jobset":
        # JobSet's exclusive placement would give each Job a rack of its own.
        del manifest["spec"]["replicatedJobs"][1]["template"]["metadata"]
    apply(api, building.namespace, manifest, **{"muster.dev/topology": RACK})

    until(lambda: building.pods() and all(map(selected, building.pods())), told=lambda: str(building.troubles()))

    assert 1 == len({selected(each)[0] for each in building.pods()})


def test_the_job_controller_that_makes_groups_is_left_alone(plane, api, building, custom):
    if custom:
        pytest.skip("the controller of Jobs creates groups of built-in kinds only")
    needs = (*dict.fromkeys(need for each in controllers.CONTROLLERS.values() for need in each.needs), "podgroup-protection-controller")
    plane.controllers.stop()
    plane.start_controllers(needs, FAST)
    try:
        apply(api, building.namespace, *manifests("public_examples/job-indexed.yaml")[1:])
        until(lambda: [each["status"]["phase"] for each in building.pods()] == ["Running"] * 3, told=lambda: str(building.events()))

        (group,) = api.objects("PodGroup", building.namespace)
        assert {group["metadata"]["name"]} == {group_in(each) for each in building.pods()}
        assert [None] * 2 == [each["metadata"].get("labels") for each in building.there()], "the sidecar has created none of them"
    finally:
        plane.controllers.stop()
        plane.start_controllers(needs, (*FAST, *NO_JOB_GROUPS))


def test_replicas_come_and_go(api, building):
    (lws,) = case("leaderworkerset")
    del lws["metadata"]["annotations"]
    apply(api, building.namespace, lws)
    runs(building, 8)
    first = uids(building)

    for replicas in (3, 1):
        api.patch("LeaderWorkerSet", "vllm", building.namespace, body={"spec": {"replicas": replicas}})
        runs(building, 4 * replicas)
        assert 4 * min(replicas, 2) == len(first & uids(building))


def test_workers_of_a_cluster_come_and_go_and_are_created_again(api, building):
    (cluster,) = case("raycluster")
    apply(api, building.namespace, cluster)
    runs(building, 5)
    for replicas, count in ((4, 7), (1, 4)):
        cluster["spec"]["workerGroupSpecs"][0]["replicas"] = replicas
        api.patch("RayCluster", "tuning", building.namespace, body={"spec": {"workerGroupSpecs": cluster["spec"]["workerGroupSpecs"]}})
        runs(building, count)

    lost = next(each["metadata"] for each in building.pods() if "small-worker" in each["metadata"]["name"])
    api.delete("Pod", lost["name"], building.namespace, gracePeriodSeconds=0)
    until(lambda: lost["uid"] not in uids(building))
    runs(building, 4)


def test_an_elastic_job_grows_and_shrinks(api, building):
    (job,) = case("job")
    for count in (3, 5, 2):
        job["spec"] |= {"parallelism": count, "completions": count}
        if count == 3:
            apply(api, building.namespace, job)
        else:
            api.patch("Job", "indexed", building.namespace, body={"spec": {"parallelism": count, "completions": count}})
        runs(building, count)


SUSPENDABLE = {"job": 3, "jobset": 5, "mpijob": 3, "raycluster": 5, "trainjob": 3}


@pytest.mark.parametrize("name", SUSPENDABLE)
def test_a_suspended_object_has_no_groups_and_gets_them_again(api, building, name):
    *others, manifest = case(name)
    if name == "jobset":
        manifest["spec"]["replicatedJobs"][1]["replicas"] = 2
        del manifest["spec"]["replicatedJobs"][1]["template"]["metadata"]
    apply(api, building.namespace, *others, manifest)
    runs(building, SUSPENDABLE[name])

    for suspend in (True, False):
        spec = {"runPolicy": {"suspend": suspend}} if name == "mpijob" else {"suspend": suspend}
        api.patch(manifest["kind"], manifest["metadata"]["name"], building.namespace, body={"spec": spec})
        if suspend:
            has_nothing(building)
    runs(building, SUSPENDABLE[name])


def test_a_failed_jobset_starts_again_in_its_groups(api, building):
    (jobset,) = case("jobset")
    del jobset["spec"]["replicatedJobs"][1]["template"]["metadata"]
    apply(api, building.namespace, jobset)
    runs(building, 7)
    before, groups = uids(building), {each["metadata"]["uid"] for each in building.there()}

    lost = next(each["metadata"]["name"] for each in building.pods() if "workers-1-1" in each["metadata"]["name"])
    finish_pod(api, lost, building.namespace, "Failed")

    runs(building, 7, old=before)
    assert groups == {each["metadata"]["uid"] for each in building.there()}


def test_a_replica_is_created_again_in_its_group(api, building):
    (lws,) = case("leaderworkerset")
    del lws["metadata"]["annotations"]
    apply(api, building.namespace, lws)
    runs(building, 8)
    before = {each["metadata"]["uid"] for each in building.pods() if each["metadata"]["name"].startswith("vllm-1")}

    api.set_status("Pod", "vllm-1-2", building.namespace, status={"containerStatuses": [RESTARTED]})

    runs(building, 8, old=before)


def told(building):
    """Return the messages of events that say why an object has no groups."""
    return [message for kind, reason, message in building.events() if (kind, reason) == ("Warning", "GroupsNotCreated")]


def test_pods_of_an_object_with_errors_wait_until_it_is_corrected(api, building):
    apply(api, building.namespace, *case("job"), **{"muster.dev/min-count": "many"})

    until(lambda: told(building) and len(building.pods()) == 3, told=lambda: str(building.events()))
    assert all(each.startswith("metadata.annotations[muster.dev/min-count]: ") for each in told(building)), told(building)
    assert not any(map(selected, building.pods()))
    assert [] == building.there()

    api.patch("Job", "indexed", building.namespace, body={"metadata": {"annotations": {"muster.dev/min-count": "2"}}})
    runs(building, 3)


def test_pods_of_another_scheduler_are_left_alone(api, building):
    (job,) = case("job")
    job["spec"]["template"]["spec"]["schedulerName"] = "volcano"
    apply(api, building.namespace, job)

    until(lambda: told(building) and len(building.pods()) == 3, told=lambda: str(building.events()))
    assert ["its pods are of another scheduler: volcano"] == told(building)
    assert [[]] * 3 == [each["spec"].get("schedulingGates", []) for each in building.pods()]
    assert [] == building.there()
