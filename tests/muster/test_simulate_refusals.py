"""Values that no API server accepts: ``simulate`` leaves a new object out for the reason for which ``fit`` refuses it."""

from __future__ import annotations

import copy
import json

import pytest
from click.testing import CliRunner

from muster.cli import main
from tests.muster.simulated import node, pod

pytestmark = pytest.mark.usefixtures("folder")

VERSION = "scheduling.k8s.io/v1alpha3"
PLACE = "topology.kubernetes.io/zone"
GANG = {"gang": {"minCount": 1}}
STORED = {"uid": "u", "creationTimestamp": "2026-08-01T00:00:00Z"}


def group(kind="PodGroup", **spec):
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": "g"}, "spec": {"schedulingPolicy": GANG, **spec}}


def waiting(**spec):
    content = pod("p", cpu=1)
    content["metadata"] = {"name": "p"}
    content["spec"] = {**content["spec"], **spec}
    content["spec"]["containers"][0] |= {"name": "c", "image": "x"}
    return content


def spread(**more):
    return waiting(
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": PLACE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}, **more},
        ]
    )


def preferring(weight):
    term = {"topologyKey": PLACE, "labelSelector": {}}
    return waiting(
        affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}}
    )


def with_port(**port):
    content = waiting()
    content["spec"]["containers"][0]["ports"] = [{"containerPort": 80, **port}]
    return content


REFUSED = [
    pytest.param(group(schedulingPolicy={"gang": {"minCount": -7}}), "minCount: Invalid value: -7", id="a minimum"),
    pytest.param(group(schedulingPolicy={"gang": {"minCount": 0}}), "minCount: ", id="no minimum"),
    pytest.param(group(schedulingPolicy={**GANG, "basic": {}}), "must specify exactly one of", id="two policies"),
    pytest.param(group(schedulingPolicy={"band": {}}), 'unknown field "spec.schedulingPolicy.band"', id="another policy"),
    pytest.param(group(disruptionMode={"one": {}}), 'unknown field "spec.disruptionMode.one"', id="another mode"),
    pytest.param(group(disruptionMode={"all": {}, "single": {}}), "disruptionMode: Invalid value", id="two modes"),
    pytest.param(group(preemptionPolicy="Often"), 'preemptionPolicy: Unsupported value: "Often"', id="a preemption policy"),
    pytest.param(group(schedulingConstraints={"topology": [{"key": PLACE}] * 3}), "topology: Too many: 3", id="keys"),
    pytest.param(group(schedulingConstraints={"topology": [{"key": ""}]}), "topology[0].key: Required value", id="an empty key"),
    pytest.param(
        group("CompositePodGroup", schedulingPolicy={"gang": {"minGroupCount": -3}}), "minGroupCount: Invalid value: -3", id="a composite"
    ),
    pytest.param(spread(minDomains=-2, whenUnsatisfiable="DoNotSchedule"), "minDomains: Invalid value: -2", id="domains"),
    pytest.param(spread(maxSkew=-1), "maxSkew: Invalid value: -1", id="a skew"),
    pytest.param(spread(whenUnsatisfiable="Never"), 'whenUnsatisfiable: Unsupported value: "Never"', id="a kind of constraint"),
    pytest.param(spread(nodeTaintsPolicy="No"), 'nodeTaintsPolicy: Unsupported value: "No"', id="a policy about taints"),
    pytest.param(preferring(-1), "weight: Invalid value: -1", id="a negative weight"),
    pytest.param(preferring(1000), "weight: Invalid value: 1000", id="a large weight"),
    pytest.param(waiting(preemptionPolicy="Often"), "Often", id="a preemption policy of a pod"),
    pytest.param(waiting(tolerations=[{"key": "a", "operator": "Is"}]), 'operator: Unsupported value: "Is"', id="an operator"),
    pytest.param(waiting(tolerations=[{"key": "a", "effect": "Off"}]), 'effect: Unsupported value: "Off"', id="an effect"),
    pytest.param(with_port(hostPort=123456), "hostPort: Invalid value: 123456", id="a port"),
    pytest.param(with_port(hostPort=80, protocol="ICMP"), 'protocol: Unsupported value: "ICMP"', id="a protocol"),
]


def run(command, objects, cluster=()):
    """Return the exit status and the answer of *command* to *objects*, some of which are those of the *cluster*."""
    for name, content in (("path.json", objects), ("cluster.json", [node("n1", cpu=4), *cluster])):
        with open(name, "w") as file:  # noqa: PTH123 - short
            file.write("\n".join(map(json.dumps, content)))
    result = CliRunner().invoke(main, [command, "path.json", "--objects", "cluster.json", "--format", "json"])
    return result.exit_code, json.loads(result.stdout)


def messages(answer):
    return " ".join(f"{each['object']}: {each['message']}" for each in answer["problems"])


def tried(content):
    """Return the object with what makes it a complete question."""
    return [content] if content["kind"] == "Pod" else [content, waiting(schedulingGroup={"podGroupName": "g"})]


@pytest.mark.parametrize(("odd", "reason"), REFUSED)
def test_a_new_object_is_left_out_for_the_reason_of_fit(odd, reason):
    status, answer = run("fit", tried(odd))
    reasons = [each["reason"] for each in answer["refused"] if each["object"].startswith(odd["kind"])]
    assert 0 != status
    assert any(reason in each for each in reasons) or odd["spec"].get("preemptionPolicy") == "Often"

    status, answer = run("simulate", tried(odd))
    assert 0 != status
    assert reason in messages(answer)
    assert "is left out" in messages(answer)


@pytest.mark.parametrize(("odd", "reason"), REFUSED)
def test_objects_of_a_server_are_not_judged(odd, reason):
    stored = copy.deepcopy(tried(odd))
    for each in stored:
        each["metadata"] |= STORED
    assert reason not in messages(run("simulate", stored)[1]).replace(" is ", ": ")


def test_an_object_that_is_left_out_still_replaces_that_of_the_cluster():
    odd, stored = group(schedulingPolicy={"gang": {"minCount": -7}}), group()
    stored["metadata"] |= STORED
    status, answer = run("simulate", tried(odd), [stored])
    assert (2, {}) == (status, answer["decisions"][0]["assignments"] if answer["decisions"] else {})
    assert "minCount: Invalid value: -7" in messages(answer)


def test_incomplete_objects_are_simulated():
    short = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"tolerations": [{"operator": "Exists"}]}}
    parent = {"apiVersion": VERSION, "kind": "CompositePodGroup", "metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}}
    member = group(parentCompositePodGroupName="g")
    member["metadata"] = {"name": "m"}
    assert 0 == run("simulate", [short])[0]
    assert 0 == run("simulate", [parent, member, waiting(schedulingGroup={"podGroupName": "m"})])[0]
