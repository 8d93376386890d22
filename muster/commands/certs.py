"""``muster certs``: issue and inspect the webhook's serving certificate."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certs import CA_DAYS, LEAF_DAYS
from muster import extras

if TYPE_CHECKING:
    from certs import inspection, pair

DUE, UNREADABLE = 1, 2
ISSUE_EXAMPLE = """\b
Example:
  muster certs issue --out certs --name muster-webhook.muster-system.svc --name 127.0.0.1
"""
INSPECT_EXAMPLE = """\b
Example:
  muster certs inspect certs --name muster-webhook.muster-system.svc
"""


@click.group("certs", help="Issue or inspect the webhook's serving certificate.")
def command() -> None:
    """Group of ``issue`` and ``inspect``."""


@command.command("issue", epilog=ISSUE_EXAMPLE)
@click.option("--out", "out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Directory to write to.")
@click.option("--name", "names", required=True, multiple=True, metavar="NAME", help="DNS name or IP address (repeatable).")
@click.option("--ca", "ca", metavar="DIR", type=click.Path(path_type=Path), help="Sign with ca.crt and ca.key of DIR.")
@click.option(
    "--days", default=LEAF_DAYS, show_default=True, type=click.IntRange(1, 3650), help="Validity of the serving certificate, in days."
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--keep-ca-key", is_flag=True, help="Also write ca.key, to sign further certificates.")
def issue_command(*, out: Path, names: tuple[str, ...], ca: Path | None, days: int, force: bool, keep_ca_key: bool) -> None:
    """Issue a CA and a serving certificate: ca.crt, tls.crt and tls.key."""
    extras.require("webhooks")
    from certs import inspection, issue, pair, store

    existing = store.present(out)
    if existing and not force:
        raise click.UsageError(f"{out} already has {', '.join(existing)}: give --force to replace them")
    now = dt.datetime.now(dt.UTC)
    try:
        authority = store.read_authority(ca) if ca else issue.authority(now, max(CA_DAYS, days))
        issued = issue.leaf(authority, pair.names_of(names), now, days)
        store.write(out, issued, authority.key if keep_ca_key else None)
        report = inspection.inspect(str(out / store.CERTIFICATE), issued.certificate, now)
    except (pair.BadNameError, issue.IssueError, store.StoreError) as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{out}: {', '.join(store.present(out))}")
    click.echo(f"names: {', '.join(report.names)}")
    click.echo(f"expires: {report.not_after:%Y-%m-%d %H:%M:%S} UTC; renew after {report.renew_after:%Y-%m-%d}")
    if not keep_ca_key and not ca:
        click.echo("the CA's key was discarded: it cannot sign further certificates (--keep-ca-key writes it)")


@command.command("inspect", epilog=INSPECT_EXAMPLE)
@click.argument("paths", nargs=-1, required=True, metavar="DIR|FILE...")
@click.option("--name", "names", multiple=True, metavar="NAME", help="Name for which the certificate must be valid (repeatable).")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of the output.")
def inspect_command(paths: tuple[str, ...], *, names: tuple[str, ...], form: str) -> None:
    """Show certificates, whether key and CA match, and whether renewal is due.

    Exit status: 0 no renewal is due, 1 one certificate must be renewed (it is expired or in the last third of its validity, a
    name is missing, or its key or CA does not match), 2 one cannot be read.
    """
    extras.require("webhooks")
    from certs import inspection, pair, store

    now = dt.datetime.now(dt.UTC)
    try:
        required = pair.names_of(names) if names else None
        reports = [report for path in paths for report in _look(Path(path), now, required)]
    except (pair.BadNameError, inspection.UnreadableError, store.StoreError) as error:
        raise click.UsageError(str(error)) from None
    if form == "json":
        click.echo(json.dumps({"version": 1, "certificates": [_as_json(each) for each in reports]}, indent=1))
    else:
        for report in reports:
            click.echo(_as_text(report))
    click.get_current_context().exit(DUE if any(report.due for report in reports) else 0)


def _look(path: Path, now: dt.datetime, required: pair.Names | None) -> list[inspection.Report]:
    from certs import inspection, store

    if not path.is_dir():
        return [inspection.inspect(str(path), store.read(path), now, required=required)]
    key = store.read(path / store.KEY)
    ca = store.read(path / store.CA) if (path / store.CA).exists() else None
    leaf = path / store.CERTIFICATE
    reports = [inspection.inspect(str(leaf), store.read(leaf), now, key=key, ca=ca, required=required)]
    if ca is not None:
        reports.append(inspection.inspect(str(path / store.CA), ca, now))
    return reports


def _as_json(report: inspection.Report) -> dict[str, object]:
    wire = {"is_ca": "isCA", "not_before": "notBefore", "not_after": "notAfter", "renew_after": "renewAfter"}
    wire |= {"key_matches": "keyMatches", "chain_holds": "chainHolds"}
    fields = dataclasses.asdict(report)
    return {wire.get(name, name): _plain(value) for name, value in fields.items()}


def _plain(value: object) -> object:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, dt.datetime) else value


def _as_text(report: inspection.Report) -> str:
    answers = {True: "yes", False: "no", None: "not checked"}
    lines = [
        f"{report.file}: {'CA' if report.is_ca else 'leaf'} {report.subject}, issued by {report.issuer}",
        f"  names: {', '.join(report.names) or 'none'}",
        f"  valid: {report.not_before:%Y-%m-%d %H:%M:%S} to {report.not_after:%Y-%m-%d %H:%M:%S} UTC",
        f"  key matches: {answers[report.key_matches]}; signed by ca.crt: {answers[report.chain_holds]}",
        *(f"  due: {reason}" for reason in report.due),
    ]
    return "\n".join(lines)
