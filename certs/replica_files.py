"""Key pair of the Secret as files for the processes of one replica, and the trust of the API server in it.

Edge: files, and a clock.  A version of the files is a directory, and the link ``current`` is renamed to the next one, so that a reader never
sees certificate and key of two pairs.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from apiserver import regular_files
from certs import inspection, issue, pem_bundle, store
from certs.pair import Names, Pair
from certs.store import CA, CERTIFICATE, KEY
from certs.webhook_configurations import Reading

CURRENT = "current"
STATUS = "status.json"
PLACEHOLDER_DAYS = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """Last reading of the cluster.

    Attributes:
        published: monotonic time in seconds at which the files first had a pair of the Secret; None before.
        trust: CAs that the caBundle of every webhook has, PEM; None if there are no webhooks.
        clock_offset: time of the API server minus that of this machine, in seconds, rounded to minutes.

    """

    published: float | None
    trust: str | None
    clock_offset: float


class Published:
    """Files in *directory*, which must exist."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._content: tuple[bytes, ...] = ()
        self._status: Status | None = None
        self._version = ""

    @property
    def files(self) -> tuple[str, str]:
        """Return the paths of certificate and key."""
        return str(self._directory / CURRENT / CERTIFICATE), str(self._directory / CURRENT / KEY)

    def write_placeholder(self, names: Names, now: dt.datetime) -> None:
        """Write a pair that nobody trusts, so that the server can start.  Raises StoreError."""
        self._write(issue.leaf(issue.authority(now, PLACEHOLDER_DAYS), names, now, PLACEHOLDER_DAYS))

    def update(self, reading: Reading, here: dt.datetime) -> str:
        """Write what *reading* has changed; *here* is the time of this machine.

        Returns the reason why the Secret has no pair that can be served; the files stay as they are then.  Raises StoreError.
        """
        published = self._status.published if self._status is not None else None
        content = tuple(reading.secret.get(name, b"") for name in (CA, CERTIFICATE, KEY))
        trust = _common_trust(reading)
        reason = unusable(reading.secret, here) or self._loss_of_trust(reading.secret, trust)
        if not reason and content != self._content:
            self._write(Pair(*content))
            self._content = content
        # To the minute: the status is not written again for each second by which two requests differ.
        offset = round((reading.now - here).total_seconds() / 60) * 60 if reading.now is not None else 0
        if published is None and not reason:
            published = time.monotonic()
        status = Status(published, trust, offset)
        if status != self._status:
            store.replace(self._directory / STATUS, json.dumps(dataclasses.asdict(status)).encode(), store.PRIVATE)
            self._status = status
        return reason

    def _loss_of_trust(self, secret: Mapping[str, bytes], trust: str | None) -> str:
        """Return the reason why the pair of *secret* must not replace the files yet: webhooks trust these, and not that pair.

        So a pair that somebody else writes into the Secret is served once its CA is in every caBundle.
        """
        if not self._content or trust is None or secret[CERTIFICATE] == self._content[1]:
            return ""
        cas = trust.encode()
        if pem_bundle.signer(secret[CERTIFICATE], cas) or not pem_bundle.signer(self._content[1], cas):
            return ""
        return "not every caBundle has the CA of the new serving certificate; the old one is served"

    def _write(self, pair: Pair) -> None:
        version = hashlib.sha256(pair.ca + b"\0" + pair.certificate).hexdigest()
        store.write(self._directory / version, pair)
        link = self._directory / f"{CURRENT}.new"
        try:
            link.unlink(missing_ok=True)
            link.symlink_to(version)
            link.replace(self._directory / CURRENT)
        except OSError as error:
            raise store.StoreError(f"cannot write to {self._directory}: {error.strerror or error}") from None
        # A reader may still open files of the version before.
        for each in self._directory.iterdir():
            if each.is_dir() and not each.is_symlink() and each.name not in (version, self._version):
                shutil.rmtree(each, ignore_errors=True)
        self._version = version


def read_status(directory: Path) -> Status | None:
    """Return the status in *directory*; None before the first reading of the cluster."""
    try:
        return Status(**json.loads(regular_files.read(directory / STATUS)))
    except FileNotFoundError:
        return None


def untrusted(leaf: bytes, status: Status | None, here: dt.datetime, load_seconds: float) -> str:
    """Return the reason why the API server does not trust what this replica serves; empty if it does, or if no webhook exists.

    *leaf* is that of this process.  All processes have loaded the files *load_seconds* after they were written.  *here* is the time
    of this machine.
    """
    if status is None:
        return "the Secret with the serving certificate has not been read yet"
    if status.published is None:
        return "the Secret has no serving certificate yet"
    if time.monotonic() - status.published < load_seconds:
        return "not all processes of this replica have loaded the serving certificate yet"
    if status.trust is None:
        return ""
    if not (ca := pem_bundle.signer(leaf, status.trust.encode())):
        return "not every caBundle has the CA of the serving certificate"
    now = here + dt.timedelta(seconds=status.clock_offset)
    end = inspection.inspect(CA, ca, now).not_after
    return f"the CA of the serving certificate expired at {end:%Y-%m-%d %H:%M:%S} UTC" if end <= now else ""


def unusable(secret: Mapping[str, bytes], now: dt.datetime) -> str:
    """Return the reason why the pair of *secret* cannot be served; empty if it can, even if it has expired."""
    if missing := [name for name in (CA, CERTIFICATE, KEY) if not secret.get(name)]:
        return f"the Secret lacks {', '.join(missing)}"
    try:
        report = inspection.inspect(CERTIFICATE, secret[CERTIFICATE], now, key=secret[KEY])
    except inspection.UnreadableError as error:
        return str(error)
    return "" if report.key_matches else "the private key does not match the certificate"


def _common_trust(reading: Reading) -> str | None:
    bundles = reading.state.bundles
    if not bundles:
        return None
    common = set.intersection(*(set(pem_bundle.certificates(each)) for each in bundles))
    return b"".join(each for each in pem_bundle.certificates(bundles[0]) if each in common).decode()
