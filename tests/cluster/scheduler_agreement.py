"""One random cluster on the real kube-scheduler and in `simulate --strategy greedy`: results in the same form, and their difference."""

from __future__ import annotations

import dataclasses
import json
import random
import re
import time
from collections.abc import Sequence
from typing import Any

from muster.render import answer_json
from muster.render.answer import Answer
from scheduler_core.behavior.scheduler_behavior import behavior_of
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.loading.configuration.scheduler_configuration import read_configuration
from tests.cluster.api import Api, ApiError
from tests.cluster.groups import SCHEDULED, condition_of
from tests.cluster.programs import find
from tests.cluster.random_clusters import RandomCluster
from tests.cluster.resources import RESOURCES, Manifest
from tests.cluster.test_scheduler_config import best_nodes
from tests.cluster.volumes import SELECTED_NODE, completed
from tests.cluster.waiting import WAIT_SECONDS, until

READ = (
    "Node", "PodGroup", "Pod", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSIDriver", "CSINode",
    "CSIStorageCapacity", "VolumeAttachment", "PodDisruptionBudget",
    "Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet",
    "DeviceClass", "DeviceTaintRule", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate",
)  # fmt: skip
SETTLED_SECONDS = 0.5
_NOT_CREATED = "waiting for ephemeral volume controller"
_LOTS = 200
"""Number of other lots that are tried if a result differs."""
_EXCHANGED = "get the devices of each other"
VERSION = "scheduling.k8s.io/v1alpha3"


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a root.

    Attributes:
        status: ``Success`` or ``Unschedulable``.
        nodes: nodes of its pods.
        victims: names of the pods that leave.
        volumes: for each claim that waited, the volume that was reserved, or the node for which one is provisioned.
        devices: for each claim that was allocated, its devices, by the name that `simulate` gives the claim.
        message: the reason; not compared.

    """

    status: str
    nodes: dict[str, str]
    victims: tuple[str, ...] = ()
    volumes: dict[str, str] = dataclasses.field(default_factory=dict)
    devices: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    message: str = ""

    def same(self, other: Result) -> bool:
        """Return true if the results agree; messages are not compared.

        kube-scheduler tries pods again whose devices it exchanged: what they get then depends on time.
        """
        if _EXCHANGED in self.message + other.message:
            return self.status == other.status
        return dataclasses.replace(self, message="") == dataclasses.replace(other, message="")


def build(api: Api, cluster: RandomCluster) -> None:
    """Create everything but the root, and wait until the volume controllers are done."""
    api.create_all(cluster.shared)
    for each in cluster.present:
        until(lambda each=each: _created(api, each), told=lambda each=each: f"{each['metadata']['name']} is refused")
    asked = {
        each["metadata"]["name"] for each in cluster.present if each["kind"] == "PersistentVolumeClaim" and each["spec"].get("volumeName")
    }
    if asked:
        namespace = cluster.root["metadata"]["namespace"]
        api.wait_all("PersistentVolumeClaim", namespace, until=lambda all_: all(name in all_ and completed(all_[name]) for name in asked))
    for name, allocation in cluster.allocations.items():
        namespace = cluster.root["metadata"]["namespace"]
        user = {"resource": "pods", "name": name, "uid": api.get("Pod", name, namespace)["metadata"]["uid"]}
        api.set_status("ResourceClaim", name, namespace, status={"allocation": allocation, "reservedFor": [user]})
    free = {each["metadata"]["name"] for each in cluster.shared if each["kind"] == "PersistentVolume" and "claimRef" not in each["spec"]}
    if free:
        api.wait_all(
            "PersistentVolume",
            until=lambda all_: all((all_[name].get("status") or {}).get("phase") == "Available" for name in free if name in all_),
        )


def _created(api: Api, manifest: Manifest) -> bool:
    """Create the object; false while the API server does not know its priority class yet."""
    try:
        api.create(manifest)
    except ApiError as error:
        if "no PriorityClass with name" not in str(error.status):
            raise
        return False
    return True


def present(api: Api, cluster: RandomCluster) -> list[Manifest]:
    """All objects that `simulate` reads, as the API server has them; of namespaces of other tests none."""
    of_cluster = [cluster.root["metadata"]["namespace"], *namespaces(cluster)]
    return [each for kind in READ for name in (of_cluster if RESOURCES[kind][2] else [""]) for each in api.objects(kind, name)]


def namespaces(cluster: RandomCluster) -> list[str]:
    """Return the namespaces of a cluster apart from that of its root."""
    return [each["metadata"]["name"] for each in cluster.shared if each["kind"] == "Namespace"]


def begin(api: Api, cluster: RandomCluster) -> list[Manifest]:
    """Create the root and its pods one after the other; return them as they were before anything became of them.

    The root of a tree comes last, so that no attempt finds a part of the tree.
    """
    if len(cluster.groups) > 1:
        return [api.create(each) for each in (*cluster.pods, *reversed(cluster.groups))]
    return [api.create(each) for each in (*cluster.groups, *cluster.pods)]


def observed(api: Api, cluster: RandomCluster) -> Result:
    """Wait until kube-scheduler has decided, and what it decided is done."""
    namespace = cluster.root["metadata"]["namespace"]
    # kube-scheduler writes no condition on a CompositePodGroup.
    leaves = [each for each in cluster.groups if each["kind"] == "PodGroup"] or cluster.pods
    conditions = [_decided(api, each["kind"], each["metadata"]["name"], namespace) for each in leaves]
    if any(each["status"] == "False" for each in conditions):
        # An attempt before the claims of ephemeral volumes existed says nothing.
        until(
            lambda: (
                not any(_NOT_CREATED in condition_of(each, "PodScheduled").get("message", "") for each in _pods(api, namespace).values())
            )
        )
        conditions = [_decided(api, each["kind"], each["metadata"]["name"], namespace) for each in leaves]
    wanted = {each["metadata"]["name"] for each in cluster.pods}

    def places() -> dict[str, str]:
        return {name: each["spec"].get("nodeName", "") for name, each in _pods(api, namespace).items() if name in wanted}

    if any(each["status"] == "True" for each in conditions):
        # A tree that needs not all its groups; what kube-scheduler then evicts for the others is not compared.
        names = {group["metadata"]["name"] for group, each in zip(leaves, conditions, strict=True) if each["status"] == "True"}
        of_leaf = {each["metadata"]["name"]: each["spec"].get("schedulingGroup", {}).get("podGroupName", "") for each in cluster.pods}
        wanted = {name for name, group in of_leaf.items() if (group or name) in names}
        try:
            until(lambda: all(places().values()), told=lambda: f"not all bound: {places()}")
        except AssertionError as error:
            if _share_a_claim(cluster.pods):
                raise PartlyBoundError(str(error)) from None
            raise
        return Result("Success", places(), volumes=_volumes(api, namespace), devices=_devices(api, cluster))
    message = next(each["message"] for each in conditions if each["status"] == "False")
    victims = () if "preempting" not in message else _victims(api, namespace, int(message.partition("preempting ")[2].split()[0]))
    failed = any(each["reason"] == "SchedulerError" for each in conditions)
    status = "Error" if failed else "Unschedulable"
    return Result(status, {name: on for name, on in places().items() if on}, victims, message=message)


class PartlyBoundError(AssertionError):
    """kube-scheduler decided for a group whose pods share a claim and does not bind all of them, so that there is no decision to compare.

    Each pod allocates the claim for itself; all but the first fail with "got allocated elsewhere in the meantime", and may find no node then.
    """


def _share_a_claim(pods: Sequence[Manifest]) -> bool:
    """Return whether two pods name the same ResourceClaim."""
    names = [claim.get("resourceClaimName") for pod in pods for claim in pod["spec"].get("resourceClaims") or ()]
    return any(name and names.count(name) > 1 for name in names)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How the results of kube-scheduler and of `simulate` compare.

    Attributes:
        lots: number of other lots until the results agreed: 0 if they agree at once, more for a tie; all if the pods of a tie drew apart.
        difference: the two results; empty if they agree.

    """

    lots: int
    difference: str = ""


