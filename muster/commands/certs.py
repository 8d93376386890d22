"""``muster certs``: issue, inspect and rotate the webhook's serving certificate."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certs import CA_DAYS, LEAF_DAYS
from muster import extras
from muster.commands import options

if TYPE_CHECKING:
    from certs import inspection, pair, rotation_run

DUE, UNREADABLE = 1, 2
FIELD_MANAGER = "muster-certs"
ISSUE_EXAMPLE = """\b
Example:
  muster certs issue --out certs --name muster-webhook.muster-system.svc --name 127.0.0.1
"""
INSPECT_EXAMPLE = """\b
Example:
  muster certs inspect certs --name muster-webhook.muster-system.svc
"""
ROTATE_EXAMPLE = """\b
Example:
  muster certs rotate --dry-run
  muster certs rotate
"""
SETTLE_SECONDS, TIMEOUT_SECONDS = 10.0, 300.0
"""Longer than the period in which servers read their files (2 s); longer than a kubelet needs to update a Secret's files (2 min)."""


@click.group("certs", help="Issue, inspect or rotate the webhook's serving certificate.")
def command() -> None:
    """Group of ``issue``, ``inspect`` and ``rotate``."""


@command.command("issue", epilog=ISSUE_EXAMPLE)
@click.option("--out", "out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Directory to write to.")
@click.option("--name", "names", required=True, multiple=True, metavar="NAME", help="DNS name or IP address (repeatable).")
@click.option("--ca", "ca", metavar="DIR", type=click.Path(path_type=Path), help="Sign with ca.crt and ca.key of DIR.")
@click.option("--days", default=LEAF_DAYS, show_default=True, type=click.IntRange(1, 3650), help="Validity of the certificate, in days.")
@click.option("--client", is_flag=True, help="Issue a client certificate, with which an API server calls a server with --client-ca.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--keep-ca-key", is_flag=True, help="Also write ca.key, to sign further certificates.")
def issue_command(*, out: Path, names: tuple[str, ...], ca: Path | None, days: int, client: bool, force: bool, keep_ca_key: bool) -> None:
    """Issue a CA and a serving certificate: ca.crt, tls.crt and tls.key."""
    extras.require("webhooks")
    from certs import inspection, issue, pair, store

    existing = store.present(out)
    if existing and not force:
        raise click.UsageError(f"{out} already has {', '.join(existing)}: give --force to replace them")
    now = dt.datetime.now(dt.UTC)
    try:
        authority = store.read_authority(ca) if ca else issue.authority(now, max(CA_DAYS, days))
        issued = issue.leaf(authority, pair.names_of(names), now, days, client=client)
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
        reports = [report for path in paths for report in _inspected(Path(path), now, required)]
    except (pair.BadNameError, inspection.UnreadableError, store.StoreError) as error:
        raise click.UsageError(str(error)) from None
    if form == "json":
        click.echo(json.dumps({"version": 1, "certificates": [_as_json(each) for each in reports]}, indent=1))
    else:
        for report in reports:
            click.echo(_as_text(report))
    click.get_current_context().exit(DUE if any(report.due for report in reports) else 0)


def _inspected(path: Path, now: dt.datetime, required: pair.Names | None) -> list[inspection.Report]:
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
    fields = {**dataclasses.asdict(report), "due": [each.text for each in report.due]}
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


