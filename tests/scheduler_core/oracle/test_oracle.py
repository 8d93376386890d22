"""The oracle compared with answers of kube-scheduler 1.37.1, live or of its unit tests (tests/cases/placement.json)."""

from __future__ import annotations

import functools
import itertools
import json
import pathlib
from typing import Any

import pytest

from tests.scheduler_core.oracle import cycle, preempt
from tests.scheduler_core.oracle.algorithm import Result, feasible, generate
from tests.scheduler_core.oracle.model import Group, Node, Pod, read

CASES: list[dict[str, Any]] = json.loads((pathlib.Path(__file__).parents[2] / "cases" / "placement.json").read_text(encoding="utf-8"))
SCENARIOS = [
    case
    for case in CASES
    if case["kind"] == "scenario"
    and case["verified"] != "unverified"
    and not case.get("config")
    and "upstream-quirk" not in case.get("tags", [])
]


def table(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


def objects_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    objects = []
    for node in case["nodes"]:
        spec = {key: node[key] for key in ("taints", "unschedulable") if node.get(key)}
        metadata = {"name": node["name"], "labels": node.get("labels") or {}}
        objects.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": node["allocatable"]}}
        )
    return objects + [
        one for key in ("priorityClasses", "workloads", "groups", "existingPods", "pods", "pdbs") for one in case.get(key) or []
    ]


def decisions_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    return cycle.run(objects_of(case), case.get("schedulingOrder"), evict=case["expect"].get("stage") == "after-preemption")


def gathered(decisions: list[dict[str, Any]], part: str) -> dict[str, Any]:
    """Return one field of all decisions, by name without namespace."""
    return {name.rpartition("/")[2]: value for decision in decisions for name, value in decision[part].items()}


@pytest.fixture(scope="module")
def decided() -> Any:
    return functools.cache(lambda index: decisions_of(SCENARIOS[index]))


scenario = pytest.mark.parametrize("index", range(len(SCENARIOS)), ids=[case["id"] for case in SCENARIOS])


@scenario
def test_the_last_root_ends_in_the_status_of_the_live_run(index, decided):
    assert SCENARIOS[index]["expect"]["status"] == decided(index)[-1]["status"]


@scenario
def test_pods_are_bound_where_the_live_run_bound_them(index, decided):
    case = SCENARIOS[index]
    bound = gathered(decided(index), "assignments")
    allowed = {pod: nodes if isinstance(nodes, list) else [nodes] for pod, nodes in case["expect"].get("bound", {}).items()}
    labels = {node["name"]: node.get("labels") or {} for node in case["nodes"]}

    assert {} == {pod: bound.get(pod) for pod, nodes in allowed.items() if bound.get(pod) not in nodes}
    assert case["expect"].get("boundCount", len(bound)) == len(bound)
    assert [] == [pod for pod in case["expect"].get("pending", []) if pod in bound]
    for rule in case["expect"].get("domainOf", []):
        (domain,) = {labels[bound[pod]][rule["key"]] for pod in rule["pods"]}
        assert rule.get("value", domain) == domain


@scenario
def test_victims_are_those_of_the_live_run(index, decided):
    want = SCENARIOS[index]["expect"].get("victims", [])
    victims = {key.rpartition("/")[2] for decision in decided(index) for key in decision["victims"]}

    if isinstance(want, list):
        assert set(want) == victims
    else:
        assert want["count"] == len(victims)
        assert victims <= set(want["from"])


@scenario
def test_groups_end_in_the_status_of_the_live_run(index, decided):
    case = SCENARIOS[index]
    statuses = gathered(decided(index), "groups")
    messages = gathered(decided(index), "messages")
    reasons = {"Success": ("True", "Scheduled"), "Unschedulable": ("False", "Unschedulable"), "Error": ("False", "SchedulerError")}

    assert {} == {name: status for name, status in case["expect"].get("perGroup", {}).items() if statuses.get(name) != status}
    for condition in case["expect"].get("conditions", []):
        if condition["kind"] == "PodGroup" and not condition.get("basis") and not condition.get("racy"):
            status, reason = reasons[statuses[condition["name"]]]
            assert (condition["status"], condition.get("reason", reason)) == (status, reason)
            assert condition.get("messageContains", "") in messages[condition["name"]]


