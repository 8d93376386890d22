"""Serving key pair and CA of clients, from files that are replaced while the server runs.

Edge: ssl and cryptography.  A pair is loaded only if its files match and do not change while they are read; until then the
last good pair stays in use.
"""

from __future__ import annotations

import dataclasses
import hashlib
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from apiserver import regular_files

LARGEST = 1024 * 1024
"""Limit for a certificate or key file, in bytes."""


class PairError(ValueError):
    """Unusable key pair: a file is unreadable or incomplete, or certificate and key do not match."""


class UnreadablePairError(PairError):
    """Key pair of which a file cannot be read; of other unusable pairs the content is wrong, for example after an incomplete write."""

    def __init__(self, files: str, error: OSError) -> None:
        super().__init__(f"cannot read {files}: {error.strerror or error}")


class Validity(NamedTuple):
    """Begin and end of a certificate's validity, in seconds since the epoch."""

    begins: float
    expires: float


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Verified key pair: its context, the leaf as PEM, begin and end of the validity of leaf, CA and CA of clients, digest of the files."""

    context: ssl.SSLContext
    leaf: bytes
    leaf_validity: Validity
    ca_validity: Validity | None
    client_ca_validity: Validity | None
    digest: bytes


def load(cert: str, key: str, clients_ca: str = "") -> Pair:
    """Load and verify the pair; with the file *clients_ca*, only clients with a certificate of a CA in it can connect.

    Raises:
        PairError: a file is unusable; the message is one line.
    """
    files = _files(cert, key, clients_ca)
    contents = _contents(files)
    certificates = _certificates(cert, contents[0])
    context = _context(cert, key)
    clients = _client_cas(clients_ca, contents[2]) if clients_ca else []
    if clients:
        _demand_client_certificate(context, clients)
    # OpenSSL reads the files itself, so the context holds the verified content only if they have not changed.
    if _contents(files) != contents:
        raise PairError(f"{cert} and {key} change while they are read")
    ca = certificates[-1] if len(certificates) > 1 else _ca_file(cert)
    return Pair(
        context,
        certificates[0].public_bytes(Encoding.PEM),
        _validity(certificates[0]),
        None if ca is None else _validity(ca),
        max((_validity(each) for each in clients), key=lambda each: each.expires, default=None),
        _digest(contents),
    )


class _Failure(NamedTuple):
    """Reason why the files are unusable, and True if one could not be read."""

    reason: str
    is_unreadable: bool


_NO_FAILURE = _Failure("", is_unreadable=False)


class LivePair:
    """Key pair in use.  One thread refreshes it; any thread may read ``pair``, which is replaced by one assignment."""

    def __init__(self, cert: str, key: str, poll_seconds: float, clients_ca: str = "") -> None:
        """Load the first pair; see ``load``.  Raises PairError."""
        self._clients_ca, self._poll = clients_ca, poll_seconds
        self.files = cert, key
        self._due = 0.0
        self._failure = _NO_FAILURE
        self.pair = load(cert, key, clients_ca)

    def context(self) -> ssl.SSLContext:
        """Return a context for the server's lifetime: each handshake uses the pair that is current then."""
        context = self.pair.context
        context.sni_callback = self._choose
        return context

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        # OpenSSL calls this for every ClientHello, one without a server name as well.  It then takes certificate and CAs of clients from the
        # new context, but whether a client needs a certificate from the first one: so that does not change while the server runs.
        handshake.context = self.pair.context

    def refresh(self, now: float) -> str:
        """Reload the files if they have changed and the poll period is over; *now* is monotonic seconds.

        Returns ``RELOADED``, an error that differs from the last one, or an empty string.
        """
        if now < self._due:
            return ""
        self._due = now + self._poll
        try:
            if _digest(_contents(_files(*self.files, self._clients_ca))) == self.pair.digest:
                self._failure = _NO_FAILURE
                return ""
            self.pair = self._load()
        except PairError as error:
            # The exception itself would keep the frames that have the key.
            previous, self._failure = self._failure, _Failure(str(error), isinstance(error, UnreadablePairError))
            return "" if previous == self._failure else self._failure.reason
        self._failure = _NO_FAILURE
        return RELOADED

    def _load(self) -> Pair:
        """Load the files, a second time if they were replaced between two reads.  Raises PairError."""
        try:
            return load(*self.files, self._clients_ca)
        except PairError:
            return load(*self.files, self._clients_ca)

    @property
    def error(self) -> str:
        """Return the reason why the files are unusable; empty if they are usable."""
        return self._failure.reason

    @property
    def unreadable(self) -> bool:
        """Return True if a file could not be read; False if its content is the problem, for example an incomplete write."""
        return self._failure.is_unreadable


