"""Key pairs of the real server: replaced under load, half written, missing, swapped by kubelet."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import threading

import pytest

from certs import issue, store
from tests.webhooks.running import PATIENCE, new_pair, running, until


@pytest.fixture(params=["uvicorn", "gunicorn"])
def library(request):
    """Return the HTTP library of the server."""
    return request.param


def steady_load(server, stop, failures, answered):
    """Send reviews until stopped, half of them on new connections."""
    connection = server.connect()
    number = 0
    while not stop.is_set():
        number += 1
        try:
            status, _ = server.post(connection=connection)
        except (OSError, http.client.HTTPException) as error:
            failures.append(repr(error))
            connection = server.connect()
            continue
        answered.append(status)
        if number % 2:
            connection.close()
    connection.close()


@contextlib.contextmanager
def under_load(server, callers=4):
    stop, failures, answered = threading.Event(), [], []
    threads = [threading.Thread(target=steady_load, args=(server, stop, failures, answered)) for _ in range(callers)]
    for each in threads:
        each.start()
    try:
        yield failures, answered
    finally:
        stop.set()
        for each in threads:
            each.join(PATIENCE)


def test_a_new_pair_is_served_without_a_lost_request(tmp_path, library):
    with running(tmp_path, MUSTER_SERVER=library) as server:
        with under_load(server) as (failures, answered):
            for _ in range(3):
                before = server.serial()
                store.write(tmp_path, new_pair(server.authority))
                assert until(lambda before=before: all(server.serial() != before for _ in range(6)))

        assert [] == failures
        assert {200} == set(answered)


def test_the_last_good_pair_serves_while_the_new_one_is_half_written(tmp_path):
    with running(tmp_path, "--workers", "1") as server:
        before = server.serial()
        new = new_pair(server.authority)
        (tmp_path / "tls.key").write_bytes(new.key)
        assert until(lambda: any("not the private key" in line.get("reason", "") for line in server.lines))
        assert before == server.serial()
        assert 200 == server.probe("/readyz")[0]

        (tmp_path / "tls.crt").write_bytes(new.certificate[:200])
        assert until(lambda: any("whole PEM" in line.get("reason", "") for line in server.lines))
        assert before == server.serial()

        (tmp_path / "tls.crt").write_bytes(new.certificate)
        assert until(lambda: server.serial() != before)


def test_files_that_vanish_make_it_not_ready_but_it_serves(tmp_path):
    with running(tmp_path, "--workers", "1") as server:
        (tmp_path / "tls.key").rename(tmp_path / "away")
        assert until(lambda: server.probe("/readyz")[0] == 503)
        assert 200 == server.post()[0]
        (tmp_path / "away").rename(tmp_path / "tls.key")
        assert until(lambda: server.probe("/readyz")[0] == 200)


def test_a_secret_is_followed_when_kubelet_swaps_its_link(tmp_path):
    """kubelet writes a new directory and renames the link ``..data`` to it; the files are links through that."""
    authority = issue.authority(dt.datetime.now(dt.UTC))
    volume = tmp_path / "volume"
    volume.mkdir()
    for version in ("..1", "..2"):
        store.write(volume / version, new_pair(authority))
    (volume / "..data").symlink_to("..1")
    for name in ("tls.crt", "tls.key"):
        (volume / name).symlink_to(f"..data/{name}")
    options = ("--tls-cert", str(volume / "tls.crt"), "--tls-key", str(volume / "tls.key"))
    with running(tmp_path / "own", *options, "--workers", "1") as server:
        server.authority = authority
        before = server.serial()
        (volume / "..tmp").symlink_to("..2")
        (volume / "..tmp").rename(volume / "..data")

        assert until(lambda: server.serial() != before)
