"""Rotation of CA and leaf as a state machine: the next step, and the changes that it makes.  Pure.

The state is in the Secret and the webhook configurations only, so that any process continues where another one stopped.  Between
two steps, every leaf that a replica can serve is trusted by every bundle::

    phase      Secret                                       step       change
    ---------  -------------------------------------------  ---------  --------------------------------------------------
    idle       no next-*                                    STAGE      next-tls.* added, ca.crt has old CA and new CA
    staged     next-tls.crt, next-tls.key                   TRUST      every caBundle gets all CAs of ca.crt
    staged     the same, all bundles trust them             SWITCH     tls.* become next-tls.*; next-tls.crt stays as a marker
    switched   next-tls.crt only                            OBSERVE    none: wait until every replica serves tls.crt
    switched   the same, all replicas serve tls.crt         DISTRUST   every caBundle has the CA of tls.crt only
    switched   the same, no bundle has another CA           FINISH     ca.crt has the CA of tls.crt only, marker removed

A key pair that is due or cannot be used leads to STAGE in every phase.  A caBundle without the CA of the leaf leads to TRUST.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping

from certs import CA_DAYS, LEAF_DAYS, inspection, issue, pem_bundle
from certs.pair import Authority, BadNameError, Names, names_of
from certs.store import CA, CA_KEY, CERTIFICATE, KEY

NEXT = "next-"
"""Prefix of the Secret's keys with the staged pair."""

Changes = Mapping[str, bytes | None]
"""Changes of the Secret's data by key; None removes the key."""


class RotationError(ValueError):
    """The certificate must not or cannot be rotated; the message is one line."""


class Step(enum.StrEnum):
    """Next step of a rotation."""

    STAGE = "stage"
    TRUST = "trust"
    SWITCH = "switch"
    OBSERVE = "observe"
    DISTRUST = "distrust"
    FINISH = "finish"
    DONE = "done"


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """Data of the Secret, caBundle of every webhook, and True if every replica was observed to serve the Secret's ``tls.crt``."""

    secret: Mapping[str, bytes]
    bundles: tuple[bytes, ...]
    served: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """Wanted certificate.

    Without *names* a new leaf has the names of the old one, or *default* if they cannot be read.  *force* renews a leaf that is not
    due, *ca* the CA and the leaf.
    """

    default: Names
    names: Names | None = None
    force: bool = False
    ca: bool = False
    days: int = LEAF_DAYS


def next_step(state: State, order: Order, now: dt.datetime) -> tuple[Step, tuple[str, ...]]:
    """Return the next step and the reasons for it.

    Raises:
        RotationError: the CA is not one of Muster's and its key is not known, so that only an order with *ca* may replace it.
    """
    secret = state.secret
    prefix = NEXT if NEXT + KEY in secret else ""
    if defects := _defects(secret, prefix, order, now):
        _demand_own_ca(secret, order)
        return Step.STAGE, defects
    if not all(pem_bundle.contains(each, required_trust(secret)) for each in state.bundles):
        return Step.TRUST, ("a caBundle lacks a CA of the Secret",)
    if prefix:
        return Step.SWITCH, ("every caBundle trusts the staged certificate",)
    if NEXT + CERTIFICATE in secret:
        return _after_switch(state)
    if order.force or order.ca:
        _demand_own_ca(secret, order)
        return Step.STAGE, ("a new certificate is requested",)
    return Step.DONE, ()


def _after_switch(state: State) -> tuple[Step, tuple[str, ...]]:
    if not state.served:
        return Step.OBSERVE, ("not every replica was observed to serve the certificate of the Secret",)
    own = {required_trust(state.secret)}
    if any(set(pem_bundle.certificates(each)) != own for each in state.bundles):
        return Step.DISTRUST, ("every replica serves the certificate of the Secret",)
    return Step.FINISH, ("every caBundle has only the CA of the certificate",)


def required_trust(secret: Mapping[str, bytes]) -> bytes:
    """Return the CAs that every caBundle must have: all of ``ca.crt`` while a pair is staged, else the one that signed the leaf."""
    if NEXT + KEY in secret:
        return pem_bundle.union(secret[CA])
    return pem_bundle.signer(secret[CERTIFICATE], secret[CA])


