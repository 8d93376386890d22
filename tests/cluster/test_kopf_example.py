"""The example controller of examples/ on a real control plane: with the rights that its manifest gives, and no more."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scheduler_core.behavior.scheduler_behavior import behavior_of
from tests.cluster.api import Api, ApiError
from tests.cluster.kubelet import node
from tests.cluster.process import Process
from tests.cluster.resources import RESOURCES, Manifest
from tests.cluster.take_effect import define

EXAMPLES = Path(__file__).parents[2] / "examples"
GROUP, KIND, DEFINITION = "example.muster.dev", "TrainingRun", "trainingruns.example.muster.dev"
RACK, ZONE = "topology.example/rack", "topology.example/zone"
GROUPS = ("CompositePodGroup", "PodGroup")
MADE = ("Workload", *GROUPS, "Pod")
CONTROLLERS = ("garbage-collector-controller", "podgroup-protection-controller")
ALL, BASIC = {"disruptionMode": {"all": {}}}, {"schedulingPolicy": {"basic": {}}}

pytestmark = pytest.mark.usefixtures("kubelet", "nodes")


def within(key: str) -> Manifest:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def condition(found: Manifest | None, kind: str) -> Manifest:
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})


@dataclasses.dataclass
class Controller:
    """The example as a process, for all namespaces."""

    process: Process
    environ: dict[str, str]

    def start(self) -> None:
        command = [sys.executable, "-m", "kopf", "run", "--standalone", "--all-namespaces", EXAMPLES / "kopf_trainer.py"]
        self.process.start(command, self.environ)


@pytest.fixture(scope="module")
def controller(plane, tmp_path_factory) -> Iterator[Controller]:
    """The CustomResourceDefinition and the controller; both go after the module's tests."""
    folder = tmp_path_factory.mktemp("kopf")
    definition, role = yaml.safe_load_all((EXAMPLES / "kopf_trainer_crd.yaml").read_text(encoding="utf-8"))
    process = Process("kopf", folder / "kopf.log")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(RESOURCES, KIND, (f"{GROUP}/v1", "trainingruns", True))
        define(plane.api, definition, KIND)
        kubeconfig = plane.user("kopf-trainer", role["rules"])
        running = Controller(process, {**os.environ, "KUBECONFIG": str(kubeconfig), "TMPDIR": str(folder)})
        plane.companions.append(process)
        running.start()
        yield running
        process.stop()
        plane.companions.remove(process)
        plane.api.delete("CustomResourceDefinition", DEFINITION)
        plane.api.wait("CustomResourceDefinition", DEFINITION, until=lambda result: result is None)
    messages = process.log.read_text(encoding="utf-8")
    assert "Traceback" not in messages, messages[messages.index("Traceback") :]


@pytest.fixture
def scheduler(plane) -> Iterator[None]:
    plane.start_scheduler()
    yield
    plane.scheduler.stop()


@dataclasses.dataclass
class Run:
    """A TrainingRun of one test, and what is made for it."""

    api: Api
    namespace: str
    name: str = "llm"

    def create(self, *, workers: int, cpu: int | str = 1, scheduling: Manifest | None = None, part: Manifest | None = None) -> None:
        """One worker asks for so many *cpu*; *scheduling* is of the run, *part* of its workers."""
        crew = {"replicas": workers, "resources": {"cpu": str(cpu)}, "scheduling": part or {}}
        spec = {"image": "example.com/train:1", "driver": {"resources": {"cpu": 1}}, "workers": crew, "scheduling": scheduling or {}}
        self.api.create(
            {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec}
        )

    def change(self, **spec: object) -> None:
        self.api.patch(KIND, self.name, self.namespace, body={"spec": spec})

    def told(self, kind: str, status: str) -> Manifest:
        """A condition of the run once it has this status, for the run as it is now."""
        now = self.api.get(KIND, self.name, self.namespace)["metadata"]["generation"]

        def is_told(result: Manifest | None) -> bool:
            accepted, expected = condition(result, "Accepted"), condition(result, kind)
            return accepted.get("observedGeneration") == now and expected.get("status") == status

        return condition(self.api.wait(KIND, self.name, self.namespace, until=is_told), kind)

    def accepted(self) -> Manifest:
        return self.told("Accepted", "True")

    def objects(self, kind: str) -> list[Manifest]:
        return self.api.objects(kind, self.namespace)

    def uids(self, *kinds: str) -> dict[str, str]:
        return {each["metadata"]["name"]: each["metadata"]["uid"] for kind in kinds for each in self.objects(kind)}

    def by_template(self) -> dict[str, Manifest]:
        return {each["spec"]["workloadRef"]["templateName"]: each for kind in GROUPS for each in self.objects(kind)}

    def places(self, count: int) -> dict[str, str]:
        """The node of each pod, once there are so many and all are bound."""
        result = self.api.wait_all(
            "Pod", self.namespace, until=lambda pods: len(pods) == count and all(each["spec"].get("nodeName") for each in pods.values())
        )
        return {name: each["spec"]["nodeName"] for name, each in result.items()}


