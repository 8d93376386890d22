"""Groups that the conditions of the mutating webhooks do not send need no change, and only the API server can have let them pass."""

from __future__ import annotations

import itertools
import json

import pytest

from kubeapi.groups import PROTECTION_FINALIZERS
from scheduler_core.cel.match_conditions import holds
from tests.deploy.test_manifests import documents, entries
from validators import pipeline
from validators.object_lookup import KnownObjects
from validators.rules.base import Settings
from webhooks.admission import review, verdict
from webhooks.admission_options import Finalizers

MUTATING = [each for each in documents("base/webhooks.yaml") if each["kind"] == "MutatingWebhookConfiguration"]
ENTRIES = [entry for _, entry in entries(MUTATING)]
CONDITIONS = [each["expression"] for each in ENTRIES[0]["matchConditions"]]
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
KNOWN = KnownObjects([pipeline.decode_for_lookup(CLASS)], complete=True)
FIELDS = {
    "disruptionMode": [None, {"single": {}}],
    "preemptionPolicy": [None, "PreemptLowerPriority", "Never"],
    "priority": [None, 0, 1000],
    "priorityClassName": [None, "high", "none"],
}
KINDS = {
    "PodGroup": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    "CompositePodGroup": {"schedulingPolicy": {"gang": {"minGroupCount": 1}}},
}


def groups(kind, api_version):
    """Yield groups with each value of each field, and other finalizers beside that of the kind."""
    for values in itertools.product(*FIELDS.values()):
        given = {name: value for name, value in zip(FIELDS, values, strict=True) if value is not None}
        for finalizers in (None, ["example.com/pvc-protection"], ["a/b", PROTECTION_FINALIZERS[kind]]):
            metadata = {"name": "g", "namespace": "default", **({} if finalizers is None else {"finalizers": finalizers})}
            yield {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {**KINDS[kind], **given}}


def asked(new, old):
    group, _, version = new["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": new["kind"]}
    request = {"uid": "u", "kind": kind, "operation": "CREATE" if old is None else "UPDATE", "name": "g", "namespace": "default"}
    request |= {"resource": {"group": group, "version": version, "resource": new["kind"].lower() + "s"}, "object": new, "oldObject": old}
    return review.decode(json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode())


@pytest.mark.parametrize("minor", [37, 38])
@pytest.mark.parametrize("group", ["scheduling.k8s.io", "scheduling.muster.dev"])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_that_are_not_sent_need_no_change(kind, group, minor):
    version = "v1alpha3" if (kind, group, minor) == ("CompositePodGroup", "scheduling.k8s.io", 37) else "v1beta1"
    sent = {True: 0, False: 0}
    for new, is_update in itertools.product(groups(kind, f"{group}/{version}"), (False, True)):
        old = new if is_update else None
        found = [holds(each, object=new, oldObject=old, request={"kind": {"group": group}}) for each in CONDITIONS]
        assert None not in found
        sent[all(found)] += 1
        if all(found):
            continue
        request = asked(new, old)
        mutated = verdict.mutate(request, KNOWN, Settings(minor=minor), Finalizers.AUTO)
        assert () == mutated.patch, new
        # The plugin Priority of the API server refuses these before any webhook is asked.
        assert mutated.allowed or (group == "scheduling.k8s.io" and {*mutated.rules} <= {"priority-resolves", "priority-class-exists"}), new
    assert min(sent.values()) > 50


def test_all_entries_have_the_same_conditions():
    assert all(each["matchConditions"] == ENTRIES[0]["matchConditions"] for each in ENTRIES)