def compared(real: Result, objects: Sequence[Manifest], cluster: RandomCluster, configuration: Manifest) -> Comparison:
    """Compare *real* with the results of `simulate`: they agree if one of the results with other lots is the same.

    kube-scheduler decides by lot among nodes with equal scores, domains, victims and volumes, and by the order in which filters finish;
    `simulate` takes the first by name.  So other names of these objects are other lots, also in the scheduler *configuration*.
    """
    ours = simulated(objects, cluster, configuration)
    if real.same(ours):
        return Comparison(0)
    chance = random.Random(cluster.root["metadata"]["name"])
    names = _names_of_equals(cluster)
    for lot in range(1, _LOTS + 1):
        renamed = {name: f"k{number:03}-{name}" for number, name in enumerate(chance.sample(names, len(names)))}
        # Longer names first: the name of a rack begins that of a node.
        pattern = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)))
        text = pattern.sub(
            lambda match, renamed=renamed: renamed[match[0]], json.dumps([objects, dataclasses.asdict(cluster), configuration])
        )
        others, of_others, of_scheduler = json.loads(text)
        drawn = simulated(others, RandomCluster(**{**of_others, "features": cluster.features}), of_scheduler)
        if real.same(_with_first_names(drawn)):
            return Comparison(lot)
    if _drawn_for_each_pod(real, ours, objects, cluster, configuration):
        return Comparison(_LOTS)
    return Comparison(_LOTS, f"{cluster.features}: kube-scheduler {real}, simulate {ours}")


