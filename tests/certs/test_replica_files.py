"""Files of a managed certificate, and the reasons why the API server does not trust what a replica serves."""

import datetime as dt

import pytest

from certs import pem_bundle, replica_files, store
from certs.replica_files import Published, Status
from certs.webhook_configurations import Configuration, Reading
from tests.certs.installation import NAMES, NOW, days, new_secret
from webhooks.server import tls

SECRET, OTHER = new_secret(), new_secret()
BOTH = pem_bundle.union(SECRET["ca.crt"], OTHER["ca.crt"])


def reading(secret, *bundles, now=NOW):
    return Reading(secret, "1", (Configuration("/a", "1", bundles),) if bundles else (), now)


def served(directory):
    return (directory / "current" / "tls.crt").read_bytes()


def test_files_are_those_of_the_secret(tmp_path):
    files = Published(tmp_path)
    files.write_placeholder(NAMES, NOW)
    placeholder = served(tmp_path)

    assert "" == files.update(reading(SECRET, SECRET["ca.crt"]), NOW)

    assert files.files == (str(tmp_path / "current/tls.crt"), str(tmp_path / "current/tls.key"))
    assert {name: (tmp_path / "current" / name).read_bytes() for name in SECRET} == SECRET
    assert placeholder != served(tmp_path)
    assert 0o600 == (tmp_path / "current" / "tls.key").stat().st_mode & 0o777
    assert {"current", "status.json"} < {each.name for each in tmp_path.iterdir()}
    files.update(reading(OTHER, BOTH), NOW)
    assert 4 == len(list(tmp_path.iterdir())), "but for the last one, old versions are removed"


@pytest.mark.parametrize(
    ("half", "want"),
    [
        pytest.param({}, "the Secret lacks ca.crt, tls.crt, tls.key", id="none"),
        pytest.param({**OTHER, "tls.key": b""}, "the Secret lacks tls.key", id="no key yet"),
        pytest.param(
            {**SECRET, "tls.crt": OTHER["tls.crt"]}, "the private key does not match the certificate", id="certificate of the next"
        ),
        pytest.param({**SECRET, "tls.key": b"-----BEGIN"}, "must be an unencrypted PEM private key", id="half a key"),
        pytest.param({**SECRET, "tls.crt": SECRET["tls.crt"][:100]}, "does not hold a PEM certificate", id="half a certificate"),
    ],
)
def test_a_half_written_secret_is_not_served(tmp_path, half, want):
    files = Published(tmp_path)
    files.update(reading(SECRET, SECRET["ca.crt"]), NOW)

    assert want in files.update(reading(half, SECRET["ca.crt"]), NOW)
    assert SECRET["tls.crt"] == served(tmp_path)
    assert "" == files.update(reading(OTHER, OTHER["ca.crt"]), NOW)
    assert OTHER["tls.crt"] == served(tmp_path)


@pytest.mark.parametrize("bundles", [(SECRET["ca.crt"],), (BOTH, SECRET["ca.crt"])], ids=["no caBundle", "one of two"])
def test_a_pair_that_is_not_trusted_yet_does_not_replace_one_that_is(tmp_path, bundles):
    """Somebody has written a certificate of another CA into the Secret."""
    files = Published(tmp_path)
    files.update(reading(SECRET, *bundles), NOW)

    assert "not every caBundle has the CA of the new serving certificate" in files.update(reading(OTHER, *bundles), NOW)
    assert SECRET["tls.crt"] == served(tmp_path)
    assert "" == replica_files.untrusted(SECRET["tls.crt"], replica_files.read_status(tmp_path), NOW, 0.0)
    assert "" == files.update(reading(OTHER, BOTH, BOTH), NOW)
    assert OTHER["tls.crt"] == served(tmp_path)


@pytest.mark.parametrize("bundles", [(), (b"",), (OTHER["ca.crt"],)], ids=["no webhooks", "empty", "only the new CA"])
def test_a_pair_that_nobody_trusts_does_not_stay(tmp_path, bundles):
    files = Published(tmp_path)
    files.update(reading(SECRET, SECRET["ca.crt"]), NOW)

    assert "" == files.update(reading(OTHER, *bundles), NOW)
    assert OTHER["tls.crt"] == served(tmp_path)


