"""The Helm chart on a real API server: applied, applied again without a change, and the webhooks are called as they are configured."""

from __future__ import annotations

import base64
import json

import pytest

from tests.cluster import go_tools
from tests.cluster.api import ApiError
from tests.cluster.conftest import available
from tests.cluster.installed import NAMESPACE, Installed, eventually, installed, pod_group, unfit_group
from tests.deploy import rendered

OWN_KINDS = "webhooks.pods=true", "sidecar.enabled=true", rendered.ALL_MODES, "networkPolicy.enabled=true"
"""Values with which the chart has all its objects of Kubernetes' own kinds."""
SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


class OfChart(Installed):
    """The webhooks of the chart with the CA of the certificate, as an administrator brings it; helm creates the namespace."""

    def manifests(self):
        bundle = base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()
        flags = [part for each in (f"certificate.caBundle={bundle}", *OWN_KINDS) for part in ("--set", each)]
        done = rendered.template(*flags)
        assert 0 == done.returncode, done.stderr
        return f"{json.dumps(SYSTEM)}\n---\n{done.stdout}"


@pytest.fixture(scope="module", autouse=True)
def webhooks(plane, tmp_path_factory):
    available(lambda: go_tools.find("helm"))
    with installed(plane, tmp_path_factory.mktemp("chart"), kind=OfChart) as created:
        yield created


def test_a_group_with_an_error_is_refused_and_another_one_completed(api, namespace):
    with pytest.raises(ApiError) as refused:
        api.create(unfit_group("bad", namespace))
    created = api.create(pod_group("good", namespace))

    assert "[muster: all-needs-gang]" in str(refused.value.status)
    assert {"single": {}} == created["spec"]["disruptionMode"]


def test_applied_twice_nothing_differs(plane, webhooks):
    configurations = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    others = [each for each in webhooks.objects if each["kind"] not in configurations]
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": others})

    once = plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests, check=True).stdout
    assert len(others) == once.count("serverside-applied")
    assert "" == plane.kubectl("diff", "--server-side", "-f", "-", stdin=manifests, check=True).stdout


def test_the_api_server_knows_every_field(plane, webhooks):
    """Strict validation, of the configurations too: a field that the server does not know would be dropped."""
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": webhooks.objects})

    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=manifests, check=True)

    assert "Warning" not in done.stderr


def test_the_modes_of_namespaces_apply(api, namespace):
    api.patch("Namespace", namespace, body={"metadata": {"labels": {"muster.dev/enforcement": "audit"}}})
    assert eventually(lambda: _is_accepted(api, namespace)), "the label has no effect"


def _is_accepted(api, namespace):
    try:
        api.create(unfit_group("probe", namespace), dryRun="All")
    except ApiError:
        return False
    return True
