"""Replicas observed by real handshakes: those whose processes serve different certificates, or partly none."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import socket
import ssl
import threading
from pathlib import Path

import pytest

from certs import issue
from certs.pair import Pair, names_of
from certs.replicas import connect_directly
from muster.commands.doctor import observations
from muster.doctor.entries import entries
from muster.doctor.probes import probe_objects
from muster.doctor.world import ApiServer
from tests.muster.doctor import worlds

NOW = dt.datetime.now(dt.UTC)
OLD_CA, CA = issue.authority(NOW), issue.authority(NOW)


def leaf(authority) -> Pair:
    return issue.leaf(authority, names_of(("localhost",)), NOW)


def context_of(folder: Path, pair: Pair) -> ssl.SSLContext:
    (folder / "pair.pem").write_bytes(pair.key + pair.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pair.pem")
    return context


@contextlib.contextmanager
def processes(folder: Path, *pairs: Pair | None):
    """Serve in turn with the processes of *pairs*, of which None closes the connection; yield HOST:PORT."""
    turns = itertools.cycle([None if each is None else context_of(folder, each) for each in pairs])
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            for context in turns:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), connection:
                    if context is not None:
                        context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def observed(address, *bundles):
    """Return what is observed at *address* with webhooks that have *bundles*."""
    called = [entry for bundle in bundles for entry in entries(worlds.world(worlds.trust(bundle)))]
    return [*observations.observed(called, (), lambda _: ((address,), connect_directly))]


def test_one_certificate_of_all_processes(tmp_path):
    pair = leaf(CA)
    with processes(tmp_path, pair) as address:
        (replica,) = observed(address, CA.certificate, OLD_CA.certificate)

    assert pair.certificate == replica.leaf
    assert replica.distrust[CA.certificate] == ""
    assert "self-signed" in replica.distrust[OLD_CA.certificate] or "issuer" in replica.distrust[OLD_CA.certificate]


@pytest.mark.parametrize("count", [2, 4])
def test_a_process_that_has_not_loaded_the_new_certificate(tmp_path, count):
    new, stale = leaf(CA), leaf(OLD_CA)
    both = CA.certificate + OLD_CA.certificate
    with processes(tmp_path, *[new] * (count - 1), stale) as address:
        by_leaf = {each.leaf: each.distrust for each in observed(address, CA.certificate, both)}

    assert by_leaf.keys() == {new.certificate, stale.certificate}
    assert by_leaf[new.certificate] == {CA.certificate: "", both: ""}
    assert by_leaf[stale.certificate][both] == ""
    assert by_leaf[stale.certificate][CA.certificate]


def test_a_process_without_handshakes(tmp_path):
    pair = leaf(CA)
    with processes(tmp_path, pair, *[None] * observations.HANDSHAKES * 2) as address:
        serving, broken = observed(address, CA.certificate)

    assert (pair.certificate, "", {CA.certificate: ""}) == (serving.leaf, serving.reason, serving.distrust)
    assert broken.leaf == b""
    assert broken.reason


def test_a_replica_that_does_not_answer_is_tried_once():
    tried = []

    def refuse(address):
        tried.append(address)
        raise ConnectionRefusedError(address)

    called = [*entries(worlds.world(worlds.trust(CA.certificate)))]
    (replica,) = observations.observed(called, (), lambda _: (("10.0.0.1:9443",), refuse))
    assert (tried, replica.leaf, replica.reason) == (["10.0.0.1:9443"], b"", "10.0.0.1:9443")


@pytest.mark.parametrize(
    ("minor", "want"),
    [(37, ("PodGroup", "all-needs-gang")), (38, ("CompositePodGroup", "parent-acyclic"))],
    ids=["1.37 accepts mode All without a gang", "1.38 refuses it itself"],
)
def test_the_probed_group_is_one_that_the_api_server_itself_accepts(minor, want):
    (unfit, path, rule), (fit, _, none) = probe_objects(ApiServer(minor, worlds.RESOURCES, worlds.GATES), "team")

    assert want == (unfit["kind"], rule)
    assert path.endswith(f"/namespaces/team/{want[0].lower()}s")
    assert ("Workload", "") == (fit["kind"], none)
