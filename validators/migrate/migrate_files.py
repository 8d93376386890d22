"""Migration of files.  The result does not depend on the order of the files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from validators.lint.documents import Document, Manifest, Unreadable
from validators.lint.finding import Subject, file_order
from validators.migrate import gather, manifest
from validators.migrate.object_changes import ObjectMigration
from validators.migrate.outcome import File, Made, Migration, Refused, Spot


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """Input file: path, bytes, and parsed content."""

    path: str
    content: bytes = dataclasses.field(repr=False)
    manifest: Manifest


def run(inputs: Iterable[Input], to: str) -> Migration:
    """Migrate objects of retired versions in *inputs*, and pods that name a group by ``workloadRef``.

    *to* is the version of Workloads and PodGroups, one of ``served_versions.WORKLOAD_VERSIONS``; or the ``apiVersion`` of an API group, to
    which objects of other API groups are moved, and pods name their groups as pods of that API group do.  The Workload of a pod may be
    in any of the files.
    """
    ordered = sorted(inputs, key=lambda each: file_order(each.manifest.file))
    by_file = [[ObjectMigration(part, to) for part in each.manifest.parts if isinstance(part, Document)] for each in ordered]
    objects = [each for members in by_file for each in members]
    refused = [*_unreadable(ordered), *gather.add_changes(objects, to)]
    refused += (error for each in objects for error in each.refused())
    refused_files = {each.spot.file for each in refused}
    files = []
    for each, members in zip(ordered, by_file, strict=True):
        file = File(each.manifest.file, each.path, each.content, each.content)
        try:
            files.append(file if file.name in refused_files else dataclasses.replace(file, after=manifest.migrated(file, members, to)))
        except manifest.CannotMigrate as error:
            files.append(file)
            refused.append(error.refused)
    return Migration(
        files=tuple(files),
        documents=len(objects),
        migrated=tuple(changed for each in objects if (changed := each.migrated()) is not None),
        made=tuple(sorted(_created(objects), key=lambda each: (each.spot.order, each.subject.name))),
        losses=tuple(sorted((loss for each in objects for loss in each.losses()), key=lambda each: each.spot.order)),
        notes=tuple(sorted((note for each in objects for note in each.located_notes()), key=lambda each: each.spot.order)),
        refused=tuple(sorted(refused, key=lambda each: (each.spot.order, each.message))),
    )


def _unreadable(inputs: Sequence[Input]) -> Iterator[Refused]:
    for each in inputs:
        for part in each.manifest.parts:
            if isinstance(part, Unreadable):
                yield Refused(Spot(part.file, part.line, part.column), part.message)


def _created(objects: Iterable[ObjectMigration]) -> Iterator[Made]:
    for each in objects:
        for group in each.made:
            content = group.content or {}
            subject = Subject(content["apiVersion"], "PodGroup", group.key[0], group.name)
            yield Made(each.spot(("apiVersion",)), subject, *group.key[1:], len(group.uses))
