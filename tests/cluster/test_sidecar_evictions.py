"""Random full clusters on a real API server: controllers create evicted pods again, and each root that evicted others is placed."""

from __future__ import annotations

import copy
import random
import re
import threading

import pytest

from tests.cluster.api import ApiError
from tests.cluster.faults import Fault, faults
from tests.cluster.follower import Follower
from tests.cluster.kubelet import node
from tests.cluster.sidecars import kubeconfig, sidecar
from tests.cluster.take_effect import priority_classes
from tests.cluster.waiting import until
from tests.sampling import every
from tests.scheduler_core.sidecar.full_clusters import HIGH, FullCluster
from tests.scheduler_core.sidecar.gangs import is_bound, is_complete

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")

MODE = ("--mode", "place,preempt", "--lease", "none")
CLASSES = {f"evictions-{value}": value for value in (0, 10, 50, 100, 1000)}
SEEDS = every(4, (21, 22, 23, 24, 25))


@pytest.fixture(autouse=True, scope="module")
def classes(plane):
    with priority_classes(plane.api, CLASSES):
        yield


class Controllers(Follower):
    """Controllers that create deleted pods again, after random delays."""

    kind = "Pod"

    def __init__(self, api, namespace, chance):
        super().__init__(api)
        self._namespace, self._chance, self._number = namespace, chance, 0

    def saw(self, what, each):
        if what == "DELETED" and each["metadata"]["namespace"] == self._namespace and not self._stopped.is_set():
            self._number += 1
            spec = {key: value for key, value in each["spec"].items() if key not in ("nodeName", "priority", "preemptionPolicy")}
            labels = each["metadata"].get("labels") or {}
            metadata = {
                "name": f"{each['metadata']['name'].partition('.')[0]}.{self._number}",
                "namespace": self._namespace,
                "labels": labels,
            }
            created = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            threading.Timer(self._chance.choice((0.0, 0.2, 1.0)), self._create, [created]).start()

    def _create(self, each):
        if not self._stopped.is_set():
            try:
                self._api.create(each)
            except ApiError as error:
                self.troubles.append(str(error))


def live(each, namespace):
    """The object as a user creates it."""
    made = copy.deepcopy(each)
    made["metadata"] = {"name": each["metadata"]["name"], "namespace": namespace}
    made["spec"]["priorityClassName"] = f"evictions-{made['spec'].pop('priority')}"
    if each["kind"] == "Pod":
        made["spec"] |= {"schedulerName": "muster", "terminationGracePeriodSeconds": 30}
        for container in made["spec"]["containers"]:
            container["image"] = "example.com/main:1"
        del made["status"]
    return made


def is_placed(api, namespace, each):
    """Return whether a root has what it needs."""
    kinds = ("Pod", "PodGroup", "CompositePodGroup")
    objects = {(kind, namespace, found["metadata"]["name"]): found for kind in kinds for found in api.objects(kind, namespace)}
    root = objects[each["kind"], namespace, each["metadata"]["name"]]
    return is_bound(root) if each["kind"] == "Pod" else is_complete(objects, root)


def evicted_for(api, namespace):
    """Return the names of the roots for which pods were evicted."""
    messages = [each.get("message", "") for each in api.objects("Event", namespace) if each["reason"] == "Preempted"]
    return {match[1] for each in messages if (match := re.match(rf"Preempted by \w+ {namespace}/([\w-]+)", each))}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_root_that_evicts_others_is_placed(plane, api, namespace, nodes, kubelet, tmp_path, strategy, seed):
    chance = random.Random(seed)
    cluster = FullCluster(chance)
    there = [each for each in cluster.present if each["kind"] == "Node"]
    names = {each["metadata"]["name"]: f"e{seed}-{each['metadata']['name']}" for each in there}
    nodes(*(node(names[each["metadata"]["name"]], {"rack": each["metadata"]["labels"]["rack"]}, cpu=cluster.cpu) for each in there))
    present = [live(each, namespace) for each in cluster.present if each["kind"] != "Node"]
    for each in present:
        if each["kind"] == "Pod":
            each["spec"]["nodeName"] = names[each["spec"]["nodeName"]]
    api.create_all(present)
    # Roots of the highest priority only: nothing can take their place.
    arrivals = [root for root in cluster.arrivals if root[0]["spec"]["priority"] == HIGH]
    with faults(plane) as proxy, Controllers(api, namespace, chance):
        proxy.decide = lambda _: Fault(delay=chance.choice((0.0, 0.0, 0.0, 0.2)))
        with sidecar(plane, tmp_path, *MODE, "--strategy", strategy, through=proxy.kubeconfig(kubeconfig(plane)), fork=True) as running:
            for root in arrivals:
                api.create_all([live(each, namespace) for each in root])
            until(lambda: all(is_settled(running, api, namespace, root[0]) for root in arrivals))
            evicting = evicted_for(api, namespace)
    assert [] == [
        each[0]["metadata"]["name"]
        for each in arrivals
        if each[0]["metadata"]["name"] in evicting and not is_placed(api, namespace, each[0])
    ]


def is_settled(running, api, namespace, each):
    """Return whether a root is placed, or its last decision has neither victims nor nominations."""
    decision = running.explain(namespace, each["metadata"]["name"])
    failed = decision.get("status", "").startswith("Unschedulable") and not (decision["victims"] or decision["nominations"])
    return failed or is_placed(api, namespace, each)
