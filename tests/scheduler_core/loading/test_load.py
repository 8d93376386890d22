"""Objects in, a ClusterSnapshot out: what is filled in, what is left out, and what is told."""

import copy
import json
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.loading.load import load
from scheduler_core.model.nodes import CPU, MEMORY, PODS
from scheduler_core.model.snapshot import DisruptionBudget
from scheduler_core.model.wire import LabelSelector
from tests.sampling import sampled
from validators.model.objects import Named


def node(name="node-1", *, labels=None, taints=None, **status):
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": taints or []},
        "status": {"allocatable": allocatable} | status,
    }


def pod(name="pod-1", *, status=None, labels=None, namespace="default", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]} | spec,
        "status": status or {},
    }


def group(name="group-1", kind="PodGroup", version="v1alpha3", namespace="default", **spec):
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": {"basic": {}}} | spec,
    }


def priority_class(name, value, **more):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value} | more


def budget(name="budget-1", **more):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"}} | more


def told(snapshot):
    """The problems as lines."""
    return [f"{problem.object}: {problem.message}" for problem in snapshot.problems]


def pods_of(*objects):
    """The pods by name."""
    return {each.name: each for each in load([node(), *objects]).pods}


class TestNodes:
    def test_nodes_stand_in_order_of_their_names(self):
        table = load([node("node-2"), node("node-10"), node("node-1")]).nodes

        assert ("node-1", "node-10", "node-2") == table.names

    def test_the_table_has_what_can_be_allocated(self):
        given = node("a", labels={"rack": "r1"}, allocatable={"cpu": "1500m", "memory": "1Ki", "pods": 110, "nvidia.com/gpu": "8"})
        given["spec"]["unschedulable"] = True

        table = load([given, node("b")]).nodes

        assert ("cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu") == table.resources
        assert [[1500, 4000], [1024, 8 * 1024**3], [0, 0], [110, 110], [8, 0]] == table.allocatable.tolist()
        assert ({"rack": "r1"}, {}) == table.labels
        assert [True, False] == table.unschedulable.tolist()

    def test_rows_are_made_for_what_only_pods_request(self):
        wants = pod(containers=[{"resources": {"requests": {"b.com/b": 1, "a.com/a": 1}}}])

        table = load([node(), wants]).nodes

        assert ("cpu", "memory", "ephemeral-storage", "pods", "a.com/a", "b.com/b") == table.resources
        assert [[0], [0]] == table.allocatable[4:].tolist()

    def test_a_node_without_allocatable_is_left_out(self):
        snapshot = load([node(), node("bare", allocatable=None)])

        assert ("node-1",) == snapshot.nodes.names
        assert ["Node bare: status.allocatable is missing; the node is left out"] == told(snapshot)

    def test_where_only_the_capacity_is_written_it_can_be_allocated(self):
        snapshot = load([node(allocatable=None, capacity={"cpu": "3"})])

        assert 3000 == snapshot.nodes.allocatable[CPU, 0]
        assert [] == told(snapshot)

    @pytest.mark.parametrize(
        ("cpu", "text"),
        [
            pytest.param("-1", "status.allocatable[cpu] is negative: -1", id="negative"),
            pytest.param("4 cores", 'status.allocatable[cpu]: "4 cores" is not a quantity: must be a number with an optional unit, such as 500m, 2 or 1.5Gi', id="unreadable"),
            pytest.param(True, "a value of status.allocatable must be a whole number or a number or a string, not true or false", id="of the wrong type"),
        ],
    )  # fmt: skip
    def test_a_node_with_a_quantity_that_cannot_be_is_left_out(self, cpu, text):
        snapshot = load([node(), node("odd", allocatable={"cpu": cpu})])

        assert ("node-1",) == snapshot.nodes.names
        assert [f"Node odd: {text}; the node is left out"] == told(snapshot)

    def test_a_taint_with_an_unknown_effect_is_left_out(self):
        taints = [{"key": "a", "effect": "NoScedule"}, {"key": "b", "effect": "NoExecute"}]

        snapshot = load([node(taints=taints)])

        assert ["b"] == [taint.key for taint in snapshot.nodes.taints[0]]
        want = 'spec.taints[0].effect is "NoScedule"; allowed: NoSchedule, PreferNoSchedule, NoExecute; the taint is left out'
        assert [f"Node node-1: {want}"] == told(snapshot)


