"""Inspection of certificate and key files, and the reasons why a leaf is due for renewal.

Edge: cryptography.  The time is an argument.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import serialization

from certs.pair import Names

RENEW_IN_LAST = 3
"""Renewal is due in the last third of a certificate's life, which leaves time for two failed attempts."""


class UnreadableError(ValueError):
    """Content that is not a PEM certificate or key."""


class DueBy(enum.Enum):
    """Property of a certificate for which it is due for renewal."""

    DATES = enum.auto()
    KEY = enum.auto()
    CA = enum.auto()
    NAMES = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class DueReason:
    """Reason why a certificate is due for renewal."""

    by: DueBy
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Fields of one certificate, and the reasons why it is due for renewal; no reasons if it is not due."""

    file: str
    subject: str
    issuer: str
    is_ca: bool
    names: tuple[str, ...]
    not_before: dt.datetime
    not_after: dt.datetime
    renew_after: dt.datetime
    serial: str
    key_matches: bool | None
    """True if the given private key belongs to the certificate; None if no key was given."""
    chain_holds: bool | None
    """True if the given CA signed the certificate; None if no CA was given."""
    due: tuple[DueReason, ...]


def inspect(
    file: str,
    certificate: bytes,
    now: dt.datetime,
    *,
    key: bytes | None = None,
    ca: bytes | None = None,
    required: Names | None = None,
) -> Report:
    """Return the report on the first certificate of a PEM text.

    Raises:
        UnreadableError: *certificate*, *key* or *ca* is not PEM.
    """
    parsed = _certificate(file, certificate)
    names = _names(parsed)
    lifetime = parsed.not_valid_after_utc - parsed.not_valid_before_utc
    report = Report(
        file=file,
        subject=parsed.subject.rfc4514_string(),
        issuer=parsed.issuer.rfc4514_string(),
        is_ca=_is_ca(parsed),
        names=tuple(map(str, [*names.dns, *names.addresses])),
        not_before=parsed.not_valid_before_utc,
        not_after=parsed.not_valid_after_utc,
        renew_after=parsed.not_valid_after_utc - lifetime / RENEW_IN_LAST,
        serial=f"{parsed.serial_number:x}",
        key_matches=None if key is None else _public_key(file, key) == _encoded(parsed.public_key()),
        chain_holds=None if ca is None else _signed_by(parsed, _certificate(file, ca)),
        due=(),
    )
    return dataclasses.replace(report, due=_due(report, now, names, required))


def _due(report: Report, now: dt.datetime, names: Names, required: Names | None) -> tuple[DueReason, ...]:
    reasons = []
    if now >= report.not_after:
        reasons.append(DueReason(DueBy.DATES, f"expired at {_formatted(report.not_after)}"))
    elif now >= report.renew_after:
        reasons.append(DueReason(DueBy.DATES, f"in the last third of its life, which ends at {_formatted(report.not_after)}"))
    if now < report.not_before:
        reasons.append(DueReason(DueBy.DATES, f"not valid before {_formatted(report.not_before)}"))
    if report.key_matches is False:
        reasons.append(DueReason(DueBy.KEY, "the private key does not match the certificate"))
    if report.chain_holds is False:
        reasons.append(DueReason(DueBy.CA, "the certificate is not signed by the given CA"))
    if required is not None and not report.is_ca:
        covered = (
            *((each, _covers(names, each)) for each in required.dns),
            *((each, each in names.addresses) for each in required.addresses),
        )
        reasons += [DueReason(DueBy.NAMES, f"does not name {name}") for name, is_covered in covered if not is_covered]
    return tuple(reasons)


def _covers(names: Names, required: str) -> bool:
    _, _, parent = required.partition(".")
    return required in names.dns or f"*.{parent}" in names.dns


def _names(certificate: x509.Certificate) -> Names:
    try:
        sans = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Names((), ())
    addresses = list(sans.get_values_for_type(x509.IPAddress))
    hosts = tuple(each for each in addresses if not hasattr(each, "prefixlen"))
    return Names(tuple(sans.get_values_for_type(x509.DNSName)), hosts)


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _signed_by(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, exceptions.InvalidSignature):
        return False
    return _is_ca(ca)


def _certificate(file: str, content: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(content)
    except ValueError:
        raise UnreadableError(f"{file} does not hold a PEM certificate") from None


def _public_key(file: str, content: bytes) -> bytes:
    try:
        return _encoded(serialization.load_pem_private_key(content, password=None).public_key())
    except (ValueError, TypeError):
        raise UnreadableError(f"the private key of {file} must be an unencrypted PEM private key") from None


def _encoded(key: object) -> bytes:
    encoded: bytes = key.public_bytes(  # type: ignore[attr-defined] # every public key of a certificate has it
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _formatted(moment: dt.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
