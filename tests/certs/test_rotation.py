"""Rotation as a state machine, and its run: from every state to the end, without a moment in which a review would fail."""

import dataclasses
import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from certs import inspection, issue, pem_bundle, rotation_steps
from certs.pair import names_of
from certs.rotation_steps import RotationError, State, Step
from tests.certs.installation import NAMES, NOW, ORDER, FakeInstallation, KilledError, conflict, days, new_secret

FORCE = dataclasses.replace(ORDER, force=True)
NEW_CA = dataclasses.replace(ORDER, ca=True)
RENEWED = [Step.STAGE, Step.TRUST, Step.SWITCH, Step.OBSERVE, Step.DISTRUST, Step.FINISH]
SAME_CA = [Step.STAGE, Step.SWITCH, Step.OBSERVE, Step.FINISH]


@pytest.fixture
def run(monkeypatch):
    def result(installation, order=ORDER, **options):
        monkeypatch.setattr("certs.replicas.probe", installation.probe)
        return installation.rotation(order, **options).run()

    return result


def changed(secret, changes):
    return {name: value for name, value in {**secret, **changes}.items() if value is not None}


OLD = new_secret()
STAGED = changed(OLD, rotation_steps.stage(OLD, ORDER, NOW))
SWITCHED = changed(STAGED, rotation_steps.switch(STAGED))
OWN = rotation_steps.required_trust(SWITCHED)
BOTH = STAGED["ca.crt"]
EXPIRED_CA = new_secret(NOW - days(40), ca_days=30, leaf_days=30)


@pytest.mark.parametrize(
    ("secret", "bundles", "served", "order", "want"),
    [
        pytest.param(OLD, [OLD["ca.crt"]], False, ORDER, Step.DONE, id="not due"),
        pytest.param(OLD, [OLD["ca.crt"], b""], False, ORDER, Step.TRUST, id="one webhook without a CA"),
        pytest.param(OLD, [BOTH], False, ORDER, Step.DONE, id="a further CA in a bundle is not ours to remove"),
        pytest.param(OLD, [OLD["ca.crt"]], False, FORCE, Step.STAGE, id="forced"),
        pytest.param(OLD, [OLD["ca.crt"]], False, NEW_CA, Step.STAGE, id="new CA"),
        pytest.param(STAGED, [OLD["ca.crt"], BOTH], False, ORDER, Step.TRUST, id="staged, one webhook without the new CA"),
        pytest.param(STAGED, [BOTH, BOTH], False, ORDER, Step.SWITCH, id="staged, trusted"),
        pytest.param(STAGED, [BOTH], False, NEW_CA, Step.SWITCH, id="a staged pair is used before another is made"),
        pytest.param(SWITCHED, [BOTH], False, FORCE, Step.OBSERVE, id="a rotation ends before another begins"),
        pytest.param(SWITCHED, [OLD["ca.crt"]], False, ORDER, Step.TRUST, id="switched, and a caBundle was set back"),
        pytest.param(SWITCHED, [BOTH], True, ORDER, Step.DISTRUST, id="served"),
        pytest.param(SWITCHED, [OWN, BOTH], True, ORDER, Step.DISTRUST, id="one bundle has the old CA"),
        pytest.param(SWITCHED, [OWN, OWN], True, ORDER, Step.FINISH, id="no bundle has the old CA"),
        pytest.param(SWITCHED, [OWN, OWN], False, ORDER, Step.OBSERVE, id="killed before the end: observed again"),
        pytest.param({}, [b""], False, ORDER, Step.STAGE, id="empty Secret"),
        pytest.param({**OLD, "tls.key": new_secret()["tls.key"]}, [OLD["ca.crt"]], False, ORDER, Step.STAGE, id="key of another"),
        pytest.param({**OLD, "tls.crt": b"x"}, [OLD["ca.crt"]], False, ORDER, Step.STAGE, id="no PEM"),
        pytest.param({**OLD, "ca.crt": new_secret()["ca.crt"]}, [OLD["ca.crt"]], False, ORDER, Step.STAGE, id="CA of another"),
        pytest.param({**STAGED, "next-tls.crt": b""}, [BOTH], False, ORDER, Step.STAGE, id="half a staged pair"),
        pytest.param({**STAGED, "ca.crt": OLD["ca.crt"]}, [BOTH], False, ORDER, Step.STAGE, id="staged CA was set back"),
        pytest.param(EXPIRED_CA, [EXPIRED_CA["ca.crt"]], False, ORDER, Step.STAGE, id="expired CA"),
    ],
)
def test_next_step(secret, bundles, served, order, want):
    assert want is rotation_steps.next_step(State(secret, tuple(bundles), served), order, NOW)[0]