@command.command("rotate", epilog=ROTATE_EXAMPLE, context_settings={"max_content_width": 120})
@click.option("--namespace", default="muster-system", show_default=True, help="Namespace of the Secret and of the Service.")
@click.option("--secret", default="muster-webhook-tls", show_default=True, help="Secret with ca.crt, tls.crt, tls.key and possibly ca.key.")
@click.option("--service", default="muster-webhook", show_default=True, help="Service of the webhooks, whose endpoints are observed.")
@click.option(
    "--configuration",
    "configurations",
    multiple=True,
    default=("muster", "muster-pods", "muster-join"),
    show_default=True,
    metavar="NAME",
    help="Validating and mutating webhook configurations, all webhooks of which get the CA (repeatable).",
)
@click.option(
    "--replica", "replicas", multiple=True, metavar="HOST:PORT", help="Replica to observe, instead of the endpoints (repeatable)."
)
@click.option("--name", "names", multiple=True, metavar="NAME", help="Name of the new certificate (repeatable).  [default: as before]")
@click.option("--days", default=LEAF_DAYS, show_default=True, type=click.IntRange(1, 3650), help="Validity of the certificate, in days.")
@click.option("--force", is_flag=True, help="Renew the certificate although it is not due.")
@click.option("--ca", is_flag=True, help="Renew the CA and the certificate, although they are not due.")
@click.option("--dry-run", is_flag=True, help="Print the next step and the reasons for it; nothing is written.")
@click.option(
    "--settle",
    default=SETTLE_SECONDS,
    show_default=True,
    type=click.FloatRange(0, 600),
    metavar="SECONDS",
    help="Time for API servers to read a new caBundle, and for all processes of a replica to load a new certificate.",
)
@click.option(
    "--timeout",
    default=TIMEOUT_SECONDS,
    show_default=True,
    type=click.FloatRange(0, 3600),
    metavar="SECONDS",
    help="Longest wait for the replicas.",
)
@options.click_option(options.KUBECONFIG)
@options.click_option(options.CONTEXT)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of the output.")
def rotate_command(**given: Any) -> None:
    """Renew the certificate on a live cluster if it is due, without a failed review.

    It is due in the last third of its validity, or if it cannot be used. The old and the new CA are both trusted until every replica
    serves the new certificate. A run that was interrupted is continued by the next one.

    Exit status: 0 the certificate is not due, or was renewed; 1 it is due: with --dry-run, or because not every replica served the new
    certificate in time; 2 the cluster cannot be read or written, or the certificate is not Muster's to renew.
    """
    extras.require("webhooks")
    from certs import rotation_steps

    steps: list[dict[str, str]] = []

    def report(step: str, text: str) -> None:
        steps.append({"step": step, "text": text})
        if given["form"] == "text":
            click.echo(f"{step}: {text}")

    try:
        due = _rotate(_rotation(given, report), report, dry_run=given["dry_run"])
    except rotation_steps.RotationError as error:
        raise click.UsageError(str(error)) from None
    if given["form"] == "json":
        click.echo(json.dumps({"version": 1, "due": due, "steps": steps}, indent=1))
    click.get_current_context().exit(DUE if due else 0)


def _rotate(process: rotation_run.Rotation, report: rotation_run.Report, *, dry_run: bool) -> bool:
    """Make the rotation, or report its next step; return True if the certificate is still due."""
    from certs.rotation_steps import Step

    if not dry_run:
        if not process.run():
            return True
        report(Step.DONE, "the certificate is not due")
        return False
    step, reasons = process.preview()
    report(step, "; ".join(reasons) or "the certificate is not due")
    return step is not Step.DONE


def _rotation(given: Mapping[str, Any], report: rotation_run.Report) -> rotation_run.Rotation:
    """Return the rotation of the installation that the options describe.  Raises click.UsageError."""
    from apiserver.api import Api
    from apiserver.connect import ConnectError, find_connection
    from certs import pair, rotation_run, rotation_steps
    from certs.forwarded_replicas import connect_through
    from certs.webhook_configurations import Cluster, Place

    _demand_names(given)
    try:
        names = pair.names_of(given["names"]) if given["names"] else None
        default = pair.names_of((f"{given['service']}.{given['namespace']}.svc",))
        api = Api(find_connection(given["kubeconfig"], given["context"]), FIELD_MANAGER)
    except pair.BadNameError as error:
        raise click.UsageError(str(error)) from None
    except ConnectError as error:
        raise click.UsageError(f"there is no cluster to rotate the certificate of: {error}; give --kubeconfig or --context") from None
    cluster = Cluster(api, Place(given["namespace"], given["secret"], given["service"], given["configurations"]))
    order = rotation_steps.Order(default, names, given["force"], given["ca"], given["days"])
    addresses = (lambda: given["replicas"]) if given["replicas"] else cluster.replicas
    timing = rotation_run.Timing(given["settle"], given["timeout"])
    return rotation_run.Rotation(cluster, addresses, order, timing, report, connect_through(api, cluster))


def _demand_names(given: Mapping[str, Any]) -> None:
    """Refuse names of objects and replicas that cannot exist; names of objects become parts of URLs."""
    from kubeapi import content

    for option in ("namespace", "secret", "service", "configurations"):
        for each in [given[option]] if isinstance(given[option], str) else given[option]:
            if complaints := content.subdomain(each):
                raise click.UsageError(f"--{option.removesuffix('s')} {each!r}: {complaints[0]}")
    options.demand_replicas(given["replicas"])
