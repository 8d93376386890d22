"""The controller of the certificate: from every state to a valid certificate, without a moment in which a review would fail."""

import datetime as dt

import pytest

from apiserver.api import ReplyError
from certs import issue, pem_bundle
from certs.controller import FAILURES, NEXT_STEP_SECONDS, Controller
from certs.pair import names_of
from certs.replica_files import Published
from certs.rotation_run import Rotation, Timing
from certs.rotation_steps import Order, Step
from tests.certs.installation import NAMES, NOW, SETTLE, FakeInstallation, KilledError, conflict, days, new_secret

ORDER = Order(NAMES, NAMES)
RENEWED = [Step.STAGE, Step.TRUST, Step.SWITCH, Step.OBSERVE, Step.DISTRUST, Step.FINISH]
FIRST = [Step.STAGE, Step.TRUST, Step.SWITCH, Step.OBSERVE, Step.FINISH]
"""Steps if no caBundle has an old CA."""
OLD = new_secret()
SHORT_CA = new_secret(NOW - days(900), ca_days=1000, leaf_days=900)


class Replica:
    """One replica's controller; ``events`` has what it reported."""

    def __init__(self, installation, folder, *, leading=True):
        folder.mkdir(exist_ok=True)
        self.events, self.failures, self.clocks = [], [], []
        self.leading = leading
        self.published = Published(folder)
        timing = Timing(SETTLE, 60.0, installation.pause, lambda: installation.seconds)
        rotation = Rotation(installation, lambda: tuple(installation.serving), ORDER, timing, self.step)
        self.controller = Controller(installation, rotation, self.published, lambda: int(self.leading), self, 5.0)

    def step(self, step, _text):
        self.events.append(step)

    def leads(self, *, leading):
        assert leading == self.leading

    def clock(self, offset, skew):
        self.clocks.append((offset, skew))

    def failed(self, reason, text):
        assert reason in FAILURES
        assert text
        self.failures.append(reason)


@pytest.fixture
def replica(tmp_path, monkeypatch):
    def create(installation, name="a", **options):
        monkeypatch.setattr("certs.replicas.probe", installation.probe)
        return Replica(installation, tmp_path / name, **options)

    return create


def run(installation, *replicas, ticks=200):
    """Call the ticks in turn until all wait for the next poll."""
    for _ in range(ticks):
        pauses = [each.controller.tick() for each in replicas]
        installation.pause(min(pauses))
        if min(pauses) == 5.0 and not (installation.failures or "next-tls.crt" in installation.secret):
            return
    raise AssertionError(f"not at the end: {[each.events for each in replicas]}")


def assert_well(installation):
    secret = installation.secret
    assert {"ca.crt", "tls.crt", "tls.key"} == set(secret) - {"ca.key"}
    assert {secret["ca.crt"]} == {each for several in installation.bundles for each in several}
    assert 1 == len(pem_bundle.certificates(secret["ca.crt"]))
    assert {secret["tls.crt"]} == {leaf for leaf, _ in installation.serving.values()}


STATES = {
    "no Secret": ({}, FIRST),
    "due": (new_secret(NOW - days(244)), RENEWED),
    "due, with the key of the CA": (new_secret(NOW - days(244), keep=True), [Step.STAGE, Step.SWITCH, Step.OBSERVE, Step.FINISH]),
    "expired": (new_secret(NOW - days(400)), RENEWED),
    "expired CA": (new_secret(NOW - days(40), ca_days=30, leaf_days=30), RENEWED),
    "the CA expires, and the leaf is valid": (SHORT_CA, RENEWED),
    "half written: no key": ({**OLD, "tls.key": b""}, RENEWED),
    "half written: the key of another": ({**OLD, "tls.key": new_secret()["tls.key"]}, RENEWED),
    "half written: no CA": ({"tls.crt": OLD["tls.crt"], "tls.key": OLD["tls.key"]}, FIRST),
    "names of another Service": (new_secret(names=names_of(("other.svc",))), RENEWED),
    "issued in the future": (new_secret(NOW + days(1)), RENEWED),
    "not due": (OLD, []),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_leads_to_a_valid_certificate(replica, state):
    secret, want = STATES[state]
    installation = FakeInstallation(secret)
    created = replica(installation)

    run(installation, created)

    assert want == created.events
    assert_well(installation)
    assert (installation.secret["tls.crt"], "") == (
        (created.published._directory / "current/tls.crt").read_bytes(),
        created.published.update(installation.read(), NOW),
    )


@pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 2), (1, 0)])
def test_what_was_read_before_the_term_leads_to_no_step(replica, monkeypatch, before, after):
    installation = FakeInstallation(STATES["due"][0])
    created = replica(installation, leading=before)
    read = installation.read
    monkeypatch.setattr(installation, "read", lambda: setattr(created, "leading", after) or read())
    monkeypatch.setattr(created, "leads", lambda *, leading: created.events.append(leading))
    assert NEXT_STEP_SECONDS == created.controller.tick(), "it is read again soon"
    assert [False] == created.events
    created.controller.tick()

    assert [False, False] if not after else [False, True, Step.STAGE] == created.events


def test_a_secret_that_is_deleted_is_created_anew_without_a_gap(replica):
    installation = FakeInstallation(OLD)
    created = replica(installation)
    run(installation, created)
    installation.secret, installation.version = {}, 7

    run(installation, created)

    assert RENEWED == created.events
    assert_well(installation)
    assert "secret" in created.failures


