"""What an administrator reads of binds that fail and of gangs that wait, on a real control plane."""

from __future__ import annotations

import pytest
import yaml

from tests.cluster.faults import WELL, faults
from tests.cluster.groups import SCHEDULED, composite, condition_of, pod_group
from tests.cluster.sidecars import NAMESPACE, ROOT, install, kubeconfig, sidecar
from tests.cluster.test_sidecar_bad_days import gang
from tests.cluster.test_sidecar_place import bound, ours, racks, scheduled
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")

ALONE = ("--mode", "validate,place,preempt,protect", "--lease", "none")
BINDING = "missing permission: create pods/binding"


def rules():
    """Return the rules of all cluster roles of the sidecar, with and without the right to bind."""
    manifests = list(yaml.safe_load_all((ROOT / "deploy/sidecar/rbac.yaml").read_text()))
    every = [rule for each in manifests if each["kind"] == "ClusterRole" for rule in each["rules"]]
    return every, [rule for rule in every if "pods/binding" not in rule["resources"]]


def reason_and_message(api, kind, name, namespace, text):
    """Wait until the condition of a group contains *text*, and return its reason and message."""
    result = api.wait(kind, name, namespace, until=lambda each: text in condition_of(each or {}, SCHEDULED[kind]).get("message", ""))
    condition = condition_of(result, SCHEDULED[kind])
    assert "False" == condition["status"]
    return condition["reason"], condition["message"]


def described(plane, namespace, name, kind="podgroup"):
    return plane.kubectl("describe", kind, name, "-n", namespace, check=True).stdout


def test_forbidden_binds_are_reported_and_made_once_they_are_allowed(plane, api, namespace, nodes, tmp_path):
    """From the start a right is missing; it is granted while the sidecar runs, and then taken away again."""
    install(api)
    granted, without = rules()
    user = f"unbinding-{namespace}"
    config = plane.user(user, without)
    nodes(*racks(1))
    with sidecar(plane, tmp_path, *ALONE, through=config, wait=False, fork=True) as running:
        until(lambda: running.get("/readyz") == (503, f"{BINDING}\n"), told=lambda: str(running.get("/readyz")))
        until(lambda: [line for line in running.lines if line["event"] == "permissions" and BINDING in line["message"]])
        gang(api, namespace, "g", 2)
        reason, message = reason_and_message(api, "PodGroup", "g", namespace, 'cannot create resource "pods/binding"')
        assert "SchedulerError" == reason
        assert message.startswith(f"0 of 2 pods are bound; binding {namespace}/g-0 to ")
        until(lambda: "FailedScheduling" in described(plane, namespace, "g"))
        explained = running.explain(namespace, "g")
        assert ("Success", 2) == (explained["status"], explained["writes"]["binds"]["total"])
        assert 'cannot create resource "pods/binding"' in explained["writes"]["failures"][0]["reason"]
        until(lambda: [line for line in running.lines if line["event"] == "write" and line["outcome"] == "retried"])

        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
        plane.grant(user, granted, subject)
        bound(api, namespace, 2)
        scheduled(api, "PodGroup", "g", namespace)
        until(lambda: running.get("/readyz") == (200, "ok\n"), told=lambda: str(running.get("/readyz")))

        plane.grant(user, without, subject)
        gang(api, namespace, "h", 2)
        until(lambda: running.get("/readyz") == (503, f"{BINDING}\n"), told=lambda: str(running.get("/readyz")))
        reason_and_message(api, "PodGroup", "h", namespace, 'cannot create resource "pods/binding"')


def test_the_rights_of_the_manifests_are_the_rights_that_are_checked(plane, api, tmp_path):
    modes = ("--mode", "validate,place,ungate,preempt,protect", "--lease", f"{NAMESPACE}/muster-sidecar")
    with sidecar(plane, tmp_path, *modes, fork=True) as running:
        # A new leader waits for a moment.
        until(lambda: running.get("/readyz") == (200, "ok\n"), told=lambda: str(running.get("/readyz")))
        assert [] == [line for line in running.lines if line["event"] == "permissions"]


def test_a_gang_that_lost_a_pod_while_it_was_bound_says_until_when_it_waits(plane, api, namespace, nodes, tmp_path):
    def decide(requested):
        if requested.path.endswith("/g-2/binding") and api.exists("Pod", "g-2", namespace):
            api.delete("Pod", "g-2", namespace, gracePeriodSeconds=0)
        return WELL

    nodes(*racks(1))
    with faults(plane) as proxy:
        proxy.decide = decide
        with sidecar(plane, tmp_path, *ALONE, through=proxy.kubeconfig(kubeconfig(plane)), fork=True) as running:
            gang(api, namespace, "g")
            reason, message = reason_and_message(api, "PodGroup", "g", namespace, "partially bound: waiting until 20")
            assert "Waiting" == reason
            assert "then the 2 pods with a node are deleted" in message
            assert message == running.explain(namespace, "g")["message"]
            until(lambda: any(each["reason"] == "Waiting" for each in api.objects("Event", namespace)))
            proxy.decide = lambda requested: WELL
            api.create(ours("g-2", namespace, "g", cpu="100m"))
            bound(api, namespace, 3)
            scheduled(api, "PodGroup", "g", namespace)


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory):
    with sidecar(plane, tmp_path_factory.mktemp("reports"), *ALONE, fork=True) as running:
        yield running


def test_a_gang_that_lacks_pods_says_so_to_kubectl(started, plane, api, namespace, nodes, custom):
    nodes(*racks(1))
    api.create(pod_group("g", namespace, minimum=3))
    api.create(ours("g-0", namespace, "g", cpu="100m"))
    assert ("Waiting", 'PodGroup "g" has 1 of 3 pods, 2 missing') == reason_and_message(api, "PodGroup", "g", namespace, "1 of 3 pods")
    text = described(plane, namespace, "g")
    assert 'PodGroup "g" has 1 of 3 pods, 2 missing' in text
    listed = plane.kubectl("get", "podgroups", "-n", namespace, check=True).stdout
    assert ("False" if custom else "Unschedulable") in listed.split()
    explained = started.explain(namespace, "g")
    assert ("Wait", "gated") == (explained["status"], explained["writes"]["queue"])
    api.create_all([ours(f"g-{number}", namespace, "g", cpu="100m") for number in (1, 2)])
    bound(api, namespace, 3)
    scheduled(api, "PodGroup", "g", namespace)


def test_a_tree_whose_root_is_missing_says_so_on_each_group(started, api, namespace, nodes):
    nodes(*racks(1))
    api.create(pod_group("a", namespace, minimum=1, parent="top"))
    api.create(ours("a-0", namespace, "a", cpu="100m"))
    assert "Waiting" == reason_and_message(api, "PodGroup", "a", namespace, 'CompositePodGroup "top"')[0]
    api.create(composite("top", namespace, minimum=2))
    for kind, name in (("CompositePodGroup", "top"), ("PodGroup", "a")):
        assert "Waiting" == reason_and_message(api, kind, name, namespace, "1 of 2 ready child groups" if name == "top" else "1 of 2")[0]
