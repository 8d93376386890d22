"""``muster explain``: claim, reason, source and examples of a rule."""

from __future__ import annotations

import sys

import click

from muster import standard_output
from muster.commands import options

FORMATS = ("text", "json", "markdown")


@click.command(
    short_help="Explain a rule: its claim, reason, source and examples.", epilog="Example: muster explain podgroup.spec.disruptionMode"
)
@click.argument("subject", required=False, metavar="[RULE|KIND|FIELD]", shell_complete=options.complete_rule_or_kind)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Format of standard output.")
def explain(*, subject: str | None, form: str) -> None:
    """Explain a rule: its claim, reason and source, with a bad and a good example.

    With a kind, such as PodGroup, or a field, such as spec.disruptionMode or podgroup.spec.disruptionMode: all rules about
    it. Without an argument: a list of all rules; with --format markdown, the full page of rules.
    """
    from validators import rules
    from validators.reports import explain as documentation

    known = rules.discover()
    if subject is None:
        selected = list(known.values())
    elif subject in known:
        selected = [known[subject]]
    else:
        selected = documentation.about_kind(known.values(), subject) or documentation.about_field(known.values(), subject)
    if not selected:
        raise click.UsageError(
            f"there is no rule, kind or field {subject!r}{options.near(str(subject), known)}; 'muster explain' lists the rules"
        )
    if form == "json":
        text = documentation.as_json(selected)
    elif form == "markdown":
        text = documentation.documentation(selected) if subject is None else documentation.markdown(selected)
    else:
        known_width = standard_output.known_columns()
        wide = known_width or standard_output.WIDTH
        text = documentation.listing(selected, known_width) if subject is None else documentation.text(selected, wide)
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()
