"""The webhook and the policy by which pods join groups send the pods that the server would change, and agree with each other."""

from __future__ import annotations

import re

import pytest

from scheduler_core.cel.match_conditions import holds
from tests.deploy.rendered import objects
from tests.deploy.test_manifests import documents, entries, modes_selected
from tests.webhooks.test_join import BUILT, LEFT_ALONE, owner, pod
from webhooks.server.routes import JOIN
from workloadbuilder.adapters.built_kinds import KINDS, OWNERS

(WEBHOOK,) = documents("components/join/webhook.yaml")
POLICY, *BINDINGS = documents("components/join/policy.yaml")
ENTRIES = [entry for _, entry in entries([WEBHOOK])]
CONDITIONS = [each["expression"] for each in ENTRIES[0]["matchConditions"]]


def is_sent(new):
    found = [holds(each, object=new) for each in CONDITIONS]
    assert None not in found
    return all(found)


@pytest.mark.parametrize("new", [*BUILT.values()], ids=[*BUILT])
def test_the_pods_of_built_kinds_are_sent(new):
    assert is_sent(new)


@pytest.mark.parametrize("new", [*LEFT_ALONE.values()], ids=[*LEFT_ALONE])
def test_other_pods_are_not(new):
    assert not is_sent(new)


def test_the_conditions_name_the_controllers_that_the_server_knows():
    every = {(each.group, each.kind) for each in KINDS} | OWNERS

    assert OWNERS == {name for name in every if is_sent(pod(owner(f"{name[0]}/v1", name[1])))}
    listed, *_ = re.findall(r"in \[(.*?)\]", CONDITIONS[-1], re.DOTALL)
    assert OWNERS == {tuple(each.split("/")) for each in re.findall(r'"(.*?)"', listed)}


def test_all_entries_are_called_alike_and_the_policy_has_the_same_conditions():
    assert {JOIN} == {each["clientConfig"]["service"]["path"] for each in ENTRIES}
    assert all(each["matchConditions"] == ENTRIES[0]["matchConditions"] for each in ENTRIES)
    assert all((each["sideEffects"], each["reinvocationPolicy"]) == ("None", "IfNeeded") for each in ENTRIES)
    assert ENTRIES[0]["matchConditions"] == POLICY["spec"]["matchConditions"][1:]
    assert ENTRIES[0]["rules"] == POLICY["spec"]["matchConstraints"]["resourceRules"]


@pytest.mark.parametrize("asked_by_pod", [False, True])
def test_each_pod_is_sent_once_and_depends_on_the_server_only_where_groups_can_be_refused(asked_by_pod):
    found = [each for each in ENTRIES if ("objectSelector" in each) is asked_by_pod]

    modes = [modes_selected(each) for each in found]
    assert ["", "audit", "deny", "warn"] == sorted(mode for each in modes for mode in each)
    assert ["Fail", "Fail", "Ignore", "Ignore"] == [each["failurePolicy"] for each in found]
    for each in found:
        exempt, _, asked = each["namespaceSelector"]["matchExpressions"]
        assert ["muster-system", "kube-system"] == exempt["values"]
        assert ("muster.dev/groups", "NotIn" if asked_by_pod else "In", ["build"]) == (asked["key"], asked["operator"], asked["values"])
        assert {"matchLabels": {"muster.dev/groups": "build"}} == each.get(
            "objectSelector", {"matchLabels": {"muster.dev/groups": "build"}}
        )


def test_the_bindings_of_the_policy_select_what_the_webhook_selects():
    found = {("objectSelector" in each["spec"]["matchResources"]): each["spec"]["matchResources"] for each in BINDINGS}

    for asked_by_pod in (False, True):
        (*_, asked) = next(each for each in ENTRIES if ("objectSelector" in each) is asked_by_pod)["namespaceSelector"]["matchExpressions"]
        assert [asked] == found[asked_by_pod]["namespaceSelector"]["matchExpressions"]


@pytest.mark.usefixtures("helm")
def test_a_default_mode_that_refuses_nothing_needs_no_server():
    found = objects("build.enabled=true", "webhooks.enforcement=audit")["MutatingWebhookConfiguration", "muster-join"]

    assert {"Ignore"} == {each["failurePolicy"] for each in found["webhooks"] if "" in modes_selected(each)}


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(
    ("placed_by", "expected"),
    [
        ("gate", {("MUSTER_SCHEDULER_NAME", "mine")}),
        ("scheduler", {("MUSTER_SCHEDULER_NAME", "mine"), ("MUSTER_PLACED_BY", "scheduler")}),
    ],
)
def test_webhook_and_policy_let_the_same_sidecar_place_pods(placed_by, expected):
    values = ("build.enabled=true", "build.policy=true", "sidecar.schedulerName=mine", f"build.placedBy={placed_by}")
    found = objects(*values)
    (container,) = found["Deployment", "muster-webhook"]["spec"]["template"]["spec"]["containers"]
    (mutation,) = found["MutatingAdmissionPolicy", "muster-join"]["spec"]["mutations"]
    expression = mutation["applyConfiguration"]["expression"]

    assert expected == {(each["name"], each["value"]) for each in container["env"] if each["name"] in dict(expected)}
    assert ('schedulerName: "mine",' in expression) == (placed_by == "scheduler")
    assert ('"muster.dev/placement"' in expression) == (placed_by == "gate")
    assert (
        'in ["","default-scheduler","mine"]'
        in found["MutatingWebhookConfiguration", "muster-join"]["webhooks"][0]["matchConditions"][1]["expression"]
    )


@pytest.mark.usefixtures("helm")
def test_without_the_value_there_is_neither():
    assert [] == [name for kind, name in objects("sidecar.enabled=true") if "join" in name]
