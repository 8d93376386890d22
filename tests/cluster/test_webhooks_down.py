"""The webhooks' server away and back, the API server away and back, a new certificate: docs/operate/emergency.md keeps its word."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess

import pytest
from cryptography import x509

from tests.cluster.api import ApiError
from tests.cluster.conftest import clean, new_namespace
from tests.cluster.control_plane import KUBECTL_SECONDS
from tests.cluster.installed import CONFIGURATIONS, DEPLOY, composite_group, eventually, installed, pod_group
from tests.cluster.kubelet import finish_pod, pod
from tests.cluster.unfit import unfit, unfit_group

EMERGENCY = (DEPLOY.parent / "docs" / "operate" / "emergency.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed")) as created:
        yield created


@pytest.fixture(autouse=True)
def well(webhooks):
    """Server and configurations are as shipped before and after each test, whatever it does to them."""
    yield
    if not webhooks.server.running:
        webhooks.start()
    webhooks.apply_configurations()
    assert eventually(lambda: webhooks.judges("default"))


def accepted(api, namespace):
    """Return true if a valid group can be created; otherwise the server must be unreachable."""
    try:
        api.create(pod_group("probe", namespace), dryRun="All")
    except ApiError as error:
        if 'failed calling webhook "groups.muster.dev"' in error.status["message"]:
            return False
        raise
    return True


def commands_of_the_page(heading, start):
    """The commands of the first block below *heading* whose first line starts with *start*."""
    section = EMERGENCY.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    (block,) = (each for each in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) if each.startswith(start))
    return block


def run(plane, commands):
    """Run shell commands with kubectl and its kubeconfig at hand, as an operator would."""
    kubectl = plane.programs.path("kubectl")
    environ = {"PATH": f"{kubectl.parent}:/usr/bin:/bin", "KUBECONFIG": str(plane.kubeconfig), "HOME": str(plane.folder)}
    done = subprocess.run(["/bin/sh", "-ec", commands], capture_output=True, text=True, check=False, env=environ, timeout=KUBECTL_SECONDS)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_without_the_server_no_group_changes_and_kubectl_names_the_webhook(plane, api, namespace, webhooks):
    api.create(composite_group("there", namespace))
    webhooks.server.stop()

    created = plane.kubectl("create", "-f", "-", stdin=json.dumps(composite_group("new", namespace)))
    labelled = plane.kubectl("label", "compositepodgroup", "there", "-n", namespace, "a=b")

    for done in (created, labelled):
        assert 1 == done.returncode
        assert 'Internal error occurred: failed calling webhook "groups.muster.dev"' in done.stderr
    with pytest.raises(ApiError, match="failed calling webhook"):
        api.set_status("CompositePodGroup", "there", namespace, status={"conditions": []})


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_without_the_server_a_namespace_in_which_nothing_is_refused_works(api, webhooks, mode):
    with new_namespace(api, {"muster.dev/enforcement": mode}) as name:
        webhooks.server.stop()

        api.create(unfit_group("x", name))


def test_without_the_server_pods_come_run_and_go(api, namespace, webhooks):
    api.create(pod_group("there", namespace))
    webhooks.server.kill()

    api.create(pod("p", namespace, group="there"))
    finish_pod(api, "p", namespace)
    api.delete("Pod", "p", namespace, gracePeriodSeconds=0)

    assert not api.exists("Pod", "p", namespace)


def test_without_the_server_groups_are_deleted_with_their_finalizers(plane, api, namespace, webhooks):
    api.create(pod_group("there", namespace))
    assert ["scheduling.k8s.io/podgroup-protection"] == api.get("PodGroup", "there", namespace)["metadata"]["finalizers"]
    webhooks.server.kill()
    plane.start_controllers(("podgroup-protection-controller",))
    try:
        api.delete("PodGroup", "there", namespace)
        assert api.wait("PodGroup", "there", namespace, until=lambda result: result is None) is None
    finally:
        plane.controllers.stop()


def test_the_server_comes_back_and_judges_again(api, namespace, webhooks):
    webhooks.server.kill()
    assert not accepted(api, namespace)

    webhooks.start()

    assert eventually(lambda: accepted(api, namespace))
    assert eventually(lambda: webhooks.judges(namespace))


def test_failure_policy_ignore_accepts_groups_while_the_server_is_away(plane, api, namespace, webhooks):
    run(plane, commands_of_the_page("Groups cannot be created", "kubectl patch"))
    webhooks.server.kill()
    assert eventually(lambda: accepted(api, namespace))

    api.create(unfit_group("unjudged", namespace))
    webhooks.start()

    assert eventually(lambda: webhooks.judges(namespace))
    assert {"Ignore"} == {each["failurePolicy"] for kind in CONFIGURATIONS for each in api.get(kind, "muster")["webhooks"]}


def test_without_the_configurations_everything_goes_through_at_once(plane, api, namespace, webhooks):
    webhooks.server.kill()
    assert not accepted(api, namespace)

    run(plane, commands_of_the_page("Groups cannot be created", "kubectl delete"))

    assert eventually(lambda: accepted(api, namespace))


def test_what_was_stored_unjudged_can_be_mended_labelled_and_deleted(plane, api, namespace, webhooks):
    webhooks.withdraw()
    assert eventually(lambda: not webhooks.judges(namespace))
    api.create(unfit_group("old", namespace))
    webhooks.apply_configurations()
    assert eventually(lambda: webhooks.judges(namespace))

    plane.kubectl("label", unfit().kind, "old", "-n", namespace, "a=b", check=True)
    api.patch(unfit().kind, "old", namespace, body={"metadata": {"finalizers": None}})
    api.delete(unfit().kind, "old", namespace)

    assert not api.exists(unfit().kind, "old", namespace)


def test_a_server_that_hangs_costs_three_seconds_and_is_as_one_that_is_away(api, namespace, webhooks):
    webhooks.server.pause()
    try:
        with pytest.raises(ApiError, match=r'failed calling webhook "groups.muster.dev".*(deadline exceeded|timeout)'):
            api.create(pod_group("x", namespace), dryRun="All")
    finally:
        webhooks.server.resume()

    assert eventually(lambda: accepted(api, namespace))


@pytest.mark.parametrize("lost_fields", ["restart_apiserver", "expire_history"], ids=["connections are lost", "the history is lost too"])
def test_the_servers_view_of_the_cluster_outlives_the_api_server(plane, api, namespace, webhooks, lost_fields):
    parent = composite_group(namespace, namespace, {"schedulingPolicy": {"gang": {"minGroupCount": 1}}, "disruptionMode": {"all": {}}})
    spec = {"parentCompositePodGroupName": namespace, "workloadRef": {"workloadName": "train", "templateName": "leaf"}}

    def rules():
        try:
            api.create(pod_group("leaf", namespace, spec), dryRun="All")
        except ApiError as error:
            return [message.rpartition("[muster: ")[2] for _, _, message in error.causes]
        return []

    api.create(parent)
    assert eventually(lambda: ["tree-disruption-nesting]"] == rules())
    getattr(plane, lost_fields)()
    assert eventually(lambda: ["tree-disruption-nesting]"] == rules())
    clean(api, ("CompositePodGroup",), namespace)

    assert eventually(lambda: [] == rules())


def served_serial(webhooks):
    context = ssl.create_default_context(cafile=str(webhooks.certificates / "ca.crt"))
    with socket.create_connection(("127.0.0.1", webhooks.port)) as raw, context.wrap_socket(raw, server_hostname="127.0.0.1") as sock:
        return x509.load_der_x509_certificate(sock.getpeercert(binary_form=True)).serial_number


def test_a_renewed_certificate_is_taken_without_a_restart(api, namespace, webhooks):
    before, pid = served_serial(webhooks), webhooks.server.pid

    webhooks.issue("--ca", str(webhooks.certificates), "--force")

    assert eventually(lambda: before != served_serial(webhooks))
    assert eventually(lambda: webhooks.judges(namespace))
    assert pid == webhooks.server.pid


def test_a_certificate_of_another_authority_is_not_trusted(api, namespace, webhooks):
    remaining = {path.name: path.read_bytes() for path in webhooks.certificates.iterdir()}
    webhooks.server.kill()
    try:
        webhooks.issue("--force")
        webhooks.start()
        with pytest.raises(ApiError, match=r'failed calling webhook "groups.muster.dev".*certificate signed by unknown authority'):
            api.create(pod_group("x", namespace), dryRun="All")
    finally:
        webhooks.server.kill()
        for name, content in remaining.items():
            (webhooks.certificates / name).write_bytes(content)