@pytest.mark.parametrize(
    "secret", [{}, new_secret(NOW - days(300)), new_secret(NOW - days(300), keep=True)], ids=["none", "due", "CA kept"]
)
@pytest.mark.parametrize("when", ["kill_before", "kill_after"])
def test_a_replica_that_is_killed_at_any_write_is_continued_by_the_next_leader(replica, secret, when):
    kills = 0
    while True:
        installation = FakeInstallation(secret)
        first, second = replica(installation), replica(installation, "b")
        setattr(installation, when, kills)
        try:
            run(installation, first)
        except KilledError:
            setattr(installation, when, None)
        else:
            break
        kills += 1
        run(installation, second)
        assert_well(installation)
        assert 1 == (first.events + second.events).count(Step.STAGE) or (first.events, kills) == ([], 1)
    assert kills >= 3


def test_only_the_leader_writes(replica):
    installation = FakeInstallation(new_secret(NOW - days(300)))
    follower = replica(installation, leading=False)

    assert 5.0 == follower.controller.tick()
    assert [] == follower.events
    assert "next-tls.crt" not in installation.secret
    assert installation.secret["tls.crt"] == (follower.published._directory / "current/tls.crt").read_bytes()


def test_two_that_both_believe_to_lead_renew_once(replica):
    """As after a pause of a process between its check and its write."""
    installation = FakeInstallation({})
    a, b = replica(installation), replica(installation, "b")
    stale, read = installation.read(), installation.read
    a.controller.tick()
    installation.read = lambda: stale
    b.controller.tick()
    installation.read = read

    assert (["stage"], ["race"]) == (a.events, [each for each in b.failures if each == "race"])
    run(installation, a, b)
    assert 1 == (a.events + b.events).count(Step.STAGE)
    assert_well(installation)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (conflict(), "race"),
        (OSError("connection reset"), "request"),
        (ReplyError(503, "unavailable"), "request"),
        (ReplyError(403, "secrets is forbidden"), "request"),
        (ValueError("not JSON"), "request"),
    ],
)
def test_a_failed_write_is_counted_and_repeated(replica, error, reason):
    installation = FakeInstallation(new_secret(NOW - days(300)))
    installation.failures = [error]
    created = replica(installation)

    assert 5.0 == created.controller.tick()
    assert [reason] == created.failures
    run(installation, created)
    assert RENEWED == created.events
    assert_well(installation)


def test_the_certificate_of_another_ca_is_left_alone(replica, monkeypatch):
    monkeypatch.setattr(issue, "CA_NAME", "corporate")
    foreign = new_secret(NOW - days(300))
    monkeypatch.undo()
    installation = FakeInstallation(foreign)
    created = replica(installation)

    assert 5.0 == created.controller.tick()
    assert ["refused"] == created.failures
    assert foreign == installation.secret


def test_a_secret_with_another_ca_does_not_end_the_trust_of_the_webhooks(replica, monkeypatch):
    """The replicas serve the old one until every caBundle trusts the new one, which the Secret without its CA never leads to."""
    installation = FakeInstallation(OLD)
    created = replica(installation)
    run(installation, created)
    monkeypatch.setattr(issue, "CA_NAME", "corporate")
    foreign = new_secret()
    monkeypatch.undo()

    installation.secret = {**foreign, "ca.crt": OLD["ca.crt"]}
    assert 5.0 == created.controller.tick()
    assert ["secret", "refused"] == created.failures
    assert OLD["tls.crt"] == (created.published._directory / "current/tls.crt").read_bytes()
    installation.secret = foreign
    created.controller.tick()
    created.controller.tick()
    assert {OLD["ca.crt"] + foreign["ca.crt"]} == {each for several in installation.bundles for each in several}
    assert foreign["tls.crt"] == (created.published._directory / "current/tls.crt").read_bytes()


def test_a_replica_that_never_serves_the_new_leaf_is_a_failure_and_the_old_ca_stays(replica):
    installation = FakeInstallation(new_secret(NOW - days(300)), lag=10_000.0)
    created = replica(installation)
    for _ in range(100):
        installation.pause(created.controller.tick())

    assert "replicas" in created.failures
    assert Step.OBSERVE == created.events[-1]
    assert all(2 == len(pem_bundle.certificates(each)) for several in installation.bundles for each in several)


def test_a_ca_bundle_that_another_writer_resets_is_restored(replica):
    installation = FakeInstallation(OLD)
    created = replica(installation)
    for value in (b"", b"nonsense", new_secret()["ca.crt"]):
        installation.bundles[1] = [value]
        installation.broken = True
        run(installation, created)
        assert pem_bundle.contains(installation.bundles[1][0], OLD["ca.crt"])

    assert [Step.TRUST] * 3 == created.events


@pytest.mark.parametrize("leading", [True, False])
def test_the_clock_of_the_api_server_is_reported_by_every_replica(replica, leading):
    installation = FakeInstallation(OLD)
    created = replica(installation, leading=leading)
    created.controller.tick()
    installation.now = dt.datetime.now(dt.UTC)
    created.controller.tick()

    (offset, skew), (none, nothing) = created.clocks
    assert abs(offset) > 60
    assert skew.endswith("the API server's is 2026-05-01 00:00:00 UTC and is used")
    assert (abs(none) < 60, nothing) == (True, "")