@pytest.mark.parametrize(
    ("age", "want"),
    [
        pytest.param(days(243), Step.DONE, id="before two thirds"),
        pytest.param(days(244), Step.STAGE, id="after two thirds"),
        pytest.param(days(400), Step.STAGE, id="expired"),
        pytest.param(-dt.timedelta(minutes=4), Step.DONE, id="a clock that is slow by less than the margin"),
        pytest.param(-dt.timedelta(minutes=6), Step.STAGE, id="issued in the future"),
    ],
)
def test_a_leaf_is_due_at_two_thirds_of_its_life(age, want):
    step, reasons = rotation_steps.next_step(State(OLD, (OLD["ca.crt"],)), ORDER, NOW + age)

    assert want is step
    assert bool(reasons) == (want is Step.STAGE)


@pytest.mark.parametrize("keep", [True, False], ids=["CA kept", "CA not kept"])
@pytest.mark.parametrize("order", [FORCE, NEW_CA], ids=["leaf", "CA"])
def test_a_rotation_leaves_one_ca_and_a_new_pair(run, keep, order):
    before = new_secret(keep=keep)
    installation = FakeInstallation(before)

    assert run(installation, order)

    same = keep and order is FORCE
    after = installation.secret
    assert (SAME_CA if same else RENEWED) == installation.steps()
    assert set(before) == set(after)
    assert before["tls.crt"] != after["tls.crt"]
    assert same == (before["ca.crt"] == after["ca.crt"])
    assert 1 == len(pem_bundle.certificates(after["ca.crt"]))
    assert {after["ca.crt"]} == {each for several in installation.bundles for each in several}
    report = inspection.inspect("tls.crt", after["tls.crt"], NOW, key=after["tls.key"], ca=after["ca.crt"], required=NAMES)
    assert () == report.due
    if keep:
        assert after["ca.crt"] == pem_bundle.owner(after["ca.key"], after["ca.crt"])
    assert not installation.rotation().preview()[1]


@pytest.mark.parametrize("keep", [True, False], ids=["CA kept", "CA not kept"])
def test_a_run_that_is_killed_after_any_write_is_continued(run, keep):
    """One renewal in total: the next run uses what the killed one staged."""
    kills = 0
    while True:
        installation = FakeInstallation(new_secret(NOW - days(300), keep=keep))
        installation.kill_after = kills
        try:
            run(installation)
        except KilledError:
            pass
        else:
            break
        kills += 1
        installation.kill_after = None

        assert run(installation)
        assert installation.steps().count(Step.STAGE) == (0 if kills == 1 else 1)
        assert {"ca.crt", "tls.crt", "tls.key", *(["ca.key"] if keep else [])} == set(installation.secret)
        assert {installation.secret["ca.crt"]} == {each for several in installation.bundles for each in several}
        assert {installation.secret["tls.crt"]} == {leaf for leaf, _ in installation.serving.values()}
    assert kills == (3 if keep else 7)


def test_old_trust_stays_until_the_last_replica_serves_the_leaf(run):
    installation = FakeInstallation(new_secret(), lag=200.0)

    assert not run(installation, FORCE, timeout=20.0)

    assert "timeout" == installation.steps()[-1]
    assert "10.0.0.3:9443: serves another certificate" in installation.reports[-1][1]
    assert all(2 == len(pem_bundle.certificates(each)) for several in installation.bundles for each in several)

    installation.lag = 0.0
    assert run(installation)
    assert all(1 == len(pem_bundle.certificates(each)) for several in installation.bundles for each in several)


def test_without_a_replica_the_old_trust_stays(run):
    installation = FakeInstallation(new_secret())
    installation.serving.clear()

    assert not run(installation, FORCE, timeout=20.0)
    assert "there is no replica" in installation.reports[-1][1]


def test_a_lost_race_and_a_failed_request_are_repeated(run):
    """Also a request of which the API server says that it has too many (429), and an error of its own (500, 503)."""
    from apiserver.api import ReplyError

    installation = FakeInstallation(new_secret())
    installation.failures = [conflict(), OSError("connection reset"), *(ReplyError(code, "later") for code in (429, 500, 503))]

    assert run(installation, FORCE)
    assert [*["retry"] * 5, *RENEWED] == installation.steps()


