"""Kueue's topology annotations: domains of podsets, slices in them, groups of podsets, and what Kueue refuses."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.muster.simulated import node, pod
from tests.muster.test_own_groups import fit
from tests.muster.test_simulate_controllers import manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
KUEUE = "kueue.x-k8s.io/"
REQUIRED, PREFERRED = f"{KUEUE}podset-required-topology", f"{KUEUE}podset-preferred-topology"
UNCONSTRAINED, GROUP = f"{KUEUE}podset-unconstrained-topology", f"{KUEUE}podset-group-name"
SLICE, SIZE = f"{KUEUE}podset-slice-required-topology", f"{KUEUE}podset-slice-size"
SLICES = f"{KUEUE}podset-slice-required-topology-constraints"
HOST = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOST)
IN_RACK = {REQUIRED: "rack"}


def cluster(*racks: tuple[int, ...]) -> list[Json]:
    """Return nodes with room for so many pods, by rack; two racks are a block."""
    return [
        node(f"r{rack}-n{number}", cpu=str(room), block=f"b{rack // 2}", rack=f"r{rack}", **{HOST: f"r{rack}-n{number}"})
        for rack, rooms in enumerate(racks)
        for number, room in enumerate(rooms)
    ]


def template(annotations: Json, container: str = "main", **spec: Any) -> Json:
    """Return a template of pods that need one cpu each."""
    container_spec = {"name": container, "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": {"app": "x"}, "annotations": annotations}, "spec": {"containers": [container_spec], **spec}}


def job(pods: int, annotations: Json, **metadata: Any) -> Json:
    spec = {"parallelism": pods, "completions": pods, "template": template(annotations, restartPolicy="Never")}
    return manifest("Job", "batch/v1", "train", metadata, **spec)


def job_set(*parts: tuple[int, int, Json], **spec: Any) -> Json:
    """Return a JobSet; each part has a number of Jobs, of pods of each, and annotations."""
    jobs = [
        {"name": f"part{index}", "replicas": replicas, "template": {"spec": job(pods, annotations)["spec"]}}
        for index, (replicas, pods, annotations) in enumerate(parts)
    ]
    return manifest("JobSet", "jobset.x-k8s.io/v1alpha2", "set", replicatedJobs=jobs, **spec)


def lws(size: int, worker: Json, leader: Json | None = None, replicas: int = 1) -> Json:
    templates = {"workerTemplate": template(worker), **({} if leader is None else {"leaderTemplate": template(leader)})}
    return manifest(
        "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "serve", replicas=replicas, leaderWorkerTemplate={"size": size, **templates}
    )


def stateful_set(pods: int, annotations: Json) -> Json:
    spec = {"serviceName": "x", "selector": {"matchLabels": {"app": "x"}}, "template": template(annotations)}
    return manifest("StatefulSet", "apps/v1", "db", replicas=pods, **spec)


def torch_job(workers: int, annotations: Json, master: Json | None = None, **spec: Any) -> Json:
    roles = {"Worker": {"replicas": workers, "template": template(annotations, "pytorch")}}
    roles |= {} if master is None else {"Master": {"replicas": 1, "template": template(master, "pytorch")}}
    return manifest("PyTorchJob", "kubeflow.org/v1", "torch", pytorchReplicaSpecs=roles, **spec)


def mpi_job(workers: int, annotations: Json, launcher: Json, **spec: Any) -> Json:
    roles = {
        "Worker": {"replicas": workers, "template": template(annotations)},
        "Launcher": {"replicas": 1, "template": template(launcher)},
    }
    return manifest("MPIJob", "kubeflow.org/v2beta1", "mpi", mpiReplicaSpecs=roles, **spec)


def ray_spec(workers: int, annotations: Json, head: Json | None = None) -> Json:
    group = {
        "groupName": "g",
        "replicas": workers,
        "minReplicas": 0,
        "maxReplicas": 99,
        "rayStartParams": {},
        "template": template(annotations),
    }
    return {"headGroupSpec": {"rayStartParams": {}, "template": template(head or {})}, "workerGroupSpecs": [group]}


def ray_cluster(workers: int, annotations: Json, head: Json | None = None, **labels: str) -> Json:
    return manifest("RayCluster", "ray.io/v1", "ray", {"labels": labels}, **ray_spec(workers, annotations, head))


def ray_job(workers: int, annotations: Json) -> Json:
    return manifest("RayJob", "ray.io/v1", "rj", entrypoint="x", submissionMode="HTTPMode", rayClusterSpec=ray_spec(workers, annotations))


def pod_group(pods: int, annotations: Json, total: int | None = None, first: int = 0, **spec: Any) -> list[Json]:
    made = [pod(f"k{first + number}", cpu="1", **spec) for number in range(pods)]
    for each in made:
        each["metadata"]["labels"] = {f"{KUEUE}pod-group-name": "grp"}
        each["metadata"]["annotations"] = {f"{KUEUE}pod-group-total-count": str(total or pods), **annotations}
    return made


def train_job(nodes: int, annotations: Json) -> list[Json]:
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    replicated = {"name": "node", "template": {"metadata": {"labels": step}, "spec": {"template": template(annotations, "node")}}}
    runtime = manifest("TrainingRuntime", "trainer.kubeflow.org/v1alpha1", "rt", template={"spec": {"replicatedJobs": [replicated]}})
    runtime["spec"]["mlPolicy"] = {"numNodes": nodes}
    return [manifest("TrainJob", "trainer.kubeflow.org/v1alpha1", "tune", runtimeRef={"name": "rt", "kind": "TrainingRuntime"}), runtime]


def cron_job(pods: int, annotations: Json) -> Json:
    return manifest("CronJob", "batch/v1", "nightly", schedule="@daily", jobTemplate={"spec": job(pods, annotations)["spec"]})


def app_wrapper(*wrapped: Json) -> Json:
    return manifest("AppWrapper", "workload.codeflare.dev/v1beta2", "wrapped", components=[{"template": each} for each in wrapped])


def own_group(*mine: Json, **spec: Any) -> list[Json]:
    """Return objects whose templates name a PodGroup, and this, which is a gang of four pods unless *spec* says more."""
    text = json.dumps(mine).replace('"containers"', '"schedulingGroup": {"podGroupName": "mine"}, "containers"')
    group = {"schedulingPolicy": {"gang": {"minCount": 4}}, **spec}
    return [*json.loads(text), manifest("PodGroup", "scheduling.k8s.io/v1beta1", "mine", **group)]


def assigned(answer: Json) -> dict[str, str]:
    return {name: place for each in answer["decisions"] for name, place in each["assignments"].items()}


def racks(answer: Json, named: str = "") -> list[str]:
    """Return the rack of each pod whose name has a part *named*."""
    return [place.partition("-")[0] for name, place in sorted(assigned(answer).items()) if named in name]


# Each has a podset of four pods in one rack, besides at most two more pods.
WHOLE = {
    "Job": [job(4, IN_RACK)],
    "two Jobs of a replicated job": [job_set((2, 2, IN_RACK))],
    "four Jobs of a replicated job, and another one": [job_set((4, 1, IN_RACK), (1, 1, {}))],
    "one Job of a replicated job": [job_set((1, 4, IN_RACK))],
    "Jobs of one gang": [job_set((2, 2, IN_RACK), (1, 1, {}), scheduling={"schedulingPolicy": {"gang": {}}})],
    "leader and workers of one template": [lws(4, IN_RACK)],
    "workers": [lws(5, IN_RACK, {})],
    "StatefulSet": [stateful_set(4, IN_RACK)],
    "PyTorchJob": [torch_job(4, IN_RACK)],
    "PyTorchJob with a master": [torch_job(4, IN_RACK, {})],
    "PyTorchJob of a gang": [torch_job(4, IN_RACK, {}, runPolicy={"schedulingPolicy": {"minAvailable": 2}})],
    "MPIJob": [mpi_job(4, IN_RACK, {})],
    "MPIJob whose launcher waits": [mpi_job(4, IN_RACK, {}, launcherCreationPolicy="WaitForWorkersReady")],
    "RayCluster": [ray_cluster(4, IN_RACK)],
    "RayCluster of a gang": [ray_cluster(4, IN_RACK, **{"ray.io/gang-scheduling-enabled": "true"})],
    "RayJob": [ray_job(4, IN_RACK)],
    "pod group": pod_group(4, IN_RACK),
    "TrainJob": train_job(4, IN_RACK),
    "CronJob": [cron_job(4, IN_RACK)],
    "Job in an AppWrapper": [app_wrapper(job(4, IN_RACK))],
    "JobSet in an AppWrapper": [app_wrapper(job_set((2, 2, IN_RACK)))],
    "Job with a group of its own": own_group(job(4, IN_RACK)),
    "JobSet with a group of its own": own_group(job_set((2, 2, IN_RACK))),
    "Job in an AppWrapper with a group of its own": own_group(app_wrapper(job(4, IN_RACK))),
    "Job with a group of its own in the rack": own_group(
        job(4, IN_RACK), schedulingConstraints={"topology": [{"key": "rack"}]}, schedulingPolicy={"basic": {}}
    ),
}


@pytest.mark.parametrize("mine", WHOLE.values(), ids=WHOLE)
def test_all_pods_of_a_podset_are_in_one_domain(mine):
    status, answer = fit(mine, cluster((3,), (2, 2), (3, 1)))
    confined = [each for each in answer["decisions"] for each in each["groups"] if (each.get("domain") or {}).get("key") == "rack"]
    assert (0, 1) == (status, len(confined))
    assert max(racks(answer).count(each) for each in racks(answer)) >= 4

    status, answer = fit(mine, cluster((3, 0), (3,), (1, 2), (3,)))
    assert (1, "does-not-fit") == (status, answer["verdict"])


@pytest.mark.parametrize(
    "annotations", [{PREFERRED: "rack"}, {UNCONSTRAINED: "true"}, {UNCONSTRAINED: "0"}], ids=["preferred", "unconstrained", "not"]
)
@pytest.mark.parametrize("kind", ["Job", "JobSet", "PyTorchJob", "pod group"])
def test_what_requires_no_domain_is_noted(annotations, kind):
    made = {"Job": [job(4, annotations)], "JobSet": [job_set((2, 2, annotations))], "PyTorchJob": [torch_job(4, annotations)]}
    status, answer = fit(made.get(kind) or pod_group(4, annotations), cluster((3,), (3,)))

    assert (0, []) == (status, answer["skipped"])
    assert next(iter(annotations)) in " ".join(each["message"] for each in answer["notes"])


def test_the_replicas_of_a_leaderworkerset_are_podsets_of_their_own():
    status, answer = fit([lws(3, IN_RACK, replicas=2)], cluster((3,), (3,)))

    assert (0, ["r0"] * 3, ["r1"] * 3) == (status, *sorted((racks(answer, "serve-0"), racks(answer, "serve-1"))))


def test_kueue_admits_each_pod_of_a_deployment_alone():
    spec = {"replicas": 4, "selector": {"matchLabels": {"app": "x"}}, "template": template(IN_RACK)}
    status, answer = fit([manifest(**spec)], cluster((3,), (3,)))

    assert (0, True) == (status, any("each pod alone" in each["message"] for each in answer["notes"]))


# Slices: of a rack in a block, or of a node in a rack.
PAIRS = {SLICE: "rack", SIZE: "2"}
SLICED = {
    "a Job": [job(4, PAIRS)],
    "Jobs of the size of a slice": [job_set((2, 2, PAIRS))],
    "Jobs of half a slice": [job_set((4, 1, PAIRS))],
    "a Job of two slices": [job_set((1, 4, PAIRS), (1, 1, {}))],
    "leader and worker, and two workers": [lws(4, PAIRS)],
    "workers only": [lws(5, PAIRS, {})],
    "workers of PyTorch": [torch_job(4, PAIRS, {})],
    "a StatefulSet": [stateful_set(4, PAIRS)],
    "workers of Ray": [ray_cluster(4, PAIRS)],
    "a pod group": pod_group(4, PAIRS),
    "a TrainJob": train_job(4, PAIRS),
    "a CronJob": [cron_job(4, PAIRS)],
    "a Job in an AppWrapper": [app_wrapper(job(4, PAIRS))],
}


@pytest.mark.parametrize("mine", SLICED.values(), ids=SLICED)
def test_each_slice_is_in_one_domain(mine):
    status, answer = fit(mine, cluster((3,), (2,), (1,)))
    slices = [each for each in answer["decisions"] for each in each["groups"] if (each.get("domain") or {}).get("key") == "rack"]
    assert (0, 2) == (status, len(slices))

    # As many pods, and a rack for one slice only.
    assert 1 == fit(mine, cluster((3,), (1,), (1,), (1,)))[0]


@pytest.mark.parametrize(
    ("mine", "shape"),
    [
        pytest.param([job(4, {REQUIRED: "block", **PAIRS})], [["0", "1"], ["2", "3"]], id="Job"),
        pytest.param(
            [job_set((4, 1, {REQUIRED: "block", **PAIRS}), (1, 1, {}))],
            [["part0-0-0", "part0-1-0"], ["part0-2-0", "part0-3-0"]],
            id="JobSet",
        ),
        pytest.param([lws(4, {REQUIRED: "block", **PAIRS})], [["serve-0", "serve-0-1"], ["serve-0-2", "serve-0-3"]], id="LeaderWorkerSet"),
    ],
)
def test_slices_are_in_their_domains_within_that_of_the_podset_by_rank(mine, shape):
    # Two racks of the first block have room for a slice each; those of the other blocks for one only.
    status, answer = fit(mine, cluster((2,), (2, 1), (3,), (1,), (3,), (0,)))
    where = assigned(answer)
    assert 0 == status
    for names in shape:
        assert 1 == len({place.partition("-")[0] for name, place in where.items() if name.endswith(tuple(names))})
    # The racks of two blocks have room for two slices.
    assert 1 == fit(mine, cluster((3,), (1,), (3,), (1,)))[0]


def layers(*given: tuple[str, int]) -> Json:
    return {SLICES: json.dumps([{"topology": topology, "size": size} for topology, size in given])}


@pytest.mark.parametrize(
    ("mine", "room", "want"),
    [
        pytest.param([job(8, layers(("rack", 4), (HOST, 2)))], [(2, 2), (2, 3)], 0, id="pairs on nodes"),
        pytest.param([job(8, layers(("rack", 4), (HOST, 2)))], [(1, 3), (2, 3)], 1, id="no two pairs"),
        pytest.param([job(8, layers(("block", 8), ("rack", 4), (HOST, 2)))], [(2, 2), (0,), (2, 2), (0,)], 1, id="three levels"),
        pytest.param([job_set((2, 4, layers(("rack", 4), (HOST, 2))))], [(2, 2), (4,)], 0, id="Jobs"),
        pytest.param([job(8, {REQUIRED: "block", **layers(("rack", 4), (HOST, 2))})], [(2, 2), (4,)], 0, id="in a block"),
    ],
)
def test_slices_on_several_levels(mine, room, want):
    status, answer = fit(mine, cluster(*room))

    assert want == status
    assert any("TASMultiLayerTopology" in each["message"] for each in answer["notes"])


IN_PAIR = {REQUIRED: "rack", GROUP: "pair"}
TOGETHER = {
    "driver and workers": [job_set((1, 1, IN_PAIR), (1, 3, IN_PAIR))],
    "driver, workers and others": [job_set((1, 1, IN_PAIR), (3, 1, IN_PAIR), (1, 1, {}))],
    "leader and workers": [lws(4, IN_PAIR, IN_PAIR)],
    "master and workers": [torch_job(3, IN_PAIR, IN_PAIR)],
    "launcher and workers": [mpi_job(3, IN_PAIR, IN_PAIR)],
    "head and workers": [ray_cluster(3, IN_PAIR, IN_PAIR)],
    "roles": [*pod_group(1, IN_PAIR, 4), *pod_group(3, IN_PAIR, 4, 1, tolerations=[{"key": "x", "operator": "Exists"}])],
}


@pytest.mark.parametrize("mine", TOGETHER.values(), ids=TOGETHER)
def test_podsets_of_one_group_share_the_domain(mine):
    assert 0 == fit(mine, cluster((3,), (4,), (1,)))[0]
    assert 1 == fit(mine, cluster((3,), (3,), (1,)))[0]


AT = "spec.template.metadata.annotations"


def test_a_group_in_the_cluster_has_the_domain_of_the_pods_that_name_it():
    mine, group = own_group(job(4, IN_RACK))

    assert 0 == fit([mine], [*cluster((3,), (2, 2)), group])[0]
    status, answer = fit([mine], [*cluster((3,), (2, 1)), group])
    assert (1, "does-not-fit", []) == (status, answer["verdict"], answer["skipped"])
    # Kueue admits all pods together, whatever the minimum is.
    remedies = [each["change"] for each in answer["decisions"][0]["remedies"]]
    assert remedies
    assert not any("minCount" in each for each in remedies)


def wrapped_group() -> list[Json]:
    """Return an AppWrapper of a Job and of the PodGroup that its template names."""
    mine, group = own_group(job(4, IN_RACK))
    return [app_wrapper(group, mine)]


@pytest.mark.parametrize("mine", [own_group(*pod_group(4, IN_RACK)), wrapped_group()], ids=["pod group", "wrapped PodGroup"])
def test_pods_that_name_a_group_of_their_own_are_in_the_domain(mine):
    assert 0 == fit(mine, cluster((3,), (2, 2)))[0]
    status, answer = fit(mine, cluster((3,), (2, 1), (3,)))
    assert (1, "does-not-fit", []) == (status, answer["verdict"], answer["skipped"])


def test_slices_of_a_pod_group_whose_pods_name_a_group_are_not_judged():
    status, answer = fit(own_group(*pod_group(4, PAIRS)), cluster((8,)))

    assert (2, True) == (status, "the pods name a PodGroup of their own" in answer["skipped"][0]["reason"])


def test_pods_wait_for_a_missing_group_whatever_domain_kueue_requires():
    status, answer = fit(own_group(job(4, IN_RACK))[:1], cluster((4,)))

    assert (1, []) == (status, answer["skipped"])
    assert "there is no PodGroup default/mine" in answer["message"]


NOT_OF_THE_GROUP = {
    "other members": (own_group(job(4, IN_RACK), job(1, {}) | {"metadata": {"name": "more"}}), "PodGroup mine has other members too"),
    "one of two parts": (own_group(job_set((1, 2, IN_RACK), (1, 2, {}))), "PodGroup mine has other members too"),
    "another domain": (own_group(job(4, IN_RACK), schedulingConstraints={"topology": [{"key": "block"}]}), "has a domain of block"),
    "slices": (own_group(job(4, PAIRS)), "a pod template names PodGroup mine"),
    "a pod in the cluster": (own_group(job(4, IN_RACK)), "PodGroup mine has other members too"),
}


@pytest.mark.parametrize("case", NOT_OF_THE_GROUP)
def test_a_domain_that_a_named_group_cannot_have_is_not_judged(case):
    mine, reason = NOT_OF_THE_GROUP[case]
    running = pod("old", cpu="1", on="r0-n0")
    running["spec"]["schedulingGroup"] = {"podGroupName": "mine"}
    status, answer = fit(mine, [*cluster((8,), (8,)), *([running] if case == "a pod in the cluster" else [])])

    assert (2, True) == (status, reason in answer["skipped"][0]["reason"])


def test_podsets_of_several_wrapped_objects_in_one_domain_are_not_judged():
    pair = [job(1, IN_PAIR), {**job(3, IN_PAIR), "metadata": {"name": "more"}}]
    status, answer = fit([app_wrapper(*pair)], cluster((8,)))

    assert (2, True) == (status, "parts of several wrapped objects" in answer["skipped"][0]["reason"])


REFUSED = {
    "two modes": (
        job(4, {REQUIRED: "rack", PREFERRED: "rack"}),
        f"{AT}: Invalid value: must not contain more than one topology annotation",
    ),
    "three modes": (
        job(4, {REQUIRED: "rack", PREFERRED: "r", UNCONSTRAINED: "true"}),
        "must not contain more than one topology annotation",
    ),
    "no label": (job(4, {REQUIRED: "a rack"}), f'{AT}[{REQUIRED}]: Invalid value: "a rack"'),
    "an empty label": (job(4, {REQUIRED: ""}), f'{AT}[{REQUIRED}]: Invalid value: "": name part must be non-empty'),
    "no boolean": (job(4, {UNCONSTRAINED: "yes"}), f'{AT}[{UNCONSTRAINED}]: Invalid value: "yes": must be a boolean value'),
    "a slice without a size": (job(4, {SLICE: "rack"}), f"{AT}[{SIZE}]: Required value: must be set when '{SLICE}' is specified"),
    "a size without a slice": (job(4, {SIZE: "2"}), f"{AT}[{SIZE}]: Forbidden: may not be set when '{SLICE}' is not specified"),
    "a size that is no number": (job(4, {SLICE: "rack", SIZE: "two"}), f'{AT}[{SIZE}]: Invalid value: "two": must be a numeric value'),
    "a size of thousands of digits": (job(4, {SLICE: "rack", SIZE: "9" * 5000}), "must be a numeric value"),
    "a size in other digits": (job(4, {SLICE: "rack", SIZE: "\u0662"}), "must be a numeric value"),
    "a size of zero": (job(4, {SLICE: "rack", SIZE: "0"}), "must be greater than or equal to 1"),
    "a negative size": (job(4, {SLICE: "rack", SIZE: "-2"}), "must be greater than or equal to 1"),
    "a slice larger than the podset": (job(4, {SLICE: "rack", SIZE: "8"}), "must not be greater than pod set count 4"),
    "a size that does not divide": (
        job(4, {SLICE: "rack", SIZE: "3"}),
        f"{AT}[{SIZE}]: Invalid value: 3: must evenly divide pod set count 4",
    ),
    "a size that does not divide all Jobs": (job_set((3, 3, {SLICE: "rack", SIZE: "2"})), "must evenly divide pod set count 9"),
    "a group without a domain": (job(4, {GROUP: "g"}), f"{AT}[{GROUP}]: Forbidden: may not be set when neither"),
    "a group with slices": (job(4, {REQUIRED: "block", GROUP: "g", **PAIRS}), f"{AT}[{GROUP}]: Forbidden: may not be set when '{SLICE}'"),
    "a group that is a number": (job(1, {REQUIRED: "rack", GROUP: "7"}), f'{AT}[{GROUP}]: Invalid value: "7": must not be a number'),
    "a group of one": (job_set((1, 1, IN_PAIR), (1, 2, {})), "can only define groups of exactly 2 pod sets, got: 1 pod set(s)"),
    "a group of three": (job_set(*[(1, 1, IN_PAIR)] * 3), "can only define groups of exactly 2 pod sets, got: 3 pod set(s)"),
    "a group of two large ones": (job_set(*[(1, 2, IN_PAIR)] * 2), "at least one pod set has only 1 replica, got: 2 replica(s) and 2"),
    "a group with two levels": (job_set((1, 1, IN_PAIR), (1, 2, {**IN_PAIR, REQUIRED: "block"})), "topology consistent with"),
    "layers that are no JSON": (job(4, {SLICES: "rack"}), f'{AT}[{SLICES}]: Invalid value: "rack": must be a valid JSON array'),
    "layers that are deep": (job(4, {SLICES: "[" * 9999}), "must be a valid JSON array"),
    "no layers": (job(4, {SLICES: "[]"}), "must contain between 1 and 3 entries"),
    "four layers": (job(4, layers(("a", 4), ("b", 4), ("c", 2), ("d", 1))), "must contain between 1 and 3 entries"),
    "layers that do not divide": (job(6, layers(("rack", 6), (HOST, 4))), f"{AT}[{SLICES}][1].size: Invalid value: 4: must evenly divide"),
    "layers of one level": (job(4, layers(("rack", 4), ("rack", 2))), f"{AT}[{SLICES}][1].topology: Duplicate value"),
    "layers and a slice": (job(4, {**layers(("rack", 4)), **PAIRS}), f"{AT}[{SLICES}]: Forbidden: may not be set when '{SLICE}'"),
    "a size of a layer that is text": (job(4, {SLICES: '[{"topology": "rack", "size": "2"}]'}), f"{AT}[{SLICES}][0].size: Invalid value"),
    "a template of a set": (stateful_set(4, {SLICE: "rack"}), f"{AT}[{SIZE}]: Required value"),
    "workers of PyTorch": (
        torch_job(4, {SLICE: "rack", SIZE: "3"}),
        f"spec.pytorchReplicaSpecs.Worker.template.metadata.annotations[{SIZE}]: Invalid value: 3",
    ),
    "workers of Ray": (
        ray_cluster(4, {SLICE: "rack", SIZE: "3"}),
        f"spec.workerGroupSpecs[0].template.metadata.annotations[{SIZE}]: Invalid value: 3",
    ),
    "a leader alone in a group": (lws(4, {}, IN_PAIR), f"spec.leaderWorkerTemplate.leaderTemplate.metadata.annotations[{GROUP}]"),
    "pods of a Deployment": (
        manifest(selector={"matchLabels": {"app": "x"}}, template=template({SLICE: "rack", SIZE: "2"})),
        "must not be greater than pod set count 1",
    ),
}


@pytest.mark.parametrize(("mine", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_kueue_refuses_is_the_reason_once(mine, reason):
    status, answer = fit([mine], cluster((8,), (8,)))

    assert (1, "does-not-fit", []) == (status, answer["verdict"], answer["skipped"])
    assert reason in answer["message"]
    assert 1 == sum(reason in each["reason"] for each in answer["refused"])


def test_what_kueue_refuses_of_a_pod_group_is_the_reason():
    status, answer = fit(pod_group(4, {SLICE: "rack", SIZE: "3"}), cluster((8,)))

    assert (1, True) == (status, "must evenly divide pod set count 4" in answer["message"])


def test_pods_of_the_cluster_leave_a_pod_group_unjudged():
    status, answer = fit(pod_group(1, IN_RACK, 2), [*cluster((8,)), *pod_group(1, IN_RACK, 2, 1)])

    assert (2, True) == (status, "is not judged" in answer["skipped"][0]["reason"])


def topology(*levels: str, name: str = "default") -> Json:
    return manifest("Topology", "kueue.x-k8s.io/v1beta2", name, levels=[{"nodeLabel": each} for each in levels])


@pytest.mark.parametrize(
    ("annotations", "topologies", "reason"),
    [
        pytest.param(IN_RACK, [topology(*LEVELS)], "", id="a level"),
        pytest.param(IN_RACK, [topology("zone", name="a"), topology(*LEVELS)], "", id="one of two"),
        pytest.param(
            {REQUIRED: "rak"}, [topology(*LEVELS)], f"no requested topology level: Topology default has {', '.join(LEVELS)}", id="none"
        ),
        pytest.param({SLICE: "rak", SIZE: "2"}, [topology(*LEVELS)], "no requested topology level", id="no level of slices"),
        pytest.param({REQUIRED: "rack", SLICE: "block", SIZE: "2"}, [topology(*LEVELS)], "no Topology has rack above block", id="order"),
        pytest.param({REQUIRED: "rack", SLICE: "rack", SIZE: "2"}, [topology(*LEVELS)], "", id="slices of the level of the podset"),
        pytest.param(layers(("rack", 4), ("rack2", 2)), [topology(*LEVELS)], "no requested topology level", id="an inner level"),
        pytest.param(
            IN_RACK,
            [
                topology(*LEVELS),
                topology("zone", name="used"),
                manifest("ResourceFlavor", "kueue.x-k8s.io/v1beta2", "f", topologyName="used"),
            ],
            "Topology used has zone",
            id="no level of the Topology of a flavor",
        ),
        pytest.param(IN_RACK, [{**topology(), "spec": {"levels": 3}}], "", id="no levels"),
    ],
)
def test_the_levels_of_a_topology_in_the_input_are_known(annotations, topologies, reason):
    status, answer = fit([job(4, annotations)], [*cluster((8,), (8,)), *topologies])

    assert (1 if reason else 0, True) == (status, reason in answer["message"])


def flavor(name: str, labels: Any, topology_name: str = "default", **spec: Any) -> Json:
    return manifest("ResourceFlavor", "kueue.x-k8s.io/v1beta2", name, nodeLabels=labels, topologyName=topology_name, **spec)


TAINT = {"key": "gpu", "value": "x", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("mine", "flavors", "want"),
    [
        pytest.param([job(4, IN_RACK)], [flavor("f", {"rack": "r1"})], {"r1"}, id="one flavor"),
        pytest.param([job_set((2, 2, IN_RACK))], [flavor("f", {"rack": "r1"}), flavor("g", {}, "other")], {"r1"}, id="one has the level"),
        pytest.param([job(4, PAIRS)], [flavor("f", {"block": "b1"})], {"r2"}, id="slices"),
        pytest.param([stateful_set(4, IN_RACK)], [flavor("f", {"rack": "r9"})], set(), id="no node has the labels"),
        pytest.param([job(4, IN_RACK)], [flavor("f", {"rack": "r9"}), flavor("g", {"rack": "r1"})], {"r0", "r1", "r2"}, id="Kueue decides"),
        pytest.param([job(4, {PREFERRED: "rack"})], [flavor("f", {"rack": "r9"})], {"r0", "r1", "r2"}, id="no domain required"),
        pytest.param(
            [job(4, IN_RACK)], [flavor("f", {"rack": "r3"}, tolerations=[{"key": "gpu", "operator": "Exists"}])], {"r3"}, id="tolerations"
        ),
        pytest.param([job(4, IN_RACK)], [flavor("f", 3, tolerations=7)], {"r0", "r1", "r2"}, id="odd values"),
    ],
)
def test_a_flavor_in_the_input_has_the_nodes(mine, flavors, want):
    tainted = node("r3-n0", cpu="8", block="b1", rack="r3", **{HOST: "r3-n0"})
    tainted["spec"] = {"taints": [TAINT]}
    topologies = [topology(*LEVELS), topology("zone", name="other")]
    status, answer = fit(mine, [*cluster((4,), (4,), (4,)), tainted, *topologies, *flavors])

    assert (0 if want else 1, True) == (status, set(racks(answer)) <= want)


def queued(annotations: Json) -> Json:
    return job(4, annotations, labels={f"{KUEUE}queue-name": "q"})


def queues(*flavors: str) -> list[Json]:
    """Return a ClusterQueue with enough quota of each flavor, and its LocalQueue."""
    quotas = [{"name": each, "resources": [{"name": "cpu", "nominalQuota": 99}]} for each in flavors]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": quotas}]}
    return [
        manifest("ClusterQueue", "kueue.x-k8s.io/v1beta2", "cq", **spec),
        manifest("LocalQueue", "kueue.x-k8s.io/v1beta2", "q", clusterQueue="cq"),
    ]


RACKS, ZONES = topology(*LEVELS), topology("zone", name="zones")
IN_RACKS, IN_ZONES = flavor("f", {}), flavor("g", {}, "zones")
PLAIN = manifest("ResourceFlavor", "kueue.x-k8s.io/v1beta2", "p", nodeLabels={})
"""Nodes with the labels of two racks of a block, and one without the label of its rack, which has most room."""
FEW = [*cluster((3,), (4,)), node("n", cpu="8", block="b0", **{HOST: "n"})]
LACKS = "no requested topology level: Topology zones has zone"
QUEUED = {
    "a level of the flavor": (IN_RACK, ["f"], [IN_RACKS, RACKS], {"r1"}, ""),
    "only nodes with all levels": ({REQUIRED: "block"}, ["f"], [IN_RACKS, RACKS], {"r0", "r1"}, ""),
    "a preference, on nodes with all levels": ({PREFERRED: "block"}, ["f"], [IN_RACKS, RACKS], {"r0", "r1"}, ""),
    "no request, of a queue with Topologies only": ({}, ["f"], [IN_RACKS, RACKS], {"r0", "r1"}, ""),
    "no request, of a queue with another flavor": ({}, ["f", "p"], [IN_RACKS, PLAIN, RACKS], {"r0", "r1", "n"}, ""),
    "the flavor that has the level": (IN_RACK, ["g", "f"], [IN_ZONES, IN_RACKS, RACKS, ZONES], {"r1"}, ""),
    "a flavor without a Topology": (IN_RACK, ["p"], [PLAIN, RACKS], set(), "flavor p has no Topology, which its pods request"),
    "a Topology without the level": (IN_RACK, ["g"], [IN_ZONES, ZONES], set(), LACKS),
    "a level of a Topology of another flavor": (
        IN_RACK,
        ["g"],
        [IN_ZONES, ZONES, IN_RACKS, RACKS],
        set(),
        "has a Topology without the level",
    ),
    "a missing Topology": (IN_RACK, ["f"], [IN_RACKS, ZONES], set(), "ClusterQueue cq admits nothing: there is no Topology default"),
    "no Topology at all": (IN_RACK, ["f"], [IN_RACKS], {"r1"}, ""),
    "a level that no node has": ({REQUIRED: "zone"}, ["g"], [IN_ZONES, ZONES], set(), "no node of the cluster has the label zone"),
    "nodes without the upper level": (
        {REQUIRED: HOST},
        ["g"],
        [IN_ZONES, topology("zone", HOST, name="zones")],
        set(),
        "no node has label zone",
    ),
}


@pytest.mark.parametrize(("annotations", "flavors", "objects", "want", "reason"), QUEUED.values(), ids=QUEUED)
def test_the_topology_of_a_flavor_of_the_queue(annotations, flavors, objects, want, reason):
    status, answer = fit([queued(annotations)], [*FEW, *objects, *queues(*flavors)])

    assert (0 if want else 1, []) == (status, answer["skipped"])
    assert (reason in answer["message"], len(answer["refused"]) <= 1) == (True, True)
    if want:
        assert {*racks(answer)} <= want
    assert (objects == [IN_RACKS]) == any("taken to have the levels" in each["message"] for each in answer["notes"])


@pytest.mark.parametrize("value", [3, True, ["rack"], {"a": "b"}, None, 1e300])
@pytest.mark.parametrize("key", [REQUIRED, SLICE, SIZE, GROUP, SLICES, UNCONSTRAINED])
def test_annotations_that_are_no_text_end_no_command(key, value):
    for mine in ([job(2, {key: value})], [job_set((1, 2, {key: value}))], pod_group(2, {key: value})):
        assert fit(mine, cluster((8,)))[0] in {0, 1, 2}


def fits_by_counting(nodes: list[tuple[tuple[str, ...], int]], count: int, required: str, sliced: str, size: int) -> bool:
    """Return whether Kueue finds domains for equal pods: it counts slices upwards.  Nodes have the values of their levels, and their room."""
    depth = LEVELS.index(required) + 1 if required else 0
    for domain in {values[:depth] for values, _ in nodes}:
        inside = [(values, room) for values, room in nodes if values[:depth] == domain]
        slices: dict[tuple[str, ...], int] = {}
        for values, room in inside:
            at = values[: LEVELS.index(sliced) + 1] if sliced else ()
            slices[at] = slices.get(at, 0) + room
        if sum(room // size for room in slices.values()) >= count // size:
            return True
    return False


@pytest.mark.parametrize("seed", range(48))
def test_a_podset_fits_if_kueue_finds_domains_for_it(seed):
    choice = random.Random(seed)
    room = [tuple(choice.randint(0, 4) for _ in range(choice.randint(1, 3))) for _ in range(choice.randint(1, 6))]
    sliced, size = choice.choice(["", *LEVELS]), choice.randint(1, 4)
    required = choice.choice(["", *LEVELS[: LEVELS.index(sliced or "rack") + 1]])
    count = size * choice.randint(1, 4)
    annotations = {**({REQUIRED: required} if required else {}), **({SLICE: sliced, SIZE: str(size)} if sliced else {})}
    jobs = choice.choice([each for each in range(1, count + 1) if count % each == 0])
    mine = choice.choice([job(count, annotations), job_set((jobs, count // jobs, annotations)), stateful_set(count, annotations)])

    nodes = [((f"b{rack // 2}", f"r{rack}", f"r{rack}-n{n}"), cpu) for rack, rooms in enumerate(room) for n, cpu in enumerate(rooms)]
    want = fits_by_counting(nodes, count, required, sliced, size if sliced else 1)
    assert (0 if want else 1) == fit([mine], cluster(*room))[0]


@pytest.mark.parametrize("seed", range(16))
def test_the_verdict_does_not_depend_on_what_makes_the_group(seed):
    choice = random.Random(seed)
    room = [tuple(choice.randint(0, 3) for _ in range(choice.randint(1, 3))) for _ in range(choice.randint(1, 5))]
    count, required = choice.randint(1, 6), choice.choice(LEVELS)
    mine = job(count, {REQUIRED: required})
    nodes = cluster(*room)
    forms = {
        "CronJob": [cron_job(count, {REQUIRED: required})],
        "AppWrapper": [app_wrapper(mine)],
        "PodGroup": own_group(mine, schedulingPolicy={"gang": {"minCount": count}}),
        "pods": own_group(*pod_group(count, {REQUIRED: required}), schedulingPolicy={"basic": {}}),
    }

    want = fit([mine], nodes)[0]
    assert dict.fromkeys(forms, want) == {name: fit(each, nodes)[0] for name, each in forms.items()}


def test_two_jobs_of_one_name_which_the_api_server_refuses_are_not_divided():
    asked = job_set((2, 8, {REQUIRED: "block", SLICE: "rack", SIZE: "4"}), (2, 8, {REQUIRED: "block", SLICE: "rack", SIZE: "4"}))
    asked["spec"]["replicatedJobs"][1]["name"] = "part0"

    status, answer = fit([asked], cluster((9, 9), (9, 9)))
    assert (2, "nothing-to-judge") == (status, answer["verdict"])
