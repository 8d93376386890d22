"""What must hold of a world, read from the API alone: each function returns what does not hold, as texts."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from apiserver.election import RENEW_SECONDS
from apiserver.lease import REQUEST_SECONDS
from kubeapi import quantity
from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.status import Status
from tests.cluster.groups import condition_of
from tests.cluster.resources import Manifest
from tests.reliability.world.history import Key, Seen
from tests.scheduler_core.sidecar.gangs import children, is_bound, is_complete, leaves, members, minimum, partial, wrong_reasons
from tests.scheduler_core.sidecar.histories import group_of

Objects = dict[Key, Manifest]
GROUPS = ("PodGroup", "CompositePodGroup")
LEASE: Key = ("Lease", "muster-system", "muster-sidecar")
SIDECAR = "muster-sidecar"
"""Field manager of the sidecars."""
CONTEST_SECONDS = RENEW_SECONDS + REQUEST_SECONDS
"""Time for which a leader believes that it leads without another renewal, and in which its last requests end."""
ENDED = ("Succeeded", "Failed")
NEVER = "refused-"
"""Beginning of the names of groups that the webhooks must refuse."""
LEFT = ("Pod", *GROUPS, "ResourceClaim", "Workload")
_PREEMPTED = re.compile(r"Preempted by (\w+) ([\w-]+)/([\w.-]+)")
"""Note of a victim's event: kind, namespace and name of the root for which it was evicted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A change, with the object before it and all objects after it; ``objects`` is the same dictionary in all steps."""

    seen: Seen
    before: Manifest | None
    objects: Objects


def replay(history: Iterable[Seen]) -> Iterator[Step]:
    """Yield the steps of a history, which is in order."""
    objects: Objects = {}
    for seen in history:
        before = objects.pop(seen.key, None)
        if not seen.gone:
            objects[seen.key] = seen.object
        yield Step(seen, before, objects)


class Contest:
    """Whether two leaders can be there: somebody has deleted the Lease or given it away by hand, and the leader before does not know it yet.

    No election can prevent that.  Kubelets reject the pods that such leaders bind to one node.
    """

    def __init__(self) -> None:
        self.count, self._until, self._holder = 0, float("-inf"), ""

    def follows(self, seen: Seen) -> bool:
        """Return true if there can be two leaders at the time of this change, the next of a history."""
        if seen.key == LEASE:
            holder = "" if seen.gone else seen.object["spec"].get("holderIdentity") or ""
            # A renewal that leaves the holder does not own the field.
            if seen.gone or (holder != self._holder and SIDECAR not in _owners(seen.object, "f:holderIdentity")):
                self.count, self._until = self.count + 1, seen.at + CONTEST_SECONDS
            self._holder = holder
        return seen.at < self._until


def _owners(each: Manifest, field: str) -> set[str]:
    """Return the field managers of a field of spec."""
    managed = each["metadata"].get("managedFields") or ()
    return {one["manager"] for one in managed if field in one.get("fieldsV1", {}).get("f:spec", {})}


def contests(history: Iterable[Seen]) -> int:
    """Return how often somebody changed the Lease by hand."""
    contest = Contest()
    for each in history:
        contest.follows(each)
    return contest.count


def over_capacity(history: Iterable[Seen]) -> list[str]:
    """Return the binds after which a node had more pods, or pods with more requests, than it can have."""
    result, contest = list[str](), Contest()
    for step in replay(history):
        if contest.follows(step.seen):
            continue
        pod = step.seen.object
        if pod["kind"] != "Pod" or step.seen.gone or not _occupies(pod) or (step.before is not None and _occupies(step.before)):
            continue
        result += [f"{each}, after the bind of {_name(pod)}" for each in _overfull(step.objects, pod["spec"]["nodeName"])]
    return result


def overfull(objects: Objects) -> list[str]:
    """Return the nodes with more than they can have."""
    return [each for kind, _, name in objects if kind == "Node" for each in _overfull(objects, name)]


def _overfull(objects: Objects, name: str) -> list[str]:
    """Return the resources of which a node has too little; none if it was deleted."""
    pods = [each for key, each in objects.items() if key[0] == "Pod" and _occupies(each) and each["spec"]["nodeName"] == name]
    used, node = _requests(pods), objects.get(("Node", "", name), {})
    names = ", ".join(sorted(each["metadata"]["name"] for each in pods))
    return [
        f"node {name} has {capacity} {resource}, and {used[resource].normalize():f} are requested by {names}"
        for resource, capacity in node.get("status", {}).get("allocatable", {}).items()
        if used[resource] > quantity.exact(capacity)
    ]


