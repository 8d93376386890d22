"""The caBundle of a webhook of another program has a certificate that is valid now, unless a public CA has signed that of its server."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Iterator

from certs import inspection, pem_bundle
from muster.doctor.entries import INJECTED, Entry, by_configuration, fields_of, set_command
from muster.doctor.finding import Check, Result, error, warning
from muster.doctor.foreign import concerns, names_of, show_command
from muster.doctor.manifests import mapping_at, text_at
from muster.doctor.world import World

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_PRIVATE = (".svc", ".cluster.local", ".local", ".internal", "localhost")
"""Ends of names that no public CA signs."""
SOON = dt.timedelta(days=14)
SOON_PART = 10
"""A certificate is late in the last tenth of its life, if that is less than SOON: programs that renew their CA do so before."""


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration whose webhooks fail, or will fail soon, because of caBundle."""
    failing = [each.entry for each in concerns(world) if each.entry.fails and each.is_certain]
    for listed in by_configuration(failing):
        reasons = {each.name: _defect(world, each) for each in listed}
        for reason in dict.fromkeys(filter(None, reasons.values())):
            same = [each for each in listed if reasons[each.name] == reason]
            invalid, text = reason
            message = f"{text}, for {names_of(same)}"
            command = _command(same) if invalid else show_command(same[0])
            yield (error if invalid else warning)(same[0].item, fields_of(same, "clientConfig.caBundle"), message, command)


def _defect(world: World, entry: Entry) -> tuple[bool, str] | None:
    """Return whether a webhook fails now because of its caBundle, and why; None if it does not and will not."""
    if not text_at(entry.content, "clientConfig", "caBundle"):
        # In files, a program writes the bundle later.
        if not world.live or not _needs_bundle(entry):
            return None
        return True, f"is missing, and no public CA signs certificates of {entry.host}"
    reports = [inspection.inspect("caBundle", each, world.now) for each in _certificates(entry.ca_bundle)]
    if not reports:
        return True, "has no PEM certificate that can be read"
    if any(each.not_before <= world.now < each.not_after - _notice(each) for each in reports):
        return None
    return _dated(reports, world.now)


def _dated(reports: list[inspection.Report], now: dt.datetime) -> tuple[bool, str]:
    last = max(each.not_after for each in reports)
    if now >= last:
        return True, f"its certificates are expired, the last one at {last:%Y-%m-%d %H:%M} UTC"
    if any(each.not_before <= now < each.not_after for each in reports):
        return False, f"its certificates expire, the last one at {last:%Y-%m-%d %H:%M} UTC"
    first = min(each.not_before for each in reports if each.not_after > now)
    return True, f"its certificates are not valid before {first:%Y-%m-%d %H:%M} UTC"


def _notice(report: inspection.Report) -> dt.timedelta:
    return min(SOON, (report.not_after - report.not_before) / SOON_PART)


def _certificates(bundle: bytes) -> Iterator[bytes]:
    """Yield the certificates of a bundle; those that cannot be read are skipped, as by the API server."""
    for block in _BLOCK.findall(bundle):
        yield from pem_bundle.certificates(block)


def _needs_bundle(entry: Entry) -> bool:
    """Return whether no public CA can have signed the certificate of the server."""
    if entry.service or entry.host.endswith(_PRIVATE) or "." not in entry.host:
        return True
    try:
        return not ipaddress.ip_address(entry.host).is_global
    except ValueError:
        return False


def _command(same: list[Entry]) -> str:
    if mapping_at(same[0].item.content, "metadata", "annotations").keys() & {*INJECTED}:
        return "cmctl check api && kubectl -n cert-manager logs deployment/cert-manager-cainjector"
    return set_command(same, {"failurePolicy": "Ignore"})


CHECK = Check(
    id="foreign-ca",
    why="The API server trusts no certificate of that server, so every request that the webhook matches is refused: failurePolicy is Fail.",
    examine=check,
)