@pytest.fixture
def run(controller, api, namespace) -> Iterator[Run]:
    yield Run(api, namespace)
    # Or else it would be built again when what belongs to it is removed.
    api.delete_all(KIND, namespace)
    api.wait_all(KIND, namespace, until=lambda result: not result)


def racks(cpu: int = 2) -> list[Manifest]:
    """Two zones of two racks of two nodes, called by their place: ``n-0-1-1``."""
    places = [(zone, rack, number) for zone in range(2) for rack in range(2) for number in range(2)]
    return [node(f"n-{zone}-{rack}-{number}", {ZONE: f"z{zone}", RACK: f"r{zone}{rack}"}, cpu=cpu) for zone, rack, number in places]


def test_a_run_is_built_as_a_tree_that_belongs_to_it(run):
    run.create(workers=3, scheduling=within(ZONE), part=within(RACK))
    reported = run.accepted()
    workload, groups = run.objects("Workload")[0], run.by_template()
    root = workload["spec"]["compositePodGroupTemplates"][0]

    assert f"Workload {workload['metadata']['name']}: 3 groups, 4 pods" == reported["message"]
    assert {"apiGroup": GROUP, "kind": KIND, "name": "llm"} == workload["spec"]["controllerRef"]
    assert ("run", {"gang": {"minGroupCount": 2}}) == (root["name"], root["schedulingPolicy"])
    assert [("driver", 1), ("workers", 3)] == [
        (each["name"], each["schedulingPolicy"]["gang"]["minCount"]) for each in root["podGroupTemplates"]
    ]
    assert {ZONE} == {each["key"] for each in groups["run"]["spec"]["schedulingConstraints"]["topology"]}
    assert {RACK} == {each["key"] for each in groups["workers"]["spec"]["schedulingConstraints"]["topology"]}
    for leaf in ("driver", "workers"):
        assert groups["run"]["metadata"]["name"] == groups[leaf]["spec"]["parentCompositePodGroupName"]
    owner = run.api.get(KIND, "llm", run.namespace)["metadata"]["uid"]
    for each in (each for kind in MADE for each in run.objects(kind)):
        assert [(owner, True)] == [(one["uid"], one["controller"]) for one in each["metadata"]["ownerReferences"]]


@pytest.mark.usefixtures("scheduler")
def test_it_is_scheduled_whole_zone_by_rack_and_its_status_says_so(run, nodes):
    nodes(*racks())
    run.create(workers=4, scheduling=within(ZONE), part=within(RACK))
    places = run.places(5)
    run.told("Scheduled", "True")
    of_workers = {place[:5] for name, place in places.items() if "workers" in name}

    assert 1 == len({place[:3] for place in places.values()})
    assert 1 == len(of_workers)
    assert places["llm-driver-0"][:5] not in of_workers