def shared_devices(history: Iterable[Seen]) -> list[str]:
    """Return the allocations of devices that another claim had."""
    result, contest = list[str](), Contest()
    for step in replay(history):
        claim = step.seen.object
        if contest.follows(step.seen) or claim["kind"] != "ResourceClaim" or step.seen.gone:
            continue
        for key, other in step.objects.items():
            if key[0] == "ResourceClaim" and key != step.seen.key and (shared := _devices(claim) & _devices(other)):
                result.append(f"{_name(claim)} and {_name(other)} have {', '.join('/'.join(each) for each in sorted(shared))}")
    return sorted(set(result))


def bound_twice(history: Iterable[Seen]) -> list[str]:
    """Return the pods that had two nodes."""
    nodes: dict[str, tuple[str, dict[str, None]]] = {}
    for seen in history:
        if seen.object["kind"] == "Pod" and (node := seen.object["spec"].get("nodeName")):
            nodes.setdefault(seen.object["metadata"]["uid"], (_name(seen.object), {}))[1][node] = None
    return [f"{name} was bound to {', then to '.join(them)}" for name, them in nodes.values() if len(them) > 1]


def unjudged(history: Iterable[Seen]) -> list[str]:
    """Return the groups that were stored although the webhooks must refuse them."""
    stored = {_name(seen.object) for seen in history if seen.object["kind"] in GROUPS and seen.key[2].startswith(NEVER)}
    return [f"{each} was not refused" for each in sorted(stored)]


def half_bound(objects: Objects, history: Iterable[Seen]) -> list[str]:
    """Return the gangs, and the trees that are placed as a whole, of which a part is bound, the rest is there, and which never were whole."""
    names, once = {*partial(objects)}, {*completions(history)}
    return [
        f"{_name(each)}: {sum(map(is_bound, pods))} of {len(pods)} pods are bound"
        for key, each in objects.items()
        if key[0] in GROUPS and key[2] in names and key not in once and _could_be_whole(objects, each)
        for pods in [[pod for leaf in leaves(objects, each) for pod in members(objects, leaf)]]
    ]


def completions(history: Iterable[Seen]) -> dict[Key, float]:
    """Return the groups that were bound as a whole at some time, and pods that were bound, with the order of the last bind that made them so."""
    result: dict[Key, float] = {}
    for step in replay(history):
        if step.seen.object["kind"] == "Pod" and not step.seen.gone and is_bound(step.seen.object):
            result.setdefault(step.seen.key, step.seen.order)
            if step.before is None or not is_bound(step.before):
                result |= {
                    key: step.seen.order
                    for key, group in _above(step.objects, step.seen.object).items()
                    if is_complete(step.objects, group)
                }
    return result


def in_vain(objects: Objects, history: Iterable[Seen]) -> list[str]:
    """Return the evictions for a root that was neither placed afterwards nor given up: a pod of it is still nominated, or it has no reason.

    Also those of pods whose priority is not lower.
    """
    seen = list(history)
    uids = {each.object["metadata"]["uid"]: each.object for each in seen if each.object["kind"] == "Pod"}
    left_at: dict[str, float] = {}
    for each in seen:
        if each.object["kind"] == "Pod" and _leaves(each):
            left_at.setdefault(each.object["metadata"]["uid"], each.order)
    done = completions(seen)
    result: dict[tuple[str, Key], str] = {}
    for each in seen:
        if (match := _preemption(each)) is None or (victim := uids.get(each.object["involvedObject"].get("uid", ""))) is None:
            continue
        key = match[1], match[2], match[3]
        priority = _priority(key, seen)
        if priority is not None and victim["spec"].get("priority", 0) >= priority:
            result[_name(victim), key] = f"{_name(victim)} was evicted for {' '.join(key)}, whose priority is not higher"
        root = objects.get(key)
        since = left_at.get(victim["metadata"]["uid"])
        if root is None or since is None or done.get(key, 0.0) > since:
            continue
        if nominated := [pod for pod in _pods(objects, root) if not is_bound(pod) and _nominated(pod)]:
            result[_name(victim), key] = (
                f"{_name(victim)} was evicted for {' '.join(key)}, whose {_name(nominated[0])} still waits for its node"
            )
        elif not _reason(root):
            result[_name(victim), key] = f"{_name(victim)} was evicted for {' '.join(key)}, which does not say why it is pending"
    return list(result.values())


def evictions(history: Iterable[Seen]) -> int:
    """Return the number of pods that an event calls preempted."""
    return len({each.object["involvedObject"].get("uid") for each in history if _preemption(each) is not None})