def test_an_expired_pair_is_served_until_there_is_a_new_one(tmp_path):
    files = Published(tmp_path)
    expired = new_secret(NOW - days(400))

    assert "" == files.update(reading(expired, expired["ca.crt"]), NOW)
    assert expired["tls.crt"] == served(tmp_path)


def test_a_server_that_reads_while_the_files_are_replaced_reads_them_again(tmp_path, monkeypatch):
    files = Published(tmp_path)
    files.update(reading(SECRET, SECRET["ca.crt"]), NOW)
    live, read, third = tls.LivePair(*files.files, poll_seconds=0.0), tls._read, new_secret()
    files.update(reading(OTHER, OTHER["ca.crt"]), NOW)
    paths = []

    def read_and_replace(path):
        content = read(path)
        paths.append(path)
        if len(paths) == 3:
            # The first two compare the files; this is the first one of loading.
            files.update(reading(third, third["ca.crt"]), NOW)
        return content

    monkeypatch.setattr(tls, "_read", read_and_replace)

    assert tls.RELOADED == live.refresh(0.0)
    assert third["tls.crt"] == live.pair.leaf


@pytest.mark.parametrize(
    ("leaf", "status", "here", "want"),
    [
        pytest.param(SECRET, None, NOW, "has not been read yet", id="nothing read"),
        pytest.param(OTHER, Status(published=None, trust=None, clock_offset=0), NOW, "no serving certificate yet", id="first start"),
        pytest.param(SECRET, Status(published=0.0, trust=None, clock_offset=0), NOW, "", id="no webhook"),
        pytest.param(SECRET, SECRET, NOW, "", id="trusted"),
        pytest.param(OTHER, SECRET, NOW, "not every caBundle has the CA", id="another CA"),
        pytest.param(SECRET, {"ca.crt": b""}, NOW, "not every caBundle has the CA", id="empty caBundle"),
        pytest.param(
            SECRET, SECRET, NOW + days(3651), "the CA of the serving certificate expired at 2036-04-28 00:00:00 UTC", id="CA expired"
        ),
        pytest.param(
            SECRET,
            Status(published=0.0, trust=SECRET["ca.crt"].decode(), clock_offset=-days(3651).total_seconds()),
            NOW + days(3651),
            "",
            id="this clock is ten years ahead",
        ),
    ],
)
def test_reasons_why_a_leaf_is_not_trusted(leaf, status, here, want):
    if isinstance(status, dict):
        status = Status(published=0.0, trust=status["ca.crt"].decode(), clock_offset=0)
    reason = replica_files.untrusted(leaf["tls.crt"], status, here, 3.0)

    assert want in reason
    assert bool(want) == bool(reason)


def test_a_replica_is_not_trusted_before_all_of_its_processes_have_loaded_the_files(tmp_path):
    files = Published(tmp_path)
    files.update(reading(SECRET, BOTH), NOW)
    status = replica_files.read_status(tmp_path)

    assert "not all processes" in replica_files.untrusted(SECRET["tls.crt"], status, NOW, 600.0)
    assert "" == replica_files.untrusted(SECRET["tls.crt"], status, NOW, 0.0)
    files.update(reading(OTHER, BOTH), NOW)
    assert status == replica_files.read_status(tmp_path), "later files need no pause, as the old ones are trusted too"


def test_only_a_ca_that_every_webhook_has_is_trusted(tmp_path):
    files = Published(tmp_path)
    assert replica_files.read_status(tmp_path) is None

    for bundles, want in (((BOTH, SECRET["ca.crt"]), SECRET["ca.crt"]), ((BOTH, BOTH), BOTH), ((BOTH, b""), b""), ((BOTH, b"x"), b"")):
        files.update(reading(SECRET, *bundles), NOW)
        assert want.decode() == replica_files.read_status(tmp_path).trust
    files.update(reading(SECRET), NOW)
    assert replica_files.read_status(tmp_path).trust is None


def test_the_clock_of_the_api_server_is_noted(tmp_path):
    files = Published(tmp_path)
    files.update(reading(SECRET, b"", now=NOW + dt.timedelta(hours=2)), NOW)

    assert 7200 == replica_files.read_status(tmp_path).clock_offset


def test_a_directory_that_is_gone_is_one_clear_line(tmp_path):
    with pytest.raises(store.StoreError, match="cannot write"):
        Published(tmp_path / "file" / "x").update(reading({}, b""), NOW)
