"""Trees that violate a rule, reported next to a kube-scheduler that writes the same condition.

Each test starts its own sidecar, because its writes are counted.
"""

from __future__ import annotations

from scheduler_core.behavior.scheduler_behavior import behavior_of
from tests.cluster.groups import SCHEDULED, composite, conditions, pod_group
from tests.cluster.kubelet import node, pod
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_validate import MODE, VALID, reported_condition
from tests.cluster.waiting import until


def test_kube_scheduler_is_not_fought_over_a_condition(plane, api, namespace, nodes, tmp_path):
    """It writes the condition of a PodGroup whose pods it cannot place, whatever is there: ours moves aside, and both rest."""
    nodes(node("n1", cpu=1))
    with sidecar(plane, tmp_path, *MODE, fork=True) as watching:

        def written():
            return watching.metric('muster_writes_total{kind="SetCondition",outcome="done"}')

        api.create(composite("top", namespace, workloadRef={"workloadName": "one", "templateName": "top"}))
        api.create(pod_group("leaf", namespace, minimum=2, parent="top", workloadRef={"workloadName": "two", "templateName": "leaf"}))
        reported_condition(api, "PodGroup", "leaf", namespace)
        reported_condition(api, "CompositePodGroup", "top", namespace)
        plane.start_scheduler()
        try:
            api.create_all([pod(f"p{number}", namespace, group="leaf", cpu=1) for number in range(2)])
            result = reported_condition(api, "PodGroup", "leaf", namespace, VALID)
            assert "tree-one-workload" in result["message"]
            theirs = conditions(api, "PodGroup", "leaf", namespace)[SCHEDULED["PodGroup"]]
            behavior = behavior_of(plane.programs.minor())
            assert (behavior.invalid_pod_group if behavior.validates_trees else "Unschedulable") == theirs["reason"]
            assert "tree-one-workload" not in theirs["message"]
            # Both groups, and the one of them again: each is counted a moment after it is there.
            until(lambda: written() >= 3)
            before = written()
            nodes(node("n2-too-small", cpu=1))
            api.delete("Node", "n2-too-small")
            # A round of the watch later nothing more has been written on it.
            api.create(pod_group("marker", namespace, parent="top", workloadRef={"workloadName": "three", "templateName": "x"}))
            reported_condition(api, "PodGroup", "marker", namespace)
            assert before + 3 >= written()
        finally:
            plane.scheduler.stop()
