"""Loading a ClusterSnapshot: sources, duplicate names, retired versions, label case, and arbitrary input."""

from __future__ import annotations

import json

import msgspec
import pytest

from scheduler_core.cluster.load import load
from tests.scheduler_core.loading.manifests import REFERENCED_WORKLOAD, budget, group, node, pod, problem_lines
from tests.scheduler_core.worded_problems import worded


class TestSources:
    def test_objects_come_parsed_or_as_text(self):
        text = json.dumps(pod("text")).encode()

        result = load([pod("parsed"), text, bytearray(text.replace(b"text", b"array")), msgspec.Raw(text.replace(b"text", b"raw"))]).pods

        assert ["array", "parsed", "raw", "text"] == [each.name for each in result]

    @pytest.mark.parametrize("text", [False, True], ids=["parsed", "text"])
    def test_lists_are_opened(self, text):
        bare = {key: value for key, value in pod("bare").items() if key in {"metadata", "spec"}}
        inner = {"apiVersion": "v1", "kind": "PodList", "items": [bare, pod("told")]}
        outer = {"apiVersion": "v1", "kind": "List", "items": [inner, pod("plain"), {"apiVersion": "v1", "kind": "List"}]}

        snapshot = load([json.dumps(outer).encode() if text else outer])

        assert ["bare", "plain", "told"] == [each.name for each in snapshot.pods]
        assert [] == problem_lines(snapshot)

    def test_foreign_kinds_are_passed_over(self):
        foreign = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}},
            {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "x"}},
            {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"spec": {}}]},
            {"apiVersion": "example.com/v1", "kind": "AllowList", "items": "all"},
            {"apiVersion": "example.com/v1", "kind": "BlockList", "spec": {}},
        ]

        snapshot = load(foreign)

        assert 0 == len(snapshot.nodes)
        assert [] == problem_lines(snapshot)

    def test_null_is_absence_or_empty_in_a_map_and_a_whole_number_stays_one(self):
        given = pod(priority=3.0, nodeSelector={"a": None}, schedulerName=None)
        given["metadata"] |= {"labels": None, "creationTimestamp": None}

        result = load([given])

        expected = (3, (("a", ""),), "default-scheduler")
        assert expected == (result.pods[0].priority, result.pods[0].shape.node_selector, result.pods[0].scheduler)
        assert [] == problem_lines(result)

    @pytest.mark.parametrize(
        ("source", "line"),
        [
            pytest.param({"kind": "Pod", "metadata": {"name": "x"}}, "Pod x: apiVersion is missing; the object is left out", id="no version"),
            pytest.param({"apiVersion": "v1", "metadata": {"namespace": "n", "name": "x"}}, "Object n/x: kind is missing; the object is left out", id="no kind"),
            pytest.param({"apiVersion": 1, "kind": "Pod"}, "Pod: apiVersion must be a string; the object is left out", id="a version of the wrong type"),
            pytest.param({}, "Object: kind is missing; the object is left out", id="nothing"),
            pytest.param(b"[]", "Object: is not a JSON object; the object is left out", id="a list"),
            pytest.param(b"{", "Object: is not JSON: Input data was truncated; the object is left out", id="no JSON"),
            pytest.param(b'{"apiVersion": "v1", "kind": "List", "items": {}}', "List: items must be a list; the object is left out", id="items"),
            pytest.param(b'{"apiVersion": "v1", "kind": "PodList", "items": [1]}', "Pod: is not a JSON object; the object is left out", id="an item"),
            pytest.param(b"[" * 100_000, "Object: is not a JSON object; the object is left out", id="deep"),
            pytest.param(b'{"a":' * 100_000, "Object: is nested too deeply to be read; the object is left out", id="deep object"),
            pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\ud800"}}, "Object: is not JSON: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed; the object is left out", id="half a character"),
            pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "Pod: metadata.name is missing; the pod is left out", id="no name"),
            pytest.param({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a/b"}}, "Node: metadata.name must be a valid Kubernetes name; the node is left out", id="a name with a slash"),
            pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": {}}}, "Pod default/x: spec.containers must be a list, not an object; the pod is left out", id="wrong shape"),
            pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"priority": 2**31}}, "Pod default/x: spec.priority must be at most 2147483647; the pod is left out", id="too large"),
            pytest.param({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}, "spec": {"taints": [{"effect": "NoExecute"}]}}, "Node x: spec.taints[0].key is missing; the node is left out", id="a field is missing"),
            pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": 1}}}, "Pod default/x: a value of metadata.labels must be a string, not a whole number; the pod is left out", id="a label"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_used_is_reported_and_the_rest_continues(self, source, line):
        snapshot = load([source, node()])

        assert [line] == problem_lines(snapshot)
        assert ("node-1",) == snapshot.nodes.names


