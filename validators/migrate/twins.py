"""Objects that a migration would move to an API group in which the inputs already have an object of their kind, namespace and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeapi.decode import Json, plain
from kubeapi.versions.served_versions import WORKLOAD_GROUPS
from validators.migrate.migrate_object import Lost, group_of
from validators.migrate.object_changes import ObjectMigration
from validators.migrate.stored_objects import Name, name_of

_NAME = ("metadata", "name")


def settle(objects: Iterable[ObjectMigration]) -> None:
    """Remove moved objects that another one equals then; leave those that differ as they are, which is a loss."""
    moved: list[ObjectMigration] = []
    present: dict[tuple[str, Name], ObjectMigration] = {}
    for each in objects:
        before, after = (group_of(content.get("apiVersion")) for content in (each.content, each.migrated_content()))
        if after not in WORKLOAD_GROUPS or not each.subject.name or not isinstance(each.content.get("kind"), str):
            continue
        if before != after:
            moved.append(each)
        else:
            present.setdefault((after, name_of(each.content)), each)
    for each in moved:
        content = each.migrated_content()
        if (twin := present.get((group_of(content.get("apiVersion")), name_of(content)))) is not None:
            _settle(each, content, twin)


def _settle(moved: ObjectMigration, content: Mapping[str, Json], twin: ObjectMigration) -> None:
    spot, group = twin.spot(()), group_of(content.get("apiVersion"))
    place = f"{spot.file}:{spot.line}"
    is_same = _compared(content) == _compared(twin.migrated_content())
    moved.changes.clear()
    moved.lost.clear()
    moved.notes.clear()
    if is_same and moved.is_document:
        moved.is_removed = True
        moved.notes.append((_NAME, f"this object is left out: {place} has the same one in {group}"))
        return
    moved.lost.append(
        Lost(
            _NAME,
            f"the whole object: {content.get('kind')} {moved.subject.name} stays in {group_of(moved.content.get('apiVersion'))}",
            f"{place} has {'the same' if is_same else 'another'} object of this kind and name in {group}, and only one of them can be there",
            "remove this object" if is_same else "compare the two objects, and remove one of them",
        )
    )


def _compared(content: Mapping[str, Json]) -> Json:
    """Return what people write of an object, in any version of its API group."""
    metadata = {"namespace": name_of(content)[1], **{name: value for name, value in content["metadata"].items() if value}}
    written = {name: value for name, value in content.items() if name not in {"apiVersion", "status", "metadata"}}
    return plain({**written, "metadata": metadata})
