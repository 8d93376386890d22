"""What a reason says would help, without a search for a change: with it applied, more pods get nodes."""

from __future__ import annotations

import copy
import random
import re

import pytest

from tests.muster.simulated import node, pod
from tests.muster.test_fit_change import Json, fit, with_pod
from tests.muster.test_simulate_controllers import deployment, job
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("folder")

SAYS = re.compile(r"(?:it|all [0-9]+|[0-9]+) would fit if (.*?)(?:; the smallest|; [0-9]|; a change|$)")
TAINT = re.compile(r"the taint (\w)=v:NoSchedule .*tolerated")
SELECTED = {"app": "x"}
SPREAD = [
    {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": SELECTED}, **policies}
    for policies in ({}, {"nodeTaintsPolicy": "Honor"}, {"nodeAffinityPolicy": "Ignore"})
]


def cluster(chance: random.Random) -> list[Json]:
    nodes = [node(f"n{number}", cpu=chance.choice("248"), rack=chance.choice("abc")) for number in range(chance.randint(2, 6))]
    for each in nodes:
        each["metadata"]["labels"]["disk"] = chance.choice(("ssd", "hdd"))
        taints = [{"key": chance.choice("kg"), "value": "v", "effect": "NoSchedule"}] if chance.random() < 0.3 else []
        each["spec"] = {"unschedulable": chance.random() < 0.3, "taints": taints}
    running = [pod(f"r{number}", cpu="1", on=f"n{chance.randrange(len(nodes))}") for number in range(chance.randint(0, 3))]
    for each in running:
        each["metadata"]["labels"] = {"app": chance.choice("xy")}
    return [*nodes, *running]


def mine(chance: random.Random) -> Json:
    made, spec = chance.choice((deployment, job))(chance.randint(1, 5)), {}
    apart = {"topologyKey": "rack", "labelSelector": {"matchLabels": SELECTED}}
    if chance.random() < 0.4:
        spec["nodeSelector"] = {"disk": "ssd"}
    if chance.random() < 0.3:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    if chance.random() < 0.5:
        spec["topologySpreadConstraints"] = [chance.choice(SPREAD)]
    return with_pod(made, **spec)


def applied(said: str, own: Json, nodes: list[Json]) -> tuple[Json, list[Json]]:
    """Return the objects with the change that *said* names."""
    nodes = copy.deepcopy(nodes)
    tainted = TAINT.match(said)
    for each in nodes:
        if each["kind"] == "Node" and "uncordoned" in said:
            each["spec"]["unschedulable"] = False
        elif each["kind"] == "Node" and tainted is not None:
            each["spec"]["taints"] = [taint for taint in each["spec"]["taints"] if taint["key"] != tainted[1]]
    dropped = {
        "its node selector": ("nodeSelector",),
        "its pod anti-affinity": ("affinity",),
        "its topology spread": ("topologySpreadConstraints",),
        "all rules between pods": ("affinity", "topologySpreadConstraints"),
    }
    names = next((names for beginning, names in dropped.items() if said.startswith(beginning)), ())
    assert names or tainted or "uncordoned" in said, said
    return with_pod(own, **dict.fromkeys(names)), nodes


def placed(answer: Json) -> int:
    return sum(len(each["assignments"]) for each in answer["decisions"])


def test_what_would_help_helps():
    chance, tried = random.Random(4), 0
    for _ in range(sampled(60)):
        nodes, own = cluster(chance), mine(chance)
        before = fit([own], nodes, "--remedies", "0")
        said = SAYS.search(before["message"])
        if said is not None:
            tried += 1
            changed, others = applied(said[1], own, nodes)
            after = fit([changed], others, "--remedies", "0")
            assert placed(before) < placed(after), (before["message"], after["message"])
    assert tried


def test_a_node_selector_is_no_help_if_more_racks_are_then_spread_over():
    """The empty rack would be a domain of the spread: its node has no room, and in the other rack there would be one pod too many."""
    nodes = [node("n1", cpu="8", rack="a"), node("n2", cpu="1", rack="b"), node("n3", cpu="8", rack="a"), pod("r", cpu="1", on="n3")]
    nodes[0]["metadata"]["labels"]["disk"], nodes[3]["metadata"]["labels"] = "ssd", SELECTED
    nodes[0]["spec"] = {"unschedulable": True}
    own = with_pod(deployment(1), nodeSelector={"disk": "ssd"}, topologySpreadConstraints=SPREAD[:1])
    assert "node selector disk=ssd, which" not in fit([own], nodes)["message"]
