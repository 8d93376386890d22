"""``muster certs rotate`` on a real API server, with reviews during the rotation: CA and leaf are replaced, and no review fails."""

from __future__ import annotations

import base64
import re
import threading

import pytest
import yaml

from certs import pem_bundle
from tests.cluster.api import Api, ApiError
from tests.cluster.installed import ACCOUNT, CONFIGURATIONS, DEPLOY, NAMESPACE, composite_group, eventually, installed, muster
from tests.cluster.take_effect import await_rights
from tests.cluster.unfit import is_refused, unfit_group

PAGE = (DEPLOY.parent / "docs" / "operate" / "certificates.md").read_text(encoding="utf-8")
SECRET = "muster-webhook-tls"
POLL_SECONDS = 0.05


@pytest.fixture(scope="module")
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed")) as created:
        yield created


def data(api):
    return {name: base64.b64decode(value) for name, value in api.get("Secret", SECRET, NAMESPACE)["data"].items()}


def bundles(api):
    found = [each for kind in CONFIGURATIONS for each in api.get(kind, "muster")["webhooks"]]
    return {base64.b64decode(each["clientConfig"]["caBundle"]) for each in found}


class Background(threading.Thread):
    """A thread that repeats *action* until the end of the block; ``errors`` has what it raised."""

    def __init__(self, action):
        super().__init__(daemon=True)
        self._action, self._ended = action, threading.Event()
        self.count, self.errors = 0, []

    def run(self):
        while not self._ended.wait(POLL_SECONDS):
            try:
                self._action()
                self.count += 1
            except (ApiError, OSError) as error:
                self.errors.append(error)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()


def copied(webhooks, api):
    """Return a function that copies the Secret to the server's files, as the kubelet does."""

    def copy():
        for name, value in data(api).items():
            file = webhooks.certificates / name
            if name in ("ca.crt", "tls.crt", "tls.key") and file.read_bytes() != value:
                file.write_bytes(value)

    return copy


def reviewed(api, namespace):
    """Return a function that lets the API server call both webhooks: it accepts one group, and refuses another."""

    def review():
        api.create(composite_group("probe", namespace), dryRun="All")
        try:
            api.create(unfit_group("probe", namespace), dryRun="All")
        except ApiError as error:
            if not is_refused(error.status):
                raise
        else:
            raise OSError("a group was not reviewed")

    return review


def granted(plane, api):
    """Apply the roles of the page, bind them to the webhooks' account, and return its kubeconfig."""
    section = PAGE.partition("## muster certs rotate\n")[2].partition("\n## ")[0]
    (block,) = (each for each in re.findall(r"```yaml\n(.*?)```", section, re.DOTALL) if "kind: ClusterRole\n" in each)
    manifests = list(yaml.safe_load_all(block))
    plane.kubectl("apply", "-f", "-", stdin=block, check=True)
    (account,) = (each["metadata"]["name"] for each in manifests if each["kind"] == "ServiceAccount")
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    for kind, space in (("ClusterRole", ""), ("Role", NAMESPACE)):
        await_rights(api, subject, next(each["rules"] for each in manifests if each["kind"] == kind), space)
    return manifests, plane.service_account(account, NAMESPACE)


def withdrawn(api, manifests):
    for each in manifests:
        api.delete(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""))


def test_no_review_fails_while_ca_and_leaf_are_replaced(plane, api, namespace, webhooks):
    manifests, kubeconfig = granted(plane, api)
    before = data(api)
    other = Api(plane.kubeconfig)
    try:
        with Background(copied(webhooks, api)) as copies, Background(reviewed(other, namespace)) as reviews:
            options = (f"--kubeconfig={kubeconfig}", f"--replica=127.0.0.1:{webhooks.port}", "--settle=5")
            assert eventually(lambda: reviews.count > 0)
            done = muster("certs", "rotate", "--ca", *options)
            after = data(api)
            count = reviews.count
            assert eventually(lambda: reviews.count > count + 20 or bool(reviews.errors))
    finally:
        other.close()
        withdrawn(api, manifests)

    assert (0, "") == (done.returncode, done.stderr), done.stdout
    steps = ["stage", "trust", "switch", "observe", "distrust", "finish", "done"]
    assert steps == [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert ([], []) == (copies.errors, reviews.errors)
    assert set(before) == set(after)
    assert not {before[name] for name in before} & {after[name] for name in after}
    assert {after["ca.crt"]} == bundles(api)
    assert 1 == len(pem_bundle.certificates(after["ca.crt"]))
    assert webhooks.judges("default")


def test_a_lost_race_is_a_conflict(plane, api, webhooks):
    """Both kinds of patch name the resourceVersion that was read."""
    from apiserver.api import Api as Client
    from apiserver.api import ReplyError
    from apiserver.connect import find_connection
    from certs.webhook_configurations import Cluster, Place

    cluster = Cluster(Client(find_connection(str(plane.kubeconfig))), Place(NAMESPACE, SECRET, ACCOUNT, ("muster",)))
    reading = cluster.read()
    for kind, name, space in ((*("Secret", SECRET), NAMESPACE), *((each, "muster", "") for each in CONFIGURATIONS)):
        api.patch(kind, name, space, body={"metadata": {"labels": {"touched": "yes"}}}, how="merge")

    with pytest.raises(ReplyError) as secret:
        cluster.write_secret(reading, {"next-tls.crt": b"x"})
    with pytest.raises(ReplyError) as bundles_written:
        cluster.write_bundles(reading, lambda old: old + old)
    assert [(409, "Conflict")] * 2 == [(each.value.code, each.value.reason) for each in (secret, bundles_written)]
    assert "next-tls.crt" not in data(api)
    assert abs((cluster.read().now - reading.now).total_seconds()) < 600


def test_endpoints_of_the_service_count_until_they_terminate(plane, api, webhooks):
    from apiserver.api import Api as Client
    from apiserver.connect import find_connection
    from certs.webhook_configurations import Cluster, Place

    url = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
    endpoint_slice = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "webhook", "labels": {"kubernetes.io/service-name": ACCOUNT}},
        "addressType": "IPv4",
        "ports": [{"name": "webhook", "port": 9443}],
        "endpoints": [
            {"addresses": [f"10.0.0.{number}"], "conditions": {"ready": number < 2, "terminating": number == 3}} for number in (1, 2, 3)
        ],
    }
    manifests, kubeconfig = granted(plane, api)
    api.send("POST", url, endpoint_slice)
    try:
        cluster = Cluster(Client(find_connection(str(kubeconfig))), Place(NAMESPACE, SECRET, ACCOUNT, ("muster",)))
        assert ("10.0.0.1:9443", "10.0.0.2:9443") == cluster.replicas()
    finally:
        api.send("DELETE", f"{url}/webhook")
        withdrawn(api, manifests)
