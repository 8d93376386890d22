"""Groups that several programs write: those that controllers made for pods of theirs, and YuniKorn's task groups."""

from __future__ import annotations

from typing import Any

import pytest

import expansion
from expansion import Gang, PodCreation
from expansion.notes import GroupOfOwner, PodOfTwoGroups, TaskGroups
from kubeapi.names import Name

Json = dict[str, Any]
POD = {"containers": [{"name": "main", "image": "i"}]}
VOLCANO = "scheduling.k8s.io/group-name"
COSCHEDULING = "scheduling.x-k8s.io/pod-group"
TASK_GROUPS = "yunikorn.apache.org/task-groups"
TASK_GROUP = "yunikorn.apache.org/task-group-name"


def named(version: str, kind: str, name: str, spec: Json, **metadata: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "team", **metadata}, "spec": spec}


def reference(owner: Json, *, controller: bool = True) -> Json:
    own = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": "u"}
    return {**own, **({"controller": True} if controller else {})}


def ray_cluster(name: str = "rc", **metadata: Any) -> Json:
    spec = {
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": POD}},
        "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "template": {"spec": POD}}],
    }
    return named("ray.io/v1", "RayCluster", name, spec, **metadata)


def group(owner: Json, version: str = "scheduling.volcano.sh/v1beta1", *, controller: bool = True, minimum: int = 2) -> Json:
    return named(version, "PodGroup", "pg", {"minMember": minimum}, ownerReferences=[reference(owner, controller=controller)])


def pods(owner: Json, key: str = VOLCANO, where: str = "annotations", **labels: str) -> list[Json]:
    marked = {"labels": labels, "annotations": {}}
    marked[where] = {**marked[where], key: "pg"}
    return [named("v1", "Pod", f"p-{number}", POD, ownerReferences=[reference(owner)], **marked) for number in range(2)]


def groups(expanded: expansion.Expanded) -> dict[str, str]:
    """Return each pod with the group that it names."""
    return {
        each["metadata"]["name"]: each["spec"].get("schedulingGroup", {}).get("podGroupName", "")
        for each in expanded.manifests()
        if each["kind"] == "Pod"
    }


RAY_JOB = named("ray.io/v1", "RayJob", "rj", {"entrypoint": "a", "rayClusterSpec": ray_cluster()["spec"]})
JOB_OF_VOLCANO = named(
    "batch.volcano.sh/v1alpha1",
    "Job",
    "vj",
    {"tasks": [{"name": "t", "replicas": 2, "template": {"spec": {**POD, "restartPolicy": "Never"}}}]},
)
WITH_PODS = {
    "KubeRay with Volcano": (ray_cluster(), group(ray_cluster()), pods(ray_cluster())),
    "KubeRay with scheduler-plugins, whose reference names no controller": (
        ray_cluster(),
        group(ray_cluster(), "scheduling.x-k8s.io/v1alpha1", controller=False),
        pods(ray_cluster(), COSCHEDULING, "labels"),
    ),
    "RayJob": (RAY_JOB, group(RAY_JOB), pods(ray_cluster("rj-abcde"), **{"ray.io/cluster": "rj-abcde"})),
    "Volcano's Job": (JOB_OF_VOLCANO, group(JOB_OF_VOLCANO), pods(JOB_OF_VOLCANO)),
}


@pytest.mark.parametrize(("owner", "pod_group", "members"), WITH_PODS.values(), ids=WITH_PODS)
def test_pods_stay_in_the_group_that_their_controller_made(owner: Json, pod_group: Json, members: list[Json]) -> None:
    expanded = expansion.expand([owner, pod_group, *members])

    assert {"p-0", "p-1"} == groups(expanded).keys()
    (joined,) = {*groups(expanded).values()}
    assert joined.endswith("podgroup-root") or "podgroup-root-" in joined
    assert [] == expanded.skipped


@pytest.mark.parametrize(("labels", "skipped"), [({}, True), ({"ray.io/gang-scheduling-enabled": "true"}, False)])
def test_a_group_without_its_pods_is_that_of_the_new_ones_or_not_judged(labels: dict[str, str], skipped: bool) -> None:
    owner = ray_cluster(labels=labels)
    expanded = expansion.expand([owner, group(owner)])

    found = [(each.fact, each.names) for each in expanded.skipped]
    assert found == ([(GroupOfOwner(Name("RayCluster", "team", "rc")), (Name("PodGroup", "team", "pg"),))] if skipped else [])
    assert all(groups(expanded).values()) is not skipped


SECOND = {
    "Volcano and scheduler-plugins": ("scheduling.x-k8s.io/v1alpha1", {"labels": {COSCHEDULING: "second"}}),
    "Volcano and KAI": ("scheduling.run.ai/v2alpha2", {"annotations": {"pod-group-name": "second"}}),
    "Volcano twice": ("scheduling.volcano.sh/v1beta1", {"annotations": {"scheduling.volcano.sh/group-name": "second"}}),
}


@pytest.mark.parametrize(("version", "marks"), SECOND.values(), ids=SECOND)
def test_a_pod_is_a_member_of_one_group(version: str, marks: Json) -> None:
    both = {"annotations": {VOLCANO: "first", **marks.get("annotations", {})}, "labels": marks.get("labels", {})}
    members = [named("v1", "Pod", name, POD, **both) for name in ("a", "b")]
    kinds = [("scheduling.volcano.sh/v1beta1", "first"), (version, "second")]
    expanded = expansion.expand([*(named(each, "PodGroup", name, {"minMember": 2}) for each, name in kinds), *members])

    assert {"a", "b"} == groups(expanded).keys()
    (problem,) = expanded.skipped
    assert isinstance(problem.fact, PodOfTwoGroups)
    assert {"first", "second"} == {problem.names[0].name, problem.fact.group.name}


def template(**annotations: str) -> Json:
    return {"metadata": {"annotations": annotations, "labels": {"app": "a"}}, "spec": POD}


MARK = {TASK_GROUPS: '[{"name": "w", "minMember": 2}]', TASK_GROUP: "w"}
IN_TASK_GROUPS = {
    "Job": named("batch/v1", "Job", "j", {"template": {**template(**MARK), "spec": {**POD, "restartPolicy": "Never"}}}),
    "Deployment": named("apps/v1", "Deployment", "d", {"selector": {"matchLabels": {"app": "a"}}, "template": template(**MARK)}),
    "workers of a RayCluster": {
        **ray_cluster(),
        "spec": {
            **ray_cluster()["spec"],
            "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": template(**{TASK_GROUP: "w"})}],
        },
    },
}


@pytest.mark.parametrize("item", IN_TASK_GROUPS.values(), ids=IN_TASK_GROUPS)
def test_task_groups_of_yunikorn_are_not_judged(item: Json) -> None:
    expanded = expansion.expand([item])

    assert ([TaskGroups], {}) == ([type(each.fact) for each in expanded.skipped], groups(expanded))
    on_request = expansion.expand([item], creation=PodCreation(gang=Gang()))
    assert [] == on_request.skipped
    assert all(groups(on_request).values())


@pytest.mark.parametrize("annotations", [{TASK_GROUP: "w"}, MARK])
def test_pods_of_task_groups_are_reported_together(annotations: dict[str, str]) -> None:
    members = [named("v1", "Pod", name, POD, annotations=annotations) for name in ("a", "b")]
    other = named("v1", "Pod", "c", POD)
    (problem,) = expansion.expand([*members, other], [], strict=True).skipped

    assert (Name("Pod", "team", "a"), Name("Pod", "team", "b")) == problem.names
    assert isinstance(problem.fact, TaskGroups)
    assert not problem.fact.created
