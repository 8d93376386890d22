"""The overlay for Pods, Jobs and PriorityClasses: in namespaces that ask for it, and never in the way of a pod."""

from __future__ import annotations

import json

import pytest

from tests.cluster.api import ApiError
from tests.cluster.conftest import new_namespace
from tests.cluster.installed import ACCOUNT, NAMESPACE, eventually, installed, pod_group
from tests.cluster.kubelet import pod
from tests.cluster.take_effect import priority_classes
from workloadbuilder import template_annotations

CLASSES = {"high": 1000}


@pytest.fixture(scope="module", autouse=True)
def webhooks(plane, tmp_path_factory):
    with priority_classes(plane.api, CLASSES), installed(plane, tmp_path_factory.mktemp("installed"), overlay="pods") as created:
        yield created


@pytest.fixture
def enforced(plane):
    """A namespace that asks for pods to be judged."""
    with new_namespace(plane.api, {"muster.dev/enforce": "true"}) as name:
        yield name


def create(plane, manifest, *options):
    return plane.kubectl("create", "-f", "-", *options, stdin=json.dumps(manifest))


def rules(api, manifest):
    """The rules for which an object is refused."""
    try:
        api.create(manifest, dryRun="All")
    except ApiError as error:
        return [message.rpartition("[muster: ")[2].rstrip("]") for _, _, message in error.causes]
    return []


def test_a_pod_that_waits_for_a_group_gets_a_warning(plane, enforced):
    done = create(plane, pod("p", enforced, group="nowhere"))

    want = f'Warning: spec.schedulingGroup.podGroupName: Not found: "nowhere": there must be a PodGroup of this name in namespace {enforced} [muster: scheduling-group-exists]'
    assert (0, [want]) == (done.returncode, done.stderr.strip().splitlines())


def test_a_pod_of_another_priority_than_its_group_is_refused(plane, api, enforced):
    api.create(pod_group("gang", enforced, {"priorityClassName": "high"}))
    low = pod("p", enforced, group="gang")
    assert eventually(lambda: rules(api, low))

    done = create(plane, low)

    assert 1 == done.returncode
    assert 'The Pod "p" is invalid: ' in done.stderr
    assert "[muster: pod-priority-matches]" in done.stderr
    assert [] == rules(api, pod("p", enforced, group="gang", spec={"priorityClassName": "high"}))


def test_pods_of_one_group_have_one_scheduler(plane, api, enforced):
    """The overlay lets the server watch pods, and gives its ServiceAccount the right to."""
    api.create(pod_group("gang", enforced))
    api.create(pod("a", enforced, group="gang"))

    def told(**spec):
        return create(plane, pod("b", enforced, group="gang", spec=spec), "--dry-run=server").stderr.strip()

    assert eventually(lambda: told(schedulerName="other"))
    warning = told(schedulerName="other")
    assert warning.startswith('Warning: spec.schedulerName: Invalid value: "other": ')
    assert warning.endswith("[muster: one-scheduler-name]")
    assert "" == told()


def test_a_job_is_judged_by_its_annotations(plane, api, enforced):
    minor = plane.programs.minor()
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/main:1"}]}}
    good = template_annotations.write("train", "workers", kubernetes=minor)
    # From 1.38 on, the API server itself requires a template of a valid name, and the Workload.
    bad = (
        {"scheduling.k8s.io/group-template-name": "train/workers"}
        if minor < 38
        else {**good, "scheduling.k8s.io/parent-compositepodgroup": "a/b"}
    )
    metadata = {"name": "job", "namespace": enforced, "annotations": bad}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}

    assert ["linkage-annotations"] == rules(api, job)
    metadata["annotations"] = good
    assert [] == rules(api, job)


def test_priority_classes_are_judged_wherever(api, webhooks):
    higher = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "higher"}, "value": 2000}
    api.create(higher, dryRun="All")

    assert [("CREATE", True)] == [
        (each["operation"], each["allowed"]) for each in webhooks.logged(kind="PriorityClass", name="higher", least=1)
    ]


def test_a_namespace_without_the_label_is_ignored(plane, api, namespace, webhooks):
    done = create(plane, pod("p", namespace, group="nowhere"))

    assert (0, "") == (done.returncode, done.stderr)
    assert [] == webhooks.logged(namespace=namespace)


def test_without_the_server_pods_go_through_unjudged_and_groups_wait(plane, api, enforced, webhooks):
    api.create(pod_group("gang", enforced, {"priorityClassName": "high"}))
    assert eventually(lambda: rules(api, pod("p", enforced, group="gang")))
    webhooks.server.kill()
    try:
        api.create(pod("p", enforced, group="gang"))
        with pytest.raises(ApiError, match=r'failed calling webhook "groups.muster.dev"'):
            api.create(pod_group("other", enforced))
    finally:
        webhooks.start()
    assert eventually(lambda: rules(api, pod("q", enforced, group="gang")))


def test_the_shipped_role_is_enough(plane, webhooks):
    account = plane.service_account(ACCOUNT, NAMESPACE)

    assert "yes" == plane.kubectl("auth", "can-i", "watch", "pods", "-A", kubeconfig=account).stdout.strip()
    assert "no" == plane.kubectl("auth", "can-i", "create", "pods", "-A", kubeconfig=account).stdout.strip()
    assert [] == webhooks.logged("watch")
