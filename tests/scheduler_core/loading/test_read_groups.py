"""Groups, priorities and disruption budgets as they are read into a ClusterSnapshot."""

from __future__ import annotations

import pytest

from kubeapi.selectors import LabelSelector
from scheduler_core.cluster.load import load
from scheduler_core.model.snapshot import DisruptionBudget
from tests.scheduler_core.loading.manifests import budget, group, node, pod, priority_class, problem_lines
from validators.model.objects import Named


@pytest.mark.parametrize("managers", [[{"manager": "kubectl", "fieldsV1": {"f:spec": {".": {}, "f:x": None}}}], None, "wrong"])
def test_the_managers_of_its_fields_do_not_matter_to_a_group(managers):
    plain = group()
    managed = {**plain, "metadata": {**plain["metadata"], "managedFields": managers}}

    assert load([plain]).groups == load([managed]).groups
    assert [] == problem_lines(load([managed]))


class TestPriorities:
    CLASSES = (priority_class("high", 1000), priority_class("polite", 500, preemptionPolicy="Never"))

    @pytest.mark.parametrize(
        ("spec", "classes", "want"),
        [
            pytest.param({}, (), (0, True), id="nothing said"),
            pytest.param({"priority": 7}, CLASSES, (7, True), id="a number"),
            pytest.param({"priority": 7, "priorityClassName": "polite"}, CLASSES, (7, False), id="a number beside a class"),
            pytest.param({"priorityClassName": "high"}, CLASSES, (1000, True), id="a class"),
            pytest.param({"priorityClassName": "polite"}, CLASSES, (500, False), id="one that does not preempt"),
            pytest.param({"priorityClassName": "system-node-critical"}, (), (2_000_001_000, True), id="one of the system's"),
            pytest.param({}, (priority_class("std", 3, globalDefault=True, preemptionPolicy="Never"),), (3, False), id="the default"),
            pytest.param(
                {}, (priority_class("a", 9, globalDefault=True), priority_class("b", 3, globalDefault=True)), (3, True), id="the lower of two defaults"
            ),
            pytest.param({"priorityClassName": "high", "preemptionPolicy": "Never"}, CLASSES, (1000, False), id="its own policy"),
        ],
    )  # fmt: skip
    def test_a_priority_comes_from_the_spec_then_from_a_class(self, spec, classes, want):
        snapshot = load([pod(**spec), group(**spec), *classes])

        assert want == (snapshot.pods[0].priority, snapshot.pods[0].preempts)
        assert {("PodGroup", "default", "group-1"): want[0]} == snapshot.priorities
        assert want[1] is (snapshot.groups[0].spec.preemption_policy != "Never")
        assert [] == problem_lines(snapshot)

    def test_a_class_that_is_not_there_is_reported(self):
        snapshot = load([pod(priorityClassName="gone"), group(priorityClassName="gone")])

        assert (0, 0) == (snapshot.pods[0].priority, snapshot.priorities["PodGroup", "default", "group-1"])
        assert problem_lines(snapshot) == [
            'Pod default/pod-1: spec.priorityClassName is "gone", which does not exist; priority 0 is used',
            'PodGroup default/group-1: spec.priorityClassName is "gone", which does not exist; priority 0 is used',
        ]


class TestGroups:
    def test_groups_are_sorted_by_namespace_name_and_kind(self):
        given = [group("b"), group("a"), group("a", "CompositePodGroup"), group("z", namespace="alpha")]
        del given[0]["metadata"]["namespace"]

        result = load(given).groups

        want = [
            ("alpha", "z", "PodGroup"),
            ("default", "a", "CompositePodGroup"),
            ("default", "a", "PodGroup"),
            ("default", "b", "PodGroup"),
        ]
        assert want == [(each.metadata.namespace, each.metadata.name, each.kind) for each in result]

    def test_a_retired_version_is_read_in_todays_form(self):
        given = group(version="v1alpha2", disruptionMode="PodGroup")

        assert load([given]).groups[0].spec.disruption_mode.all is not None

    def test_a_group_of_the_wrong_shape_is_left_out_and_known_by_name(self):
        snapshot = load([group(schedulingPolicy={"gang": {"minCount": "four"}})])

        assert () == snapshot.groups
        want = "spec.schedulingPolicy.gang.minCount must be a whole number, not a string; the group is left out"
        assert [f"PodGroup default/group-1: {want}"] == problem_lines(snapshot)
        assert isinstance(snapshot.known.get("PodGroup", "default", "group-1"), Named)

    def test_rules_about_trees_get_the_objects_that_they_request(self):
        workload = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w"}, "spec": {}}

        known = load([node(), group(), workload, priority_class("high", 1), pod()]).known

        assert "w" == known.get("Workload", "default", "w").metadata.name
        assert "group-1" == known.get("PodGroup", "default", "group-1").metadata.name
        assert ["node-1"] == [each.metadata.name for each in known.list_kind("Node")]
        assert 1 == known.get("PriorityClass", "", "high").value
        assert known.list_kind("Pod") is None

    def test_a_budget_is_read(self):
        given = budget(
            spec={"selector": {"matchLabels": {"app": "web"}}}, status={"disruptionsAllowed": 2, "disruptedPods": {"pod-1": "2026-08-01T00:00:00Z"}}
        )  # fmt: skip

        assert (DisruptionBudget("default", "budget-1", LabelSelector({"app": "web"}), 2, frozenset({"pod-1"})),) == load([given]).budgets

    def test_a_budget_whose_selector_is_not_sound_is_reported(self):
        given = budget(spec={"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})

        assert [
            "PodDisruptionBudget default/budget-1: spec.selector.matchExpressions[0]: In needs values; the selector matches nothing"
        ] == problem_lines(load([given]))
