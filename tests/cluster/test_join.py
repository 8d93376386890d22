"""Pods of the Job controller join groups on real API servers, also after the server was down; only pods with built controllers are sent."""

from __future__ import annotations

import json

import pytest

from scheduler_core.causes.built_groups import NotBuilt, NotBuiltReason
from scheduler_core.sidecar.building.group_plan import GroupPlan
from scheduler_core.sidecar.building.owned_objects import Objects
from scheduler_core.sidecar.building.waiting_pods import joins, releases
from tests import builders
from tests.cluster.api import ApiError
from tests.cluster.building import NO_JOB_GROUPS, built_namespace
from tests.cluster.conftest import new_namespace
from tests.cluster.installed import eventually, installed
from tests.cluster.waiting import until
from tests.webhooks.test_join import BUILD, BUILT, GATE, LEFT_ALONE, OF_JOB, WAITING, pod, state

pytestmark = pytest.mark.custom_resources("1.30")
CONTROLLERS = ("job-controller",)
MEMBERS = {"batch.kubernetes.io/job-name": "train"}


@pytest.fixture(scope="module")
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed"), overlay="join") as created:
        yield created


@pytest.fixture
def served(webhooks):
    """The webhooks, with a server that runs before and after the test."""
    if not webhooks.server.running:
        webhooks.start()
    return webhooks


@pytest.fixture
def labelled(plane):
    """A namespace whose groups are built."""
    with built_namespace(plane.api) as name:
        yield name


@pytest.fixture
def controllers(plane, custom):
    """The controller of Jobs, which creates no groups."""
    plane.start_controllers(CONTROLLERS, () if custom else NO_JOB_GROUPS)
    yield
    plane.controllers.stop()


def job(namespace):
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    manifest = builders.manifest("batch/v1", "Job", "train", {"parallelism": 2, "template": {"spec": spec}})
    return in_namespace(manifest, namespace)


def group(namespace):
    metadata = {"namespace": namespace, "annotations": {"muster.dev/members": json.dumps([MEMBERS])}}
    return builders.pod_group("g", 2, metadata=metadata)


def created_pods(api, namespace):
    """The two pods of a Job, when its controller has created them."""
    until(lambda: len(api.objects("Pod", namespace)) == 2, told=lambda: str(api.objects("Event", namespace)))
    return api.objects("Pod", namespace)


def in_namespace(new, namespace):
    return {**new, "metadata": {**new["metadata"], "namespace": namespace}}


def dry(api, new, namespace):
    """A pod as it would be created."""
    return api.create(in_namespace(new, namespace), dryRun="All")


def is_sent(api, new, namespace):
    """Return whether a pod depends on the server, which is down."""
    try:
        dry(api, new, namespace)
    except ApiError as error:
        if 'failed calling webhook "join' in error.status["message"]:
            return True
        raise
    return False


def known_here(cases, plane):
    """The cases that an API server of this version can tell apart."""
    return {name: new for name, new in cases.items() if plane.programs.minor() >= 37 or "schedulingGroup" not in new["spec"]}


def test_the_pods_of_a_job_join_its_group(plane, api, served, labelled, controllers):
    api.create(group(labelled))
    until(lambda: state(dry(api, pod(OF_JOB), labelled))[0] == "g")
    api.create(job(labelled))

    for each in created_pods(api, labelled):
        assert ("g", "", "", [GATE], "default-scheduler") == state(each)


def test_the_pods_of_a_job_wait_for_its_group(plane, api, served, labelled, controllers):
    api.create(job(labelled))

    for each in created_pods(api, labelled):
        assert ("", "", "unknown", [GATE, WAITING], "default-scheduler") == state(each)


def test_pods_that_wait_join_the_group_that_comes_later_and_others_are_released(plane, api, served, labelled, controllers):
    api.create(job(labelled))
    first, second = created_pods(api, labelled)
    created = api.create(group(labelled))
    objects = Objects(lambda *_: None)
    objects.add_or_update(("batch", "Job"), {"apiVersion": "batch/v1", "kind": "Job", **api.get("Job", "train", labelled)})

    _patch(api, first, joins([first], [created]))
    never = GroupPlan(why=NotBuilt(NotBuiltReason.NO_GROUP))
    _patch(api, second, releases([second], objects, lambda _: never, []))

    states = [state(api.get("Pod", each["metadata"]["name"], labelled)) for each in (first, second)]
    assert [("g", "", "", [GATE], "default-scheduler"), ("", "", "", [], "default-scheduler")] == states


def _patch(api, pod, patches):
    (patch,) = patches.values()
    api.patch("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"], body=patch, how="merge")


def test_pods_of_groups_that_their_controller_creates_are_left_alone(plane, api, served, labelled, custom):
    if custom:
        pytest.skip("the controller of Jobs creates groups of built-in kinds only")
    plane.start_controllers(CONTROLLERS)
    try:
        api.create(job(labelled))

        for each in created_pods(api, labelled):
            label, field, *others = state(each)
            assert (label, field.startswith("train-"), others) == ("", True, ["", [], "default-scheduler"])
    finally:
        plane.controllers.stop()


def test_the_label_of_a_pod_asks_for_groups_elsewhere_and_no_label_does_not(plane, api, served, namespace, controllers):
    api.create(job(namespace))
    assert {("", "", "", (), "default-scheduler")} == {tuple(map(_hashable, state(each))) for each in created_pods(api, namespace)}

    assert "unknown" == state(dry(api, pod(OF_JOB, labels=BUILD), namespace))[2]


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def test_without_the_server_the_pods_of_a_job_are_created_later(plane, api, served, labelled, controllers):
    served.server.stop()
    api.create(job(labelled))
    until(lambda: any("failed calling webhook" in str(each.get("message")) for each in api.objects("Event", labelled)))
    assert [] == api.objects("Pod", labelled)

    served.start()

    assert {"unknown"} == {state(each)[2] for each in created_pods(api, labelled)}


def test_only_pods_with_built_controllers_are_sent(plane, api, served, labelled):
    served.server.stop()
    assert eventually(lambda: is_sent(api, pod(OF_JOB), labelled))

    assert [] == [name for name, new in known_here(BUILT, plane).items() if not is_sent(api, new, labelled)]
    assert [] == [name for name, new in known_here(LEFT_ALONE, plane).items() if is_sent(api, new, labelled)]


def test_in_namespaces_in_which_nothing_is_refused_pods_do_not_depend_on_the_server(plane, api, served):
    served.server.stop()
    with new_namespace(api, {**BUILD, "muster.dev/enforcement": "warn"}) as namespace:
        assert not is_sent(api, pod(OF_JOB), namespace)
