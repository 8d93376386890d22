"""Expiry and renewal of a certificate, at a given time."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from certs import inspection, issue
from certs.pair import names_of

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
AUTHORITY = issue.authority(NOW)
MADE = issue.leaf(AUTHORITY, names_of(("a.b.svc", "*.c", "127.0.0.1")), NOW, 90)
END = NOW + dt.timedelta(days=90)
THIRD = (END - (NOW - issue.BACKDATED)) / 3


def due(now=NOW, wanted=(), **beside):
    names = names_of(wanted) if wanted else None
    return tuple(map(str, inspection.inspect("tls.crt", MADE.certificate, now, required=names, **beside).due))


@pytest.mark.parametrize(
    ("now", "want"),
    [
        pytest.param(NOW, 0, id="new"),
        pytest.param(END - THIRD - dt.timedelta(seconds=1), 0, id="before the last third"),
        pytest.param(END - THIRD, 1, id="last third"),
        pytest.param(END - dt.timedelta(seconds=1), 1, id="last second"),
        pytest.param(END, 1, id="expired"),
        pytest.param(NOW - dt.timedelta(minutes=6), 1, id="not valid yet"),
    ],
)
def test_time(now, want):
    assert want == len(due(now))


def test_an_expired_one_says_when():
    assert ("expired at 2030-04-01 00:00:00 UTC",) == due(END)


def test_names_are_covered_or_reported():
    assert () == due(wanted=("a.b.svc", "x.c", "127.0.0.1"))
    assert ("does not name y.x.c", "does not name d", "does not name ::1") == due(wanted=("y.x.c", "d", "::1"))


def test_what_lies_next_to_it_belongs_to_it():
    other = issue.leaf(issue.authority(NOW), names_of(("a",)), NOW)

    assert () == due(key=MADE.key, ca=MADE.ca)
    want = ("the private key does not match the certificate", "the certificate is not signed by the given CA")
    assert want == due(key=other.key, ca=other.ca)


def test_what_cannot_be_read_says_which_file():
    with pytest.raises(inspection.UnreadableError, match="f does not hold a PEM certificate"):
        inspection.inspect("f", b"nonsense", NOW)
    with pytest.raises(inspection.UnreadableError, match=r"private key of tls.crt"):
        due(key=b"nonsense")


@pytest.mark.parametrize(
    ("constraints", "want"), [(x509.BasicConstraints(ca=True, path_length=0), True), (None, False)], ids=["a CA", "not said"]
)
def test_a_certificate_is_that_of_a_ca_only_if_it_says_so(constraints, want):
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW)
    builder = builder if constraints is None else builder.add_extension(constraints, critical=True)

    assert want is inspection._is_ca(builder.sign(key, hashes.SHA256()))
