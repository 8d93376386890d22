"""The objects at PATH that replace running ones: their old pods in the cluster, the new ones, and how their controllers replace them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from expansion.admission.quotas import Charge, Charges, shortages
from expansion.contents import Content, full_name, items
from expansion.rollouts import group_updates
from expansion.rollouts.situations import ScaledSets, of_daemon_set, of_deployment, of_stateful_set, ordinals, target
from expansion.rollouts.strategies import Recreate, RollingDaemonSet, RollingDeployment, RollingStatefulSet, Strategy, Unchanged
from expansion.rollouts.units import Situation
from kubeapi.base_structs import Record
from kubeapi.content import int_or_percent
from kubeapi.decode import encode, section
from kubeapi.decoders import DECODERS
from kubeapi.names import Name
from kubeapi.pods import Pod
from validators.built_in import selectors as label_selectors

_ON_DELETE = "OnDelete"
_ADDED = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Keys of the tolerations that an API server adds to every pod."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OF_CONTROLLERS = frozenset(
    {
        "apps.kubernetes.io",
        "controller-revision-hash",
        "kueue.x-k8s.io",
        "pod-template-generation",
        "pod-template-hash",
        "statefulset.kubernetes.io",
    }
)
"""Keys, or prefixes of keys, of labels that controllers add to pods."""
_DEFAULTED = "dnsPolicy"
"""Field of ``spec`` that each pod of an API server has, and none of a snapshot."""
_OF_APPS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
KINDS = _OF_APPS | group_updates.KINDS
"""Kinds whose updates are played."""


class Rollout(Record, frozen=True):
    """Update of a running object.

    Attributes:
        origin: the object at PATH.
        manifest: its content.
        old: the pods that run.
        new: the pods that replace them.
        quotas: the ResourceQuotas of their namespace.
        others: the other pods of the namespace; none without quotas.
        further: pods beyond the number that exist only during the update, with their groups.
        restarts: whether all old pods are replaced, also those that equal new ones.
        sets: the ReplicaSets of a Deployment, as far as they are known.

    """

    origin: Name
    manifest: Content
    old: Sequence[Content]
    new: Sequence[Content]
    quotas: Sequence[Content] = ()
    others: Sequence[Content] = ()
    further: Sequence[Content] = ()
    restarts: bool = False
    sets: Sequence[Content] = ()

    def situation(self) -> Situation:
        """Return the units before the update."""
        if self.origin.kind not in _OF_APPS:
            created = [*self.new, *(each for each in self.further if each["kind"] == "Pod")]
            template = _template_of_groups(self.origin.kind, self.new)
            return group_updates.situation(self.manifest, self.old, created, None if self.restarts else template)
        wanted = {_template(each): each for each in reversed(self.new)}

        def is_new(pod: Content) -> bool:
            like = None if self.restarts else wanted.get(_template(pod))
            return like is not None and _carries(pod, like)

        match self.strategy():
            case RollingStatefulSet() as strategy:
                return of_stateful_set(self.old, self.new, is_new, strategy.partition if strategy.unavailable else 0)
            case RollingDaemonSet(surge=surge):
                return of_daemon_set(self.old, self.new, is_new, surges=surge > 0)
        return of_deployment(self.old, self.new, is_new, self._sets())

    def _sets(self) -> ScaledSets:
        """Return how the ReplicaSets of a Deployment are scaled to its number."""
        strategy = section(section(self.manifest, "spec"), "strategy")
        surge = None if strategy.get("type") == "Recreate" else _surge(strategy, len(self.new))
        return ScaledSets(len(self.new), surge, self.sets, is_paused=section(self.manifest, "spec").get("paused") is True)

    def strategy(self) -> Strategy:
        """Return how the controller replaces the units."""
        return _STRATEGIES[self.origin.kind](self.manifest, self.new)

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
        kept = [_without(each, "schedulingGroup") if grouped else each for each in (*old, new[0])]
        wanted = _template(kept[-1])
        return any(_template(each) != wanted or not _carries(each, kept[-1]) for each in kept[:-1])
    # Their controllers add containers, groups and affinities to the pods.
    template = _template_of_groups(kind, new)
    return bool({*map(template, old)} - {*map(template, new)})


def selects(manifest: Content, pod: Content) -> bool:
    """Return whether an object selects a pod that it owns; if not, its selector is changed, which the API server refuses."""
    labels = section(pod, "metadata", "labels")
    return not labels or str(manifest.get("kind")) not in _OF_APPS or label_selectors.matches(section(manifest, "spec", "selector"), labels)


def _template_of_groups(kind: str, new: Sequence[Content]) -> Callable[[Content], bytes]:
    """Return how the pods of groups are compared: other tolerations make no new cluster of a RayService."""
    names = _containers(new)
    return lambda pod: _template(_without(pod, "tolerations") if kind == "RayService" else pod, names)


def _containers(pods: Sequence[Content]) -> set[str]:
    return {str(each.get("name")) for pod in pods for each in items(section(pod, "spec"), "containers")}


def _without(pod: Content, field: str) -> Content:
    return {**pod, "spec": {key: value for key, value in section(pod, "spec").items() if key != field}}


def _carries(pod: Content, new: Content) -> bool:
    """Return whether a running pod has what no placement reads of a *new* one: labels, and if they are known, commands and variables.

    It can have more of them, which webhooks have added.
    """
    labels, mine = (section(each, "metadata", "labels") for each in (new, pod))
    if mine and any(mine.get(key) != value for key, value in labels.items() if key.partition("/")[0] not in _OF_CONTROLLERS):
        return False
    if _DEFAULTED not in section(pod, "spec"):
        # A snapshot has no commands and variables.
        return True
    running = {str(each.get("name")): each for each in items(section(pod, "spec"), "containers")}
    return all(_runs(running.get(str(each.get("name")), {}), each) for each in items(section(new, "spec"), "containers"))


def _runs(container: Content, new: Content) -> bool:
    """Return whether a running container has command, arguments and variables of a *new* one."""
    variables = {(each.get("name"), each.get("value") or "") for each in items(container, "env")}
    written = {(each.get("name"), each.get("value") or "") for each in items(new, "env")}
    return variables >= written and all((container.get(key) or []) == (new.get(key) or []) for key in ("command", "args"))


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


def _deployment(manifest: Content, new: Sequence[Content]) -> Strategy:
    spec = section(manifest, "spec")
    wanted, strategy = ["/".join(full_name(each)) for each in new], section(spec, "strategy")
    if spec.get("paused") is True:
        return Unchanged()
    if strategy.get("type") == "Recreate":
        return Recreate(wanted)
    number, surge = len(wanted), _surge(strategy, len(wanted))
    unavailable = min(number, int_or_percent(section(strategy, "rollingUpdate").get("maxUnavailable"), number, default="25%", up=False))
    return RollingDeployment(wanted, surge, unavailable if surge or unavailable else 1)


def _surge(strategy: Mapping[str, Any], number: int) -> int:
    return int_or_percent(section(strategy, "rollingUpdate").get("maxSurge"), number, default="25%", up=True)


def _stateful_set(manifest: Content, new: Sequence[Content]) -> Strategy:
    spec = section(manifest, "spec")
    wanted, strategy = ordinals(new), section(spec, "updateStrategy")
    rolling, parallel = section(strategy, "rollingUpdate"), spec.get("podManagementPolicy") == "Parallel"
    # A partition counts from the first ordinal.
    partition = int_or_percent(rolling.get("partition"), 0, default=0, up=False) + min(wanted, default=0)
    unavailable = max(1, int_or_percent(rolling.get("maxUnavailable"), len(wanted), default=1, up=False))
    return RollingStatefulSet(wanted, partition, 0 if strategy.get("type") == _ON_DELETE else unavailable, parallel)


def _daemon_set(manifest: Content, new: Sequence[Content]) -> Strategy:
    wanted, strategy = sorted(map(target, new)), section(section(manifest, "spec"), "updateStrategy")
    if strategy.get("type") == _ON_DELETE:
        return RollingDaemonSet(wanted, 0, 0)
    rolling = section(strategy, "rollingUpdate")
    surge = int_or_percent(rolling.get("maxSurge"), len(wanted), default=0, up=True)
    unavailable = int_or_percent(rolling.get("maxUnavailable"), len(wanted), default=1, up=True)
    return RollingDaemonSet(wanted, surge, unavailable if surge or unavailable else 1)


_STRATEGIES = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    **dict.fromkeys(group_updates.KINDS, group_updates.strategy),
}
