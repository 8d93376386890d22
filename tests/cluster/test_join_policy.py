"""Pods wait for their groups by a policy of the API server, as by the webhook that knows no group."""

from __future__ import annotations

import pytest
import yaml

from tests.cluster.conftest import new_namespace
from tests.cluster.installed import DEPLOY
from tests.cluster.test_join import dry, known_here
from tests.cluster.waiting import until
from tests.webhooks.test_join import BUILD, BUILT, LEFT_ALONE, OF_JOB, joined, pod, state

pytestmark = pytest.mark.kubernetes("1.36", "1.37")


@pytest.fixture(scope="module")
def policy(plane):
    manifests = [*yaml.safe_load_all((DEPLOY / "components/join/policy.yaml").read_text())]
    plane.api.create_all(manifests)
    with new_namespace(plane.api, BUILD) as namespace:
        until(lambda: state(dry(plane.api, pod(OF_JOB), namespace))[2] == "unknown")
        yield namespace
    for each in manifests:
        plane.api.delete(each["kind"], each["metadata"]["name"])


def with_scheduler(new):
    """A pod as the API server completes it before admission."""
    return {**new, "spec": {"schedulerName": "default-scheduler", **new["spec"]}}


def test_a_pod_waits_as_the_webhook_lets_it(plane, api, policy):
    for name, new in BUILT.items():
        assert state(joined(with_scheduler(new))) == state(dry(api, new, policy)), name


def test_other_pods_are_left_alone(plane, api, policy):
    for name, new in known_here(LEFT_ALONE, plane).items():
        assert state(with_scheduler(new)) == state(dry(api, new, policy)), name


def test_gates_and_labels_stay_and_our_own_scheduler_needs_no_gate(plane, api, policy):
    for new in (
        pod(OF_JOB, schedulingGates=[{"name": "example.com/quota"}, {"name": "muster.dev/placement"}]),
        pod(OF_JOB, schedulerName="muster"),
    ):
        created = dry(api, new, policy)
        want = state(joined(with_scheduler(new)))

        assert (*want[:3], sorted(want[3]), want[4]) == (*state(created)[:3], sorted(state(created)[3]), state(created)[4])
        assert new["metadata"]["labels"].items() <= created["metadata"]["labels"].items()


def test_namespaces_without_the_label_are_left_alone(plane, api, policy, namespace):
    assert "" == state(dry(api, pod(OF_JOB), namespace))[2]
    assert "unknown" == state(dry(api, pod(OF_JOB, labels=BUILD), namespace))[2]