class TestPods:
    def test_what_a_pod_is_stands_in_its_record(self):
        given = pod(
            labels={"app": "web"},
            nodeName="node-1",
            schedulingGroup={"podGroupName": "group-1"},
            schedulerName="other",
            priority=7,
            preemptionPolicy="Never",
            schedulingGates=[{"name": "wait"}],
            status={"startTime": "2026-08-01T00:00:02Z", "phase": "Running"},
        )
        given["metadata"] |= {"creationTimestamp": "2026-08-01T00:00:01Z", "deletionTimestamp": "2026-08-01T00:00:03Z"}

        found = load([node(), given]).pods[0]

        assert ("default/pod-1", "default", "pod-1", {"app": "web"}) == (found.key, found.namespace, found.name, found.labels)
        assert (0, "group-1", "other", 7, False) == (found.node, found.group, found.scheduler, found.priority, found.preempts)
        assert ("2026-08-01T00:00:01Z", "2026-08-01T00:00:02Z", True, ("wait",), -1) == (
            found.created,
            found.started,
            found.terminating,
            found.gates,
            found.nominated,
        )

    def test_what_is_not_written_is_filled_in(self):
        found = load([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod-1"}}]).pods[0]

        assert ("default/pod-1", "default", {}) == (found.key, found.namespace, found.labels)
        assert (-1, "", "default-scheduler", 0, True) == (found.node, found.group, found.scheduler, found.priority, found.preempts)
        assert ("", "", False, (), -1) == (found.created, found.started, found.terminating, found.gates, found.nominated)

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_pod_that_has_ended_is_left_out(self, phase):
        snapshot = load([node(), pod(nodeName="node-1", status={"phase": phase})])

        assert () == snapshot.pods
        assert [] == told(snapshot)

    def test_pods_stand_in_order_of_their_keys(self):
        snapshot = load([pod("b", namespace="x"), pod("a", namespace="y"), pod("a", namespace="x")])

        assert ["x/a", "x/b", "y/a"] == [each.key for each in snapshot.pods]

    def test_requests_stand_in_rows(self):
        found = pods_of(pod(containers=[{"resources": {"requests": {"memory": "1Ki", "a.com/a": 2, "cpu": 1}}}]))["pod-1"]

        assert ((CPU, 1000), (MEMORY, 1024), (PODS, 1), (4, 2)) == found.shape.requests
        assert (1000, 1024) == found.shape.scored

    def test_a_pod_with_a_quantity_that_cannot_be_is_left_out(self):
        snapshot = load([node(), pod(overhead={"cpu": "-1"}), pod("fine")])

        assert ["fine"] == [each.name for each in snapshot.pods]
        assert ["Pod default/pod-1: spec.overhead[cpu] is negative: -1; the pod is left out"] == told(snapshot)

    def test_a_pod_bound_to_a_node_that_is_not_there_is_left_out(self):
        snapshot = load([node(), node("bare", allocatable=None), pod("a", nodeName="gone"), pod("b", nodeName="bare")])

        assert () == snapshot.pods
        assert told(snapshot)[1:] == [
            'Pod default/a: spec.nodeName is "gone", which is not among the nodes; the pod is left out',
            'Pod default/b: spec.nodeName is "bare", which is not among the nodes; the pod is left out',
        ]

    def test_a_nominated_node_is_an_index(self):
        assert 0 == pods_of(pod(status={"nominatedNodeName": "node-1"}))["pod-1"].nominated

    def test_a_nominated_node_that_is_not_there_is_told(self):
        snapshot = load([node(), pod(status={"nominatedNodeName": "gone"})])

        assert -1 == snapshot.pods[0].nominated
        want = 'status.nominatedNodeName is "gone", which is not among the nodes; the nomination is ignored'
        assert [f"Pod default/pod-1: {want}"] == told(snapshot)


class TestShapes:
    def test_pods_that_are_alike_share_a_shape(self):
        found = pods_of(pod("a", nodeName="node-1"), pod("b", labels={"x": "y"}, priority=5), pod("c", nodeSelector={"a": "b"}))

        assert found["a"].shape is found["b"].shape
        assert found["a"].shape is not found["c"].shape

    def test_a_shape_is_what_a_spec_comes_to_and_not_how_it_is_written(self):
        written = [{"name": "x", "resources": {"limits": {"cpu": "1000m"}}}]
        volumes = [{"name": "token-a1b2", "projected": {}}]

        found = pods_of(pod("a"), pod("b", containers=written, volumes=volumes, affinity={}, tolerations=[]))

        # Scores take the same, for neither requests memory.
        assert found["a"].shape is found["b"].shape

    def test_shapes_are_numbered_by_the_names_of_their_pods(self):
        found = pods_of(pod("b", nodeSelector={"x": "2"}), pod("c"), pod("a", nodeSelector={"x": "1"}), pod("d"))

        assert [0, 1, 2, 2] == [found[name].shape.serial for name in "abcd"]

    def test_constraints_are_kept(self):
        toleration = {"key": "a", "operator": "Exists"}
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}

        shape = pods_of(
            pod(nodeSelector={"b": "2", "a": "1"}, tolerations=[toleration], topologySpreadConstraints=[spread], affinity=affinity)
        )["pod-1"].shape

        assert (("a", "1"), ("b", "2")) == shape.node_selector
        assert [("a", "Exists")] == [(each.key, each.operator) for each in shape.tolerations]
        assert ["zone"] == [each.topology_key for each in shape.spread]
        assert "zone" == shape.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution[0].topology_key

    @pytest.mark.parametrize(
        ("spec", "ports"),
        [
            pytest.param({"containers": [{"ports": [{"containerPort": 80}]}]}, (), id="a port of the container takes none"),
            pytest.param(
                {"containers": [{"ports": [{"containerPort": 80, "hostPort": 8080}]}]}, (("TCP", "0.0.0.0", 8080),), id="one of the host"
            ),
            pytest.param(
                {"containers": [{"ports": [{"hostPort": 53, "hostIP": "127.0.0.1", "protocol": "UDP"}]}]},
                (("UDP", "127.0.0.1", 53),),
                id="with address and protocol",
            ),
            pytest.param(
                {"hostNetwork": True, "containers": [{"ports": [{"containerPort": 80}]}]}, (("TCP", "0.0.0.0", 80),), id="host network"
            ),
            pytest.param(
                {"initContainers": [{"ports": [{"hostPort": 1}]}, {"restartPolicy": "Always", "ports": [{"hostPort": 2}]}]},
                (("TCP", "0.0.0.0", 2),),
                id="of init containers only sidecars take one",
            ),
        ],
    )
    def test_ports_of_the_host_are_taken(self, spec, ports):
        assert ports == pods_of(pod(**spec))["pod-1"].shape.ports

    @pytest.mark.parametrize(
        ("spec", "unmodelled"),
        [
            pytest.param({"volumes": [{"emptyDir": {}}, {"persistentVolumeClaim": {}}]}, ("spec.volumes[1].persistentVolumeClaim",), id="claim"),
            pytest.param({"volumes": [{"ephemeral": {}}]}, ("spec.volumes[0].ephemeral",), id="ephemeral"),
            *[
                pytest.param({"volumes": [{name: {}}]}, (f"spec.volumes[0].{name}",), id=name)
                for name in ("awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "azureFile", "cinder", "portworxVolume", "vsphereVolume", "iscsi", "rbd")
            ],
            pytest.param({"volumes": [{"csi": {"driver": "secrets"}}]}, (), id="an inline csi volume constrains nothing"),
            pytest.param({"volumes": [{"configMap": {}}, {"hostPath": {}}, {"nfs": {}}]}, (), id="nor do others"),
            pytest.param({"resourceClaims": [{"name": "gpu"}]}, ("spec.resourceClaims[0]",), id="resource claim"),
            pytest.param(
                {
                    "topologySpreadConstraints": [
                        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"},
                    ]
                },
                ("spec.topologySpreadConstraints[1]",),
                id="soft spread",
            ),
        ],
    )  # fmt: skip
    def test_what_constrains_and_is_not_modelled_is_named(self, spec, unmodelled):
        assert unmodelled == pods_of(pod(**spec))["pod-1"].shape.unmodelled

    @pytest.mark.parametrize(
        ("spec", "text"),
        [
            pytest.param(
                {"tolerations": [{"effect": "Never"}]},
                'spec.tolerations[0].effect is "Never"; allowed: NoSchedule, PreferNoSchedule, NoExecute; it tolerates nothing',
                id="toleration",
            ),
            pytest.param(
                {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}]
                            }
                        }
                    }
                },
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]: "
                'operator is "in"; allowed: In, NotIn, Exists, DoesNotExist, Gt, Lt; the term matches nothing',
                id="node affinity",
            ),
        ],
    )
    def test_a_constraint_that_is_not_sound_is_told(self, spec, text):
        snapshot = load([pod(**spec)])

        assert [f"Pod default/pod-1: {text}"] == told(snapshot)
        assert 1 == len(snapshot.pods)


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
        assert [] == told(snapshot)

    def test_a_class_that_is_not_there_is_told(self):
        snapshot = load([pod(priorityClassName="gone"), group(priorityClassName="gone")])

        assert (0, 0) == (snapshot.pods[0].priority, snapshot.priorities["PodGroup", "default", "group-1"])
        assert told(snapshot) == [
            'Pod default/pod-1: spec.priorityClassName is "gone", which does not exist; priority 0 is used',
            'PodGroup default/group-1: spec.priorityClassName is "gone", which does not exist; priority 0 is used',
        ]


