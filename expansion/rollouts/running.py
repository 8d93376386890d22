"""The objects at PATH that replace running ones: their old pods in the cluster, the new ones, and how their controllers replace them."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from expansion.admission.quotas import Charge, Charges, shortages
from expansion.contents import Content, full_name, items
from expansion.rollouts import group_updates
from expansion.rollouts.strategies import Recreate, RollingDaemonSet, RollingDeployment, RollingStatefulSet, Strategy, Unchanged
from expansion.rollouts.units import Key, Unit, created_at, is_ready, node_of
from kubeapi.content import int_or_percent
from kubeapi.decode import encode, section
from kubeapi.decoders import DECODERS
from kubeapi.names import Name
from kubeapi.pods import Pod

_ROLLING, _ON_DELETE = "RollingUpdate", "OnDelete"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_ADDED = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Keys of the tolerations that an API server adds to every pod."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OF_APPS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
KINDS = _OF_APPS | group_updates.STRATEGIES.keys()
"""Kinds whose updates are played."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rollout:
    """Update of a running object.

    Attributes:
        origin: the object at PATH.
        manifest: its content.
        old: the pods that run.
        new: the pods that replace them.
        quotas: the ResourceQuotas of their namespace.
        others: the other pods of the namespace; none without quotas.
        further: pods beyond the number that exist only during the update, with their groups.

    """

    origin: Name
    manifest: Content
    old: Sequence[Content]
    new: Sequence[Content]
    quotas: Sequence[Content] = ()
    others: Sequence[Content] = ()
    further: Sequence[Content] = ()

    def units(self) -> tuple[list[Unit], list[Unit]]:
        """Return the old and the new units."""
        read = _UNITS[self.origin.kind]
        further = [each for each in self.further if each["kind"] == "Pod"]
        return [*read(self.old, running=True)], [*read([*self.new, *further])]

    def added(self) -> list[Unit]:
        """Return the old units that a Deployment creates before it replaces them, because it is to have more."""
        missing = len(self.new) - len(self.old)
        if self.origin.kind != "Deployment" or missing <= 0:
            return []
        found = []
        for number in range(missing):
            like = self.old[0]
            spec = {key: each for key, each in section(like, "spec").items() if key != "nodeName"}
            metadata = {key: each for key, each in section(like, "metadata").items() if key not in {"uid", "creationTimestamp"}}
            pod = {
                **like,
                "metadata": {**metadata, "name": f"{metadata.get('name')}-added-{number}"},
                "spec": spec,
                "status": {"phase": "Pending"},
            }
            rank = (created_at(like), _replica_set(like), _cost(like), -created_at(pod))
            found.append(Unit("/".join(full_name(pod)), [pod], rank=rank))
        return found

    def strategy(self) -> Strategy:
        """Return how the controller replaces the units."""
        wanted = [each.key for each in _UNITS[self.origin.kind](self.new)]
        return _STRATEGIES[self.origin.kind](self.manifest, wanted)

    def allowed(self, created: Sequence[Content], deleted: Sequence[Content]) -> bool:
        """Return whether the quotas allow the new pods *created*, after the old ones *deleted*."""
        if not self.quotas:
            return True
        gone = {full_name(each) for each in deleted}
        present = [*self.others, *(each for each in self.old if full_name(each) not in gone)]
        charges = Charges([Charge(each, self.origin) for each in created], deleted, lambda: present)
        return not any(True for _ in shortages(self.quotas, charges))


def is_played(kind: str, old: Sequence[Content], new: Sequence[Content], *, grouped: bool = False) -> bool:
    """Return whether the pods of an object are replaced: it has some, and new ones are not equal to them.

    With *grouped*, a controller writes the group into the pods: it is no part of their template.
    """
    if kind not in KINDS or not old or not new:
        return False
    if kind in _OF_APPS:
        kept = [_without_group(each) if grouped else each for each in (*old, new[0])]
        return bool({*map(_template, kept[:-1])} - {_template(kept[-1])})
    # Their controllers add containers, groups and affinities to the pods.
    names = {str(each.get("name")) for pod in new for each in items(section(pod, "spec"), "containers")}
    return bool({_template(each, names) for each in old} - {_template(each, names) for each in new})


def _without_group(pod: Content) -> Content:
    return {**pod, "spec": {key: value for key, value in section(pod, "spec").items() if key != "schedulingGroup"}}


def _template(pod: Content, named: Container[str] | None = None) -> bytes:
    """Return what of a pod its template decides, as far as placement reads it; pods of one template are equal.

    With *named*, only the containers of these names count, and what controllers do not add.
    """
    spec = {**section(pod, "spec")}
    spec.pop("nodeName", None)
    try:
        decoded = DECODERS[Pod].decode(encode({"metadata": {"name": "pod"}, "spec": spec})).spec
    except (ValueError, RecursionError):
        return encode(spec)
    containers = [each for each in decoded.containers or () if named is None or each.name in named]
    claims = [(each.name, each.resource_claim_template_name) for each in decoded.resource_claims or ()]
    tolerations = sorted((encode(each) for each in decoded.tolerations or () if each.key not in _ADDED), key=bytes)
    selector = sorted((decoded.node_selector or {}).items())
    if named is not None:
        requested = [(each.name, each.image, _requests(each)) for each in containers]
        return encode((requested, selector, tolerations, claims, decoded.host_network))
    affinity = decoded.affinity
    pinned = section(spec, "affinity", "nodeAffinity", _REQUIRED)
    if any("matchFields" in each for each in items(pinned, "nodeSelectorTerms")):
        affinity = None
    return encode(
        (
            [(each.name, each.image, _requests(each)) for each in (*containers, *(decoded.init_containers or ()))],
            selector,
            affinity,
            tolerations,
            decoded.topology_spread_constraints,
            decoded.scheduling_group,
            claims,
            decoded.host_network,
        )
    )


