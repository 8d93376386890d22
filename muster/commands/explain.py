"""``muster explain``: what a rule claims, why, where it comes from, and examples."""

from __future__ import annotations

import sys

import click

from muster.commands import options

FORMATS = ("text", "json", "markdown")


@click.command(
    short_help="Tell what a rule claims, why, and with what examples.", epilog="Example: muster explain podgroup.spec.disruptionMode"
)
@click.argument("subject", required=False, metavar="[RULE|FIELD]", shell_complete=options.complete_rule)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What is written to standard output.")
def explain(*, subject: str | None, form: str) -> None:
    """Tell what a rule claims, why, where it comes from, with a bad and a good example.

    With a field, as spec.disruptionMode or podgroup.spec.disruptionMode, all rules that tell of it; without an argument
    a list of all rules (in Markdown: the whole documentation).
    """
    from validators import rules
    from validators.reports import explain as told

    known = rules.discover()
    if subject is None:
        chosen = list(known.values())
    elif subject in known:
        chosen = [known[subject]]
    else:
        chosen = told.about_field(known.values(), subject)
    if not chosen:
        raise click.UsageError(
            f"there is no rule or field {subject!r}{options.near(str(subject), known)}; 'muster explain' lists the rules"
        )
    if form == "json":
        text = told.as_json(chosen)
    elif form == "markdown":
        text = told.documentation(chosen) if subject is None else told.markdown(chosen)
    else:
        text = told.listing(chosen) if subject is None else told.text(chosen)
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()
