"""Certificates as ``muster doctor --cluster`` sees them: each defect is mended by the command of its finding."""

from __future__ import annotations

import pytest

from certs import issue
from certs.pair import Pair, names_of
from tests.cluster.doctor_installation import DAY, ENDPOINTS, HOST, NOW, PROVOKED_ELSEWHERE, SECRET, demand_provoked
from tests.cluster.installed import ACCOUNT, NAMESPACE
from tests.cluster.test_certificate_rotation import Background, copied
from tests.cluster.waiting import until

LATE = 300
"""Age in days of a leaf in the last third of its life."""


@pytest.fixture
def kubelet(examined):
    """Return a context in which the files of the replica are those of the Secret, as the kubelet copies them."""
    certificates = examined.webhooks.certificates
    before = Pair(*((certificates / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key")))
    copy = copied(examined.webhooks, examined.api)
    yield lambda: Background(copy)
    examined.api.patch("Secret", SECRET, NAMESPACE, body={"data": dict.fromkeys(("ca.key", "next-tls.crt", "next-tls.key"))})
    examined.serve(before)
    copy()
    examined.well()


@pytest.mark.parametrize(("bundle", "check"), [(issue.authority(NOW).certificate, "leaf-untrusted"), (b"", "ca-bundle-missing")])
def test_trust(examined, kubelet, bundle, check) -> None:
    with kubelet():
        examined.set_bundles(bundle)
        examined.mend(examined.provoked(check))
        examined.well()


def test_a_rotation_observes_pods_that_are_not_reached_from_here(examined, kubelet) -> None:
    """By port-forwarding, as doctor does: the command of the finding names no address."""
    with kubelet(), examined.as_pods({9443: examined.webhooks.port}):
        examined.serve(issue.leaf(issue.authority(NOW), names_of((HOST,)), NOW - LATE * DAY))
        command = examined.provoked("leaf-expiry", replica=ENDPOINTS)
        assert "--replica" not in command
        examined.mend(command)
        until(lambda: not examined.findings(replica=ENDPOINTS), told=lambda: str(examined.findings(replica=ENDPOINTS)))


CERTIFICATES = {
    "names": ("leaf-names", ("*.example.com",), 0, 0),
    "expired": ("leaf-expiry", (HOST,), 366, 366),
    "late": ("leaf-expiry", (HOST,), LATE, LATE),
    "authority": ("ca-expiry", (HOST,), 2500, 0),
}
"""By case: the check, names of the leaf, and the ages of CA and leaf in days."""


@pytest.mark.parametrize("case", CERTIFICATES)
def test_certificates(examined, kubelet, case) -> None:
    check, names, age_of_ca, age = CERTIFICATES[case]
    with kubelet():
        examined.serve(issue.leaf(issue.authority(NOW - age_of_ca * DAY), names_of(names), NOW - age * DAY))
        examined.mend(examined.provoked(check))
        examined.well()


def test_a_certificate_of_the_secret_that_is_not_served_yet(examined) -> None:
    """The replica has its own certificate, and the leaf of the Secret is due for renewal."""
    examined.set_bundles((examined.webhooks.certificates / "ca.crt").read_bytes() + (ca := issue.authority(NOW)).certificate)
    examined.set_secret(tls_crt=issue.leaf(ca, names_of((HOST,)), NOW - LATE * DAY).certificate)
    assert examined.findings().keys() == {"leaf-expiry", "leaf-stale"}


def test_a_replica_with_an_older_certificate(examined, kubelet) -> None:
    """No kubelet starts the pods of the Deployment: the process is started again with the files of the Secret, as they would be."""
    ca = issue.authority(NOW)
    with kubelet():
        examined.serve(issue.leaf(ca, names_of((HOST,)), NOW))
        examined.well()
    examined.serve(issue.leaf(ca, names_of((HOST,)), NOW))
    command = examined.provoked("leaf-stale")
    assert "rollout restart" in command
    before = template(examined)
    examined.mend(command)
    assert before != template(examined)
    copied(examined.webhooks, examined.api)()
    examined.webhooks.server.stop()
    examined.webhooks.start()
    examined.well()


def template(examined):
    """Return the template of the pods of the webhooks."""
    return examined.api.get("Deployment", ACCOUNT, NAMESPACE)["spec"]["template"]


def test_every_check_is_provoked(examined, request) -> None:
    demand_provoked(request, PROVOKED_ELSEWHERE["certificates"])