def _requests(container: Any) -> list[tuple[str, str]]:
    resources = container.resources
    return sorted((name, str(each)) for name, each in {**(resources.limits or {}), **(resources.requests or {})}.items())


def _single(pods: Iterable[Content], *, running: bool = False) -> Iterator[Unit]:
    """Yield a unit for each pod; old ones in the order of the creation of their ReplicaSets."""
    listed = [*pods]
    ages: dict[str, float] = {}
    for pod in listed if running else ():
        owner = _replica_set(pod)
        ages[owner] = min(ages.get(owner, created_at(pod)), created_at(pod))
    for pod in listed:
        rank = (ages[_replica_set(pod)], _replica_set(pod), _cost(pod), -created_at(pod)) if running else ()
        yield Unit("/".join(full_name(pod)), [pod], running and is_ready(pod), node_of(pod), rank)


def _replica_set(pod: Content) -> str:
    return next(
        (str(each.get("name")) for each in items(section(pod, "metadata"), "ownerReferences") if each.get("controller") is True), ""
    )


def _cost(pod: Content) -> int:
    written = section(section(pod, "metadata"), "annotations").get(_COST)
    return int(written) if isinstance(written, str) and written.removeprefix("-").isdecimal() and len(written) <= len(str(2**31)) + 1 else 0


def _by_ordinal(pods: Iterable[Content], *, running: bool = False) -> Iterator[Unit]:
    found: dict[Key, Content] = {}
    for pod in pods:
        number = full_name(pod)[1].rpartition("-")[2]
        if number.isascii() and number.isdecimal() and len(number) <= len(str(2**31)):
            found[int(number)] = pod
    for key, pod in sorted(found.items()):
        yield Unit(key, [pod], running and is_ready(pod), node_of(pod))


def _by_node(pods: Iterable[Content], *, running: bool = False) -> Iterator[Unit]:
    nodes: dict[str, list[Content]] = {}
    for pod in pods:
        nodes.setdefault(node_of(pod) or _target(pod), []).append(pod)
    for node, listed in sorted(nodes.items()):
        yield Unit(node, listed, running and all(map(is_ready, listed)), node)


def _target(pod: Content) -> str:
    """Return the node to which the affinity of a DaemonSet's pod binds it."""
    required = section(pod, "spec", "affinity", "nodeAffinity", _REQUIRED)
    fields = (field for term in items(required, "nodeSelectorTerms") for field in items(term, "matchFields"))
    return next((str(each["values"][0]) for each in fields if each.get("key") == "metadata.name" and each.get("values")), "")


def _deployment(manifest: Content, wanted: Sequence[Key]) -> Strategy:
    spec = section(manifest, "spec")
    strategy = section(spec, "strategy")
    if spec.get("paused") is True:
        return Unchanged()
    if strategy.get("type") == "Recreate":
        return Recreate(wanted)
    rolling, number = section(strategy, "rollingUpdate"), len(wanted)
    surge = int_or_percent(rolling.get("maxSurge"), number, default="25%", up=True)
    unavailable = min(number, int_or_percent(rolling.get("maxUnavailable"), number, default="25%", up=False))
    return RollingDeployment(wanted, surge, unavailable if surge or unavailable else 1)


def _stateful_set(manifest: Content, wanted: Sequence[Key]) -> Strategy:
    spec = section(manifest, "spec")
    strategy = section(spec, "updateStrategy")
    if strategy.get("type") == _ON_DELETE:
        return Unchanged()
    rolling = section(strategy, "rollingUpdate")
    partition = int_or_percent(rolling.get("partition"), 0, default=0, up=False)
    unavailable = max(1, int_or_percent(rolling.get("maxUnavailable"), len(wanted), default=1, up=False))
    return RollingStatefulSet(wanted, partition, unavailable, spec.get("podManagementPolicy") == "Parallel")


def _daemon_set(manifest: Content, wanted: Sequence[Key]) -> Strategy:
    strategy = section(section(manifest, "spec"), "updateStrategy")
    if strategy.get("type") == _ON_DELETE:
        return Unchanged()
    rolling = section(strategy, "rollingUpdate")
    surge = int_or_percent(rolling.get("maxSurge"), len(wanted), default=0, up=True)
    unavailable = int_or_percent(rolling.get("maxUnavailable"), len(wanted), default=1, up=True)
    return RollingDaemonSet(wanted, surge, unavailable if surge or unavailable else 1)


_STRATEGIES = {"Deployment": _deployment, "StatefulSet": _stateful_set, "DaemonSet": _daemon_set, **group_updates.STRATEGIES}
_UNITS = {"Deployment": _single, "StatefulSet": _by_ordinal, "DaemonSet": _by_node, **group_updates.UNITS}
