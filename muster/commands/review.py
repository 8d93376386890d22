"""``muster review``: recorded AdmissionReviews, answered offline by the code that the server runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from muster.commands import options
from muster.commands.progress import Progress
from webhooks.admission_options import ENFORCEMENT, FINALIZERS, Finalizers
from webhooks.enforcement import EnforcementPolicy, with_modes

if TYPE_CHECKING:
    from validators.object_lookup import Lookup
    from webhooks.admission.records import Record

_YAML = (".yaml", ".yml")
_BAD_RECORD = 2


@click.command(
    short_help="Answer recorded AdmissionReviews offline.",
    epilog="Example: muster review reviews.jsonl --path /admit --objects cluster.yaml",
)
@click.argument("paths", nargs=-1, metavar="[FILE…|-]")
@click.option(
    "--path",
    "endpoint",
    type=click.Choice(with_modes("/validate", "/mutate", "/admit")),
    metavar="/validate|/mutate|/admit[/deny|/warn|/audit]",
    default="/validate",
    show_default=True,
    help="Endpoint for records without a path; /admit mutates and then validates.",
)
@options.click_option(ENFORCEMENT, default=ENFORCEMENT.default, complete=options.complete_enforcement)
@options.judging
@options.objects
@options.click_option(FINALIZERS, default=FINALIZERS.default)
def review(
    *,
    paths: tuple[str, ...],
    endpoint: str,
    enforcement: EnforcementPolicy,
    objects: tuple[str, ...],
    finalizers: Finalizers,
    **judging: Any,
) -> int:
    """Answer the AdmissionReviews in FILE (JSON, JSON Lines or YAML; - for standard input), one answer per line, in order.

    A record may also be {"review": AdmissionReview, "path": "/mutate", "objects": […], "gates": {…}}. Rules look other objects
    up in --objects, or in "objects" of the record, and treat all others as missing. Without both, nothing is known about other
    objects, and no rule refuses a missing one.

    A FILE has at most 256 MiB, and a record at most 64 MiB, as have a list and a YAML file.

    Exit status: 0 all records were answered, 2 a record is not an AdmissionReview or a FILE cannot be read (the answer in its place
    has file, line and reason), there is no record, or the command line is wrong.
    """
    if not paths:
        raise click.UsageError("give at least one FILE of AdmissionReviews, or - for standard input")
    from validators.lint import files
    from validators.reports.escape import json_escapes
    from webhooks.admission import replay

    for name, _ in enforcement.rules:
        options.refuse_unknown_rule(name, ENFORCEMENT.flag)
    settings = options.settings_of(**judging, linting=False)
    replay_options = replay.Options(settings, _lookup(objects), endpoint, finalizers, enforcement)
    status, answered, progress = 0, 0, Progress("review")
    for path in paths:
        name = files.display_name(path)
        for record in _records(path, progress):
            place = record.place(name)
            answer = replay.unreadable(f"{place}: {record.error}") if record.error else replay.answer(record.text, replay_options, place)
            # The line would be mixed with the answers on a terminal.
            progress.end()
            click.echo(json_escapes(answer.text.decode()))
            status, answered = _BAD_RECORD if answer.bad else status, answered + 1
    progress.end()
    if not answered:
        raise click.UsageError(f"there is no AdmissionReview in {', '.join(map(files.display_name, paths))}")
    return status


def _records(path: str, progress: Progress) -> Iterator[Record]:
    """Yield the records of a file, and show on which of its lines they are; one with the error if it cannot be read."""
    from validators.lint import file_content, files
    from webhooks.admission import records

    try:
        text = file_content.read_given(path, sys.stdin.buffer, records.LARGEST_TEXT + 1)
    except OSError as error:
        yield records.Record(b"", 1, error=f"cannot be read: {(error.strerror or str(error)).lower()}")
        return
    name, lines = files.display_name(path), text.count(b"\n") + 1
    for record in records.records(text, yaml=path.lower().endswith(_YAML)):
        progress.part(name, record.line, lines)
        yield record


def _lookup(paths: Sequence[str]) -> Lookup:
    from validators import object_lookup

    if not paths:
        return object_lookup.NOTHING
    from muster.commands import known_objects

    return known_objects.objects(paths)