def _drawn_for_each_pod(real: Result, ours: Result, objects: Sequence[Manifest], cluster: RandomCluster, configuration: Manifest) -> bool:
    """Return true if kube-scheduler chose one of the best nodes for each pod, in their order, in the same domain as `simulate`.

    It draws lots for each pod, and other names cannot give two equal pods different lots.
    """
    if real.status != "Success" or ours.status != "Success" or real.volumes or real.devices or len(cluster.groups) > 1:
        return False
    topology = [each for group in cluster.groups for each in group["spec"].get("schedulingConstraints", {}).get("topology", ())]
    domain_of = {
        each["metadata"]["name"]: tuple(each["metadata"]["labels"].get(level["key"]) for level in topology)
        for each in objects
        if each["kind"] == "Node"
    }
    domains = {domain_of[node] for node in (*real.nodes.values(), *ours.nodes.values())}
    before = [each for each in objects if each["kind"] != "PodGroup" and domain_of.get(each["metadata"]["name"]) in (None, *domains)]
    own = {each["metadata"]["name"]: each for each in before if each["metadata"]["name"] in real.nodes and each["kind"] == "Pod"}
    before = [each for each in before if each not in own.values()]
    for name, node in real.nodes.items():
        pod = {**own[name], "spec": {key: value for key, value in own[name]["spec"].items() if key != "schedulingGroup"}}
        if node not in best_nodes([*before, pod], name, configuration):
            return False
        before.append({**pod, "spec": {**pod["spec"], "nodeName": node}})
    return len(domains) == 1


def _names_of_equals(cluster: RandomCluster) -> list[str]:
    """Return the names by which `simulate` decides between equals: of nodes, their labels, volumes and running pods."""
    nodes = [each for each in cluster.shared if each["kind"] == "Node"]
    volumes = [each for each in cluster.shared if each["kind"] == "PersistentVolume"]
    running = [each for each in cluster.present if each["kind"] == "Pod"]
    names = {each["metadata"]["name"] for each in (*nodes, *volumes, *running)}
    return sorted(names.union(*(each["metadata"]["labels"].values() for each in nodes)))


def _with_first_names(result: Result) -> Result:
    def first(name: str) -> str:
        return re.sub(r"k\d{3}-", "", name)

    return Result(
        result.status,
        {first(pod): first(node) for pod, node in result.nodes.items()},
        tuple(sorted(map(first, result.victims))),
        {first(claim): first(chosen) for claim, chosen in result.volumes.items()},
        {first(claim): [*map(first, given)] for claim, given in result.devices.items()},
        result.message,
    )


def _decided(api: Api, kind: str, name: str, namespace: str) -> Manifest:
    """Wait for the condition of a group, or of a pod without one, by which kube-scheduler says what it decided."""
    type_ = SCHEDULED.get(kind, "PodScheduled")

    def decided(found: Manifest | None) -> bool:
        condition = condition_of(found, type_)
        return condition.get("status") == "True" or (condition.get("status") == "False" and _NOT_CREATED not in condition["message"])

    return condition_of(api.wait(kind, name, namespace, until=decided, version=VERSION if kind != "Pod" else ""), type_)


