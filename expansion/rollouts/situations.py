"""Units of an object before its update: the pods that run, those that replace them, and what the controller does before that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.contents import Content, full_name, items
from expansion.rollouts.strategies import deletion_order
from expansion.rollouts.units import Actions, Key, Progress, Situation, Unit, created_at, created_spec, is_ready, node_of
from kubeapi.base_structs import Record
from kubeapi.decode import section

_DESIRED, _MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
NOTED = (_DESIRED, _MOST)
"""Annotations of ReplicaSets: the number of replicas of the Deployment, and that with its surge, when it was last scaled."""
_DIGITS = 10
_COST = "controller.kubernetes.io/pod-deletion-cost"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
IsNew = Callable[[Content], bool]
"""Returns whether a running pod is as the new ones."""


class ScaledSets(Record, frozen=True):
    """Numbers by which a Deployment's controller scales its ReplicaSets, before it replaces pods.

    Attributes:
        number: the replicas of the Deployment.
        surge: how many more there can be; None without a rolling update.
        sets: the ReplicaSets, as far as they are known.
        is_paused: whether the Deployment is paused, when it scales at once.

    """

    number: int
    surge: int | None
    sets: Sequence[Content] = ()
    is_paused: bool = False

    def sizes(self, pods: Mapping[str, int], ages: Mapping[str, float]) -> dict[str, int]:
        """Return the new sizes of the ReplicaSets that have *pods*; *ages* are the times of their creation.

        The only one gets all replicas; several share them by proportion (``scale`` in ``sync.go``).
        """
        if len(pods) == 1:
            return dict.fromkeys(pods, self.number)
        noted = {full_name(each)[1]: section(section(each, "metadata"), "annotations") for each in self.sets}
        desired = (_noted(noted.get(name), _DESIRED) for name in pods)
        is_scaled = any(each not in (None, self.number) for each in desired)
        total = sum(pods.values())
        more = self.number + (self.surge or 0) - total
        if self.surge is None or not (is_scaled or self.is_paused) or not more:
            return {**pods}
        newest_first = -1 if more > 0 else 1
        order = sorted(pods, key=lambda each: (-pods[each], newest_first * ages[each]))
        sizes, added = {**pods}, 0
        for each in order:
            before = _noted(noted.get(each), _MOST) or total
            share = math.floor(pods[each] * (self.number + self.surge) / before + 0.5) - pods[each]
            share = min(share, more - added) if more > 0 else max(share, more - added)
            sizes[each], added = pods[each] + share, added + share
        sizes[order[0]] = max(0, sizes[order[0]] + more - added)
        return sizes


def _noted(annotations: Mapping[str, Any] | None, key: str) -> int | None:
    """Return a number that the controller has noted in a ReplicaSet."""
    written = (annotations or {}).get(key)
    return int(written) if isinstance(written, str) and written.isascii() and written.isdecimal() and len(written) <= _DIGITS else None


def of_deployment(running: Sequence[Content], new: Sequence[Content], is_new: IsNew, scaled: ScaledSets) -> Situation:
    """Return the units of a Deployment, which scales its ReplicaSets to a new number of replicas before it replaces pods."""
    created = [Unit("/".join(full_name(each)), [each]) for each in new]
    units = [*_of_replica_sets(running)]
    ordered = deletion_order(Progress(dict(enumerate(units))))
    current = [each for each in ordered if is_new(each.pods[0])][-len(new) :]
    old = [each for each in units if each not in current]
    for unit, other in zip(current, created, strict=False):
        unit.key = other.key
    if not old:
        return Situation(old, created, current)
    members: dict[str, list[Unit]] = {}
    for each in ordered:
        members.setdefault(str(each.rank[1]), []).append(each)
    ages = {name: float(each[0].rank[0]) for name, each in members.items()}
    sizes = scaled.sizes({name: len(each) for name, each in members.items()}, ages)
    unused, copies = [each.key for each in created[len(current) :]], list[Unit]()
    gone, added = list[Key](), list[Key]()
    for name, several in members.items():
        more = sizes[name] - len(several)
        gone += [each.key for each in several[: max(0, -more)]]
        if any(each in current for each in several):
            added += unused[: max(0, more)]
        else:
            copies += [_copy(several[-1], new, number) for number in range(len(copies), len(copies) + more)]
    return Situation(old, created, current, copies, Actions(gone, [*added, *(each.key for each in copies)]))


def of_stateful_set(running: Sequence[Content], new: Sequence[Content], is_new: IsNew, kept: int) -> Situation:
    """Return the units of a StatefulSet, which creates missing pods as old ones if their ordinal is lower than *kept*."""
    created, units = [*_by_ordinal(new)], [*_by_ordinal(running)]
    wanted = {each.key for each in created}
    current = [each for each in units if each.key in wanted and is_new(each.pods[0])]
    old = [each for each in units if each not in current]
    there = {each.key for each in units}
    copies = [
        Unit(each.key, [_with_template(old[0].pods[0], each.pods[0])])
        for each in created
        if old and each.key not in there and isinstance(each.key, int) and each.key < kept
    ]
    return Situation(old, created, current, copies)


def of_daemon_set(running: Sequence[Content], new: Sequence[Content], is_new: IsNew, *, surges: bool) -> Situation:
    """Return the units of a DaemonSet, which first deletes surplus pods: of each node all but the oldest, if it surges all but the oldest old and new."""
    old, current, surplus = dict[Key, Unit](), dict[Key, Unit](), list[Unit]()
    for pod in sorted(running, key=lambda each: (not node_of(each), created_at(each), full_name(each))):
        node = node_of(pod) or target(pod)
        mine, others = (current, old) if is_new(pod) else (old, current)
        if node in mine or (node in others and not surges):
            surplus.append(Unit("/".join(full_name(pod)), [pod], is_ready(pod), node_of(pod)))
        else:
            mine[node] = Unit(node, [pod], is_ready(pod), node_of(pod))
    created = [Unit(target(each), [each]) for each in new]
    wanted = {each.key for each in created}
    unwanted = [current.pop(key) for key in [*current] if key not in wanted and key not in old]
    first = Actions([each.key for each in surplus])
    return Situation([*old.values(), *unwanted, *surplus], created, [*current.values()], first=first)


def _copy(unit: Unit, new: Sequence[Content], number: int) -> Unit:
    """Return a unit of the further pod *number* of the ReplicaSet of *unit*, with the name of one of the pods *new* and a suffix."""
    place, like = divmod(number, len(new))
    namespace, name = full_name(new[-1 - like])
    renamed = f"{name}-old{place or ''}"
    pod = _with_template(unit.pods[0], {**new[0], "metadata": {**section(new[0], "metadata"), "name": renamed}})
    return Unit(f"{namespace}/{renamed}", [pod], rank=(*unit.rank[:3], float("-inf")))


def _with_template(old: Content, new: Content) -> Content:
    """Return a pod that is created from the template of the pod *old*, with the name of *new*."""
    metadata = {key: value for key, value in section(old, "metadata").items() if key in ("labels", "annotations", "ownerReferences")}
    identity = {key: value for key, value in section(new, "metadata").items() if key in ("name", "namespace")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, **identity}, "spec": created_spec(old)}


def _of_replica_sets(pods: Sequence[Content]) -> Iterator[Unit]:
    """Yield a unit for each pod, ranked by the creation of its ReplicaSet."""
    ages: dict[str, float] = {}
    for pod in pods:
        owner = _replica_set(pod)
        ages[owner] = min(ages.get(owner, created_at(pod)), created_at(pod))
    for pod in pods:
        rank = (ages[_replica_set(pod)], _replica_set(pod), _cost(pod), -created_at(pod))
        yield Unit("/".join(full_name(pod)), [pod], is_ready(pod), node_of(pod), rank)


def _replica_set(pod: Content) -> str:
    return next(
        (str(each.get("name")) for each in items(section(pod, "metadata"), "ownerReferences") if each.get("controller") is True), ""
    )


def _cost(pod: Content) -> int:
    written = section(section(pod, "metadata"), "annotations").get(_COST)
    return int(written) if isinstance(written, str) and written.removeprefix("-").isdecimal() and len(written) <= len(str(2**31)) + 1 else 0


def ordinals(pods: Iterable[Content]) -> list[int]:
    """Return the ordinals of pods of a StatefulSet, the lowest first."""
    return sorted(_numbered(pods))


def _numbered(pods: Iterable[Content]) -> dict[int, Content]:
    found: dict[int, Content] = {}
    for pod in pods:
        number = full_name(pod)[1].rpartition("-")[2]
        if number.isascii() and number.isdecimal() and len(number) <= len(str(2**31)):
            found[int(number)] = pod
    return found


def _by_ordinal(pods: Iterable[Content]) -> Iterator[Unit]:
    for key, pod in sorted(_numbered(pods).items()):
        yield Unit(key, [pod], is_ready(pod), node_of(pod))


def target(pod: Content) -> str:
    """Return the node to which the affinity of a DaemonSet's pod binds it."""
    required = section(pod, "spec", "affinity", "nodeAffinity", _REQUIRED)
    fields = (field for term in items(required, "nodeSelectorTerms") for field in items(term, "matchFields"))
    return next((str(each["values"][0]) for each in fields if each.get("key") == "metadata.name" and each.get("values")), "")
