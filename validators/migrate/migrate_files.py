"""Files in, migrated files and a report out; the same for the same files, in whatever order they come."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from validators.lint.documents import Document, Manifest, Unreadable
from validators.lint.finding import Subject, file_order
from validators.migrate import gather, manifest
from validators.migrate.held import Held
from validators.migrate.outcome import File, Made, Migration, Refused, Spot


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """One file: where it is, its bytes, and what was read in them."""

    path: str
    content: bytes = dataclasses.field(repr=False)
    manifest: Manifest


def run(inputs: Iterable[Input], to: str) -> Migration:
    """Migrates the objects of retired versions in *inputs*, and the pods that name a group by ``workloadRef``.

    *to* is the version of Workloads and PodGroups: one of ``served.WORKLOAD_VERSIONS``.  Pods find their Workload in whichever file
    it is.
    """
    ordered = sorted(inputs, key=lambda each: file_order(each.manifest.file))
    by_file = [[Held(part, to) for part in each.manifest.parts if isinstance(part, Document)] for each in ordered]
    held = [each for found in by_file for each in found]
    refused = [*_unreadable(ordered), *gather.join(held, to)]
    refused += (fault for each in held for fault in each.refused())
    barred = {each.spot.file for each in refused}
    files = []
    for each, found in zip(ordered, by_file, strict=True):
        file = File(each.manifest.file, each.path, each.content, each.content)
        try:
            files.append(file if file.name in barred else dataclasses.replace(file, after=manifest.migrated(file, found, to)))
        except manifest.Unfit as error:
            files.append(file)
            refused.append(error.refused)
    return Migration(
        files=tuple(files),
        documents=len(held),
        migrated=tuple(done for each in held if (done := each.migrated()) is not None),
        made=tuple(sorted(_made(held), key=lambda each: (each.spot.order, each.subject.name))),
        losses=tuple(sorted((loss for each in held for loss in each.losses()), key=lambda each: each.spot.order)),
        notes=tuple(sorted((note for each in held for note in each.located_notes()), key=lambda each: each.spot.order)),
        refused=tuple(sorted(refused, key=lambda each: (each.spot.order, each.message))),
    )


def _unreadable(inputs: Sequence[Input]) -> Iterator[Refused]:
    for each in inputs:
        for part in each.manifest.parts:
            if isinstance(part, Unreadable):
                yield Refused(Spot(part.file, part.line, part.column), part.message)


def _made(held: Iterable[Held]) -> Iterator[Made]:
    for each in held:
        for group in each.made:
            content = group.content or {}
            subject = Subject(content["apiVersion"], "PodGroup", group.key[0], group.name)
            yield Made(each.spot(("apiVersion",)), subject, *group.key[1:], len(group.uses))
