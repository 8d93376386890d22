"""Work of the commands grows with the size of an input, and not with its square; counted are the calls of Python functions."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from expansion.pod_owners import Controller, PodOwners
from kubeapi.gather import gather
from muster.cli import main
from tests.muster.simulated import node, pod
from tests.sampling import every

pytestmark = pytest.mark.usefixtures("folder")

VERSION = "scheduling.k8s.io/v1alpha3"
CLAIM = "PersistentVolumeClaim"
TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def chain(size):
    """Groups, each of which is the parent of the next one."""
    groups = []
    for number in range(size):
        kind, policy = ("CompositePodGroup", "minGroupCount") if number + 1 < size else ("PodGroup", "minCount")
        spec = {"schedulingPolicy": {"gang": {policy: 1}}}
        spec |= {"parentCompositePodGroupName": f"g{number - 1}"} if number else {}
        groups.append({"apiVersion": VERSION, "kind": kind, "metadata": {"name": f"g{number}"}, "spec": spec})
    member = pod("p")
    member["spec"]["schedulingGroup"] = {"podGroupName": f"g{size - 1}"}
    return [*groups, member], [node("n1")]


def tainted(size, effect, operator):
    tolerations = [{"key": f"k{number % 7}", "operator": operator, "value": f"v{3 * number}"} for number in range(size)]
    taints = [{"key": f"k{number % 7}", "value": f"v{number}", "effect": effect} for number in range(size)]
    waiting, machine = pod("p"), node("n1")
    waiting["spec"]["tolerations"], machine["spec"] = tolerations, {"taints": taints}
    return [waiting], [machine]


def numbered(size):
    waiting, machine = pod("p"), node("n1")
    waiting["spec"]["tolerations"] = [{"key": "k", "operator": "Lt", "value": str(-number)} for number in range(size)]
    machine["spec"] = {"taints": [{"key": "k", "value": str(number), "effect": "NoSchedule"} for number in range(size)]}
    return [waiting], [machine]


def selecting(size, operator):
    waiting = pod("p")
    terms = [{"matchExpressions": [{"key": "rack", "operator": operator, "values": [f"x{number}"]}]} for number in range(size)]
    waiting["spec"]["affinity"] = {"nodeAffinity": {TERMS: {"nodeSelectorTerms": terms}}}
    return [waiting], [node(f"n{number}", rack=f"r{number}") for number in range(size)]


def device_cluster(devices, **request):
    """A pod with a claim for one of *devices*."""
    version = "resource.k8s.io/v1"
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    offered = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": devices}
    asked = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1, **request}}
    slices = [named("DeviceClass", "gpu", version, spec={}), named("ResourceSlice", "s", version, spec=offered)]
    claim = named("ResourceClaim", "c", version, spec={"devices": {"requests": [asked]}})
    waiting = pod("p", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    return [waiting], [node("n1"), *slices, claim]


def tainted_devices(size):
    tolerations = [
        {"key": f"k{number % 7}", "operator": "Equal", "value": f"v{3 * number}", "effect": "NoSchedule"} for number in range(size)
    ]
    taints = [{"key": f"k{number % 7}", "value": f"v{number}", "effect": "NoSchedule"} for number in range(size)]
    return device_cluster([{"name": "d", "taints": taints}], tolerations=tolerations)


def taint_rules(size):
    path, cluster = device_cluster([{"name": f"d{number}"} for number in range(size)])
    for number in range(size):
        taint = {"key": "k", "value": f"v{number}", "effect": "NoSchedule"}
        spec = {"deviceSelector": {"driver": "gpu.example.com", "device": f"d{2 * number}"}, "taint": taint}
        cluster.append(named("DeviceTaintRule", f"t{number}", "resource.k8s.io/v1beta2", spec=spec))
    return path, cluster


def nameless(size):
    """Invalid objects, of which many have one name."""
    metadata = {"generateName": "a-"}
    content = [{"name": "c", "image": "x"}]
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": content, "restartPolicy": f"x{number}"}}
        for number in range(size)
    ], [node("n1")]


def new_pod(name, namespace="default", cpu=1, **fields):
    """A valid pod that the cluster does not have yet."""
    given = {"cpu": f"{cpu}m", "memory": "1Mi"}
    content = {"name": "c", "image": "x", "resources": {"requests": given, "limits": given}}
    return {**named("Pod", name, namespace=namespace), "spec": {"containers": [content], **fields}}


def named(kind, name, version="v1", namespace="default", **fields):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}


def limited(size, *, status=True, pods="9999", scope=None):
    """Quotas of one namespace, and as many pods that differ."""
    listed = []
    for number in range(size):
        selector = {"matchExpressions": [scope(number)]} if scope else {}
        hard = {"hard": {"pods": pods, "limits.cpu": "9", "requests.memory": f"{number + 1}Ti"}}
        used = {"status": {**hard, "used": {"pods": "1"}}} if status else {}
        listed.append(named("ResourceQuota", f"q{number}", spec={**hard, "scopeSelector": selector}, **used))
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"c{number}"}, "value": number}
        for number in range(size if scope else 0)
    ]
    pods = [new_pod(f"p{number}", cpu=number + 1, **({"priorityClassName": f"c{number}"} if scope else {})) for number in range(size)]
    return pods, [node("n1"), *listed, *classes]


def of_class(number):
    return {"scopeName": "PriorityClass", "operator": "In", "values": [f"c{number}"]}


LIMITS = {
    "Container": {"max": {"cpu": "9", "memory": "9Gi"}, "default": {"memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "9"}},
    "Pod": {"max": {"cpu": "9", "memory": "9Gi"}, "min": {"cpu": "1m"}},
    CLAIM: {"max": {"storage": "9Ti"}, "min": {"storage": "1Gi"}},
}


def ranged(size, kind):
    """LimitRanges of one namespace, and as many pods, or claims, that differ."""
    ranges = [named("LimitRange", f"l{number}", spec={"limits": [{"type": kind, **LIMITS[kind]}]}) for number in range(size)]
    if kind != CLAIM:
        return [new_pod(f"p{number}", cpu=number + 1) for number in range(size)], [node("n1"), *ranges]
    specs = [{"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{number + 1}Gi"}}} for number in range(size)]
    return [new_pod("p"), *(named(kind, f"c{number}", spec=each) for number, each in enumerate(specs))], [node("n1"), *ranges]


def spread_out(size):
    """Namespaces, each with a quota, objects and a new pod."""
    spaces = [f"s{number}" for number in range(size)]
    quotas = [named("ResourceQuota", "q", namespace=each, spec={"hard": {"pods": "9", "configmaps": "9"}}) for each in spaces]
    maps = [named("ConfigMap", name, namespace=each) for name in ("a", "b") for each in spaces]
    groups = [named("PodGroup", "g", VERSION, each, spec={"schedulingPolicy": {"basic": {}}}) for each in spaces]
    known = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in ("default", *spaces)]
    return [*(new_pod("p", each) for each in spaces), *maps[size:], *groups], [node("n1"), *quotas, *maps[:size], *known]


def apart(size, waiting):
    """Running pods that keep away from others, and as many that wait; if not *waiting*, those that wait keep away from others."""
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": f"a{number}"}}} for number in range(size)]
    running = [pod(f"r{number}", cpu="1m", on="n1") for number in range(size)]
    pods = [pod(f"p{number}", cpu="1m") for number in range(size)]
    for number, (term, each) in enumerate(zip(terms, running if waiting else pods, strict=True)):
        each["spec"]["affinity"] = {"podAntiAffinity": {TERMS: [term]}}
        pods[number]["metadata"]["labels"] = {"app": f"b{number}"}
    machines = [node("n1"), node("n2")]
    for each in machines:
        each["status"]["allocatable"]["pods"] = "9999"
    return pods, [*machines, *running]


def budgets(size):
    """Pods on a full node, each with a PodDisruptionBudget of its own."""
    running = [pod(f"r{number}", on="n1", priority=0) for number in range(size)]
    listed = []
    for number, each in enumerate(running):
        each["metadata"]["labels"] = {"app": f"a{number}"}
        spec = {"selector": {"matchLabels": {"app": f"a{number}"}}, "maxUnavailable": 1}
        listed.append(named("PodDisruptionBudget", f"b{number}", "policy/v1", spec=spec, status={"disruptionsAllowed": number % 2}))
    machine = node("n1", cpu=str(size))
    machine["status"]["allocatable"]["pods"] = "9999"
    return [pod("p", cpu="3", priority=9)], [machine, *running, *listed]


def default_classes(size):
    """Default PriorityClasses, of which only one can exist."""
    fields = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "globalDefault": True}
    return [*({**fields, "metadata": {"name": f"c{number}"}, "value": -number} for number in range(size)), new_pod("p")], [node("n1")]


def templates(size):
    """Pods with a ResourceClaimTemplate that does not exist, among others."""
    spec = {"spec": {"devices": {}}}
    existing = [named("ResourceClaimTemplate", f"here-{number}", "resource.k8s.io/v1", spec=spec) for number in range(size)]
    claims = [{"name": "g", "resourceClaimTemplateName": "gone"}]
    return [new_pod(f"p{number}", resourceClaims=claims) for number in range(size)], [node("n1"), *existing]


def jobs(size):
    """Jobs in a namespace with a quota."""
    template = {"spec": {**new_pod("p")["spec"], "restartPolicy": "Never"}}
    hard = {"pods": "9999", "count/jobs.batch": "9999"}
    listed = [named("Job", f"j{number}", "batch/v1", spec={"template": template}) for number in range(size)]
    return listed, [node("n1"), named("ResourceQuota", "q", spec={"hard": hard})]


INPUTS = {
    "chain": (chain, 60),
    "taints": (lambda size: tainted(size, "NoSchedule", "Equal"), 150),
    "soft taints": (lambda size: tainted(size, "PreferNoSchedule", "Equal"), 150),
    "numeric taints": (numbered, 150),
    "device taints": (tainted_devices, 100),
    "device taint rules": (taint_rules, 60),
    "terms": (lambda size: selecting(size, "In"), 80),
    "negative terms": (lambda size: selecting(size, "NotIn"), 80),
    "nameless": (nameless, 60),
    "quotas": (limited, 25),
    "quotas without a status": (lambda size: limited(size, status=False), 25),
    "quotas that leave too little": (lambda size: limited(size, pods="1"), 25),
    "quotas of classes": (lambda size: limited(size, scope=of_class), 40),
    "limits of containers": (lambda size: ranged(size, "Container"), 25),
    "limits of pods": (lambda size: ranged(size, "Pod"), 25),
    "limits of claims": (lambda size: ranged(size, CLAIM), 25),
    "namespaces with quotas": (spread_out, 25),
    "anti-affinity of running pods": (lambda size: apart(size, waiting=True), 60),
    "anti-affinity of new pods": (lambda size: apart(size, waiting=False), 60),
    "disruption budgets": (budgets, 60),
    "default classes": (default_classes, 40),
    "missing templates": (templates, 40),
    "jobs with a quota": (jobs, 70),
}


def calls(action):
    """Return the number of calls that *action* makes."""
    number = 0

    def count(frame, event, argument):
        nonlocal number
        number += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return number


def calls_of(command, folder, path, cluster):
    """Return the number of calls that *command* makes."""
    (folder / "path.json").write_text("\n".join(map(json.dumps, path)))
    (folder / "cluster.json").write_text("\n".join(map(json.dumps, cluster)))
    results = []
    number = calls(lambda: results.append(CliRunner().invoke(main, [command, "path.json", "--objects", "cluster.json"])))
    assert isinstance(results[0].exception, SystemExit | None)
    return number


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize("name", every(2, list(INPUTS)))
def test_four_times_the_input_is_no_more_than_four_times_the_work(folder, command, name):
    build, size = INPUTS[name]
    calls_of(command, folder, *build(2))  # modules are imported
    small, large = (calls_of(command, folder, *build(each)) for each in (size, 4 * size))
    assert large < 5 * small


OWNERS = {
    "Deployment": lambda number: {"ownerReferences": [{"kind": "ReplicaSet", "name": f"web-{number}-h", "controller": True}]},
    "JobSet": lambda number: {"labels": {"jobset.sigs.k8s.io/jobset-name": f"web-{number}"}},
    "RayJob": lambda number: {"labels": {"ray.io/cluster": f"web-{number}-raycluster-1a2b3"}},
}


@pytest.mark.parametrize("kind", OWNERS)
def test_a_pod_is_not_compared_with_every_controller_of_its_namespace(kind):
    def search(size):
        controllers = [Controller(kind, "default", f"web-{number}") for number in range(size)]
        labels = {"labels": {"pod-template-hash": "h"}}
        pods = [named("Pod", f"p{number}") for number in range(size)]
        for number, each in enumerate(pods):
            each["metadata"] |= labels | OWNERS[kind](number)
        kinds, _ = gather(pods)
        owners = PodOwners(controllers, kinds)
        return calls(lambda: [*map(owners.owner, kinds["Pod"])]), [owners.owner(each) for each in kinds["Pod"]], controllers

    small, large = search(40), search(160)
    assert large[1] == large[2]
    assert large[0] < 5 * small[0]
