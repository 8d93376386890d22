"""Decisions made by hand, and objects of a small cluster."""

from __future__ import annotations

from muster.render.tree_rows import Kinship
from scheduler_core.causes.attempts import PluginReason, VictimsFound
from scheduler_core.causes.groups import GroupUnschedulable
from scheduler_core.model.decision import Decision, GroupDecision
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.status import Status
from tests import builders

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


def stated(*texts):
    """Causes with these messages, each one whole sentence."""
    return tuple(PluginReason(text) for text in texts if text)


def told(name, status=Status.SUCCESS, message="", domain="", key=RACK, reason=None):
    """*reason* is the result of the attempt."""
    return GroupDecision(name, status, stated(message), Domain(key, domain) if domain else None, reason)


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
    pending = {"default/g-0": stated(message), "default/g-1": stated(reason), "default/g-2": stated(reason)}
    groups = (told(leaf("g"), Status.UNSCHEDULABLE, message),)
    return Decision(leaf("g"), Status.UNSCHEDULABLE, stated(message), groups=groups, pending=pending)


def preempting():
    """A gang of two for which a gang of two and a pod leave."""
    message = "group urgent does not fit in any rack (2 pods)"
    return Decision(
        leaf("urgent"),
        Status.UNSCHEDULABLE,
        stated(message),
        nominations={"default/urgent-0": "n1", "default/urgent-1": "n2"},
        victims=("default/low-0", "default/low-1", "default/web"),
        groups=(told(leaf("urgent"), Status.UNSCHEDULABLE, message),),
        pending=dict.fromkeys(members("urgent", 2), (GroupUnschedulable(),)),
        post_filter=VictimsFound(3),
    )


def single(name, node):
    return Decision(lone(name), Status.SUCCESS, assignments={f"{NAMESPACE}/{name}": node})


def single_left(name, reason="0/3 nodes are available: 3 Insufficient cpu.", status=Status.UNSCHEDULABLE):
    return Decision(lone(name), status, stated(reason), pending={f"{NAMESPACE}/{name}": stated(reason)})


def node(name, cpu="4", **labels):
    return builders.node(name, cpu, pods=10, labels=labels)


def pod(name, cpu="1", on="", group="", owner="", **spec):
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": "owner", "uid": "1"}] if owner else []
    return builders.pod(name, group, cpu, on=on, metadata={"uid": f"uid-{name}", "ownerReferences": owners}, **spec)


def gang(name, minimum):
    return builders.pod_group(name, minimum)