def stage(secret: Mapping[str, bytes], order: Order, now: dt.datetime) -> Changes:
    """Return the changes that add a new pair beside the current one, and its CA to the bundle.

    The kept CA signs if it is not due.  Otherwise there is a new CA, whose key is kept if the Secret has a ``ca.key``.

    Raises:
        RotationError: the kept CA cannot sign.
    """
    kept = None if order.ca else _kept_ca(secret, now)
    authority = kept or issue.authority(now, max(CA_DAYS, order.days))
    try:
        pair = issue.leaf(authority, _names(secret, order, now), now, order.days)
    except issue.IssueError as error:
        raise RotationError(f"{error}; --ca replaces the CA") from None
    return {
        CA: pem_bundle.union(secret.get(CA, b""), authority.certificate),
        NEXT + CERTIFICATE: pair.certificate,
        NEXT + KEY: pair.key,
        NEXT + CA_KEY: authority.key if CA_KEY in secret and not kept else None,
    }


def switch(secret: Mapping[str, bytes]) -> Changes:
    """Return the changes that make the staged pair the served one; its CA becomes the first of the bundle."""
    staged = secret[NEXT + CERTIFICATE]
    ca_key = {CA_KEY: secret[NEXT + CA_KEY]} if NEXT + CA_KEY in secret else {}
    return {
        CA: pem_bundle.union(pem_bundle.signer(staged, secret[CA]), secret[CA]),
        CERTIFICATE: staged,
        KEY: secret[NEXT + KEY],
        **ca_key,
        NEXT + KEY: None,
        NEXT + CA_KEY: None,
    }


def finish(secret: Mapping[str, bytes]) -> Changes:
    """Return the changes that remove the old CA and the marker of an unfinished rotation."""
    return {CA: required_trust(secret), NEXT + CERTIFICATE: None}


def _defects(secret: Mapping[str, bytes], prefix: str, order: Order, now: dt.datetime) -> tuple[str, ...]:
    """Return the reasons why the pair under *prefix* must be replaced."""
    certificate, key = prefix + CERTIFICATE, prefix + KEY
    if missing := [name for name in (CA, certificate, key) if not secret.get(name)]:
        return (f"the Secret lacks {', '.join(missing)}",)
    try:
        leaf = inspection.inspect(certificate, secret[certificate], now, key=secret[key], required=order.names)
        ca = pem_bundle.signer(secret[certificate], secret[CA])
    except inspection.UnreadableError as error:
        return (str(error),)
    if not ca:
        return (f"{certificate} is not signed by a CA of ca.crt",)
    reports = leaf, inspection.inspect(CA, ca, now)
    return tuple(f"{report.file}: {reason}" for report in reports for reason in report.due)


def _demand_own_ca(secret: Mapping[str, bytes], order: Order) -> None:
    if order.ca or CA_KEY in secret:
        return
    try:
        report = inspection.inspect(CERTIFICATE, secret.get(CERTIFICATE, b""), dt.datetime.fromtimestamp(0, dt.UTC))
    except inspection.UnreadableError:
        return
    if report.issuer != f"CN={issue.CA_NAME}":
        raise RotationError(
            f"{CERTIFICATE} was issued by {report.issuer}, not by Muster: renew it where it was issued, "
            "or replace that CA by `muster certs rotate --ca`"
        )


def _kept_ca(secret: Mapping[str, bytes], now: dt.datetime) -> Authority | None:
    """Return the CA whose key is in the Secret; None if there is none, it is due, or key and certificate do not match."""
    try:
        ca = pem_bundle.owner(secret.get(CA_KEY, b""), secret.get(CA, b""))
    except inspection.UnreadableError:
        return None
    return Authority(ca, secret[CA_KEY]) if ca and not inspection.inspect(CA, ca, now).due else None


def _names(secret: Mapping[str, bytes], order: Order, now: dt.datetime) -> Names:
    if order.names is not None:
        return order.names
    try:
        return names_of(inspection.inspect(CERTIFICATE, secret.get(CERTIFICATE, b""), now).names)
    except (inspection.UnreadableError, BadNameError):
        return order.default