RELOADED = "reloaded"


def _files(cert: str, key: str, clients_ca: str) -> list[str]:
    return [cert, key, *([clients_ca] if clients_ca else [])]


def _contents(files: Sequence[str]) -> list[bytes]:
    return [_read(each) for each in files]


def _digest(contents: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"\0".join(contents)).digest()


def _read(path: str) -> bytes:
    try:
        content = regular_files.read(path, LARGEST)
    except OSError as error:
        raise UnreadablePairError(path, error) from None
    if len(content) > LARGEST:
        raise PairError(f"{path} is larger than {LARGEST} bytes: not a certificate or key")
    return content


def _certificates(path: str, content: bytes) -> list[x509.Certificate]:
    begins, ends = content.count(b"-----BEGIN "), content.count(b"-----END ")
    try:
        certificates = x509.load_pem_x509_certificates(content)
    except ValueError:
        certificates = []
    # OpenSSL reads a chain that is truncated inside its second certificate as a chain of one.
    if not certificates or begins != ends or not content.rstrip().endswith(b"-----"):
        raise PairError(f"{path} does not hold a whole PEM certificate")
    return certificates


def _context(cert: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A client of TLS 1.2 could repeat handshakes on one connection without limit.
    context.options |= ssl.OP_NO_RENEGOTIATION
    # The API server uses HTTP/1.1 for webhooks, unless a loopback URL offers h2, which gunicorn supports less well.
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without this password OpenSSL would prompt on the terminal for that of an encrypted key.
        context.load_cert_chain(cert, key, password=lambda: b"-")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise PairError(f"{key} is not the private key of {cert}") from None
        raise PairError(f"{key} does not hold an unencrypted PEM private key that matches {cert}") from None
    except OSError as error:
        raise UnreadablePairError(f"{cert} and {key}", error) from None
    return context


def _client_cas(path: str, content: bytes) -> list[x509.Certificate]:
    """Return the CAs that sign certificates of clients.  Raises PairError if a certificate in the file is not that of a CA."""
    certificates = _certificates(path, content)
    if not all(map(_is_ca, certificates)):
        raise PairError(
            f"{path} must only have certificates of CAs (basicConstraints CA:TRUE), those that sign the certificates of clients"
        )
    return certificates


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def _demand_client_certificate(context: ssl.SSLContext, cas: Sequence[x509.Certificate]) -> None:
    """Refuse each handshake of a client without a certificate of one of *cas*.

    No session is resumed, because that would not verify the certificate again after *cas* have changed: TLS 1.2 could not be kept from it.
    """
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata="".join(each.public_bytes(Encoding.PEM).decode("ascii") for each in cas))


def names_of(peer: Mapping[str, Any] | None) -> frozenset[str]:
    """Return common names, DNS names and URIs of a verified certificate, as ``ssl.SSLObject.getpeercert`` gives it."""
    subject = [pair for part in (peer or {}).get("subject", ()) for pair in part]
    alternatives = (peer or {}).get("subjectAltName", ())
    return frozenset(
        [value for key, value in subject if key == "commonName"] + [value for key, value in alternatives if key in ("DNS", "URI")]
    )


def _ca_file(cert: str) -> x509.Certificate | None:
    """Return the certificate in ``ca.crt`` in the directory of *cert*, as in Secrets of type TLS; None if it is unreadable."""
    try:
        return x509.load_pem_x509_certificates(_read(str(Path(cert).parent / "ca.crt")))[0]
    except (PairError, ValueError):
        return None


def _validity(certificate: x509.Certificate) -> Validity:
    return Validity(certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp())
