"""The certificate that the replicas manage, on a real API server: first start, rotations and rolling updates without a failed review."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from certs import pem_bundle
from tests.cluster.installed import ACCOUNT, CONFIGURATIONS, NAMESPACE, eventually, muster
from tests.cluster.replicas import LEASES, SECRET, Reviews, managed
from tests.sampling import WHOLE

REQUESTS = 5000 if WHOLE else 300


@pytest.fixture(scope="module")
def installed_replicas(plane, tmp_path_factory):
    """Two replicas that have created their certificate themselves."""
    with managed(plane, tmp_path_factory.mktemp("managed")) as created:
        yield created


@pytest.fixture
def replicas(installed_replicas):
    """The installation with two ready replicas."""
    running = [each for each in installed_replicas.replicas if each.process.running]
    if len(running) < 2:
        for each in installed_replicas.start(2):
            installed_replicas.await_ready(each)
    assert eventually(installed_replicas.judges)
    return installed_replicas


def running(created):
    return [each for each in created.replicas if each.process.running]


def settled(created):
    """Return true if no rotation is under way, and Secret and caBundles agree."""
    if not created.api.exists("Secret", SECRET, NAMESPACE):
        return False
    secret = created.secret()
    own = secret.get("ca.crt", b"")
    return {"ca.crt", "tls.crt", "tls.key"} == set(secret) and {own} == created.bundles() and len(pem_bundle.certificates(own)) == 1


def test_the_first_start_creates_the_certificate_once(replicas):
    steps = [entry["step"] for each in replicas.replicas for entry in each.logged("rotation") if "step" in entry]

    assert 1 == steps.count("stage")
    assert eventually(lambda: settled(replicas))
    assert 1 == sum(each.metric("muster_certificate_leader{") for each in running(replicas))
    for each in running(replicas):
        assert 0 == each.metric('muster_certificate_failures_total{reason="re')
        assert each.metric('muster_certificate_not_after_seconds{kind="leaf"}') > time.time() + 300 * 86400
        assert each.metric('muster_certificate_not_after_seconds{kind="ca"}') > time.time() + 3000 * 86400


def test_no_review_fails_while_the_ca_is_replaced(plane, namespace, replicas):
    before, rotations = replicas.secret(), 1
    with Reviews(plane.kubeconfig, namespace) as reviews:
        reviews.await_count(10)
        replicas.api.delete("Secret", SECRET, NAMESPACE)
        assert eventually(lambda: settled(replicas)), replicas.secret().keys()
        after = replicas.secret()
        while reviews.count < REQUESTS and not reviews.errors:
            _rotate(replicas, rotations)
            rotations += 1
        reviews.await_count(reviews.count + 50)
    print(f"{reviews.count} requests during {rotations} rotations")

    assert [] == reviews.errors
    assert not {*before.values()} & {*after.values()}
    assert not any(each.logged("stopping") for each in running(replicas))


def _rotate(created, number):
    """Rotate by the command beside the controllers, or by the controllers, the leader of which loses its Lease meanwhile."""
    if number % 2:
        addresses = [f"--replica=127.0.0.1:{each.port}" for each in running(created)]
        done = muster("certs", "rotate", "--ca", "--settle=2", f"--kubeconfig={created.plane.kubeconfig}", *addresses)
        assert 0 == done.returncode, done.stdout + done.stderr
    else:
        created.api.delete("Secret", SECRET, NAMESPACE)
        time.sleep(number % 5)
        created.api.send("DELETE", f"{LEASES}/{ACCOUNT}")
    assert eventually(lambda: settled(created))


def test_a_ca_bundle_that_is_emptied_is_restored(replicas):
    for kind in CONFIGURATIONS:
        body = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        replicas.api.patch(kind, "muster", body=body, how="json")

    assert eventually(lambda: settled(replicas))
    assert eventually(replicas.judges)


def test_manifests_that_are_applied_again_keep_the_ca_bundle(replicas):
    before = replicas.bundles()
    shown = [replicas.compare(*options) for options in ((), ("--server-side", "--field-manager=gitops"))]
    replicas.apply_configurations()

    assert not [each for each in shown if "caBundle" in each]
    assert before == replicas.bundles()
    assert b"" not in before


def test_another_replica_continues_when_the_leader_dies(replicas):
    (leader,) = (each for each in running(replicas) if each.metric("muster_certificate_leader{"))
    (other,) = (each for each in running(replicas) if each is not leader)
    replicas.service.backends.remove(leader.port)
    leader.process.kill()

    assert eventually(lambda: other.metric("muster_certificate_leader{") == 1)
    leader.start()
    replicas.await_ready(leader)


def test_another_worker_continues_when_a_worker_dies(replicas):
    """The identity in the Lease is that of the replica."""
    (leader,) = (each for each in running(replicas) if each.metric("muster_certificate_leader{"))
    listed = subprocess.run(["pgrep", "-P", str(leader.process.pid)], capture_output=True, text=True, check=True).stdout.split()
    for each in listed:
        os.kill(int(each), signal.SIGKILL)
        time.sleep(2)

    assert eventually(lambda: leader.metric("muster_certificate_leader{") == 1)


def test_no_review_fails_during_rolling_updates_and_drains(plane, namespace, replicas):
    """An update starts the new replica before it deletes an old one; a drain, which the disruption budget allows for one, after."""
    with Reviews(plane.kubeconfig, namespace) as reviews:
        updates = 0
        while updates < 2 or (reviews.count < REQUESTS and not reviews.errors):
            drained = updates % 2
            if drained:
                replicas.delete(running(replicas)[0])
            (new,) = replicas.start()
            replicas.await_ready(new)
            if not drained:
                replicas.delete(running(replicas)[0])
            updates += 1
        reviews.await_count(reviews.count + 50)
    print(f"{reviews.count} requests while {updates} replicas were replaced")

    assert [] == reviews.errors
    assert eventually(lambda: settled(replicas))
