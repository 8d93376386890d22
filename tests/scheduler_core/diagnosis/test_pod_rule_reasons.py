"""Reasons about other pods: host ports, affinity, anti-affinity and spread, also where the nodes lack resources besides."""

from __future__ import annotations

import pytest

from tests.scheduler_core.diagnosis.diagnosing import HOST, RACK, diagnosed, labelled, node, pod

RACKS = [node("n1", rack="r1"), node("n2", rack="r1"), node("n3", rack="r2")]
PORT = [{"containerPort": 80, "hostPort": 80}]


def term(key=RACK, **labels):
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def required(kind, *terms):
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [*terms]}}


def spread(key, skew=1, **labels):
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": labels}}]


def running(name, on, app="", cpu="1", **spec):
    made = pod(name, on=on, cpu=cpu, **spec)
    made["metadata"]["labels"] = {"app": app}
    return made


FULL = [running(f"r{number}", f"n{number}", "db", cpu="4") for number in (1, 2, 3)]
APART = required("podAntiAffinity", term(app="db"))
CASES = {
    "anti-affinity by rack, and nodes that are full": (
        [*RACKS, *FULL, pod("p", affinity=APART)],
        "all 3 nodes are excluded by its pod anti-affinity: racks r1 and r2 have a pod with app=db; short of 1 cpu: 0 free, 1 needed",
    ),
    "anti-affinity in one rack, and a full node in the other": (
        [*RACKS, running("r1", "n1", "db"), running("r3", "n3", cpu="4"), pod("p", affinity=APART)],
        (
            "1 of 3 nodes has less than 1 cpu free; 2 of 3 nodes are excluded by its pod anti-affinity: rack r1 has a pod with app=db; "
            "it would fit if its pod anti-affinity were dropped"
        ),
    ),
    "anti-affinity of other pods": (
        [*RACKS, *(running(f"r{number}", f"n{number}", affinity=required("podAntiAffinity", term(app=""))) for number in (1, 3)), pod("p")],
        (
            "all 3 nodes are excluded by the anti-affinity to app= of pods in racks r1 and r2; "
            "it would fit if the anti-affinity of other pods were ignored"
        ),
    ),
    "affinity to no pod": (
        [*RACKS, pod("p", affinity=required("podAffinity", term(app="gone")))],
        "all 3 nodes are excluded by its pod affinity: no rack has a pod with app=gone; it would fit if its pod affinity were dropped",
    ),
    "affinity to a pod in a full rack": (
        [*RACKS, running("r3", "n3", "db", cpu="4"), pod("p", affinity=required("podAffinity", term(app="db")))],
        (
            "1 of 3 nodes has less than 1 cpu free; 2 of 3 nodes are excluded by its pod affinity: no pod with app=db is in rack r1; "
            "it would fit if its pod affinity were dropped"
        ),
    ),
    "spread, and a full node in the emptiest rack": (
        [*RACKS, running("r1", "n1"), running("r3", "n3", "x", cpu="4"), pod("p", topologySpreadConstraints=spread(RACK, app=""))],
        (
            "1 of 3 nodes has less than 1 cpu free; "
            "2 of 3 nodes are excluded by its topology spread: maxSkew 1 by rack, pods with app=: r1 1, r2 0; "
            "it would fit if its topology spread constraints were dropped"
        ),
    ),
    "a spread by a label that no node has": (
        [*RACKS, pod("p", topologySpreadConstraints=spread("topology.kubernetes.io/zone", app=""))],
        (
            "no node has the label topology.kubernetes.io/zone of its topology spread; "
            "it would fit if its topology spread constraints were dropped"
        ),
    ),
    "spreads by two labels that no node has, and by one that nodes have": (
        [*RACKS, pod("p", topologySpreadConstraints=[each for key in (RACK, "zone", "row") for each in spread(key, app="")])],
        "no node has the labels zone and row of its topology spread; it would fit if its topology spread constraints were dropped",
    ),
    "a spread by a label that only a full node has": (
        [
            *(labelled(node("n1"), zone="z1"), node("n2"), node("n3"), running("r1", "n1", "x", "4")),
            pod("p", topologySpreadConstraints=spread("zone", app="")),
        ],
        (
            "1 of 3 nodes has less than 1 cpu free; 2 of 3 nodes lack the label zone of its topology spread; "
            "it would fit if its topology spread constraints were dropped"
        ),
    ),
    "affinity by a label that no node has": (
        [*RACKS, running("r1", "n1", "db"), pod("p", affinity=required("podAffinity", term("zone", app="db")))],
        "all 3 nodes are excluded by its pod affinity: no node has the label zone; it would fit if its pod affinity were dropped",
    ),
    "spread over many nodes": (
        [
            node("n9", "9"),
            *(node(f"n{number}") for number in range(6)),
            *(running(f"r{number}", f"n{number}", "x", "4") for number in range(6)),
            running("w", "n9"),
            pod("p", topologySpreadConstraints=spread(HOST, app="")),
        ],
        (
            "6 of 7 nodes have less than 1 cpu free; "
            "1 of 7 nodes is excluded by its topology spread: maxSkew 1 by node, pods with app=: from 0 to 1; "
            "it would fit if its topology spread constraints were dropped"
        ),
    ),
    "host ports, and nodes without capacity": (
        [*RACKS, running("r1", "n1", ports=PORT), running("r2", "n2", cpu="4"), running("r3", "n3", cpu="4"), pod("p", ports=PORT)],
        "2 of 3 nodes have less than 1 cpu free; 1 of 3 nodes has host port 80/TCP in use",
    ),
    "host ports everywhere, and nodes that are full": (
        [*RACKS, *(running(f"r{number}", f"n{number}", cpu="4", ports=PORT) for number in (1, 2, 3)), pod("p", ports=PORT)],
        "all 3 nodes have host port 80/TCP in use; short of 1 cpu: 0 free, 1 needed",
    ),
}


@pytest.mark.parametrize(("objects", "want"), CASES.values(), ids=CASES)
def test_rules_about_other_pods_are_named_with_their_domains(objects, want):
    assert diagnosed(objects).message.partition("in the cluster: ")[2] == want
    assert diagnosed(objects[::-1]).message == diagnosed(objects).message


def test_a_pod_of_a_daemon_set_names_its_node():
    fields = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    daemon = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}}}
    message = diagnosed([*RACKS, running("r", "n2", cpu="3"), pod("ds", cpu="2", affinity=daemon)]).message
    assert message == "pod ds (2 cpu) does not fit on its node n2: short of 1 cpu: 1 free, 2 needed"
    message = diagnosed([*RACKS, pod("ds", cpu="9", affinity=daemon)]).message
    assert message == "pod ds (9 cpu) does not fit on its node n2: a pod requests 9 cpu, more than its node has (4)"
