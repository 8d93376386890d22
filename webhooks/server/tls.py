"""The serving key pair, from files that are replaced while the server runs.

Edge: ssl and cryptography.  A pair is taken only when both files belong together and stay as they are while they are
read; until then the last good pair serves on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import ssl
from pathlib import Path

from cryptography import x509

LARGEST = 1024 * 1024
"""Bytes of a certificate or key file; more is no key pair."""


class PairError(ValueError):
    """A key pair that cannot serve: a file is unreadable, half written, or the two do not belong together."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A key pair that was found good: its context, and when leaf and CA expire (seconds since the epoch)."""

    context: ssl.SSLContext
    leaf_expires: float
    ca_expires: float | None
    digest: bytes


def load(cert: str, key: str) -> Pair:
    """Read the pair, ready to serve.

    Raises:
        PairError: with one line that says what is wrong with which file.
    """
    chain, secret = _read(cert), _read(key)
    certificates = _certificates(cert, chain)
    context = _context(cert, key)
    # OpenSSL reads the files by itself: only if they are still the same is the context made of what was looked at.
    if (_read(cert), _read(key)) != (chain, secret):
        raise PairError(f"{cert} and {key} change while they are read")
    ca = certificates[-1] if len(certificates) > 1 else _beside(cert)
    return Pair(
        context,
        _expiry(certificates[0]),
        None if ca is None else _expiry(ca),
        hashlib.sha256(chain + b"\0" + secret).digest(),
    )


class LivePair:
    """The pair that serves now.  One thread refreshes; any may read ``pair``, which is replaced whole."""

    def __init__(self, cert: str, key: str, poll_seconds: float) -> None:
        """Load the first pair.  Raises PairError."""
        self._cert, self._key, self._poll = cert, key, poll_seconds
        self._due = 0.0
        self._complaint = ""
        self.pair = load(cert, key)

    def context(self) -> ssl.SSLContext:
        """Return a context for a server that keeps it: each handshake takes the pair that serves then."""
        context = self.pair.context
        context.sni_callback = self._choose
        return context

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        # OpenSSL calls this for every ClientHello, one without a server name as well.
        handshake.context = self.pair.context

    def refresh(self, now: float) -> str:
        """Look at the files again if it is time; *now* is monotonic seconds.

        Returns what is to be told: ``reloaded``, a new complaint, or nothing.
        """
        if now < self._due:
            return ""
        self._due = now + self._poll
        try:
            if self._digest() == self.pair.digest:
                self._complaint = ""
                return ""
            self.pair = load(self._cert, self._key)
        except PairError as error:
            told, self._complaint = self._complaint, str(error)
            return "" if told == self._complaint else self._complaint
        self._complaint = ""
        return RELOADED

    @property
    def complaint(self) -> str:
        """Why the files on disk cannot serve now; empty when they can."""
        return self._complaint

    @property
    def unreadable(self) -> bool:
        """Whether the files could not be read at all, as against holding a pair that is not whole yet."""
        return self._complaint.startswith(UNREADABLE)

    def _digest(self) -> bytes:
        return hashlib.sha256(_read(self._cert) + b"\0" + _read(self._key)).digest()


RELOADED = "reloaded"
UNREADABLE = "cannot read "


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise PairError(f"{UNREADABLE}{path}: {error.strerror or error}") from None
    if len(content) > LARGEST:
        raise PairError(f"{path} is larger than {LARGEST} bytes: not a certificate or key")
    return content


def _certificates(path: str, content: bytes) -> list[x509.Certificate]:
    begun, ended = content.count(b"-----BEGIN "), content.count(b"-----END ")
    try:
        certificates = x509.load_pem_x509_certificates(content)
    except ValueError:
        certificates = []
    # OpenSSL takes a chain that is cut off inside its second certificate for one without it.
    if not certificates or begun != ended or not content.rstrip().endswith(b"-----"):
        raise PairError(f"{path} does not hold a whole PEM certificate")
    return certificates


def _context(cert: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A client of TLS 1.2 could have the loop do handshakes without end on one connection.
    context.options |= ssl.OP_NO_RENEGOTIATION
    # The API server speaks HTTP/1.1 to webhooks, unless a loopback URL offers it h2, which gunicorn serves worse.
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a callback OpenSSL would ask the terminal for the password of an encrypted key.
        context.load_cert_chain(cert, key, password=lambda: b"-")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise PairError(f"{key} is not the private key of {cert}") from None
        raise PairError(f"{key} does not hold an unencrypted PEM private key that goes with {cert}") from None
    except OSError as error:
        raise PairError(f"{UNREADABLE}{cert} and {key}: {error.strerror or error}") from None
    return context


def _beside(cert: str) -> x509.Certificate | None:
    """The CA that Secrets of type TLS keep beside the leaf, if it is there and readable."""
    try:
        return x509.load_pem_x509_certificates(_read(str(Path(cert).parent / "ca.crt")))[0]
    except (PairError, ValueError):
        return None


def _expiry(certificate: x509.Certificate) -> float:
    return certificate.not_valid_after_utc.timestamp()