def test_two_rotations_at_once_renew_once(run, monkeypatch):
    """The second one reads the state before, and writes after the first."""
    installation = FakeInstallation(new_secret(NOW - days(300)))
    monkeypatch.setattr("certs.replicas.probe", installation.probe)
    other = installation.rotation()
    first, stage = [], rotation_steps.stage

    def staged_meanwhile(*arguments):
        if not first:
            first.append(True)
            assert other.run()
        return stage(*arguments)

    monkeypatch.setattr(rotation_steps, "stage", staged_meanwhile)
    assert run(installation)
    assert 1 == installation.steps().count(Step.STAGE)
    assert 1 == installation.steps().count("retry")


def test_a_writer_that_undoes_every_change_ends_the_run(run, monkeypatch):
    installation = FakeInstallation(new_secret())
    monkeypatch.setattr(installation, "write_bundles", lambda *_: None)

    with pytest.raises(RotationError, match="another writer keeps changing"):
        run(installation, FORCE)


@pytest.mark.parametrize("code", [403, 422])
def test_a_refusal_ends_the_run(run, code):
    from apiserver.api import ReplyError

    installation = FakeInstallation(new_secret())
    installation.failures = [ReplyError(code, "not for you")]

    with pytest.raises(RotationError, match=f"HTTP {code}: not for you"):
        run(installation, FORCE)


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param({}, id="empty"),
        pytest.param({"ca.crt": b"x", "tls.crt": b"y", "tls.key": b"z", "ca.key": b"k"}, id="no PEM"),
        pytest.param({name: OLD[name] for name in ("ca.crt", "tls.crt")}, id="no key"),
        pytest.param({**OLD, "tls.key": new_secret()["tls.key"]}, id="key of another"),
        pytest.param({**OLD, "ca.key": new_secret(keep=True)["ca.key"]} | {"tls.key": b""}, id="CA key of another"),
        pytest.param(EXPIRED_CA, id="expired CA"),
        pytest.param({**OLD, "next-tls.key": b"x"}, id="half a staged pair"),
    ],
)
def test_an_unusable_secret_recovers(run, secret):
    installation = FakeInstallation(secret)
    installation.broken = True

    assert run(installation)
    step, text = installation.reports[0]
    assert Step.STAGE is step
    assert text.count(": ") >= 1
    assert ["ca.crt", "tls.crt", "tls.key"] == sorted(set(installation.secret) - {"ca.key"})
    assert {installation.secret["ca.crt"]} == {each for several in installation.bundles for each in several}


def test_the_clock_of_the_api_server_is_used(run):
    installation = FakeInstallation(new_secret(NOW - days(300)))

    assert run(installation)
    leaf = inspection.inspect("tls.crt", installation.secret["tls.crt"], NOW)
    assert NOW - issue.BACKDATED == leaf.not_before
    assert ["clock"] == [step for step, text in installation.log if "the API server's is 2026-05-01 00:00:00 UTC and is used" in text]


def test_a_kept_ca_that_cannot_sign_ends_the_run(run):
    """Its key is one of RSA, and leaves are signed with ECDSA."""
    key, name = rsa.generate_private_key(65537, 2048), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issue.CA_NAME)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - days(1), NOW + days(900))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    secret = {**new_secret(), "ca.crt": certificate.public_bytes(serialization.Encoding.PEM), "ca.key": written}

    with pytest.raises(RotationError, match="the CA's key must be ECDSA; --ca replaces the CA"):
        run(FakeInstallation(secret), FORCE)


def test_a_preview_uses_the_clock_of_the_api_server_too():
    """This leaf is due some days after the time of that clock, which is in the past."""
    assert Step.DONE == FakeInstallation(new_secret(NOW - days(240))).rotation().preview()[0]


def test_a_ca_of_somebody_else_is_replaced_on_request_only(run, monkeypatch):
    monkeypatch.setattr(issue, "CA_NAME", "corporate")
    foreign = new_secret(NOW - days(300))
    monkeypatch.undo()
    installation = FakeInstallation(foreign)

    with pytest.raises(RotationError, match="was issued by CN=corporate, not by Muster"):
        installation.rotation().run()
    assert run(FakeInstallation(foreign), NEW_CA)


def test_names_are_those_of_the_old_leaf_or_given(run):
    before = dataclasses.replace(FORCE, default=names_of(("never.used",)))
    installation = FakeInstallation(new_secret())
    assert run(installation, before)
    assert ("muster-webhook.muster-system.svc",) == inspection.inspect("x", installation.secret["tls.crt"], NOW).names

    assert run(installation, dataclasses.replace(ORDER, names=names_of(("a.b.svc", "127.0.0.1"))))
    assert ("a.b.svc", "127.0.0.1") == inspection.inspect("x", installation.secret["tls.crt"], NOW).names
