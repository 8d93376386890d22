"""LeaderWorkerSets, PodCliqueSets and RayServices: their pods as units of an update, and the strategy that the object declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.contents import Content, items
from expansion.rollouts.group_strategies import NewCluster, RollingCliques, RollingGroups, clique_key
from expansion.rollouts.strategies import Strategy, Unchanged
from expansion.rollouts.units import Actions, Key, Situation, Unit, created_at, created_spec, is_ready, node_of
from kubeapi.content import int_or_percent
from kubeapi.decode import section
from kubeapi.pods import group_in
from validators.model.rolling_updates import volcano_minimum

_GROUP_INDEX, _WORKER_INDEX = "leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index"
_REPLICA, _CLIQUE, _POD_INDEX = "grove.io/podcliqueset-replica-index", "grove.io/podclique", "grove.io/podclique-pod-index"
_SCALING_GROUP = "grove.io/podcliquescalinggroup"
_SCALING_REPLICA = f"{_SCALING_GROUP}-replica-index"
_CLUSTER, _GROUP, _RAY_CLUSTER = "cluster", "schedulingGroup", "ray.io/cluster"
_UPDATES_NOTHING = frozenset({"OnDelete", "None"})
"""Types of strategies with which the controllers replace nothing by themselves."""


def surge(manifest: Content, number: int) -> int:
    """Return how many groups beyond its *number* a LeaderWorkerSet has during an update; 0 for other kinds."""
    if manifest.get("kind") != "LeaderWorkerSet":
        return 0
    return min(number, int_or_percent(_rolling(manifest).get("maxSurge"), number, default=0, up=True))


def _rolling(manifest: Content) -> Mapping[str, Any]:
    return section(section(manifest, "spec"), "rolloutStrategy", "rollingUpdateConfiguration")


def _leader_worker_set(manifest: Content, wanted: Sequence[Key]) -> Strategy:
    if section(section(manifest, "spec"), "rolloutStrategy").get("type") in _UPDATES_NOTHING:
        return Unchanged()
    rolling, number = _rolling(manifest), len(wanted)
    beyond = surge(manifest, number)
    unavailable = min(number, int_or_percent(rolling.get("maxUnavailable"), number, default=1, up=False))
    partition = int_or_percent(rolling.get("partition"), 0, default=0, up=False)
    return RollingGroups(wanted, beyond, unavailable if beyond or unavailable else 1, partition)


def _ray_service(manifest: Content, wanted: Sequence[Key]) -> Strategy:
    kind = section(section(manifest, "spec"), "upgradeStrategy").get("type")
    return Unchanged() if kind in _UPDATES_NOTHING else NewCluster(wanted)


def _pod_clique_set(manifest: Content, wanted: Sequence[Key]) -> Strategy:
    spec = section(manifest, "spec")
    if section(spec, "updateStrategy").get("type") in _UPDATES_NOTHING:
        return Unchanged()
    template = section(spec, "template")
    least: dict[str, int] = {}
    for each in items(template, "cliques"):
        clique = section(each, "spec")
        number = int_or_percent(clique.get("replicas"), 0, default=1, up=False)
        least[str(each.get("name"))] = int_or_percent(clique.get("minAvailable"), 0, default=number, up=False)
    for each in items(template, "podCliqueScalingGroups"):
        least[str(each.get("name"))] = int_or_percent(each.get("minAvailable"), 0, default=1, up=False)
    return RollingCliques(wanted, least)


_STRATEGIES: Mapping[str, Callable[[Content, Sequence[Key]], Strategy]] = {
    "LeaderWorkerSet": _leader_worker_set,
    "PodCliqueSet": _pod_clique_set,
    "RayService": _ray_service,
}


def _units(pods: Iterable[Content], key: Callable[[Content], Key | None], *, running: bool) -> Iterator[Unit]:
    """Yield the pods with one key as a unit, in the order of the keys' first pods."""
    listed: dict[Key, list[Content]] = {}
    for each in pods:
        if (number := key(each)) is not None:
            listed.setdefault(number, []).append(each)
    for number, members in listed.items():
        rank = (min(map(created_at, members)),) if running else ()
        yield Unit(number, members, running and all(map(is_ready, members)), node_of(members[0]), rank)


def _groups(pods: Iterable[Content], *, running: bool = False) -> Iterator[Unit]:
    """Yield the groups of a LeaderWorkerSet: the workers are created when the leaders exist."""
    leaders_first = sorted(pods, key=lambda pod: _index(pod, _WORKER_INDEX) or 0)
    for each in sorted(_units(leaders_first, lambda pod: _index(pod, _GROUP_INDEX), running=running), key=lambda each: int(each.key)):
        each.leaders = 1
        yield each


def _clusters(pods: Iterable[Content], *, running: bool = False) -> Iterator[Unit]:
    """Yield the clusters of a RayService: several can run during an update."""
    return _units(pods, lambda pod: str(_label(pod, _RAY_CLUSTER) or _CLUSTER) if running else _CLUSTER, running=running)


def _cliques(pods: Iterable[Content], *, running: bool = False) -> Iterator[Unit]:
    for each in _units(pods, _clique_key, running=running):
        if _label(each.pods[0], _SCALING_GROUP):
            # Of a scaling group, not the oldest replica goes first but the one with the lowest index.
            each.rank = ()
        yield each


