"""The pods that real controllers create are those that are compiled from their objects, and their labels tell the group of each."""

from __future__ import annotations

import collections
import copy
import functools
import json
import time
from pathlib import Path

import pytest
import yaml

from tests.cluster import controllers, go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kubelet import Kubelet, finish_pod, node
from tests.cluster.options import NO_GATES, WITHOUT_CONTROLLERS, Options
from tests.cluster.waiting import until
from tests.workloadbuilder.adapters.planned import planned_group
from workloadbuilder.adapters.compiled import CompileOptions, compile_object
from workloadbuilder.adapters.jobset.jobset_labels import RESTARTS
from workloadbuilder.adapters.shared.job_spec import INDEX
from workloadbuilder.adapters.shared.known_objects import Known

pytestmark = pytest.mark.kubernetes("1.30", "1.37")
CASES = Path(__file__).parents[1] / "cases" / "controllers"
WITHOUT_GROUPS = Options(gates=NO_GATES, served=(), disabled_plugins=WITHOUT_CONTROLLERS)
NODE = "n1"
STEADY_SECONDS = 2.0
"""Pods that do not come in this time wait for something."""
RESTARTED = {"name": "worker", "image": "i", "imageID": "i", "ready": True, "restartCount": 1, "state": {"running": {}}}
STAND_INS = {"controller-revision-hash"}
"""Labels whose values are hashes of controllers of apps/v1, for which others of the same length are planned."""
SUSPENDED = {
    "jobset": {"suspend": True},
    "mpijob": {"runPolicy": {"suspend": True}},
    "raycluster": {"suspend": True},
    "rayjob": {"suspend": True, "shutdownAfterJobFinishes": True},
    "trainjob": {"suspend": True},
}
VARIANTS = [
    *(pytest.param(each.stem, {}, id=each.stem) for each in sorted(CASES.glob("*.yaml"))),
    pytest.param("mpijob", {"runLauncherAsWorker": True}, id="mpijob, the launcher is a worker"),
    pytest.param(
        "leaderworkerset",
        {"leaderWorkerTemplate": {"subGroupPolicy": {"subGroupPolicyType": "LeaderExcluded", "subGroupSize": 3}}},
        id="leaderworkerset, the leader is in no subgroup",
    ),
]
ORDERED = [
    pytest.param("jobset", {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, id="jobset"),
    pytest.param("leaderworkerset", {"startupPolicy": "LeaderReady"}, id="leaderworkerset, ready"),
    pytest.param("leaderworkerset", {}, id="leaderworkerset, placed"),
    pytest.param("mpijob", {"launcherCreationPolicy": "WaitForWorkersReady"}, id="mpijob"),
    pytest.param("rayjob", {}, id="rayjob"),
]
AGAIN = {
    "jobset": ("training-workers-1-1", 7),
    "leaderworkerset": ("vllm-1-2", 4),
    "mpijob": ("pi-worker-1", 1),
    "raycluster": ("tuning-small-worker", 1),
}
"""The beginning of the name of a pod that is lost, and the number of pods that are created again then."""


@pytest.fixture(scope="module")
def plane(programs):
    """One with all controllers, and one node."""
    for name in controllers.CONTROLLERS:
        available(functools.partial(go_tools.find, name))
    with ControlPlane(WITHOUT_GROUPS, programs) as started, controllers.running(started, *controllers.CONTROLLERS), Kubelet(started.api):
        started.api.create(node(NODE, {"example.com/rack": "r1"}))
        yield started


class Case:
    """One object of ``cases/controllers``, created with changes of its ``spec``."""

    def __init__(self, api, namespace, name, **changes):
        self.api, self.namespace = api, namespace
        *self.others, self.manifest = yaml.safe_load_all((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
        self.kind, self.name = self.manifest["kind"], self.manifest["metadata"]["name"]
        self.manifest["metadata"]["namespace"] = namespace
        self.manifest["spec"] = merged(self.manifest["spec"], changes)
        for each in self.others:
            if not api.exists(each["kind"], each["metadata"]["name"]):
                api.create(each)
        self.created = api.create(self.manifest)

    @property
    def compiled(self):
        live = self.api.get(self.kind, self.name, self.namespace)
        result = compile_object(live, Known(self.others), CompileOptions(groups=True, pods=True))
        assert not result.errors
        return result

    @property
    def planned(self):
        return [each for each in self.compiled.objects if each["kind"] == "Pod"]

    @property
    def pods(self):
        """Pods that are not being deleted, or have ended."""
        found = self.api.objects("Pod", self.namespace)
        return [each for each in found if "deletionTimestamp" not in each["metadata"] and each["status"]["phase"] != "Failed"]

    def run(self, count, old=()):
        """Bind the pods, whose kubelet runs them, until there are *count*; none of them has a uid of *old*."""

        def there():
            for each in self.pods:
                if "nodeName" not in each["spec"]:
                    self.api.bind(each["metadata"]["name"], self.namespace, NODE)
            pods = [each for each in self.pods if each["metadata"]["uid"] not in old]
            return len(pods) == count and all(each["status"]["phase"] == "Running" for each in pods)

        until(there, told=lambda: f"{count} pods should run: {[(each['metadata']['name'], each['status']['phase']) for each in self.pods]}")

    def groups(self):
        """Return the number of pods by their planned group."""
        compiled = self.compiled
        return collections.Counter(planned_group(each, compiled) for each in self.pods)

    def settled(self, count):
        """Wait until there are *count* pods; return them if there are no others after some time."""
        until(lambda: len(self.pods) == count, told=lambda: f"{count} pods: {[each['metadata']['name'] for each in self.pods]}")
        time.sleep(STEADY_SECONDS)
        return self.pods


def merged(content, changes):
    result = copy.deepcopy(content)
    for name, value in changes.items():
        result[name] = merged(result.get(name) or {}, value) if isinstance(value, dict) else value
    return result


def expected(case):
    """Return the number of planned pods by their group."""
    return collections.Counter(each["spec"]["schedulingGroup"]["podGroupName"] for each in case.planned)


def is_like(real, planned):
    """Return whether a pod has all labels and annotations, and the kinds of owners, of a planned one."""
    for field in ("labels", "annotations"):
        there, wanted = (each["metadata"].get(field) or {} for each in (real, planned))
        if any(there.get(key) != value for key, value in wanted.items() if key not in STAND_INS):
            return False
    there, wanted = ({each["kind"] for each in pod["metadata"].get("ownerReferences") or ()} for pod in (real, planned))
    return wanted <= there


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_the_pods_that_arise_are_those_that_are_planned(api, namespace, name, changes):
    case = Case(api, namespace, name, **changes)
    case.run(len(case.planned))

    compiled, planned = case.compiled, case.planned
    assert expected(case) == case.groups()
    found = set()
    for each in case.pods:
        like = [index for index, one in enumerate(planned) if is_like(each, one)]
        assert like, f"{each['metadata']} is like no planned pod of {[one['metadata'] for one in planned]}"
        assert {planned_group(each, compiled)} == {planned[index]["spec"]["schedulingGroup"]["podGroupName"] for index in like}
        found.update(like)
    assert set(range(len(planned))) == found


@pytest.mark.parametrize("name", SUSPENDED)
def test_a_suspended_object_has_no_pods_until_it_is_resumed(api, namespace, name):
    case = Case(api, namespace, name, **SUSPENDED[name])
    until(lambda: "suspended" in json.dumps(api.get(case.kind, case.name, namespace).get("status")).lower())
    assert [] == case.settled(0)

    resumed = merged(SUSPENDED[name], {"runPolicy": {"suspend": False}} if name == "mpijob" else {"suspend": False})
    api.patch(case.kind, case.name, namespace, body={"spec": resumed})
    case.run(len(case.planned))
    assert expected(case) == case.groups()


@pytest.mark.parametrize(("name", "changes"), ORDERED)
def test_pods_come_in_the_order_that_is_known(api, namespace, name, changes):
    """Nothing is bound at first: what is not created then waits for pods that have a node, or run."""
    case = Case(api, namespace, name, **changes)
    until(lambda: case.pods)
    compiled = case.compiled
    first = sum(part not in compiled.waits for part in compiled.parts)
    assert 0 < first < len(compiled.parts)
    assert first == len(case.settled(first))

    case.run(len(case.planned))
    assert expected(case) == case.groups()


def test_pods_of_a_job_with_a_domain_of_its_own_follow_the_first_one(api, namespace):
    """A gang of them is never complete: the others are refused until the first one has a node."""
    case = Case(api, namespace, "jobset")
    assert {"0"} == {each["metadata"]["labels"][INDEX] for each in case.settled(4)}

    for each in case.pods:
        api.bind(each["metadata"]["name"], namespace, NODE)
    until(lambda: len(case.pods) == 7)


@pytest.mark.parametrize("name", AGAIN)
def test_pods_that_are_created_again_have_the_same_group(api, namespace, name):
    case = Case(api, namespace, name)
    case.run(len(case.planned))
    before = {each["metadata"]["uid"] for each in case.pods}
    beginning, count = AGAIN[name]
    lost = next(each["metadata"]["name"] for each in case.pods if each["metadata"]["name"].startswith(beginning))

    if name == "jobset":
        finish_pod(api, lost, namespace, "Failed")
    elif name == "leaderworkerset":
        api.set_status("Pod", lost, namespace, status={"containerStatuses": [RESTARTED]})
    else:
        api.delete("Pod", lost, namespace, gracePeriodSeconds=0)
    case.run(count, before)

    until(lambda: len(case.pods) == len(case.planned))
    assert expected(case) == case.groups()
    if name == "jobset":
        assert {"1"} == {each["metadata"]["labels"][RESTARTS] for each in case.pods + case.planned}
