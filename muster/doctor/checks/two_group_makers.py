"""The groups of an object are created by one program: mode build, its controller, or that of another scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.built_groups import exclude_command
from muster.doctor.finding import Check, Result, error
from muster.doctor.manifests import kubectl, labels_at, text_at
from muster.doctor.world import Item, World
from workloadbuilder.adapters.built_kinds import controller_of, kind_of
from workloadbuilder.adapters.group_objects import MANAGED_BY
from workloadbuilder.adapters.shared.known_objects import group_of


def check(world: World) -> Iterator[Result]:
    """Yield a result for each Workload of mode build whose object has the groups of another program too."""
    above = {text_at(each.content, "metadata", "uid"): each for each in world.items if kind_of(each.content) is not None}
    others: dict[str, Item] = {}
    for each in world.of_kind("Workload", "PodGroup"):
        if not _is_ours(each):
            for uid in _owners(each, above):
                others.setdefault(uid, each)
    for workload in world.of_kind("Workload"):
        owner = controller_of(workload.content)
        if owner is None or not _is_ours(workload) or (other := others.get(owner.uid)) is None:
            continue
        item = above.get(owner.uid, workload)
        kind = f"{other.kind} of {group_of(text_at(other.content, 'apiVersion'))}"
        message = f"has groups of mode build, with {workload.label}, and of another program: the {kind} {other.name}"
        delete = kubectl(workload.namespace, "delete", "workload", workload.name)
        yield error(item, "", message, exclude_command(item) if item is not workload else delete)


def _owners(item: Item, above: dict[str, Item]) -> Iterator[str]:
    """Yield the uids of the controller of an object, of the controller's, and so on."""
    seen: set[str] = set()
    current: Item | None = item
    while current is not None and (owner := controller_of(current.content)) is not None and owner.uid not in seen:
        seen.add(owner.uid)
        yield owner.uid
        current = above.get(owner.uid)


def _is_ours(item: Item) -> bool:
    key, value = MANAGED_BY
    return labels_at(item.content, "metadata", "labels").get(key) == value


CHECK = Check(
    id="two-group-makers",
    why="A pod can be in one group only: those of the other one wait for members that never join.",
    examine=check,
)
