"""Client certificates of callers (``--client-ca``): who can connect, and what happens when the CA is replaced."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import re
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import issue, pair, replicas, store
from tests import forked
from tests.webhooks.running import PATIENCE, REVIEW, new_pair, running, until
from webhooks.server import tls

NOW = dt.datetime.now(dt.UTC)
NAMES = pair.names_of(("kube-apiserver",))
REFUSED = (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)


def client_pair(authority, *, now=NOW, days=30):
    return issue.leaf(authority, NAMES, now, days, client=True)


def connection(server, directory, credentials=None, **context):
    """Return a connection with a client certificate, or without one."""
    result = server.context()
    for name, value in context.items():
        setattr(result, name, value)
    if credentials is not None:
        store.write(directory, credentials)
        result.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE, context=result)


def answers(server, directory, credentials=None, **context) -> bool:
    """Return true if a review is allowed, false if the connection is refused."""
    with contextlib.closing(connection(server, directory, credentials, **context)) as opened:
        try:
            status, content = server.post(connection=opened)
        except REFUSED:
            return False
    assert (status, content["response"]["uid"]) == (200, REVIEW["request"]["uid"])
    return True


@pytest.fixture(scope="module")
def authority():
    return issue.authority(NOW)


@pytest.fixture
def ca_file(tmp_path, authority):
    path = tmp_path / "client-ca.crt"
    path.write_bytes(authority.certificate)
    return path


@pytest.mark.parametrize("library", ["uvicorn", "gunicorn"])
def test_only_a_certificate_of_the_ca_is_accepted(tmp_path, authority, ca_file, library):
    earlier = NOW - dt.timedelta(days=3)
    strangers = {
        "of another CA": client_pair(issue.authority(NOW)),
        "expired": client_pair(authority, now=earlier, days=1),
        "of a server": new_pair(authority),
    }
    with running(tmp_path / "server", "--client-ca", str(ca_file), "--workers", "1", MUSTER_SERVER=library) as server:
        # The CA that signed the serving certificate is another one: it does not admit clients.
        strangers["of the server's CA"] = client_pair(server.authority)

        assert answers(server, tmp_path / "client", client_pair(authority))
        assert not answers(server, tmp_path)
        assert [name for name, each in strangers.items() if answers(server, tmp_path / "stranger", each)] == []
        assert not answers(server, tmp_path / "client", client_pair(authority), maximum_version=ssl.TLSVersion.TLSv1_2)

        # Probes and metrics are on the plain port as before, and no review was counted or error logged for those without a certificate.
        assert server.probe("/healthz")[0] == server.probe("/readyz")[0] == 200
        assert until(lambda: server.figure("muster_reviews_total") == 1)
        assert server.figure("muster_requests_refused_total") == server.figure("muster_faults_total") == 0
        expiry = re.search(
            r'muster_certificate_not_after_seconds\{[^}]*kind="client-ca"[^}]*\} (\S+)', server.probe("/metrics")[1].decode()
        )
        assert expiry
        assert float(expiry[1]) > NOW.timestamp()
        assert [line for line in server.lines if line["level"] not in ("info", "debug")] == []


def test_nothing_of_a_client_without_a_certificate_is_parsed(tmp_path, ca_file):
    with running(tmp_path / "server", "--client-ca", str(ca_file), "--workers", "1") as server:
        with contextlib.closing(connection(server, tmp_path)) as opened, contextlib.suppress(*REFUSED):
            opened.request("GET", "/healthz")
            pytest.fail(f"answered with {opened.getresponse().status}")

        assert server.figure("muster_requests_refused_total") == 0


def test_replicas_are_observed_without_a_client_certificate(tmp_path, ca_file):
    """A rotation and ``muster doctor`` only look at the certificate that is served."""
    with running(tmp_path / "server", "--client-ca", str(ca_file), "--workers", "1") as server:
        leaf = (tmp_path / "server" / "tls.crt").read_bytes()

        assert replicas.probe(f"127.0.0.1:{server.port}", leaf, server.authority.certificate) == ""


def test_a_replaced_ca_is_used_and_no_session_survives_it(tmp_path, authority, ca_file):
    old, new_authority = client_pair(authority), issue.authority(NOW)
    new = client_pair(new_authority)
    with running(tmp_path / "server", "--client-ca", str(ca_file), "--workers", "1") as server:
        first = connection(server, tmp_path / "old", old)
        assert server.post(connection=first)[0] == 200
        session = first.sock.session
        first.close()
        # While the API servers get new certificates, both CAs are in the file.
        ca_file.write_bytes(authority.certificate + new_authority.certificate)
        assert until(lambda: answers(server, tmp_path / "new", new))
        assert answers(server, tmp_path / "old", old)

        ca_file.write_bytes(new_authority.certificate)
        assert until(lambda: not answers(server, tmp_path / "old", old))
        assert answers(server, tmp_path / "new", new)
        assert session is None or not session.has_ticket

        ca_file.write_bytes(b"half")
        assert until(lambda: any("whole PEM" in line.get("reason", "") for line in server.lines))
        assert answers(server, tmp_path / "new", new)
        assert not answers(server, tmp_path / "old", old)


BAD = {
    "no file": (None, "cannot read {}: No such file or directory"),
    "empty": (b"", "{} does not hold a whole PEM certificate"),
    "no PEM": (b"\xff\x00", "{} does not hold a whole PEM certificate"),
    "no CA": (new_pair().certificate, "{} must only have certificates of CAs"),
    "also a leaf": (new_pair().ca + new_pair().certificate, "{} must only have certificates of CAs"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_without_a_ca_is_refused_at_the_start(tmp_path, case):
    content, reason = BAD[case]
    store.write(tmp_path, new_pair())
    path = tmp_path / "client-ca.crt"
    if content is not None:
        path.write_bytes(content)
    given = ["--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key"), "--client-ca", str(path)]
    done = forked.run(["serve", "--bind", "127.0.0.1:0", *given], tmp_path, {})

    assert done.returncode == 2
    assert reason.format(path) in done.stderr
    with pytest.raises(tls.PairError):
        tls.load(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"), str(path))


def reply(server, directory, credentials) -> tuple[int, str, str]:
    """Return status, type and content of the answer to a review."""
    with contextlib.closing(connection(server, directory, credentials)) as opened:
        opened.request("POST", "/validate", json.dumps(REVIEW), {"Content-Type": "application/json"})
        response = opened.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()


def test_only_the_given_names_are_accepted(tmp_path, authority, ca_file):
    named = ("--client-name", "kube-apiserver", "--client-name", "front.example")
    with running(tmp_path / "server", "--client-ca", str(ca_file), *named, "--workers", "1") as server:

        def asked(*names):
            credentials = issue.leaf(authority, pair.names_of(names), NOW, 30, client=True)
            return reply(server, tmp_path / "client", credentials)

        # A DNS name of the certificate is enough, also beside others, and so is its common name.
        for names in (("kube-apiserver",), ("other", "front.example")):
            assert asked(*names)[0] == 200
        for names in (("other",), ("kube-apiserver.example", "x.front.example")):
            assert asked(*names) == (403, "text/plain", "the name of the client certificate must be one of --client-name")
        # Without a certificate, or with one of another CA, the handshake fails as before.
        assert not answers(server, tmp_path)
        assert not answers(server, tmp_path / "client", client_pair(issue.authority(NOW)))

        assert server.figure("muster_requests_refused_total") == 2
        assert server.figure("muster_faults_total") == 0
        assert until(lambda: len([line for line in server.lines if line["level"] == "warning"]) == 2)
        first = next(line for line in server.lines if line["event"] == "client-refused")
        assert (["muster-webhook-client", "other"], ["front.example", "kube-apiserver"]) == (first["names"], first["accepted"])
        assert server.probe("/readyz")[0] == 200


def common_name_only(authority, name):
    """Return a client certificate without DNS names, as those of kubeadm."""
    key, ca_key = ec.generate_private_key(ec.SECP256R1()), serialization.load_pem_private_key(authority.key, None)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = x509.CertificateBuilder(x509.load_pem_x509_certificate(authority.certificate).subject, subject, key.public_key(), 7)
    built = built.not_valid_before(NOW).not_valid_after(NOW + dt.timedelta(days=1))
    built = built.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    pem = built.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pair.Pair(authority.certificate, pem, private)


def test_a_common_name_is_enough(tmp_path, authority, ca_file):
    with running(tmp_path / "server", "--client-ca", str(ca_file), "--client-name", "kube-apiserver", "--workers", "1") as server:
        assert answers(server, tmp_path / "client", common_name_only(authority, "kube-apiserver"))
        assert reply(server, tmp_path / "client", common_name_only(authority, "system:node:n1"))[0] == 403


def test_other_parts_of_a_subject_are_no_names():
    peer = {"subject": ((("organizationName", "a"),), (("commonName", "kube-apiserver"),)), "subjectAltName": (("IP Address", "10.0.0.1"),)}
    assert frozenset({"kube-apiserver"}) == tls.names_of(peer)
    uri = "spiffe://example.org/apiserver"
    assert frozenset({uri, "a.example"}) == tls.names_of({"subjectAltName": (("URI", uri), ("DNS", "a.example"), ("email", "a@b"))})
    assert frozenset() == tls.names_of(None) == tls.names_of({})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(["--client-name", "a"], "--client-name needs --client-ca", id="no CA"),
        pytest.param(
            ["--client-ca", "{}", "--client-name", "a", "--server", "gunicorn"], "--client-name needs --server uvicorn", id="gunicorn"
        ),
        pytest.param(["--client-ca", "{}", "--client-name", " ,"], "'--client-name': must have a name", id="no name"),
        pytest.param(["--client-ca", "{}", "--client-name", ""], "--client-name (MUSTER_CLIENT_NAME) must have a name", id="an empty name"),
    ],
)
def test_names_that_would_not_be_checked_are_refused_at_the_start(tmp_path, ca_file, given, reason):
    store.write(tmp_path, new_pair())
    files = ["--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")]
    done = forked.run(["serve", "--bind", "127.0.0.1:0", *files, *(each.format(ca_file) for each in given)], tmp_path, {})

    assert done.returncode == 2
    assert reason in done.stderr
