"""``muster review``: recorded AdmissionReviews, answered offline by the code that the server runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muster.commands import options
from muster.commands.progress import Progress
from webhooks.enforcement import with_modes
from webhooks.knobs import Finalizers

if TYPE_CHECKING:
    from validators.lookup import Lookup
    from webhooks.enforcement import EnforcementPolicy

_STDIN, _STDIN_NAME = "-", "<stdin>"
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
    default="/validate",
    show_default=True,
    help="Endpoint for records without a path; /admit mutates and then validates.",
)
@click.option(
    "--enforcement",
    multiple=True,
    metavar="MODE|ID=MODE",
    shell_complete=options.complete_enforcement,
    help="deny, warn or audit, for all rules or for one (repeatable).",
)
@options.judging
@options.objects
@click.option(
    "--finalizers",
    type=click.Choice([each.value for each in Finalizers]),
    default=Finalizers.PODGROUP.value,
    show_default=True,
    help="Protection finalizers added on CREATE; use 'all' only if a controller removes those of CompositePodGroups.",
)
def review(
    *,
    paths: tuple[str, ...],
    endpoint: str,
    enforcement: tuple[str, ...],
    objects: tuple[str, ...],
    finalizers: str,
    **judging: Any,
) -> int:
    """Answer the AdmissionReviews in FILE (JSON, JSON Lines or YAML; - for standard input), one answer per line, in order.

    A record may also be {"review": AdmissionReview, "path": "/mutate", "objects": […], "gates": {…}}. Rules look other objects
    up in --objects, or in "objects" of the record, and treat all others as missing. Without both, nothing is known about other
    objects, and no rule refuses a missing one.

    Exit status: 0 all records were answered, 2 a record is not an AdmissionReview (its answer has file, line and reason), or the
    command line is wrong.
    """
    if not paths:
        raise click.UsageError("give at least one FILE of AdmissionReviews, or - for standard input")
    from webhooks.admission import records, replay

    settings = options.settings_of(**judging, linting=False)
    replay_options = replay.Options(settings, _lookup(objects), endpoint, Finalizers(finalizers), _policy(enforcement))
    status, progress = 0, Progress("review")
    for name, text in _texts(paths):
        found = [*records.records(text, yaml=name.lower().endswith(_YAML))]
        for record in progress.over(found, len(found), name):
            place = record.place(name)
            answer = replay.unreadable(f"{place}: {record.error}") if record.error else replay.answer(record.text, replay_options, place)
            # The line would be mixed with the answers on a terminal.
            progress.end()
            click.echo(answer.text)
            status = _BAD_RECORD if answer.bad else status
    progress.end()
    return status


def _policy(texts: Sequence[str]) -> EnforcementPolicy:
    from webhooks import knobs

    try:
        policy: EnforcementPolicy = knobs.ENFORCEMENT.read("\n".join(texts))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--enforcement") from None
    for name, _ in policy.rules:
        options.refuse_unknown_rule(name, "--enforcement")
    return policy


def _texts(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file."""
    for path in paths:
        try:
            yield (_STDIN_NAME, sys.stdin.buffer.read()) if path == _STDIN else (path, Path(path).read_bytes())
        except OSError as error:
            raise click.UsageError(f"cannot read {path}: {error.strerror}") from None


def _lookup(paths: Sequence[str]) -> Lookup:
    from validators import lookup

    if not paths:
        return lookup.NOTHING
    from muster.commands import known_objects

    return known_objects.objects(paths)
