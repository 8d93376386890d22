"""Report of a migration, as text and as JSON (version 1; keys are added, never changed or removed)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from validators.migrate.change import Add, Change, Reform, Remove, Rename, Replace, Unwrap
from validators.migrate.outcome import File, Made, Migration, Spot, dotted
from validators.reports.escape import json_text, printable

VERSION = 1


def as_text(migration: Migration, written: Collection[str] = ()) -> str:
    """Return errors, losses and notes, then one line for each changed file, then a summary."""
    lines: list[str] = []
    for refused in migration.refused:
        kind = "refused" if refused.spot.subject is not None else "unreadable"
        lines.append(f"{_at(refused.spot)} {kind}: {_about(refused.spot)}{printable(refused.message)}")
    for loss in migration.losses:
        lines.append(f"{_at(loss.spot)} lost: {_about(loss.spot)}{printable(loss.lost)}")
        lines.append(f"    what it meant: {printable(loss.meant)}")
        lines.append(f"    what to do: {printable(loss.remedy)}")
    lines += (f"{_at(note.spot)} note: {_about(note.spot)}{printable(note.message)}" for note in migration.notes)
    lines += (_of_file(migration, file) for file in migration.files if file.changed)
    lines.append(_summary(migration, written))
    return "\n".join(lines) + "\n"


def as_json(migration: Migration, written: Collection[str] = ()) -> str:
    """Return one indented JSON document.  *written* are the names of the files that were written in place."""
    content = {
        "version": VERSION,
        "files": [{"file": each.name, "changed": each.changed, "written": each.name in written} for each in migration.files],
        "migrated": [
            {**_spot(each.spot), "to": each.to, "changes": [_change(change) for change in each.changes]} for each in migration.migrated
        ],
        "made": [_created_as_json(each) for each in migration.made],
        "losses": [{**_spot(each.spot), "lost": each.lost, "meant": each.meant, "remedy": each.remedy} for each in migration.losses],
        "notes": [{**_spot(each.spot), "message": each.message} for each in migration.notes],
        "refused": [{**_spot(each.spot), "message": each.message} for each in migration.refused],
        "summary": {
            "files": len(migration.files),
            "changed": sum(each.changed for each in migration.files),
            "written": len(written),
            "documents": migration.documents,
            "migrated": len(migration.migrated),
            "made": len(migration.made),
            "losses": len(migration.losses),
            "notes": len(migration.notes),
            "refused": len(migration.refused),
        },
    }
    return json_text(content, indent=2)


def _at(spot: Spot) -> str:
    return f"{printable(spot.file)}:{spot.line}:{spot.column}:"


def _about(spot: Spot) -> str:
    about = f"{printable(str(spot.subject))}: " if spot.subject is not None else ""
    return f"{about}{printable(spot.field)}: " if spot.field else about


def _of_file(migration: Migration, file: File) -> str:
    changed = sum(each.spot.file == file.name for each in migration.migrated)
    made = [each.subject.name for each in migration.made if each.spot.file == file.name]
    added = f", {_count(len(made), 'PodGroup')} created: {', '.join(made)}" if made else ""
    return f"{printable(file.name)}: {_count(changed, 'object')} changed{printable(added)}"


def _summary(migration: Migration, written: Collection[str]) -> str:
    changed, made = f"{len(migration.migrated)} of {_count(migration.documents, 'object')}", _count(len(migration.made), "PodGroup")
    lost = _count(len(migration.losses), "loss", "losses")
    if migration.refused:
        return f"{len(migration.refused)} refused, and nothing is written; {changed} to be changed; {made} to be created; {lost}"
    files = f"{sum(each.changed for each in migration.files)} of {_count(len(migration.files), 'file')}"
    text = f"{changed} changed, in {files}; {made} created; {lost}"
    return f"{text}; {_count(len(written), 'file')} written" if written else text


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def _spot(spot: Spot) -> dict[str, object]:
    subject = spot.subject
    return {
        "file": spot.file,
        "line": spot.line,
        "column": spot.column,
        "document": None
        if subject is None
        else {"apiVersion": subject.api_version, "kind": subject.kind, "namespace": subject.namespace, "name": subject.name},
        "field": spot.field,
    }


def _created_as_json(made: Made) -> dict[str, object]:
    return {
        "file": made.spot.file,
        "apiVersion": made.subject.api_version,
        "kind": made.subject.kind,
        "namespace": made.subject.namespace,
        "name": made.subject.name,
        "workload": made.workload,
        "template": made.template,
        "replicaKey": made.replica_key,
        "references": made.references,
    }


def _change(change: Change) -> dict[str, object]:
    return {"field": dotted(change.path), **dict(_result(change))}


def _result(change: Change) -> Iterator[tuple[str, object]]:
    """Yield the key and value that describe a change."""
    if isinstance(change, Rename):
        yield "name", change.to
    elif isinstance(change, Replace):
        yield "value", change.value
    elif isinstance(change, Reform):
        yield "value", {change.to: change.value}
    elif isinstance(change, Remove):
        yield "removed", True
    elif isinstance(change, Unwrap):
        yield "replacedBy", change.member
    elif isinstance(change, Add):
        yield "added", {change.name: change.value}
