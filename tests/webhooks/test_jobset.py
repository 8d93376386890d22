"""Admission of JobSets: a cause for each field, with the messages of the compiler."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled
from tests.workloadbuilder.adapters.jobsets import jobset
from validators.object_lookup import NOTHING
from validators.rules.base import Profile, Settings
from webhooks.admission import verdict as admit
from webhooks.admission.review import AdmissionRequest

GANG = "schedulingPolicy: {gang: {}}"


def request(text: str, old: str = "") -> AdmissionRequest:
    new, before = (json.dumps(yaml.safe_load(each)).encode() if each else None for each in (text, old))
    return AdmissionRequest("u", "jobset.x-k8s.io", "v1alpha2", "JobSet", "UPDATE" if old else "CREATE", new=new, old=before)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(jobset(nested=GANG, targeted=GANG), id="two places"),
        pytest.param(jobset(nested="schedulingPolicy: {gang: {minCount: 5}}"), id="a minimum above the Job"),
        pytest.param(jobset(targeted=GANG, target="worker"), id="a target that is not there"),
    ],
)
def test_is_refused_as_in_compiling(text):
    verdict = admit.validate(request(text), NOTHING, Settings())
    (want,) = (each for each in compiled(text).errors if each.path.parts[0] == "spec")

    assert not verdict.allowed
    (cause,) = verdict.status["details"]["causes"]
    assert (str(want.path), want.type, f"{want} [muster: jobset-scheduling]") == (cause["field"], cause["reason"], cause["message"])


def test_a_sound_one_is_allowed():
    verdict = admit.validate(request(jobset(at_root=GANG, nested=GANG)), NOTHING, Settings())

    assert (True, ()) == (verdict.allowed, verdict.warnings)


def test_what_was_wrong_before_does_not_stop_other_changes():
    bad = jobset(nested="schedulingPolicy: {gang: {minCount: 5}}")
    labelled = bad.replace("namespace: research", "namespace: research, labels: {a: b}")

    assert admit.validate(request(labelled, old=bad), NOTHING, Settings()).allowed
    assert not admit.validate(request(bad.replace("replicas: 3", "replicas: 2"), old=bad), NOTHING, Settings()).allowed


NESTED = "spec.replicatedJobs[1].template.spec.scheduling"


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param(jobset(at_root=GANG), jobset(at_root="schedulingPolicy: {basic: {}}"), ["spec.scheduling"], id="another policy"),
        pytest.param(
            jobset(at_root=GANG), jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 2}}"), ["spec.scheduling"], id="a minimum"
        ),
        pytest.param(jobset(at_root=GANG), jobset(), ["spec.scheduling"], id="cleared"),
        pytest.param(jobset(), jobset(at_root=GANG), ["spec.scheduling"], id="set later"),
        pytest.param(
            jobset(at_root="schedulingConstraints: {topology: [{key: rack}]}"),
            jobset(at_root="schedulingConstraints: {topology: [{key: zone}]}"),
            ["spec.scheduling"],
            id="a topology",
        ),
        pytest.param(jobset(targeted=GANG), jobset(targeted="schedulingPolicy: {basic: {}}"), ["spec.scheduling"], id="of a target"),
        pytest.param(jobset(nested=GANG), jobset(nested="schedulingPolicy: {basic: {}}"), [NESTED], id="of a replicated job"),
        pytest.param(jobset(nested=GANG), jobset(nested=GANG).replace("replicas: 3", "replicas: 2"), [], id="nothing of the scheduling"),
    ],
)
def test_the_scheduling_is_immutable(old, new, fields):
    assert old != new
    verdict = admit.validate(request(new, old=old), NOTHING, Settings())

    causes = () if verdict.allowed else verdict.status["details"]["causes"]
    assert [(each["field"], "field is immutable" in each["message"]) for each in causes] == [(each, True) for each in fields]


def test_the_profile_of_the_api_server_leaves_it_alone():
    """The API server has no such rules for JobSet."""
    bad = jobset(nested="schedulingPolicy: {gang: {minCount: 5}}")

    assert admit.validate(request(bad), NOTHING, Settings(profile=Profile.UPSTREAM)).allowed
