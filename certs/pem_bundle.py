"""Bundles of CA certificates: PEM texts of several certificates.  Pure."""

from __future__ import annotations

import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from certs import inspection

_ANY_TIME = dt.datetime.fromtimestamp(0, dt.UTC)
"""Time for inspections whose result does not depend on it."""


def certificates(bundle: bytes) -> tuple[bytes, ...]:
    """Return each certificate of *bundle* once, as PEM; none if *bundle* cannot be read."""
    try:
        parsed = x509.load_pem_x509_certificates(bundle)
    except ValueError:
        return ()
    return tuple(dict.fromkeys(each.public_bytes(serialization.Encoding.PEM) for each in parsed))


def union(*bundles: bytes) -> bytes:
    """Return the certificates of all *bundles*, each once, in the order of their first occurrence."""
    return b"".join(dict.fromkeys(each for bundle in bundles for each in certificates(bundle)))


def contains(bundle: bytes, required: bytes) -> bool:
    """Return True if *bundle* has every certificate of *required*."""
    return set(certificates(required)) <= set(certificates(bundle))


def signer(leaf: bytes, bundle: bytes) -> bytes:
    """Return the CA in *bundle* that signed *leaf*; empty if there is none.

    Raises:
        UnreadableError: *leaf* is not PEM.
    """
    cas = certificates(bundle)
    return next((each for each in cas if inspection.inspect("the leaf", leaf, _ANY_TIME, ca=each).chain_holds), b"")


def owner(key: bytes, bundle: bytes) -> bytes:
    """Return the certificate in *bundle* whose private key is *key*; empty if there is none.

    Raises:
        UnreadableError: *key* is not an unencrypted PEM key.
    """
    return next((each for each in certificates(bundle) if inspection.inspect("ca.key", each, _ANY_TIME, key=key).key_matches), b"")