class TestGroups:
    def test_groups_stand_by_namespace_name_and_kind(self):
        given = [group("b"), group("a"), group("a", "CompositePodGroup"), group("z", namespace="alpha")]
        del given[0]["metadata"]["namespace"]

        found = load(given).groups

        want = [
            ("alpha", "z", "PodGroup"),
            ("default", "a", "CompositePodGroup"),
            ("default", "a", "PodGroup"),
            ("default", "b", "PodGroup"),
        ]
        assert want == [(each.metadata.namespace, each.metadata.name, each.kind) for each in found]

    def test_a_retired_version_is_read_in_todays_form(self):
        given = group(version="v1alpha2", disruptionMode="PodGroup")

        assert load([given]).groups[0].spec.disruption_mode.all is not None

    def test_a_group_of_the_wrong_shape_is_left_out_and_known_by_name(self):
        snapshot = load([group(schedulingPolicy={"gang": {"minCount": "four"}})])

        assert () == snapshot.groups
        want = "spec.schedulingPolicy.gang.minCount must be a whole number, not a string; the group is left out"
        assert [f"PodGroup default/group-1: {want}"] == told(snapshot)
        assert isinstance(snapshot.known.get("PodGroup", "default", "group-1"), Named)

    def test_rules_about_trees_find_what_they_ask_for(self):
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

    def test_a_budget_whose_selector_is_not_sound_is_told(self):
        given = budget(spec={"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})

        assert [
            "PodDisruptionBudget default/budget-1: spec.selector.matchExpressions[0]: In needs values; the selector matches nothing"
        ] == told(load([given]))


class TestSources:
    def test_objects_come_parsed_or_as_text(self):
        text = json.dumps(pod("text")).encode()

        found = load([pod("parsed"), text, bytearray(text.replace(b"text", b"array")), msgspec.Raw(text.replace(b"text", b"raw"))]).pods

        assert ["array", "parsed", "raw", "text"] == [each.name for each in found]

    @pytest.mark.parametrize("text", [False, True], ids=["parsed", "text"])
    def test_lists_are_opened(self, text):
        bare = {key: value for key, value in pod("bare").items() if key in {"metadata", "spec"}}
        inner = {"apiVersion": "v1", "kind": "PodList", "items": [bare, pod("told")]}
        outer = {"apiVersion": "v1", "kind": "List", "items": [inner, pod("plain"), {"apiVersion": "v1", "kind": "List"}]}

        snapshot = load([json.dumps(outer).encode() if text else outer])

        assert ["bare", "plain", "told"] == [each.name for each in snapshot.pods]
        assert [] == told(snapshot)

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
        assert [] == told(snapshot)

    def test_null_is_absence_and_a_whole_number_stays_one(self):
        given = pod(priority=3.0, nodeSelector={"a": None}, schedulerName=None)
        given["metadata"] |= {"labels": None, "creationTimestamp": None}

        found = load([given])

        assert (3, (), "default-scheduler") == (found.pods[0].priority, found.pods[0].shape.node_selector, found.pods[0].scheduler)
        assert [] == told(found)

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
    def test_what_cannot_be_used_is_told_and_the_rest_goes_on(self, source, line):
        snapshot = load([source, node()])

        assert [line] == told(snapshot)
        assert ("node-1",) == snapshot.nodes.names


class TestSameName:
    def test_of_two_that_are_alike_nothing_is_said(self):
        again = dict(reversed(node().items()))

        snapshot = load([node(), json.dumps(again, indent=1).encode()])

        assert ("node-1",) == snapshot.nodes.names
        assert [] == told(snapshot)

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

        assert [f"{label}: is defined several times with different content; the one that sorts first as JSON is used"] == told(snapshot)
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
        assert ["Node node-1", "PodDisruptionBudget default/budget-1"] == [each.object for each in snapshot.problems]

    def test_the_one_that_counts_may_be_the_one_that_cannot_be_used(self):
        snapshot = load([node(allocatable={"cpu": "-1"}), node(allocatable={"cpu": "1"})])

        assert () == snapshot.nodes.names
        assert 2 == len(snapshot.problems)


class TestRetired:
    """KEP-4671 as of Kubernetes 1.35: pods name a group in a Workload."""

    WORKLOAD = {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "train", "namespace": "default", "creationTimestamp": "2026-08-01T00:00:00Z"},
        "spec": {
            "podGroups": [
                {"name": "workers", "policy": {"gang": {"minCount": 2}}},
                {"name": "driver", "policy": {"basic": {"desiredCount": 3}}},
            ]
        },
    }

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

        snapshot = load([self.WORKLOAD, *pods, self.member("d", "driver")])

        assert ["train-workers-0", "train-workers-0", "train-workers-1", "train-driver"] == [each.group for each in snapshot.pods]
        assert [("train-driver", 0), ("train-workers-0", 2), ("train-workers-1", 2)] == [
            (each.metadata.name, each.spec.scheduling_policy.gang.min_count if each.spec.scheduling_policy.gang else 0)
            for each in snapshot.groups
        ]
        assert 5 == snapshot.priorities["PodGroup", "default", "train-workers-0"]
        assert {("default", "train-driver"): 3} == snapshot.desired
        assert "2026-08-01T00:00:00Z" == snapshot.groups[0].metadata.creation_timestamp
        assert [] == told(snapshot)

    @pytest.mark.parametrize(
        ("member", "name"),
        [
            pytest.param(("a", "workers", None, "gone"), "gone-workers", id="no such Workload"),
            pytest.param(("a", "gone", None, "train"), "train-gone", id="no such group in it"),
        ],
    )
    def test_pods_wait_where_there_is_nothing_to_make_a_group_of(self, member, name):
        snapshot = load([self.WORKLOAD, self.member(*member)])

        assert name == snapshot.pods[0].group
        assert () == snapshot.groups

    def test_a_made_name_is_no_others(self):
        other = self.WORKLOAD | {"metadata": {"name": "train-workers"}, "spec": {"podGroups": [{"name": "0", "policy": {"basic": {}}}]}}
        pods = [self.member("a", "workers", "0"), self.member("b", "0", None, "train-workers"), self.member("c", "workers")]

        snapshot = load(
            [self.WORKLOAD, other, group("train-workers-0"), pod("d", schedulingGroup={"podGroupName": "train-workers"}), *pods]
        )

        assert ["train-workers-0-2", "train-workers-0-3", "train-workers-2", "train-workers"] == [each.group for each in snapshot.pods]

    def test_a_group_that_is_named_goes_before_a_reference(self):
        given = self.member("a", "workers", schedulingGroup={"podGroupName": "group-1"})

        assert "group-1" == load([self.WORKLOAD, given]).pods[0].group

    @pytest.mark.parametrize(
        ("policies", "want"), [(["Never", "Never"], "Never"), (["Never", None], None), ([None, None], None)], ids=["none", "one", "all"]
    )
    def test_a_made_group_preempts_unless_none_of_its_pods_does(self, policies, want):
        pods = [self.member(f"p{place}", "workers", preemptionPolicy=each) for place, each in enumerate(policies)]

        assert want == load([self.WORKLOAD, *pods]).groups[0].spec.preemption_policy


class TestCase:
    RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}

    def test_values_of_a_topology_key_that_differ_in_case_are_told(self):
        nodes = [node(f"n{place}", labels={"rack": value}) for place, value in enumerate(["r1", "R1", "r2", "R1"])]

        assert ['Node n1: the label rack is "R1" here and "r1" on node n0: they are two domains'] == told(
            load([*nodes, group(**self.RACK)])
        )

    def test_a_label_that_differs_in_case_from_a_topology_key_is_told(self):
        nodes = [node("n0", labels={"rack": "r1"}), node("n1", labels={"Rack": "r1"}), node("n2", labels={"Rack": "r1"})]

        assert ['Node n1: the label "Rack" is not the topology key "rack": they differ in case'] == told(load([*nodes, group(**self.RACK)]))

    def test_nothing_is_said_of_labels_by_which_nothing_is_divided(self):
        nodes = [node(f"n{place}", labels={"rack": value}) for place, value in enumerate(["r1", "R1"])]

        assert [] == told(load([*nodes, group()]))

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


