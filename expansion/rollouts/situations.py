"""Units of an object before its update: the pods that run, those that replace them, and what the controller does before that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from expansion.contents import Content, full_name, items
from expansion.rollouts.strategies import deletion_order
from expansion.rollouts.units import Actions, Key, Progress, Situation, Unit, created_at, is_ready, node_of
from kubeapi.decode import section

_COST = "controller.kubernetes.io/pod-deletion-cost"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
IsNew = Callable[[Content], bool]
"""Returns whether a running pod is as the new ones."""


def of_deployment(running: Sequence[Content], new: Sequence[Content], is_new: IsNew) -> Situation:
    """Return the units of a Deployment, which scales its only ReplicaSet to a new number of replicas before it replaces pods."""
    created = [Unit("/".join(full_name(each)), [each]) for each in new]
    units = [*_of_replica_sets(running)]
    current = [unit for unit, pod in zip(units, running, strict=True) if is_new(pod)][: len(new)]
    old = [each for each in units if each not in current]
    for unit, other in zip(current, created, strict=False):
        unit.key = other.key
    if current or not old or len({each.rank[:2] for each in old}) > 1:
        return Situation(old, created, current)
    last = deletion_order(Progress({each.key: each for each in old}))
    copies = [_copy(last[-1], each) for each in new[len(old) :]]
    surplus = [each.key for each in last[: max(0, len(old) - len(new))]]
    return Situation(old, created, (), copies, Actions(surplus, [each.key for each in copies]))


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


def _copy(unit: Unit, new: Content) -> Unit:
    """Return a unit of a further pod of the ReplicaSet of *unit*, with the name of a new pod and a suffix."""
    namespace, name = full_name(new)
    pod = _with_template(unit.pods[0], {**new, "metadata": {**section(new, "metadata"), "name": f"{name}-old"}})
    return Unit(f"{namespace}/{name}-old", [pod], rank=(*unit.rank[:3], float("-inf")))


def _with_template(old: Content, new: Content) -> Content:
    """Return a pod that is created from the template of the pod *old*, with the name of *new*."""
    spec = {key: value for key, value in section(old, "spec").items() if key not in ("nodeName", "hostname")}
    metadata = {key: value for key, value in section(old, "metadata").items() if key in ("labels", "annotations", "ownerReferences")}
    identity = {key: value for key, value in section(new, "metadata").items() if key in ("name", "namespace")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, **identity}, "spec": spec}


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