class TestSameName:
    def test_of_two_that_are_alike_nothing_is_reported(self):
        again = dict(reversed(node().items()))

        snapshot = load([node(), json.dumps(again, indent=1).encode()])

        assert ("node-1",) == snapshot.nodes.names
        assert [] == problem_lines(snapshot)

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize(
        ("several", "label"),
        [
            pytest.param([pod(priority=1), pod(priority=2), pod(priority=1)], "Pod default/pod-1", id="pods"),
            pytest.param([group(priority=1), group(priority=2)], "PodGroup default/group-1", id="groups"),
            pytest.param([pod(priority=1), pod(priority={})], "Pod default/pod-1", id="one of them unusable"),
        ],
    )
    def test_of_two_that_differ_the_first_as_json_counts(self, several, label, order):
        snapshot = load(several[::order])

        assert [f"{label}: is defined several times with different content; the one that sorts first as JSON is used"] == problem_lines(
            snapshot
        )
        assert [1] == [*(each.priority for each in snapshot.pods), *snapshot.priorities.values()]

    def test_nodes_and_budgets_are_chosen_so_too(self):
        several = [
            node(labels={"rack": "b"}),
            node(labels={"rack": "a"}),
            budget(status={"disruptionsAllowed": 2}),
            budget(status={"disruptionsAllowed": 1}),
        ]

        snapshot = load(several)

        assert ({"rack": "a"}, 1) == (snapshot.nodes.labels[0], snapshot.budgets[0].allowed)
        assert ["Node node-1", "PodDisruptionBudget default/budget-1"] == [each.object for each in worded(snapshot.problems)]

    def test_the_one_that_counts_may_be_the_one_that_cannot_be_used(self):
        snapshot = load([node(allocatable={"cpu": "-1"}), node(allocatable={"cpu": "1"})])

        assert () == snapshot.nodes.names
        assert 2 == len(snapshot.problems)