@pytest.mark.usefixtures("scheduler")
def test_a_run_without_capacity_gets_a_reason_and_is_scheduled_once_there_is(run, plane, nodes):
    nodes(*racks()[:2])
    run.create(workers=4, part=within(RACK))
    why = run.told("Scheduled", "False")
    if why["reason"] == "Pending":
        run.api.wait(KIND, "llm", run.namespace, until=lambda result: condition(result, "Scheduled")["reason"] == "Unschedulable")
        why = condition(run.api.get(KIND, "llm", run.namespace), "Scheduled")

    assert "Unschedulable" == why["reason"]
    behavior = behavior_of(plane.programs.minor())
    want = "driver: pod group is unschedulable" if behavior.prefixes_messages else 'driver: ancestor composite pod group "'
    assert want in why["message"]
    nodes(*racks()[2:])
    run.places(5)
    run.told("Scheduled", "True")


@pytest.mark.parametrize(
    ("scheduling", "part", "want"),
    [
        pytest.param(
            {},
            {"schedulingPolicy": {"gang": {"minCount": 5}}},
            [
                "spec.workers.scheduling.schedulingPolicy.gang.minCount: Invalid value: 5: must not be greater than spec.workers.replicas (4)"
            ],
            id="more than there are workers",
        ),
        pytest.param(
            {**ALL, **within("k" * 64)},
            BASIC,
            [
                "spec.scheduling.schedulingConstraints.topology[0].key: Invalid value: ",
                "spec.workers.scheduling.schedulingPolicy: Invalid value: ",
            ],
            id="two faults in two blocks",
        ),
        pytest.param(
            ALL,
            {"disruptionMode": {"single": {}}},
            ["spec.workers.scheduling.disruptionMode: Invalid value: \"single\": must be `all`, as the mode of its parent 'run' is"],
            id="single below all",
        ),
    ],
)
def test_what_is_wrong_is_reported_at_the_users_own_fields_and_nothing_is_made(run, scheduling, part, want):
    run.create(workers=4, scheduling=scheduling, part=part)
    reported = run.told("Accepted", "False")
    event = run.api.wait_all("Event", run.namespace, until=lambda events: any(each["reason"] == "Invalid" for each in events.values()))

    assert "Invalid" == reported["reason"]
    lines = reported["message"].splitlines()
    assert len(want) == len(lines)
    for start, line in zip(want, lines, strict=True):
        assert line.startswith(start)
    assert {reported["message"]} == {each["message"] for each in event.values() if each["reason"] == "Invalid"}
    assert [] == [each for kind in MADE for each in run.objects(kind)]


@pytest.mark.parametrize(
    ("scheduling", "part", "want"),
    [
        pytest.param({"schedulingPolicy": {"basic": {}, "gang": {}}}, {}, "spec.scheduling.schedulingPolicy", id="two policies"),
        pytest.param({}, within("a b"), "spec.workers.scheduling.schedulingConstraints.topology[0].key", id="no label key"),
        pytest.param({}, {"disruptionMode": {}}, "spec.workers.scheduling.disruptionMode", id="no mode"),
    ],
)
def test_what_a_schema_can_say_is_refused_at_once(run, scheduling, part, want):
    with pytest.raises(ApiError) as refused:
        run.create(workers=4, scheduling=scheduling, part=part)

    assert want in {path for path, _, _ in refused.value.causes}


