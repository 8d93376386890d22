"""Decisions made by hand, and objects of a small cluster."""

from __future__ import annotations

from muster.render.tree_rows import Kinship
from scheduler_core.model.decision import Decision, Domain, GroupCondition, GroupDecision, Name, Status

NAMESPACE = "default"
RACK = "topology.example/rack"


def composite(name):
    return Name("CompositePodGroup", NAMESPACE, name)


def leaf(name):
    return Name("PodGroup", NAMESPACE, name)


def lone(name):
    return Name("Pod", NAMESPACE, name)


def members(group, count):
    return [f"{NAMESPACE}/{group}-{number}" for number in range(count)]


def kinship(parents=(), **groups):
    """*parents*: names of groups with that of their composite; *groups*: how many members each PodGroup has."""
    above = {}
    for child, parent in dict(parents).items():
        above[leaf(child)] = above[composite(child)] = composite(parent)
    return Kinship(above, {pod: name.replace("_", "-") for name, count in groups.items() for pod in members(name.replace("_", "-"), count)})


def told(name, status=Status.SUCCESS, message="", domain="", key=RACK, by_scheduler=""):
    initially = GroupCondition(
        f"{name.kind}InitiallyScheduled",
        str(status is Status.SUCCESS),
        "Scheduled",
        f"{by_scheduler}; {message}" if by_scheduler else message,
    )
    return GroupDecision(name, status, message, Domain(key, domain) if domain else None, (initially,))


def placed_tree():
    """Two gangs of two below a composite, each in a rack of its own."""
    assigned = {**dict.fromkeys(members("a", 2), "n1"), "default/b-0": "n2", "default/b-1": "n10"}
    groups = (
        told(composite("run"), domain="z1", key="topology.kubernetes.io/zone"),
        told(leaf("a"), domain="r1"),
        told(leaf("b"), domain="r2"),
    )
    return Decision(composite("run"), Status.SUCCESS, assignments=assigned, groups=groups)


def failed_gang(message="no feasible placements found", reason="0/3 nodes are available: 3 Insufficient cpu."):
    """A gang of which one fits and two do not."""
    pending = {"default/g-0": message, "default/g-1": reason, "default/g-2": reason}
    return Decision(leaf("g"), Status.UNSCHEDULABLE, message, groups=(told(leaf("g"), Status.UNSCHEDULABLE, message),), pending=pending)


def preempting():
    """A gang of two for which a gang of two and a pod leave."""
    by_scheduler = "pod group is unschedulable, pod group preemption: found a placement for podgroup, preempting 3 victims"
    message = "group urgent does not fit in any rack (2 pods)"
    return Decision(
        leaf("urgent"),
        Status.UNSCHEDULABLE,
        message,
        nominations={"default/urgent-0": "n1", "default/urgent-1": "n2"},
        victims=("default/low-0", "default/low-1", "default/web"),
        groups=(told(leaf("urgent"), Status.UNSCHEDULABLE, message, by_scheduler=by_scheduler),),
        pending=dict.fromkeys(members("urgent", 2), by_scheduler),
    )


def single(name, node):
    return Decision(lone(name), Status.SUCCESS, assignments={f"{NAMESPACE}/{name}": node})


def single_left(name, reason="0/3 nodes are available: 3 Insufficient cpu.", status=Status.UNSCHEDULABLE):
    return Decision(lone(name), status, reason, pending={f"{NAMESPACE}/{name}": reason})


def node(name, cpu="4", **labels):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "10"}},
    }


def pod(name, cpu="1", on="", group="", owner="", **spec):
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner, "name": "owner", "uid": "1"}]
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}], **spec}
    if on:
        spec["nodeName"] = on
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def gang(name, minimum):
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
    }
