"""Defaults by /mutate on an API server without the admission plugins that would set them."""

from __future__ import annotations

import json

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import composite_group, eventually, installed, pod_group
from tests.cluster.options import WITHOUT_CONTROLLERS, Options

PODGROUP, COMPOSITE = "scheduling.k8s.io/podgroup-protection", "scheduling.k8s.io/compositepodgroup-protection"
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
    "preemptionPolicy": "Never",
}


@pytest.fixture(scope="module")
def plane(programs):
    """One of its own, without the plugins Priority and PodGroupProtection."""
    with ControlPlane(Options(disabled_plugins=(*WITHOUT_CONTROLLERS, "Priority", "PodGroupProtection")), programs) as started:
        started.api.create(CLASS)
        yield started


@pytest.fixture(scope="module", autouse=True)
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed"), options=("--finalizers=all",)) as created:
        yield created


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_a_group_gets_its_finalizer_and_the_priority_of_its_class(plane, api, namespace, version):
    group = pod_group("gang", namespace, {"priorityClassName": "high", "preemptionPolicy": "Never"}, version)
    known = eventually(lambda: "priority" in api.create(group, dryRun="All")["spec"])
    assert known

    done = plane.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(group))

    created = json.loads(done.stdout)
    assert [PODGROUP] == created["metadata"]["finalizers"]
    want = {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never", "disruptionMode": {"single": {}}}
    assert want == {key: created["spec"][key] for key in want}


def test_a_composite_group_gets_the_finalizer_that_the_api_server_does_not_know_of(api, namespace):
    created = api.create(composite_group("root", namespace))

    assert [COMPOSITE] == created["metadata"]["finalizers"]
    assert (0, "PreemptLowerPriority") == (created["spec"]["priority"], created["spec"]["preemptionPolicy"])


def test_finalizers_of_others_stay_and_none_comes_twice(api, namespace):
    group = pod_group("gang", namespace)
    group["metadata"]["finalizers"] = ["example.com/mine", PODGROUP]

    assert ["example.com/mine", PODGROUP] == api.create(group)["metadata"]["finalizers"]


def test_a_dry_run_shows_what_would_be_filled_in(plane, api, namespace):
    done = plane.kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", stdin=json.dumps(pod_group("gang", namespace)))

    assert [PODGROUP] == json.loads(done.stdout)["metadata"]["finalizers"]
    assert not api.exists("PodGroup", "gang", namespace)


def test_an_update_gives_no_finalizer_back(api, namespace):
    api.create(pod_group("gang", namespace))

    api.patch("PodGroup", "gang", namespace, body={"metadata": {"finalizers": None, "labels": {"a": "b"}}})

    assert "finalizers" not in api.get("PodGroup", "gang", namespace)["metadata"]


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        pytest.param({"priorityClassName": "nowhere"}, "no PriorityClass with name nowhere was found", id="a class that is not there"),
        pytest.param(
            {"priorityClassName": "high", "priority": 7}, "must match the priority computed (1000)", id="another priority than the class's"
        ),
        pytest.param({"priority": 7}, "must match the priority computed (0)", id="a priority without a class"),
    ],
)
def test_a_priority_that_cannot_be_is_refused_as_the_plugin_does(plane, api, namespace, spec, messages):
    assert eventually(
        lambda: (
            "priority"
            in api.create(pod_group("known", namespace, {"priorityClassName": "high", "preemptionPolicy": "Never"}), dryRun="All")["spec"]
        )
    )

    done = plane.kubectl("create", "-f", "-", stdin=json.dumps(pod_group("gang", namespace, {"preemptionPolicy": "Never", **spec})))

    assert 1 == done.returncode
    assert (
        'Error from server (Forbidden): error when creating "STDIN": admission webhook "groups.muster.dev" denied the request: '
        in done.stderr
    )
    assert messages in done.stderr


def test_a_patch_is_converted_where_the_rule_names_another_version(api, namespace, webhooks):
    """The review is in v1beta1, the request in v1alpha3: the API server converts there and back."""
    rule = "/webhooks/0/rules/0"
    body = [
        {"op": "replace", "path": f"{rule}/{name}", "value": [value]}
        for name, value in (("apiVersions", "v1beta1"), ("resources", "podgroups"))
    ]
    api.patch("MutatingWebhookConfiguration", "muster", body=body, how="json")
    try:
        # A kind that the rule does not name is not sent any more: the new rule is in effect.
        assert eventually(lambda: "finalizers" not in api.create(composite_group("root", namespace), dryRun="All")["metadata"])
        created = api.create(pod_group("gang", namespace, version="v1alpha3"))
    finally:
        webhooks.apply_configurations()

    assert ("scheduling.k8s.io/v1alpha3", [PODGROUP]) == (created["apiVersion"], created["metadata"]["finalizers"])
    assert 0 == created["spec"]["priority"]
