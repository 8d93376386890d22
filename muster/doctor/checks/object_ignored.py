"""No custom resource has the kind, namespace and name of a built-in object."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.groups import TREE_KINDS
from kubeapi.versions.served_versions import resource
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.manifests import kubectl
from muster.doctor.world import IgnoredItem, World
from validators.migrate.moves import conflicts

MOVE = "muster migrate --cluster"


def check(world: World) -> Iterator[Result]:
    """Yield a result for each object that does not count."""
    if unread := sorted({resource(kind).resource for kind in TREE_KINDS} & world.unread):
        yield Unseen(f"the {' and '.join(unread)} of the API groups could not be read")
    for each in world.ignored:
        yield _finding(each)


def _finding(ignored: IgnoredItem) -> Result:
    item, used = ignored.item, ignored.used
    both = f"is ignored: it is of {item.group}, and {used.label} of {used.group} counts"
    fields = conflicts(item.content, used.content)
    if not fields:
        return warning(item, "", f"{both}. Finish the move, which deletes it", MOVE)
    name = f"{resource(item.kind, item.group).rbac_name}/{item.name}"
    # What it owns must not be deleted with it.
    command = kubectl(item.namespace, "delete", name, "--cascade=orphan")
    return warning(item, "", f"{both}. They differ in {', '.join(fields)}, so {MOVE} keeps it: delete it, or make them equal", command)


CHECK = Check(
    id="object-ignored",
    why="Webhooks and sidecar use the built-in object only, so changes of the custom resource have no effect.",
    examine=check,
)