def canonical(snapshot):
    """Everything in a snapshot, to be compared."""
    shapes = {each.shape.serial: msgspec.to_builtins(each.shape) for each in snapshot.pods}
    pods = [msgspec.to_builtins(each) for each in snapshot.pods]
    table = snapshot.nodes
    nodes = (table.names, table.labels, table.taints, table.unschedulable.tolist(), table.resources, table.allocatable.tolist())
    return shapes, pods, nodes, snapshot.groups, snapshot.priorities, snapshot.desired, snapshot.budgets, snapshot.problems


VALID = [
    node("n1", labels={"rack": "r1"}, taints=[{"key": "a", "effect": "NoSchedule"}]),
    node("n2", labels={"rack": "R1"}),
    pod("p1", nodeName="n1", overhead={"cpu": "1"}, nodeSelector={"a": "b"}),
    pod("p2", tolerations=[{"key": "a", "operator": "Exists"}], status={"nominatedNodeName": "n2"}),
    pod("p3", schedulingGroup={"podGroupName": "g"}, priorityClassName="high", volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
    pod("p4", workloadRef={"name": "train", "podGroup": "workers"}, status={"containerStatuses": [{"name": "main", "resources": {}}]}),
    pod("p5", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}}),
    group("g", schedulingConstraints={"topology": [{"key": "rack"}]}, parentCompositePodGroupName="c"),
    group("c", "CompositePodGroup"),
    group("old", version="v1alpha2", disruptionMode="Pod"),
    priority_class("high", 10, globalDefault=True),
    budget(spec={"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, status={"disruptionsAllowed": 1}),
    TestRetired.WORKLOAD,
    {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p6"}, "spec": {"hostNetwork": True}}]},
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.sampled_from(["1", "-1", "In", "n1", "p1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(["name", "spec", "key"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(value, way=()):
    """Every way into a JSON value."""
    yield way
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*way, step))


def changed(content, way, value):
    content = copy.deepcopy(content)
    if not way:
        return value
    inner = content
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    return content


@st.composite
def damaged(draw):
    content = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(0, 2))):
        content = changed(content, draw(st.sampled_from([*places(content)])), draw(JSON))
    return content


@settings(max_examples=sampled(200), deadline=None)
@given(st.lists(damaged(), max_size=6), st.randoms(use_true_random=False))
def test_whatever_comes_is_read_and_its_order_changes_nothing(objects, shuffle):
    texts = [json.dumps(each).encode() for each in objects]
    again = [*texts]
    shuffle.shuffle(again)

    assert canonical(load(texts)) == canonical(load(again))


@settings(max_examples=sampled(100), deadline=None)
@given(st.lists(st.binary(max_size=40) | JSON.map(lambda each: json.dumps(each).encode()), max_size=4))
def test_any_text_is_read_or_told(texts):
    assert 0 == len(load(texts).pods)


def test_the_valid_ones_are_sound():
    snapshot = load(VALID)

    assert ["default/p1", "default/p2", "default/p3", "default/p4", "default/p5", "default/p6"] == [each.key for each in snapshot.pods]
    assert ['Node n2: the label rack is "R1" here and "r1" on node n1: they are two domains'] == told(snapshot)


def test_parsed_objects_and_texts_come_to_the_same():
    shuffled = random.Random(1).sample(VALID, len(VALID))

    assert canonical(load(VALID)) == canonical(load([json.dumps(each).encode() for each in shuffled]))


@pytest.mark.parametrize(
    ("deleted", "status", "reason", "want"),
    [
        pytest.param(True, "True", "PreemptionByScheduler", True, id="by the scheduler"),
        pytest.param(True, "True", "DeletionByTaintManager", False, id="by a taint"),
        pytest.param(True, "False", "PreemptionByScheduler", False, id="not after all"),
        pytest.param(False, "True", "PreemptionByScheduler", False, id="not deleted yet"),
    ],
)
def test_a_pod_leaves_by_preemption_only_where_its_condition_says_so(deleted, status, reason, want):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    pod["metadata"] |= {"deletionTimestamp": "2026-08-01T00:00:00Z"} if deleted else {}
    pod["status"] = {"conditions": [{"type": "DisruptionTarget", "status": status, "reason": reason}]}
    (found,) = load([pod]).pods
    assert want is found.preempted


@pytest.mark.parametrize("value", [7, "text", [1], True, None], ids=repr)
def test_what_is_no_object_is_told_or_passed_over_and_stops_nothing(value):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}}}
    assert ("n",) == load([value, node]).nodes.names
