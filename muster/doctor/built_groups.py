"""Groups of mode build: the objects that ask for them, what became of each, and the pods that wait for a group."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubeapi.groups import TREE_KINDS
from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import SCHEDULING
from muster.doctor.components import SIDECAR, Component, components
from muster.doctor.entries import entries
from muster.doctor.manifests import kubectl, text_at
from muster.doctor.world import ApiServer, Item, World
from workloadbuilder.adapters.built_kinds import KINDS, LABEL, UNKNOWN, WAITING
from workloadbuilder.adapters.shared.known_objects import group_of

if TYPE_CHECKING:
    from scheduler_core.causes.built_groups import NotBuilt
    from scheduler_core.sidecar.building.group_plan import Target
    from scheduler_core.sidecar.building.owned_objects import Objects

BUILD = "build"
"""Mode of the sidecar; also the value of the label that asks for groups."""
JOIN = "muster-join"
"""Name of the webhook configuration, or the MutatingAdmissionPolicy, by which pods join their groups."""
OTHER_POD_GROUPS = ("scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2alpha2", "scheduling.x-k8s.io/v1alpha1")
"""API versions of the PodGroups of Volcano, KAI and scheduler-plugins."""
PATIENCE = dt.timedelta(minutes=1)
"""Age from which on an object should have its groups, and a pod its group."""
BUILT, MISSING = "built", "missing"


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Object that asks for groups.

    Attributes:
        result: BUILT, MISSING, or the NotBuiltReason.
        why: the reason for no groups; None if they should exist.
        missing: names of groups that do not exist, as ``Kind name``.

    """

    item: Item
    result: str
    why: NotBuilt | None = None
    missing: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Awaiting:
    """Pod that waits for its group, since the time *since*, and the object to which it belongs; None if that is not known."""

    item: Item
    since: str
    root: Item | None


def builders(world: World) -> list[Component]:
    """Return the sidecars with the mode build."""
    return [each for each in components(world, SIDECAR) if BUILD in each.modes and each.replicas]


def pods_join(world: World) -> bool:
    """Return whether a webhook or policy lets pods join their groups."""
    return any(each.path.startswith("/join") for each in entries(world)) or world.named("MutatingAdmissionPolicy", "", JOIN) is not None


def labelled_namespaces(world: World) -> Iterator[tuple[Item, str]]:
    """Yield the namespaces with the label that asks for groups, and its value, without those that are being deleted."""
    for each in world.of_kind("Namespace"):
        is_deleted = bool(text_at(each.content, "metadata", "deletionTimestamp"))
        if (value := each.labels.get(LABEL)) is not None and not is_deleted:
            yield each, value


def asked_for(world: World) -> Iterator[Asked]:
    """Yield the objects that ask for groups; those whose owner asks for them are left out.

    In files, groups are not missing.
    """
    # Imported here because it needs the libraries of the sidecar.
    from scheduler_core.causes.built_groups import NotBuiltReason
    from scheduler_core.sidecar.building.group_plan import plan_groups

    objects, target = _known(world), _target(world)
    for _, item in _items(world):
        plan = plan_groups(item.content, objects, target)
        if plan.why is not None:
            if plan.why.why not in (NotBuiltReason.NOT_ASKED, NotBuiltReason.OWNED):
                yield Asked(item, plan.why.why.value, plan.why)
            continue
        there = {(each["kind"], each["metadata"]["name"]) for each in objects.owned_by(text_at(item.content, "metadata", "uid"))}
        wanted = [(str(each["kind"]), str(each["metadata"]["name"])) for each in plan.wanted]
        missing = tuple(f"{each} {name}" for each, name in wanted if (each, name) not in there) if world.live else ()
        yield Asked(item, MISSING if missing else BUILT, missing=missing)


def counts(world: World) -> Mapping[tuple[str, str, str], int]:
    """Return the number of objects that ask for groups by namespace, kind and result."""
    found = Counter((each.item.namespace, each.item.kind, each.result) for each in asked_for(world))
    return dict(sorted(found.items()))


def awaiting(world: World) -> Iterator[Awaiting]:
    """Yield the pods that have waited for their group for longer than PATIENCE."""
    from scheduler_core.sidecar.building.waiting_pods import root_of

    objects = _known(world)
    by_identity = {id(each.content): each for _, each in _items(world)}
    for each in world.of_kind("Pod"):
        ended = text_at(each.content, "status", "phase") in ("Succeeded", "Failed")
        if each.labels.get(WAITING) == UNKNOWN and not ended and is_settled(world, each):
            root = root_of(each.content, objects)
            yield Awaiting(each, text_at(each.content, "metadata", "creationTimestamp"), by_identity.get(id(root)))


def is_settled(world: World, item: Item) -> bool:
    """Return whether an object is older than PATIENCE; one of unknown age is."""
    try:
        return world.now - dt.datetime.fromisoformat(text_at(item.content, "metadata", "creationTimestamp")) >= PATIENCE
    except (ValueError, TypeError):
        return True


def exclude_command(item: Item) -> str:
    """Return the command by which an object asks for no groups any more."""
    resource = next((f"{each.plural}.{each.group}" for each in KINDS if each.kind == item.kind and _is_of(item, each.group)), item.kind)
    return kubectl(item.namespace, "label", "--overwrite", resource, item.name, f"{LABEL}=none")


def _is_of(item: Item, group: str) -> bool:
    return group_of(text_at(item.content, "apiVersion")) == group


def _items(world: World) -> list[tuple[tuple[str, str], Item]]:
    """Return the objects of built kinds, each with API group and kind."""
    return [
        ((kind.group, kind.kind), each)
        for kind in KINDS
        if not kind.only_read
        for each in world.of_kind(kind.kind)
        if _is_of(each, kind.group)
    ]


def _known(world: World) -> Objects:
    """Return the objects that mode build watches."""
    from scheduler_core.sidecar.building.owned_objects import Objects

    objects = Objects(lambda *_: None)
    for kind in (each for each in KINDS if each.only_read):
        objects.set_all((kind.group, kind.kind), (each.content for each in world.of_kind(kind.kind) if _is_of(each, kind.group)))
    for name, item in _items(world):
        objects.add_or_update(name, item.content)
    for level in (*TREE_KINDS, "Namespace"):
        for item in world.of_kind(level):
            objects.add_or_update((group_of(text_at(item.content, "apiVersion")), level), item.content)
    return objects


def _target(world: World) -> Target:
    """Return what the sidecar creates: in the API group that serves all kinds, the built-in one first."""
    from kubeapi.pods import DEFAULT_SCHEDULER
    from scheduler_core.sidecar.building.group_plan import Target

    server = world.api_server or ApiServer()
    groups = [{each.group: each for each in server.served(level)} for level in TREE_KINDS]
    first = next((group for group in groups[0] if all(group in each for each in groups)), next(iter(groups[0])))
    names = {each.option("--scheduler-name", "muster") for each in builders(world)} or {"muster"}
    minor = min(max(server.minor or kubernetes_releases.TODAY, kubernetes_releases.OLDEST), kubernetes_releases.NEWEST)
    # Names and labels are the same in all versions.
    version = next(each for each in groups[0][first].api_versions if served_versions.find(each, TREE_KINDS[0]) is not None)
    with_built_in = world.live and SCHEDULING in groups[0]
    return Target(version, minor, frozenset({"", DEFAULT_SCHEDULER, *names}), with_built_in=with_built_in)