class TestRetired:
    """KEP-4671 as of Kubernetes 1.35: pods name a group in a Workload."""

    @staticmethod
    def member(name, pod_group, key=None, workload="train", **spec):
        reference = {"name": workload, "podGroup": pod_group} | ({"podGroupReplicaKey": key} if key else {})
        return pod(name, workloadRef=reference, **spec)

    def test_each_replica_becomes_a_group(self):
        pods = [
            self.member("a", "workers", "0", priority=9),
            self.member("b", "workers", "0", priority=5),
            self.member("c", "workers", "1"),
        ]

        snapshot = load([REFERENCED_WORKLOAD, *pods, self.member("d", "driver")])

        assert ["train-workers-0", "train-workers-0", "train-workers-1", "train-driver"] == [each.group for each in snapshot.pods]
        assert [("train-driver", 0), ("train-workers-0", 2), ("train-workers-1", 2)] == [
            (each.metadata.name, each.spec.scheduling_policy.gang.min_count if each.spec.scheduling_policy.gang else 0)
            for each in snapshot.groups
        ]
        assert 5 == snapshot.priorities["PodGroup", "default", "train-workers-0"]
        assert {("default", "train-driver"): 3} == snapshot.desired
        assert "2026-08-01T00:00:00Z" == snapshot.groups[0].metadata.creation_timestamp
        assert [] == problem_lines(snapshot)

    @pytest.mark.parametrize(
        ("member", "name"),
        [
            pytest.param(("a", "workers", None, "gone"), "gone-workers", id="no such Workload"),
            pytest.param(("a", "gone", None, "train"), "train-gone", id="no such group in it"),
        ],
    )
    def test_pods_wait_where_there_is_nothing_to_make_a_group_of(self, member, name):
        snapshot = load([REFERENCED_WORKLOAD, self.member(*member)])

        assert name == snapshot.pods[0].group
        assert () == snapshot.groups

    def test_a_made_name_is_no_others(self):
        other = REFERENCED_WORKLOAD | {
            "metadata": {"name": "train-workers"},
            "spec": {"podGroups": [{"name": "0", "policy": {"basic": {}}}]},
        }
        pods = [self.member("a", "workers", "0"), self.member("b", "0", None, "train-workers"), self.member("c", "workers")]

        snapshot = load(
            [REFERENCED_WORKLOAD, other, group("train-workers-0"), pod("d", schedulingGroup={"podGroupName": "train-workers"}), *pods]
        )

        assert ["train-workers-0-2", "train-workers-0-3", "train-workers-2", "train-workers"] == [each.group for each in snapshot.pods]

    def test_a_group_that_is_named_goes_before_a_reference(self):
        given = self.member("a", "workers", schedulingGroup={"podGroupName": "group-1"})

        assert "group-1" == load([REFERENCED_WORKLOAD, given]).pods[0].group

    @pytest.mark.parametrize(
        ("policies", "want"), [(["Never", "Never"], "Never"), (["Never", None], None), ([None, None], None)], ids=["none", "one", "all"]
    )
    def test_a_made_group_preempts_unless_none_of_its_pods_does(self, policies, want):
        pods = [self.member(f"p{place}", "workers", preemptionPolicy=each) for place, each in enumerate(policies)]

        assert want == load([REFERENCED_WORKLOAD, *pods]).groups[0].spec.preemption_policy


class TestCase:
    RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}

    def test_values_of_a_topology_key_that_differ_in_case_are_reported(self):
        nodes = [node(f"n{place}", labels={"rack": value}) for place, value in enumerate(["r1", "R1", "r2", "R1"])]

        assert ['Node n1: the label rack is "R1" here and "r1" on node n0: they are two domains'] == problem_lines(
            load([*nodes, group(**self.RACK)])
        )

    def test_a_label_that_differs_in_case_from_a_topology_key_is_reported(self):
        nodes = [node("n0", labels={"rack": "r1"}), node("n1", labels={"Rack": "r1"}), node("n2", labels={"Rack": "r1"})]

        assert ['Node n1: the label "Rack" is not the topology key "rack": they differ in case'] == problem_lines(
            load([*nodes, group(**self.RACK)])
        )

    def test_nothing_is_reported_of_labels_by_which_nothing_is_divided(self):
        nodes = [node(f"n{place}", labels={"rack": value}) for place, value in enumerate(["r1", "R1"])]

        assert [] == problem_lines(load([*nodes, group()]))

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "rack"}]}, id="spread"),
            pytest.param(
                {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}}}, id="affinity"
            ),
            pytest.param(
                {
                    "affinity": {
                        "podAntiAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "rack"}}]
                        }
                    }
                },
                id="preferred",
            ),
        ],
    )
    def test_pods_divide_nodes_too(self, spec):
        nodes = [node(f"n{place}", labels={"rack": value}) for place, value in enumerate(["r1", "R1"])]

        assert 1 == len(load([*nodes, pod(**spec)]).problems)


@pytest.mark.parametrize("value", [7, "text", [1], True, None], ids=repr)
def test_what_is_no_object_is_reported_or_passed_over_and_stops_nothing(value):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}}}
    assert ("n",) == load([value, node]).nodes.names
