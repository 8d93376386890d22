"""Certificates that are issued, at a given time."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import issue
from certs.pair import Authority, BadNameError, Names, names_of

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
NAMES = names_of(("a.b.svc", "127.0.0.1", "::1"))


@pytest.fixture(scope="module")
def authority():
    return issue.authority(NOW)


def opened(pem):
    return x509.load_pem_x509_certificate(pem)


def test_a_client_that_trusts_the_ca_trusts_the_leaf(authority):
    created = issue.leaf(authority, NAMES, NOW)
    verifier = (
        verification.PolicyBuilder()
        .store(verification.Store([opened(created.ca)]))
        .time(NOW)
        .build_server_verifier(x509.DNSName("a.b.svc"))
    )

    assert 2 == len(verifier.verify(opened(created.certificate), []))


def test_names_are_sans_and_addresses_are_address_sans(authority):
    sans = opened(issue.leaf(authority, NAMES, NOW).certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)

    assert ["a.b.svc"] == sans.value.get_values_for_type(x509.DNSName)
    assert ["127.0.0.1", "::1"] == [str(each) for each in sans.value.get_values_for_type(x509.IPAddress)]


def test_names_and_addresses_are_in_any_order():
    assert (("a.b.svc", "c"), 2) == (
        names_of(("127.0.0.1", "a.b.svc", "::1", "c")).dns,
        len(names_of(("127.0.0.1", "a.b.svc", "::1")).addresses),
    )


def test_a_leaf_serves_and_signs_nothing(authority):
    leaf = opened(issue.leaf(authority, NAMES, NOW).certificate)
    value = leaf.extensions.get_extension_for_class

    assert [ExtendedKeyUsageOID.SERVER_AUTH] == list(value(x509.ExtendedKeyUsage).value)
    assert not value(x509.BasicConstraints).value.ca
    assert value(x509.KeyUsage).value.digital_signature
    assert not value(x509.KeyUsage).value.key_cert_sign
    assert isinstance(leaf.public_key().curve, ec.SECP256R1)


def test_a_ca_signs_leaves_only(authority):
    value = opened(authority.certificate).extensions.get_extension_for_class

    assert (True, 0) == (value(x509.BasicConstraints).value.ca, value(x509.BasicConstraints).value.path_length)
    assert value(x509.KeyUsage).value.key_cert_sign


def test_extensions_that_a_reader_must_know_are_critical(authority):
    """RFC 5280, sections 4.2.1.3 and 4.2.1.9: the usage of a key, and whether it is one of a CA; a name is critical only without a subject."""
    for certificate in (opened(authority.certificate), opened(issue.leaf(authority, NAMES, NOW).certificate)):
        critical = {type(each.value) for each in certificate.extensions if each.critical}
        assert {x509.BasicConstraints, x509.KeyUsage} == critical


def test_a_key_is_used_for_nothing_else(authority):
    usages = [
        opened(each).extensions.get_extension_for_class(x509.KeyUsage).value
        for each in (authority.certificate, issue.leaf(authority, NAMES, NOW).certificate)
    ]
    names = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
    )

    assert [{"key_cert_sign", "crl_sign"}, {"digital_signature"}] == [{each for each in names if getattr(usage, each)} for usage in usages]


def test_it_begins_five_minutes_ago(authority):
    leaf = opened(issue.leaf(authority, NAMES, NOW, 30).certificate)

    assert NOW - dt.timedelta(minutes=5) == leaf.not_valid_before_utc
    assert NOW + dt.timedelta(days=30) == leaf.not_valid_after_utc


@pytest.mark.parametrize(
    ("days", "want"),
    [pytest.param(10, 10, id="as long as the CA"), pytest.param(11, 10, id="not longer"), pytest.param(9, 9, id="shorter")],
)
def test_a_leaf_does_not_outlive_its_ca(days, want):
    created = issue.leaf(issue.authority(NOW, 10), NAMES, NOW, days)

    assert NOW + dt.timedelta(days=want) == opened(created.certificate).not_valid_after_utc


def test_a_ca_that_cannot_sign_is_refused(authority):
    other, leaf = issue.authority(NOW), issue.leaf(authority, NAMES, NOW)
    cases = {
        "must be that of its certificate": (Authority(authority.certificate, other.key), NOW),
        "must not have expired": (authority, NOW + dt.timedelta(days=4000)),
        "must be that of a CA": (Authority(leaf.certificate, leaf.key), NOW),
        "must be a PEM certificate": (Authority(b"x", b"y"), NOW),
    }
    for want, (ca, now) in cases.items():
        with pytest.raises(issue.IssueError, match=want):
            issue.leaf(ca, NAMES, now)


@pytest.mark.parametrize("name", ["", "a b", "-a", "a..b", "a" * 64, "a." * 127 + "a", "*", "http://a", "*.*.a", "a_b", "ä"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(BadNameError, match="must be"):
        names_of((name,))


def test_names_are_lower_case_and_unique():
    assert Names(("a.b", "*.c"), ()) == names_of(("A.b", "a.b", "*.c"))
    assert "a.b, *.c" == str(names_of(("a.b", "*.c")))


def test_no_name_at_all_is_refused():
    with pytest.raises(BadNameError, match="at least one name"):
        names_of(())