def _volumes(api: Api, namespace: str) -> dict[str, str]:
    """Return the volumes of the claims that waited for a pod; for those that a provisioner created, the selected nodes."""
    result = {}
    for each in api.objects("PersistentVolumeClaim", namespace):
        # The claim of a pod that stays pending can have none yet.
        if each["spec"].get("storageClassName") and each["spec"].get("volumeName"):
            created = each["spec"]["volumeName"].startswith("pvc-")
            result[each["metadata"]["name"]] = each["metadata"]["annotations"][SELECTED_NODE] if created else each["spec"]["volumeName"]
    return result


def _devices(api: Api, cluster: RandomCluster) -> dict[str, list[str]]:
    """Return the devices of the allocated claims of the root."""
    namespace = cluster.root["metadata"]["namespace"]
    labels: dict[str, str] = {}
    for kind, prefix in (("PodGroup", "podgroup"), ("Pod", "pod")):
        for each in api.objects(kind, namespace):
            name, status = each["metadata"]["name"], each.get("status") or {}
            for entry in status.get("resourceClaimStatuses") or ():
                labels.setdefault(entry.get("resourceClaimName", ""), f"{prefix}/{name}/{entry['name']}")
            if extended := status.get("extendedResourceClaimStatus"):
                labels[extended["resourceClaimName"]] = f"pod/{name}/<extended-resources>"
    result = {}
    own = {entry.get("resourceClaimName") for each in cluster.pods for entry in each["spec"].get("resourceClaims") or ()}
    of_others = cluster.allocations.keys() - own
    for each in api.objects("ResourceClaim", namespace):
        name = each["metadata"]["name"]
        if (allocation := (each.get("status") or {}).get("allocation")) is not None and name not in of_others:
            given = [f"{one['request']}={one['pool']}/{one['device']}" for one in allocation["devices"]["results"]]
            result[labels.get(name, f"{namespace}/{name}")] = given
    return result


def _pods(api: Api, namespace: str) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in api.objects("Pod", namespace)}


def _victims(api: Api, namespace: str, count: int) -> tuple[str, ...]:
    def leaving() -> list[str]:
        return sorted(name for name, each in _pods(api, namespace).items() if each["metadata"].get("deletionTimestamp"))

    until(lambda: len(leaving()) >= count, WAIT_SECONDS, told=lambda: f"{leaving()} leave, {count} should")
    # The message counts a group that leaves as a whole once, so more pods can follow.
    found: list[str] = []
    while found != (found := leaving()):
        time.sleep(SETTLED_SECONDS)
    return tuple(found)


def simulated(objects: Sequence[Manifest], cluster: RandomCluster, configuration: Manifest) -> Result:
    """Return the result of `simulate --strategy greedy`, with the behavior of the version of the programs."""
    behavior = behavior_of(find().minor())
    profiles = read_configuration(configuration, behavior).profiles
    outcome = run_cycle(load(objects, profiles, behavior=behavior), CycleOptions(strategy="greedy"))
    answer: dict[str, Any] = json.loads(
        answer_json.render(Answer.from_decisions(outcome.decisions, outcome.pending, outcome.problems, None))
    )
    own = {each["metadata"]["name"] for each in cluster.pods}
    nodes = {name.rpartition("/")[2]: on for each in answer["decisions"] for name, on in each["assignments"].items()}
    victims = sorted(name.rpartition("/")[2] for each in answer["decisions"] for name in each.get("victims") or ())
    status = answer["decisions"][-1]["status"] if answer["decisions"] else "Wait"
    message = json.dumps([answer["decisions"][-1]["message"] if answer["decisions"] else "", answer.get("problems")])
    assert set(nodes) <= own
    volumes = {
        name.rpartition("/")[2]: chosen.get("volume") or chosen["selectedNode"]
        for each in answer["decisions"]
        for name, chosen in each.get("volumes", {}).items()
    }
    devices = {name: given for each in answer["decisions"] for name, given in each.get("devices", {}).items()}
    return Result(status, nodes, tuple(victims), volumes, devices, message)
