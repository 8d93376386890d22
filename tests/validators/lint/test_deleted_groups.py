"""Groups that are being deleted: nothing is created in them, and what exists already is not reported."""

from __future__ import annotations

import pytest

from tests.validators.lint.test_lint_files import report
from validators import pipeline
from validators.object_lookup import KnownObjects
from validators.rules.base import Operation, Settings

DELETED = 'deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [scheduling.k8s.io/podgroup-protection]'
GROUP = f"""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: workers, uid: g, {DELETED}}}
spec: {{schedulingPolicy: {{gang: {{minCount: 2}}}}}}
"""
COMPOSITE = f"""\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {{name: run, uid: c, {DELETED}}}
spec: {{workloadRef: {{workloadName: w, templateName: run}}, schedulingPolicy: {{basic: {{}}}}}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {schedulingGroup: {podGroupName: workers}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {parallelism: 2, template: {spec: {restartPolicy: Never, schedulingGroup: {podGroupName: workers}}}}
"""
CHILD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: child}
spec:
  parentCompositePodGroupName: run
  workloadRef: {workloadName: w, templateName: child}
  schedulingPolicy: {basic: {}}
"""
CREATED = 'creationTimestamp: "2025-12-31T00:00:00Z"'


def rules(*documents: str) -> list[str]:
    return [each.rule for each in report({"a.yaml": "---\n".join(documents)}).findings]


@pytest.mark.parametrize(("group", "member"), [(GROUP, POD), (GROUP, JOB), (COMPOSITE, CHILD)], ids=["a pod", "a Job", "a child group"])
def test_a_new_member_is_an_error(group: str, member: str) -> None:
    assert rules(group, member) == ["parent-not-deleting"]


@pytest.mark.parametrize(
    ("group", "member"),
    [
        pytest.param(GROUP, POD.replace("name: p", f"name: p, {CREATED}"), id="a pod that is pending"),
        pytest.param(GROUP, POD.replace("name: p", "name: p, uid: p"), id="a pod with a uid"),
        pytest.param(GROUP, POD.replace("spec: {", "spec: {nodeName: n1, "), id="a pod with a node"),
        pytest.param(GROUP, POD.replace("name: p", f"name: p, {DELETED}"), id="a pod that is being deleted"),
        pytest.param(GROUP, JOB.replace("name: j", f"name: j, uid: j, {CREATED}"), id="a Job"),
        pytest.param(COMPOSITE, CHILD.replace("name: child}", f"name: child, uid: child, {CREATED}}}"), id="a child group"),
    ],
)
def test_a_member_that_exists_is_none(group: str, member: str) -> None:
    assert rules(group, member) == []


def test_a_request_to_create_a_pod_is_refused_whatever_fields_it_sets() -> None:
    metadata = {"name": "p", "namespace": "default", "uid": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulingGroup": {"podGroupName": "workers"}, "nodeName": "n"},
    }
    group = pipeline.decode_for_lookup(
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "workers", "namespace": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"schedulingPolicy": {"basic": {}}},
        }
    )
    assert group is not None
    lookup = KnownObjects([group], complete=True)

    refused = pipeline.validate("Pod", pod, None, Operation.CREATE, settings=Settings(), lookup=lookup)
    assert [each.error.origin for each in refused] == ["parent-not-deleting"]
    kept = pipeline.validate("Pod", pod, pod, Operation.UPDATE, settings=Settings(), lookup=lookup)
    assert list(kept) == []
