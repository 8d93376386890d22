"""Modes of enforcement: errors that refuse, warn, or are only recorded, by default, rule and namespace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.webhooks.running import REVIEW
from tests.webhooks.test_verdict import EMPTY, HIGH, classes, group, request
from validators.object_lookup import NOTHING
from validators.rules.base import Settings, Severity
from webhooks.admission import review
from webhooks.admission import verdict as admit
from webhooks.admission_options import Finalizers
from webhooks.enforcement import Enforcement, EnforcementPolicy
from webhooks.server.metrics import Telemetry
from webhooks.server.routes import JOIN, REVIEWS, create_app
from webhooks.settings import Settings as ServerSettings

WARN, AUDIT, DENY = Enforcement.WARN, Enforcement.AUDIT, Enforcement.DENY
BROKEN = group(disruptionMode={"all": {}}, schedulingPolicy={"basic": {}}, priority=2_000_000_000)
"""A group with an error by each of two rules."""
OTHER_RULE = "priority-range"
MODE_ERROR = (
    'spec.disruptionMode: Invalid value: "all": cannot have "all" disruption mode when scheduling policy is other than "gang" '
    "[muster: all-needs-gang]"
)


def validated(policy: EnforcementPolicy, **settings: Any) -> review.Verdict:
    return admit.validate(request(BROKEN), EMPTY, Settings(**settings), policy)


def rules_of(verdict: review.Verdict) -> set[str]:
    causes = (verdict.status or {"details": {"causes": []}})["details"]["causes"]
    return {each["message"].rpartition("[muster: ")[2].removesuffix("]") for each in causes}


@pytest.mark.parametrize(
    ("default", "rule", "namespace", "expected"),
    [
        (DENY, None, None, DENY),
        (AUDIT, None, None, AUDIT),
        (AUDIT, DENY, None, DENY),
        (DENY, WARN, None, WARN),
        (AUDIT, None, DENY, DENY),
        (DENY, None, WARN, WARN),
        (DENY, AUDIT, DENY, AUDIT),
        (DENY, DENY, AUDIT, AUDIT),
        (DENY, WARN, AUDIT, AUDIT),
    ],
)
def test_the_milder_mode_of_rule_and_namespace_applies_and_the_default_without_both(default, rule, namespace, expected):
    policy = EnforcementPolicy(default, (("other", DENY), *((("r", rule),) if rule else ())), namespace)

    assert expected is policy.mode("r")


def test_denied_errors_are_the_causes_of_the_refusal():
    verdict = validated(EnforcementPolicy())

    assert (False, 422, (), ()) == (verdict.allowed, verdict.code, verdict.unenforced, verdict.unenforced_rules)
    assert {"all-needs-gang", OTHER_RULE} == rules_of(verdict)


def test_warn_allows_with_all_errors_as_warnings():
    verdict = validated(EnforcementPolicy(WARN))

    assert (True, 200) == (verdict.allowed, verdict.code)
    assert f"would be refused: {MODE_ERROR}" in verdict.warnings
    assert len(verdict.warnings) == len(verdict.unenforced) == 2
    assert {"all-needs-gang", OTHER_RULE} == {*verdict.unenforced_rules}


def test_audit_allows_silently_and_records():
    verdict = validated(EnforcementPolicy(AUDIT))
    response = json.loads(review.encode(request(BROKEN), verdict))["response"]

    assert (True, ()) == (verdict.allowed, verdict.warnings)
    assert {"uid", "allowed", "auditAnnotations"} == response.keys()
    assert MODE_ERROR in response["auditAnnotations"]["not-enforced"]
    assert {"all-needs-gang", OTHER_RULE} == {*response["auditAnnotations"]["rules"].split(",")}


def test_one_rule_that_is_not_enforced_does_not_spare_the_others():
    verdict = validated(EnforcementPolicy(rules=(("all-needs-gang", WARN),)))

    assert (False, {OTHER_RULE}) == (verdict.allowed, rules_of(verdict))
    assert (f"would be refused: {MODE_ERROR}",) == verdict.warnings
    assert ("all-needs-gang",) == verdict.unenforced_rules


def test_a_rule_that_only_warns_or_is_off_is_no_error_that_is_not_enforced():
    severities = (("all-needs-gang", Severity.WARNING), (OTHER_RULE, Severity.OFF))
    verdict = validated(EnforcementPolicy(AUDIT), severities=severities)

    assert (True, (MODE_ERROR,), (), ()) == (verdict.allowed, verdict.warnings, verdict.unenforced, verdict.unenforced_rules)


def test_an_annotation_is_cut():
    verdict = review.Verdict(allowed=True, unenforced=("x" * (review.MAX_ANNOTATION + 1),))
    text = json.loads(review.encode(request(BROKEN), verdict))["response"]["auditAnnotations"]["not-enforced"]

    assert "x" * review.MAX_ANNOTATION + "…" == text


@pytest.mark.parametrize("mode", Enforcement)
def test_a_wrong_priority_is_refused_by_the_same_modes_and_defaults_are_filled_in(mode):
    wrong = group(priorityClassName="high", priority=7)
    verdict = admit.mutate(request(wrong), classes(HIGH), Settings(), Finalizers.PODGROUP, EnforcementPolicy(mode))
    warnings = [each.startswith("would be refused: ") for each in verdict.warnings]

    assert (mode is not DENY, mode is not DENY) == (verdict.allowed, bool(verdict.unenforced))
    assert ([True] if mode is WARN else []) == warnings
    assert (mode is not DENY) == ("/spec/disruptionMode" in {each["path"] for each in verdict.patch})


def test_both_webhooks_together_report_both():
    both = group(priorityClassName="high", priority=7, disruptionMode={"all": {}}, schedulingPolicy={"basic": {}})
    verdict = admit.admit(request(both), classes(HIGH), Settings(), Finalizers.PODGROUP, EnforcementPolicy(AUDIT))

    assert verdict.allowed
    assert {"all-needs-gang"} < {*verdict.unenforced_rules}


@pytest.fixture
def lines():
    return []


@pytest.fixture
def client(lines, monkeypatch):
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    telemetry = Telemetry(lambda level, event, fields: lines.append(fields))
    settings = ServerSettings.from_environ({"MUSTER_ENFORCEMENT": "warn"})
    return create_app(settings, NOTHING, telemetry, tuple).test_client()


@pytest.mark.parametrize("path", sorted(set(REVIEWS) - {JOIN}))
def test_the_path_selects_the_mode_of_the_namespace(client, lines, path):
    body = {**REVIEW, "request": {**REVIEW["request"], "object": BROKEN}}
    response = client.post(path, json=body).json["response"]
    mode = path.rpartition("/")[2]

    if path.startswith("/mutate"):
        assert response["allowed"]
        return
    assert (mode != "deny") == response["allowed"]
    assert (mode in ("warn", "validate")) == bool(response.get("warnings"))
    assert (mode != "deny") == ("all-needs-gang" in lines[-1].get("notEnforced", ()))
    counted = 'muster_errors_not_enforced_total{kind="PodGroup",rule="all-needs-gang"} 1.0' in client.get("/metrics").text
    assert (mode != "deny") == counted


def test_a_path_with_another_mode_does_not_exist(client):
    assert 404 == client.post("/validate/dey", json=REVIEW).status_code
