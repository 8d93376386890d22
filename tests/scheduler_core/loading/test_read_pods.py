"""Pods and their shapes as they are read into a ClusterSnapshot."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.nodes import CPU, MEMORY, PODS
from tests.scheduler_core.loading.manifests import node, pod, problem_lines


def pods_of(*objects):
    """Return the pods by name."""
    return {each.name: each for each in load([node(), *objects]).pods}


class TestPods:
    def test_the_properties_of_a_pod_are_in_its_record(self):
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

        result = load([node(), given]).pods[0]

        assert ("default/pod-1", "default", "pod-1", {"app": "web"}) == (result.key, result.namespace, result.name, result.labels)
        assert (0, "group-1", "other", 7, False) == (result.node, result.group, result.scheduler, result.priority, result.preempts)
        assert ("2026-08-01T00:00:01Z", "2026-08-01T00:00:02Z", True, ("wait",), -1) == (
            result.created,
            result.started,
            result.terminating,
            result.gates,
            result.nominated,
        )

    def test_what_is_not_written_is_filled_in(self):
        result = load([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod-1"}}]).pods[0]

        assert ("default/pod-1", "default", {}) == (result.key, result.namespace, result.labels)
        assert (-1, "", "default-scheduler", 0, True) == (
            result.node,
            result.group,
            result.scheduler,
            result.priority,
            result.preempts,
        )
        assert ("", "", False, (), -1) == (result.created, result.started, result.terminating, result.gates, result.nominated)

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_pod_that_has_ended_is_left_out(self, phase):
        snapshot = load([node(), pod(nodeName="node-1", status={"phase": phase})])

        assert () == snapshot.pods
        assert [] == problem_lines(snapshot)

    def test_pods_are_in_order_of_their_keys(self):
        snapshot = load([pod("b", namespace="x"), pod("a", namespace="y"), pod("a", namespace="x")])

        assert ["x/a", "x/b", "y/a"] == [each.key for each in snapshot.pods]

    def test_requests_are_rows(self):
        result = pods_of(pod(containers=[{"resources": {"requests": {"memory": "1Ki", "a.com/a": 2, "cpu": 1}}}]))["pod-1"]

        assert ((CPU, 1000), (MEMORY, 1024), (PODS, 1), (4, 2)) == result.shape.requests
        assert (1000, 1024) == result.shape.scored

    def test_a_pod_with_a_quantity_that_cannot_be_is_left_out(self):
        snapshot = load([node(), pod(overhead={"cpu": "-1"}), pod("fine")])

        assert ["fine"] == [each.name for each in snapshot.pods]
        assert ["Pod default/pod-1: spec.overhead[cpu] is negative: -1; the pod is left out"] == problem_lines(snapshot)

    def test_a_pod_bound_to_a_node_that_is_not_there_is_left_out(self):
        snapshot = load([node(), node("bare", allocatable=None), pod("a", nodeName="gone"), pod("b", nodeName="bare")])

        assert () == snapshot.pods
        assert problem_lines(snapshot)[1:] == [
            'Pod default/a: spec.nodeName is "gone", which is not among the nodes; the pod is left out',
            'Pod default/b: spec.nodeName is "bare", which is not among the nodes; the pod is left out',
        ]

    def test_a_nominated_node_is_an_index(self):
        assert 0 == pods_of(pod(status={"nominatedNodeName": "node-1"}))["pod-1"].nominated

    def test_a_nominated_node_that_is_not_there_is_reported(self):
        snapshot = load([node(), pod(status={"nominatedNodeName": "gone"})])

        assert -1 == snapshot.pods[0].nominated
        want = 'status.nominatedNodeName is "gone", which is not among the nodes; the nomination is ignored'
        assert [f"Pod default/pod-1: {want}"] == problem_lines(snapshot)


class TestShapes:
    def test_pods_that_are_alike_share_a_shape(self):
        result = pods_of(pod("a", nodeName="node-1"), pod("b", labels={"x": "y"}, priority=5), pod("c", nodeSelector={"a": "b"}))

        assert result["a"].shape is result["b"].shape
        assert result["a"].shape is not result["c"].shape

    def test_a_shape_is_what_a_spec_comes_to_and_not_how_it_is_written(self):
        written = [{"name": "x", "resources": {"limits": {"cpu": "1000m"}}}]
        volumes = [{"name": "token-a1b2", "projected": {}}]

        result = pods_of(pod("a"), pod("b", containers=written, volumes=volumes, affinity={}, tolerations=[]))

        # Scores take the same, for neither requests memory.
        assert result["a"].shape is result["b"].shape

    def test_shapes_are_numbered_by_the_names_of_their_pods(self):
        result = pods_of(pod("b", nodeSelector={"x": "2"}), pod("c"), pod("a", nodeSelector={"x": "1"}), pod("d"))

        assert [0, 1, 2, 2] == [result[name].shape.serial for name in "abcd"]

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
            pytest.param({"volumes": [{"emptyDir": {}}, {"azureFile": {}}]}, ("spec.volumes[1].azureFile",), id="second volume"),
            pytest.param({"volumes": [{"ephemeral": {}}]}, (), id="the claim of an ephemeral volume is modelled"),
            *[
                pytest.param({"volumes": [{name: {}}]}, (f"spec.volumes[0].{name}",), id=name)
                for name in ("azureDisk", "azureFile", "cinder", "portworxVolume", "vsphereVolume")
            ],
            *[
                pytest.param({"volumes": [{name: {}}]}, (), id=f"{name} is modelled")
                for name in ("awsElasticBlockStore", "gcePersistentDisk", "iscsi", "rbd")
            ],
            pytest.param({"volumes": [{"csi": {"driver": "secrets"}}]}, (), id="an inline csi volume constrains nothing"),
            pytest.param({"volumes": [{"configMap": {}}, {"hostPath": {}}, {"nfs": {}}]}, (), id="nor do others"),
            pytest.param({"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}, (), id="resource claims are modelled"),
            pytest.param(
                {"initContainers": [{"name": "i", "resources": {"limits": {"volcano.sh/vgpu-number": "1", "nvidia.com/gpumem": "0"}}}]},
                ("spec.containers.resources[volcano.sh/vgpu-number]",),
                id="share of a device",
            ),
            pytest.param(
                {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/mig-1g.5gb": "1", "nvidia.com/gpu.shared": "1"}}}]},
                (),
                id="MIG devices and time slices are modelled",
            ),
            pytest.param(
                {
                    "topologySpreadConstraints": [
                        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"},
                    ]
                },
                (),
                id="soft spread is modelled",
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
    def test_a_constraint_that_is_not_sound_is_reported(self, spec, text):
        snapshot = load([pod(**spec)])

        assert [f"Pod default/pod-1: {text}"] == problem_lines(snapshot)
        assert 1 == len(snapshot.pods)


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
    (result,) = load([pod]).pods
    assert want is result.preempted