def unexplained(objects: Objects, options: CycleOptions) -> list[str]:
    """Return the pending roots whose reason is not the one that is true of the objects, and single pods that could be placed."""
    result = [f"{name} says {has or 'nothing'}, and true is {want}" for name, has, want in wrong_reasons(objects, options)]
    for decision in run_cycle(load(objects.values()), options).decisions:
        if decision.root.kind == "Pod" and decision.status is Status.SUCCESS:
            result.append(f"Pod {decision.root.namespace}/{decision.root.name} is pending and must be placed")
    return result


def left(objects: Objects, history: Iterable[Seen]) -> list[str]:
    """Return the objects that remain after everything was deleted, except those that the garbage collector cannot see.

    It takes a pod that replaces one of the same name while its watch is broken for the same pod, and keeps what the first one owned.
    Source: Kubernetes 1.37.1, pkg/controller/garbagecollector/graph_builder.go, processGraphChanges.
    """
    uids: dict[Key, dict[str, None]] = {}
    for each in history:
        if each.object["kind"] == "Pod":
            uids.setdefault(each.key, {})[each.object["metadata"]["uid"]] = None
    replaced = {uid for of_name in uids.values() for uid in [*of_name][:-1]}
    return [
        f"{_name(each)} is left{_finalizers(each)}"
        for key, each in objects.items()
        if key[0] in LEFT
        and (_finalizers(each) or not any(owner["uid"] in replaced for owner in each["metadata"].get("ownerReferences", ())))
    ]


HISTORY: Mapping[str, Callable[[list[Seen]], list[str]]] = {
    "no node over capacity": over_capacity,
    "no device in two claims": shared_devices,
    "no pod bound twice": bound_twice,
    "no group stored that must be refused": unjudged,
}
"""Invariants of a history by what must hold."""


def _name(each: Manifest) -> str:
    return f"{each['kind']} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}"


def _occupies(pod: Manifest) -> bool:
    return is_bound(pod) and pod.get("status", {}).get("phase") not in ENDED


def _requests(pods: Iterable[Manifest]) -> dict[str, decimal.Decimal]:
    """Return the sums of the requests of containers, and the number of pods."""
    result: dict[str, decimal.Decimal] = collections.defaultdict(decimal.Decimal)
    for pod in pods:
        result["pods"] += 1
        for container in pod["spec"]["containers"]:
            for name, amount in (container.get("resources", {}).get("requests") or {}).items():
                result[name] += quantity.exact(amount)
    return result


def _devices(claim: Manifest) -> set[tuple[str, str, str]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return {(each["driver"], each["pool"], each["device"]) for each in (allocation.get("devices") or {}).get("results") or ()}


def _above(objects: Objects, pod: Manifest) -> Objects:
    """Return the groups that a pod is in, by key."""
    result: Objects = {}
    key = "PodGroup", pod["metadata"]["namespace"], group_of(pod)
    while key in objects and key not in result:
        result[key] = objects[key]
        key = "CompositePodGroup", key[1], objects[key]["spec"].get("parentCompositePodGroupName") or ""
    return result


def _could_be_whole(objects: Objects, group: Manifest) -> bool:
    """Return whether a group has as many pods, which do not leave, as it needs."""
    if group["kind"] == "PodGroup":
        return sum("deletionTimestamp" not in each["metadata"] for each in members(objects, group)) >= minimum(group)
    return sum(_could_be_whole(objects, each) for each in children(objects, group)) >= minimum(group)


def _pods(objects: Objects, root: Manifest) -> list[Manifest]:
    return [root] if root["kind"] == "Pod" else [pod for leaf in leaves(objects, root) for pod in members(objects, leaf)]


def _preemption(seen: Seen) -> re.Match[str] | None:
    each = seen.object
    if each["kind"] != "Event" or each.get("reason") != "Preempted" or each["involvedObject"]["kind"] != "Pod":
        return None
    return _PREEMPTED.match(each.get("message") or "")


def _leaves(seen: Seen) -> bool:
    return seen.gone or "deletionTimestamp" in seen.object["metadata"]


def _priority(key: Key, history: Iterable[Seen]) -> int | None:
    """Return the priority of a root, that of its pods' spec or of its own; None if it is not known."""
    for each in history:
        if each.key == key and (value := each.object["spec"].get("priority")) is not None:
            return int(value)
    return None


def _nominated(pod: Manifest) -> bool:
    return bool((pod.get("status") or {}).get("nominatedNodeName"))


def _reason(root: Manifest) -> str:
    type_ = "PodScheduled" if root["kind"] == "Pod" else INITIALLY_SCHEDULED[root["kind"]]
    return str(condition_of(root, type_).get("reason", ""))


def _finalizers(each: Manifest) -> str:
    names = each["metadata"].get("finalizers")
    return f" with {', '.join(names)}" if names else ""