@pytest.mark.parametrize("case", table("feasible"))
def test_feasibility_is_that_of_the_plugin(case):
    assert case["expect"]["status"] == feasible(case["M"], case["S"], case["R"]).status


def pod(name: str, labels: dict[str, str] | None = None, started: int = 0) -> Pod:
    started_at = f"2026-01-01T{started // 3600:02}:{started // 60 % 60:02}:{started % 60:02}Z"
    return Pod(f"default/{name}", "default", name, labels or {}, {}, {}, {}, 0, "", "", "", "", started_at, False, False, False)


@pytest.mark.parametrize("case", table("victimOrder"))
def test_the_more_important_victim_is_that_of_upstream(case):
    one, other = (
        preempt.Unit("u", each["type"], each["priority"], [pod("p", started=each["earliestStart"])] * each["pods"])
        for each in (case["a"], case["b"])
    )

    assert case["expect"]["aMoreImportant"] == (preempt.importance(one) < preempt.importance(other))


@pytest.mark.parametrize("case", table("pdbSplit"))
def test_disruption_budgets_split_victims_as_upstream_does(case):
    units = [preempt.Unit(each["name"], "Pod", 0, [pod(one["name"], one["labels"]) for one in each["pods"]]) for each in case["victims"]]
    budgets = [
        {
            "metadata": {"name": str(number), "namespace": "default"},
            "spec": {"selector": {"matchLabels": each["selector"]}},
            "status": {"disruptionsAllowed": each["disruptionsAllowed"], "disruptedPods": dict.fromkeys(each.get("disruptedPods", []), "")},
        }
        for number, each in enumerate(case["pdbs"])
    ]
    violating = {each["name"]: each["count"] for each in case["expect"]["violating"]}

    assert violating == preempt.violations(units, budgets)
    assert [*violating, *case["expect"]["nonViolating"]] == [unit.name for unit in preempt.by_budgets(units, budgets)]


def group(kind: str = "PodGroup", name: str = "g", topology: str = "", *, everything: bool = False) -> Group:
    return Group(kind, "default", name, True, 1, topology, 0, "", everything, "", "")


@pytest.mark.parametrize("case", table("preemptionUnit"))
def test_the_unit_of_a_pod_is_that_of_upstream(case):
    objects: list[dict[str, Any]] = []
    for each, above in itertools.zip_longest(case["chain"], case["chain"][1:]):
        parent = {"parentCompositePodGroupName": above["name"]} if above else {}
        spec = {"schedulingPolicy": {"basic": {}}, "disruptionMode": {each.get("mode"): {}}, **parent}
        if not each.get("missing"):
            objects.append({"kind": each["kind"], "metadata": {"name": each["name"]}, "spec": spec})
    cluster = read(objects)
    lowest = cluster.groups.get(("PodGroup", "default", case["chain"][0]["name"])) if case["chain"] else None
    unit = preempt.unit_of(cluster.chain(lowest)) if lowest else None

    assert case["expect"]["unit"] == (unit and f"{unit.kind}/{unit.name}")


@pytest.mark.parametrize("case", table("generatePlacements"))
def test_placements_are_those_of_the_generator(case):
    nodes = {name: Node(name, labels, [], unschedulable=False, allocatable={}) for name, labels in case["placementNodes"].items()}
    others = {name: Node(name, labels, [], unschedulable=False, allocatable={}) for name, labels in case["otherNodes"].items()}
    cluster = read([])
    cluster.nodes.update(nodes | others)
    leaf = group(topology=case["topologyKey"] or "")
    for name, node in case["scheduledPods"].items():
        leaf.members.append(pod(name))
        cluster.where[f"default/{name}"] = node
    placements = generate(leaf, list(nodes.values()), cluster)

    if isinstance(placements, Result):
        assert case["expect"]["status"] == placements.status
    else:
        assert case["expect"]["placements"] == {value or "<parent>": [node.name for node in inside] for value, inside in placements.items()}
