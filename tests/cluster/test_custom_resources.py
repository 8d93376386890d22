"""The admission table with custom resources: the webhooks refuse what the API server refuses of the built-in kinds, at the same fields.

``ANSWERS`` lists the rows with another answer.
"""

from __future__ import annotations

import copy

import pytest

from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import kubernetes_releases
from tests import builders
from tests.cluster.api import ApiError
from tests.cluster.conftest import new_namespace
from tests.cluster.custom_resources import KINDS, WITHOUT_KINDS, custom_plane
from tests.cluster.installed import DEPLOY, Installed, eventually, installed
from tests.cluster.kubelet import pod
from tests.cluster.options import WITHOUT_CONTROLLERS, Options
from tests.cluster.test_admission_table import OF_THE_STORED, answered, asked, expected, placed

pytestmark = pytest.mark.kubernetes("1.30", "1.34", "1.37")

ANSWERS = {
    "wl-create-template-name-64": {("spec.podGroupTemplates[0].name", "FieldValueTooLong")},
    "wl-create-gang-mincount-zero": {("spec.podGroupTemplates[0].schedulingPolicy.gang.minCount", "FieldValueInvalid")},
    "wl-create-controllerref-long-apigroup": {("spec.controllerRef.apiGroup", "FieldValueTooLong")},
    "wl-create-composite-mingroupcount-zero": {
        ("spec.compositePodGroupTemplates[0].schedulingPolicy.gang.minGroupCount", "FieldValueInvalid")
    },
    "wl-create-leaf-mincount-zero": {
        ("spec.compositePodGroupTemplates[0].podGroupTemplates[0].schedulingPolicy.gang.minCount", "FieldValueInvalid")
    },
    "wl-create-composite-topology-empty-key": {
        ("spec.compositePodGroupTemplates[0].schedulingConstraints.topology[0].key", "FieldValueInvalid")
    },
    "pg-create-workloadref-long-template": {("spec.workloadRef.templateName", "FieldValueTooLong")},
    "pg-create-topology-empty-key": {("spec.schedulingConstraints.topology[0].key", "FieldValueInvalid")},
    "pg-create-meta-long-name": {("metadata.name", "FieldValueInvalid"), ("metadata.name", "FieldValueTooLong")},
    "pg-update-topology-two": {("spec.schedulingConstraints.topology", "FieldValueTooMany")},
}
"""The rows that the definition of the kind answers before the webhook can, with its answers; the table has those of the built-in kinds."""

STATUS_ANSWERS = {
    "pg-status-no-transition-time": {("conditions[0].lastTransitionTime", "FieldValueRequired")},
    "cpg-status-empty-reason": {("conditions[0].reason", "FieldValueRequired")},
}
"""Rows of the status on Kubernetes 1.30, whose paths lack the field ``status``."""


class OfCustomResources(Installed):
    """The validating webhook: the other one would answer before, as the plugins do that the table is asked without."""

    def manifests(self):
        return [each for each in super().manifests() if each["kind"] != "MutatingWebhookConfiguration"]

    def judges(self, namespace):
        without_policy = builders.pod_group("probe", metadata={"namespace": namespace}, schedulingPolicy={})
        return bool(answered(lambda: self.plane.api.create(without_policy, dryRun="All")))

    def _unguarded(self):
        return not self.judges("default")


@pytest.fixture(scope="module", params=[False, True], ids=["without the built-in kinds", "with the built-in kinds"])
def plane(programs, request):
    if request.param and programs.minor() < kubernetes_releases.TODAY:
        pytest.skip("this version has no built-in kinds")
    with custom_plane(programs, Options(disabled_plugins=WITHOUT_CONTROLLERS) if request.param else WITHOUT_KINDS) as started:
        yield started


@pytest.fixture(scope="module", autouse=True)
def webhooks(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("installed"), options=("--profile=upstream",), kind=OfCustomResources) as created:
        yield created


@pytest.fixture(scope="module")
def namespace(plane):
    with new_namespace(plane.api) as name:
        yield name


def cases():
    """Return the cases of the three kinds."""
    return [case for case in asked() if case["object"]["kind"] in KINDS]


def answers(api, case, namespace):
    """Return what the API server and the webhook say of *case*."""
    after = placed(copy.deepcopy(case["object"]), namespace)
    if case["operation"] == "CREATE":
        return answered(lambda: api.create(after, dryRun="All"))
    before = placed(copy.deepcopy(case["oldObject"]), namespace)
    old = api.create(before)
    try:
        if "status" in before and case.get("subresource"):
            old = api.replace({**old, "status": before["status"]}, subresource="status")
        after["metadata"] |= {key: old["metadata"][key] for key in OF_THE_STORED}
        return answered(lambda: api.replace(after, subresource=case.get("subresource") or ""))
    finally:
        api.delete(old["kind"], old["metadata"]["name"], namespace, version=old["apiVersion"], gracePeriodSeconds=0)


def test_the_answers_are_those_of_the_built_in_kinds(api, namespace, programs):
    told = {case["id"]: (expected(case), answers(api, case, namespace)) for case in cases()}
    differing = ANSWERS | (STATUS_ANSWERS if programs.minor() == 30 else {})
    assert differing == {name: got for name, (want, got) in told.items() if want != got}


def test_the_rules_hold_while_a_group_is_being_deleted(api, namespace):
    """Nobody else enforces them.  Its finalizer can be removed, also without the server: such a change is not sent."""
    group = builders.pod_group("ends", 2, metadata={"namespace": namespace, "finalizers": ["example.com/held"]})
    api.create(group)
    api.delete("PodGroup", "ends", namespace)

    changed = answered(lambda: api.patch("PodGroup", "ends", namespace, body={"spec": {"schedulingPolicy": {"gang": None, "basic": {}}}}))
    assert {("spec.schedulingPolicy.gang", "FieldValueInvalid"), ("spec.schedulingPolicy.basic", "FieldValueInvalid")} == changed
    api.patch("PodGroup", "ends", namespace, body={"metadata": {"finalizers": None}})
    assert not api.exists("PodGroup", "ends", namespace)


def test_the_label_of_a_pod_stays(plane, api, namespace):
    plane.kubectl("apply", "-f", str(DEPLOY / "custom-resources" / "pod-group-label.yaml"), check=True)
    api.create(pod("member", namespace, group="workers"))
    api.create(pod("alone", namespace))

    def relabelled(name, group):
        return api.patch("Pod", name, namespace, body={"metadata": {"labels": {POD_GROUP_LABEL: group}}}, dryRun="All")

    assert eventually(lambda: bool(answered(lambda: relabelled("member", None))))
    for group in ("others", ""):
        with pytest.raises(ApiError, match="must stay workers: the pod is a member of this PodGroup"):
            relabelled("member", group)
    assert "workers" == relabelled("alone", "workers")["metadata"]["labels"][POD_GROUP_LABEL]
    api.patch("Pod", "member", namespace, body={"metadata": {"labels": {"other": "x"}}})
