"""The engine compared with recorded answers of kube-scheduler, the oracle, and brute force."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from muster.render import answer_json
from muster.render.answer import Answer
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from tests.sampling import sampled
from tests.scheduler_core.oracle import compare
from tests.scheduler_core.oracle.strategies import TINY, clusters

CASES = [
    case
    for name in ("placement", "bound-claims", "delayed-claims", "volume-limits", "spread", "devices")
    for case in json.loads((Path(__file__).parent.parent / "cases" / f"{name}.json").read_text(encoding="utf-8"))
]
SCENARIOS = [
    case
    for case in CASES
    if case["kind"] == "scenario"
    and case.get("verified") != "unverified"
    and not case.get("config")
    and "upstream-quirk" not in case.get("tags", [])
]
RANDOM = settings(
    max_examples=sampled(150), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)

Json = dict[str, Any]


def answer(objects: list[Json], **options: Any) -> Json:
    result = run_cycle(load(objects), CycleOptions(**options))
    text = answer_json.render(Answer.from_decisions(result.decisions, result.pending, result.problems, None))
    parsed: Json = json.loads(text)
    return parsed


def objects_of(case: Json) -> list[Json]:
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node["name"], "labels": node.get("labels") or {}},
            "spec": {key: node[key] for key in ("taints", "unschedulable") if node.get(key)},
            "status": {
                **{key: node[key] for key in ("images", "declaredFeatures") if node.get(key)},
                "allocatable": node["allocatable"],
                "capacity": node["allocatable"],
            },
        }
        for node in case["nodes"]
    ]
    kinds = ("priorityClasses", "workloads", "groups", "existingPods", "pods", "pdbs", "others")
    return [*nodes, *(each for kind in kinds for each in case.get(kind) or [])]


def answered(case: Json, strategy: str) -> Json:
    order = tuple(case.get("schedulingOrder") or ())
    return answer(objects_of(case), order=order, evict=case["expect"].get("stage") == "after-preemption", strategy=strategy)


def short(pods: Json) -> Json:
    return {pod.rpartition("/")[2]: node for pod, node in pods.items()}


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case["id"])
def test_status_is_that_of_kube_scheduler(case, strategy):
    decisions = answered(case, strategy)["decisions"]
    status = decisions[-1]["status"] if decisions else "Wait"
    want = case["expect"]["status"]
    by_documents = case["expect"].get("kepStatus")
    if status == by_documents == "Invalid":
        assert all(not decision["assignments"] for decision in decisions)
    elif strategy == "greedy" or want in ("Success", "Error"):
        assert want == status, decisions[-1]["message"] if decisions else ""


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case["id"])
def test_pods_go_where_kube_scheduler_sends_them(case):
    want = case["expect"]
    decisions = answered(case, "greedy")["decisions"]
    if want.get("kepStatus") == "Invalid":
        assert [] == [pod for decision in decisions for pod in decision["assignments"]]
        return
    bound = {pod: node for decision in decisions for pod, node in short(decision["assignments"]).items()}
    assert [] == [
        pod for pod, nodes in (want.get("bound") or {}).items() if bound.get(pod) not in (nodes if isinstance(nodes, list) else [nodes])
    ]
    assert [] == [pod for pod in want.get("pending") or [] if pod in bound]
    if "boundCount" in want:
        assert want["boundCount"] == len(bound)


@pytest.mark.parametrize("case", [case for case in SCENARIOS if "victims" in case["expect"]], ids=lambda case: case["id"])
def test_victims_are_those_of_kube_scheduler(case):
    want = case["expect"]["victims"]
    result = {pod.rpartition("/")[2] for decision in answered(case, "greedy")["decisions"] for pod in decision["victims"]}
    if isinstance(want, list):
        assert set(want) == result
    else:
        assert want["count"] == len(result)
        assert result <= set(want["from"])


@pytest.mark.parametrize("case", [case for case in SCENARIOS if case["expect"].get("conditions")], ids=lambda case: case["id"])
def test_conditions_are_worded_as_kube_scheduler_does(case):
    groups = {group["name"]: group for decision in answered(case, "greedy")["decisions"] for group in decision["groups"]}
    if any(group["status"] == "Invalid" for group in groups.values()):
        assert case["expect"].get("kepStatus") == "Invalid"
        return
    for want in case["expect"]["conditions"]:
        if want["kind"] != "PodGroup" or want.get("basis") or want.get("racy"):
            continue
        (result,) = [each for each in groups[want["name"]]["conditions"] if each["type"] == want["type"]]
        assert [want[key] for key in ("status", "reason") if want.get(key)] == [
            result[key] for key in ("status", "reason") if want.get(key)
        ]
        assert want.get("messageContains", "") in result["message"]


@pytest.mark.parametrize("case", [case for case in SCENARIOS if case["expect"].get("conditions")], ids=lambda case: case["id"])
def test_pods_have_the_reason_of_kube_scheduler(case):
    pending = {each["pod"].rpartition("/")[2]: each["reason"] for each in answered(case, "greedy")["pending"]}
    wanted = [each for each in case["expect"]["conditions"] if each["kind"] == "Pod" and not each.get("basis") and not each.get("racy")]
    assert [] == [each for each in wanted if each.get("messageContains", "") not in pending.get(each["name"], "")]


@pytest.mark.parametrize("case", [case for case in SCENARIOS if case["expect"].get("volumes")], ids=lambda case: case["id"])
def test_claims_get_the_volumes_of_kube_scheduler(case):
    chosen = {
        claim.rpartition("/")[2]: each.get("volume")
        for decision in answered(case, "greedy")["decisions"]
        for claim, each in decision["volumes"].items()
    }
    assert {} == {claim: chosen.get(claim) for claim, want in case["expect"]["volumes"].items() if chosen.get(claim) not in want}


@pytest.mark.parametrize("case", [case for case in SCENARIOS if case["expect"].get("allocations")], ids=lambda case: case["id"])
def test_claims_get_the_devices_of_kube_scheduler(case):
    given = {claim: devices for decision in answered(case, "greedy")["decisions"] for claim, devices in decision.get("devices", {}).items()}
    expected = {claim: each for claim, each in case["expect"]["allocations"].items() if each}
    assert expected
    for claim, want in expected.items():
        devices = given.get(claim, given.get(f"default/{claim}"))
        assert devices
        # Where kube-scheduler may choose any of several devices, their number is expected.
        assert devices == want["devices"] if "devices" in want else len(devices) == want["deviceCount"]


@pytest.mark.parametrize("case", [case for case in SCENARIOS if case["expect"].get("domainOf")], ids=lambda case: case["id"])
def test_groups_are_in_the_domains_of_kube_scheduler(case):
    labels = {node["name"]: node.get("labels") or {} for node in case["nodes"]}
    bound = {pod: labels[on] for decision in answered(case, "greedy")["decisions"] for pod, on in short(decision["assignments"]).items()}
    for rule in case["expect"]["domainOf"]:
        found = {bound.get(pod, {}).get(rule["key"]) for pod in rule["pods"]}
        assert None not in found
        assert {rule["value"]} == found if rule.get("value") else len(found) == 1


@RANDOM
@given(clusters(), st.booleans())
def test_greedy_decides_as_an_independent_reading_of_kube_scheduler(objects, evict):
    assert [] == compare.compare(objects, answer(objects, evict=evict, strategy="greedy"), evict=evict)


@RANDOM
@given(clusters(), st.randoms(use_true_random=False), st.sampled_from(["greedy", "complete"]))
def test_the_order_of_the_objects_changes_nothing(objects, chance: random.Random, strategy):
    shuffled = chance.sample(objects, len(objects))
    assert answer(objects, strategy=strategy) == answer(shuffled, strategy=strategy)


@RANDOM
@given(clusters(TINY))
def test_complete_breaks_no_constraint_and_knows_whether_a_placement_exists(objects):
    assert [] == compare.compare_complete(objects, answer(objects, strategy="complete"))


def test_no_pod_is_preempted_while_it_is_not_known_whether_there_is_capacity(trap):
    (spent,) = answer(trap, strategy="complete", budget=1)["decisions"]
    assert ("budget", []) == (spent["search"]["outcome"], spent["victims"])
    assert "The search stopped after 1 steps" in spent["message"]
    (result,) = answer(trap, strategy="complete")["decisions"]
    assert ("placed", 10) == (result["search"]["outcome"], len(result["assignments"]))


@pytest.fixture
def trap() -> list[Json]:
    """Return two racks of five slots, four gangs of 2, 2, 3 and 3, each in one rack, and an unimportant pod elsewhere."""
    names = [(rack, number) for rack in ("r1", "r2") for number in range(5)]
    nodes = [_node(f"{rack}-{number}", rack) for rack, number in names]
    objects = [*nodes, _node("r3-0", "r3"), _pod("low", "", "r3-0", priority=0)]
    tree = {"schedulingPolicy": {"gang": {"minGroupCount": 4}}, "priority": 10, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    objects.append(_group("CompositePodGroup", "trap", tree))
    for number, size in enumerate((2, 2, 3, 3)):
        leaf = {"schedulingPolicy": {"gang": {"minCount": size}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}, "priority": 10}
        leaf |= {"parentCompositePodGroupName": "trap", "workloadRef": {"workloadName": "w", "templateName": f"t{number}"}}
        objects.append(_group("PodGroup", f"g{number}", leaf))
        objects += [_pod(f"g{number}-{member}", f"g{number}", priority=10) for member in range(size)]
    return objects


def _node(name: str, rack: str) -> Json:
    size = {"cpu": "1", "memory": "4Gi", "pods": "10"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rack": rack}}, "status": {"allocatable": size}}


def _group(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _pod(name: str, group: str, node: str = "", priority: int = 0) -> Json:
    spec: Json = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "priority": priority}
    spec |= {"nodeName": node} if node else {"schedulingGroup": {"podGroupName": group}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