_UNITS: Mapping[str, Callable[..., Iterator[Unit]]] = {"LeaderWorkerSet": _groups, "PodCliqueSet": _cliques, "RayService": _clusters}
KINDS = _UNITS.keys()


def strategy(manifest: Content, new: Sequence[Content]) -> Strategy:
    """Return how the controllers replace the units of an object, which is to have the pods *new*."""
    kind = str(manifest["kind"])
    return _STRATEGIES[kind](manifest, [each.key for each in _UNITS[kind](new)])


def situation(
    manifest: Content, running: Sequence[Content], new: Sequence[Content], template: Callable[[Content], bytes] | None
) -> Situation:
    """Return the units of an object; those that run with the templates of the new unit of their key are kept, none without *template*."""
    read = _UNITS[str(manifest["kind"])]
    created, old, current = [*read(new)], list[Unit](), list[Unit]()
    wanted = {unit.key: {*map(template, unit.pods)} for unit in created} if template is not None else {}
    is_service = manifest["kind"] == "RayService"
    for unit in read(running, running=True):
        key = _CLUSTER if is_service else unit.key
        if template is not None and {*map(template, unit.pods)} <= wanted.get(key, set()):
            unit.key = key
            current.append(unit)
        else:
            old.append(unit)
    # The cluster that serves runs; one of an earlier update that was not finished is given up.
    given_up = [each.key for each in old if is_service and not each.ready and any(other.ready for other in old)]
    return Situation(old, created, current, [*_below_partition(manifest, created, old, current)], Actions(given_up))


def _below_partition(manifest: Content, created: Iterable[Unit], old: Sequence[Unit], current: Sequence[Unit]) -> Iterator[Unit]:
    """Yield the further groups of a LeaderWorkerSet that are created below its partition: as old ones."""
    present = {each.key for each in (*old, *current)}
    partition = int_or_percent(_rolling(manifest).get("partition"), 0, default=0, up=False)
    for each in created if old and manifest["kind"] == "LeaderWorkerSet" else ():
        if each.key not in present and isinstance(each.key, int) and each.key < partition:
            pods = zip(old[0].pods, each.pods, strict=False)
            yield Unit(each.key, [{**new, "spec": created_spec(like)} for like, new in pods], leaders=each.leaders)


def _clique_key(pod: Content) -> Key | None:
    labels = section(section(pod, "metadata"), "labels")
    replica, group = _index(pod, _REPLICA), labels.get(_SCALING_GROUP)
    number = _index(pod, _SCALING_REPLICA if group else _POD_INDEX)
    if replica is None or number is None:
        return None
    # Both are the name of the PodCliqueSet, the replica, and the name in its template.
    owner = f"{labels.get('app.kubernetes.io/part-of')}-{replica}-"
    return clique_key(replica, str(group or labels.get(_CLIQUE)).removeprefix(owner), number)


def _index(pod: Content, label: str) -> int | None:
    written = section(section(pod, "metadata"), "labels").get(label)
    is_number = isinstance(written, str) and written.isascii() and written.isdecimal() and len(written) <= len(str(2**31))
    return int(written) if isinstance(written, str) and is_number else None


def has_gang_of_volcano(manifest: Content) -> bool:
    """Return whether Volcano makes a gang of the pods of an object, into which it writes the name of the group."""
    annotations, template = section(manifest, "metadata", "annotations"), section(manifest, "spec", "template")
    return volcano_minimum(str(manifest.get("kind")), annotations, template) > 1


def joined_to_groups(manifest: Content, old: Sequence[Content], new: Sequence[Content]) -> list[Content]:
    """Return the *old* pods as members of the groups of the *new* ones, if an update keeps the groups.

    Those of a PodCliqueSet stay, and those that Volcano makes for a StatefulSet or a DaemonSet.  A Deployment has one for each revision.
    """
    kind, label = manifest.get("kind"), _CLIQUE
    if kind in {"StatefulSet", "DaemonSet"} and has_gang_of_volcano(manifest):
        label = ""
    elif kind != "PodCliqueSet":
        return [*old]
    groups = {_label(each, label): group_in(each) for each in new}
    return [_with_group(each, groups.get(_label(each, label))) for each in old]


def grouped_as(manifest: Content, old: Sequence[Content], new: Iterable[Content]) -> list[Content]:
    """Return the *new* pods of a LeaderWorkerSet without groups if the *old* ones have none: gang scheduling is off in its controller.

    A group that a template names is kept.
    """
    templates = section(section(manifest, "spec"), "leaderWorkerTemplate")
    named = any(group_in(templates.get(each)) for each in ("leaderTemplate", "workerTemplate"))
    if manifest.get("kind") != "LeaderWorkerSet" or named or any(map(group_in, old)):
        return [*new]
    if any(section(each, "spec").get("schedulerName") == "volcano" for each in old):
        return [*new]
    return [{**each, "spec": {key: value for key, value in section(each, "spec").items() if key != _GROUP}} for each in new]


def _label(pod: Content, label: str) -> object:
    return section(pod, "metadata", "labels").get(label)


def _with_group(pod: Content, group: str | None) -> Content:
    return {**pod, "spec": {**section(pod, "spec"), _GROUP: {"podGroupName": group}}} if group else pod
