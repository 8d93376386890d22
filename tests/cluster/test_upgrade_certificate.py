"""Replicas of another version take over the certificate that replicas manage: Secret, caBundle and Lease, in both directions."""

from __future__ import annotations

import pytest

from tests.cluster.installed import ACCOUNT, NAMESPACE, eventually
from tests.cluster.other_version import MANAGED, environ_of, extracted
from tests.cluster.replicas import LEASES, SECRET, Reviews, Version, managed
from tests.cluster.test_managed_certificate import running, settled
from tests.cluster.waiting import until

ORDERS = {"upgrade": ("before", "now"), "rollback": ("now", "before")}
STAGED = "next-tls.crt"


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    folder = extracted(MANAGED, tmp_path_factory.mktemp("before"))
    return {"now": Version(), "before": Version(folder / "deploy/overlays/managed", environ_of(folder))}


@pytest.mark.parametrize("order", ORDERS)
def test_the_certificate_is_kept_and_a_rotation_continued(plane, namespace, tmp_path, versions, order):
    """The second version replaces the replicas of the first one; then the first one continues a rotation of the second one."""
    first, second = (versions[each] for each in ORDERS[order])
    with managed(plane, tmp_path, first) as created:
        for each in created.start(2):
            created.await_ready(each)
        assert eventually(lambda: settled(created))
        assert eventually(created.judges)
        created.apply(second)
        replaced(created, namespace)
        created.api.delete("Secret", SECRET, NAMESPACE)
        until(lambda: created.api.exists("Secret", SECRET, NAMESPACE) and STAGED in created.secret(), told=lambda: "nothing is staged")
        killed(created)
        created.apply(first)
        continued(created)


def replaced(created, namespace):
    """Replace the replicas one by one: no review fails, the certificate stays, and a new replica leads."""
    secret, bundles, (leader, changes) = created.secret(), created.bundles(), holder(created)
    with Reviews(created.plane.kubeconfig, namespace) as reviews:
        for old in running(created):
            (new,) = created.start()
            created.await_ready(new)
            created.delete(old)
        assert eventually(lambda: sum(each.metric("muster_certificate_leader{") for each in running(created)) == 1)
        reviews.await_count(reviews.count + 50)
    assert [] == reviews.errors
    assert (secret, bundles) == (created.secret(), created.bundles())
    assert leader != holder(created)[0]
    assert changes < holder(created)[1] <= changes + 2
    assert [] == [each for replica in running(created) for each in replica.logged("rotation") if "failure" in each]


def holder(created):
    """Return the holder of the Lease, and how often it has changed."""
    spec = created.api.send("GET", f"{LEASES}/{ACCOUNT}").content["spec"]
    return spec.get("holderIdentity"), spec["leaseTransitions"]


def killed(created):
    """Kill all replicas at once."""
    for each in running(created):
        created.service.backends.remove(each.port)
        each.process.kill()


def continued(created):
    """Start two replicas: they do not begin the rotation again, but complete it."""
    staged = created.secret()
    assert STAGED in staged
    new = created.start(2)
    for each in new:
        created.await_ready(each)
    assert eventually(lambda: settled(created))
    assert eventually(created.judges)
    assert staged[STAGED] == created.secret()["tls.crt"]
    steps = [entry["step"] for each in new for entry in each.logged("rotation") if "step" in entry]
    assert "stage" not in steps
    assert "finish" in steps
