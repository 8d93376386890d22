"""Creation of a CA and a leaf: ECDSA on P-256, host names as subject alternative names only.

Edge: cryptography.  The time is an argument; keys are random.
"""

from __future__ import annotations

import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import CA_DAYS, LEAF_DAYS
from certs.pair import Authority, Names, Pair

BACKDATED = dt.timedelta(minutes=5)
"""Certificates are valid from this long before their creation, because the clock of a client can be slow."""
CA_NAME = "muster-webhook-ca"
LEAF_NAME, CLIENT_NAME = "muster-webhook", "muster-webhook-client"
"""Subjects without host names: clients compare the subject alternative names only."""


class IssueError(ValueError):
    """A certificate cannot be created."""


def authority(now: dt.datetime, days: int = CA_DAYS) -> Authority:
    """Return a new CA, valid for *days* from *now*, that can sign leaves but no further CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(CA_NAME)
    certificate = (
        _builder(name, name, key.public_key(), now, now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate.public_bytes(serialization.Encoding.PEM), _private(key))


def leaf(ca: Authority, names: Names, now: dt.datetime, days: int = LEAF_DAYS, *, client: bool = False) -> Pair:
    """Return a pair for *names*, signed by *ca*, valid for *days* from *now* but not longer than the CA: of a server, or of a *client*.

    Raises:
        IssueError: the CA cannot be read, is no CA, does not match its key, or has expired.
    """
    signer, signing_key = _parse(ca, now)
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(now + dt.timedelta(days=days), signer.not_valid_after_utc)
    purpose = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
    sans = [*map(x509.DNSName, names.dns), *map(x509.IPAddress, names.addresses)]
    identifier = signer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    certificate = (
        _builder(signer.subject, _name(CLIENT_NAME if client else LEAF_NAME), key.public_key(), now, end)
        .add_extension(x509.SubjectAlternativeName(sans), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    return Pair(ca.certificate, certificate.public_bytes(serialization.Encoding.PEM), _private(key))


def _parse(ca: Authority, now: dt.datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate(ca.certificate)
        key = serialization.load_pem_private_key(ca.key, password=None)
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except (ValueError, TypeError, x509.ExtensionNotFound):
        raise IssueError("the CA must be a PEM certificate with basicConstraints and a key id, and its key") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise IssueError("the CA's key must be ECDSA")
    if not constraints.ca:
        raise IssueError("the CA's certificate must be that of a CA (basicConstraints CA:TRUE)")
    if certificate.public_key() != key.public_key():
        raise IssueError("the CA's key must be that of its certificate")
    if certificate.not_valid_after_utc <= now:
        raise IssueError(f"the CA must not have expired; it did at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M:%S} UTC")
    return certificate, key


def _builder(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey, now: dt.datetime, end: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