def test_a_run_that_becomes_unsound_keeps_what_it_has_until_it_is_mended(run):
    run.create(workers=2)
    run.accepted()
    before = run.uids(*MADE)
    run.change(workers={"scheduling": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    run.told("Accepted", "False")

    assert before == run.uids(*MADE)
    run.change(workers={"replicas": 3})
    run.accepted()
    assert 3 == run.by_template()["workers"]["spec"]["schedulingPolicy"]["gang"]["minCount"]


@pytest.mark.parametrize(
    ("change", "size", "count"),
    [
        pytest.param({"replicas": 6}, 6, 7, id="more workers"),
        pytest.param({"replicas": 2}, 2, 3, id="fewer workers"),
        pytest.param({"scheduling": {"schedulingPolicy": {"gang": {"minCount": 3}}}}, 3, 5, id="a size that the user gives"),
    ],
)
def test_the_size_of_a_gang_changes_in_place(run, change, size, count):
    run.create(workers=4)
    run.accepted()
    before = run.uids("Workload", *GROUPS)
    run.change(workers=change)
    run.accepted()
    template = run.objects("Workload")[0]["spec"]["compositePodGroupTemplates"][0]["podGroupTemplates"][1]

    assert before == run.uids("Workload", *GROUPS)
    assert {"gang": {"minCount": size}} == run.by_template()["workers"]["spec"]["schedulingPolicy"] == template["schedulingPolicy"]
    pods = run.api.wait_all("Pod", run.namespace, until=lambda pods: len(pods) == count)
    assert {"llm-driver-0", *(f"llm-workers-{number}" for number in range(count - 1))} == set(pods)


@pytest.mark.usefixtures("scheduler")
def test_what_is_immutable_is_made_again_and_scheduled_again(run, plane, nodes):
    plane.start_controllers(CONTROLLERS)
    try:
        nodes(*racks())
        run.create(workers=4)
        run.places(5)
        before = run.uids(*MADE)
        run.change(workers={"scheduling": within(RACK)})
        run.accepted()
        after = run.uids(*MADE)
        places = run.places(5)
    finally:
        plane.controllers.stop()

    assert set(before) == set(after)
    assert set() == set(before.values()) & set(after.values())
    assert 1 == len({place[:5] for name, place in places.items() if "workers" in name})


@pytest.mark.usefixtures("scheduler")
def test_what_was_made_for_a_run_goes_with_it(run, plane, nodes):
    nodes(*racks())
    run.create(workers=4)
    run.places(5)
    plane.start_controllers(CONTROLLERS)
    try:
        run.api.delete(KIND, "llm", run.namespace)
        for kind in (KIND, *MADE):
            run.api.wait_all(kind, run.namespace, until=lambda result: not result)
    finally:
        plane.controllers.stop()


def test_a_run_of_a_name_that_was_used_before_waits_for_the_old_pods(run):
    run.create(workers=1)
    run.accepted()
    # kopf, which knows runs by their names alone, must be done with the one before the other comes.
    run.api.wait(
        KIND, "llm", run.namespace, until=lambda result: f"{GROUP}/last-handled-configuration" in result["metadata"].get("annotations", ())
    )
    pod = run.api.get("Pod", "llm-driver-0", run.namespace)
    run.api.delete(KIND, "llm", run.namespace)
    run.create(workers=1)
    waits = run.told("Accepted", "Unknown")
    for name in ("llm-driver-0", "llm-workers-0"):
        run.api.delete("Pod", name, run.namespace, gracePeriodSeconds=0)
    run.accepted()

    assert ("Waiting", "another Pod llm-driver-0 must be deleted first") == (waits["reason"], waits["message"])
    assert pod["metadata"]["uid"] != run.api.get("Pod", "llm-driver-0", run.namespace)["metadata"]["uid"]


def test_what_changed_while_the_controller_was_away_is_followed_when_it_is_back(run, controller):
    run.create(workers=2)
    run.accepted()
    before = run.uids("Workload", *GROUPS)
    controller.process.kill()
    run.change(workers={"replicas": 3})
    run.api.delete("Pod", "llm-workers-0", run.namespace, gracePeriodSeconds=0)
    controller.start()
    run.accepted()

    assert before == run.uids("Workload", *GROUPS)
    assert {"llm-driver-0", "llm-workers-0", "llm-workers-1", "llm-workers-2"} == set(run.uids("Pod"))
    assert 3 == run.by_template()["workers"]["spec"]["schedulingPolicy"]["gang"]["minCount"]


def test_a_gang_that_can_never_be_complete_is_doubted_in_an_event(run):
    run.create(workers=1, scheduling={"schedulingPolicy": {"gang": {"minGroupCount": 3}}})
    run.accepted()
    events = run.api.wait_all("Event", run.namespace, until=lambda events: any(each["reason"] == "Doubtful" for each in events.values()))
    message = next(each["message"] for each in events.values() if each["reason"] == "Doubtful")

    assert message.startswith("spec.scheduling.schedulingPolicy.gang.minGroupCount: Invalid value: 3: must be at most 2")


def test_what_the_api_server_refuses_is_reported_in_its_words(run):
    run.create(workers=1, cpu="-1")

    reported = run.told("Accepted", "False")
    assert "Refused" == reported["reason"]
    assert reported["message"].startswith('Pod "llm-workers-0" is invalid: [spec.containers[0].resources')
