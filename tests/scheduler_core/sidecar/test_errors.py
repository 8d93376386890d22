from __future__ import annotations

import pytest

from scheduler_core.sidecar.client.errors import NextStep, next_step, outcome_from_object
from scheduler_core.sidecar.writes import Bind, Condition, Evict, Nominate, RecordEvent, Ref, Remove, SetCondition, WriteOutcome

POD = Ref("Pod", "a", "p", "uid-p")
BIND, EVICT = Bind(POD, "n1"), Evict(POD, "")
TELL = RecordEvent(POD, "Normal", "R", "")


@pytest.mark.parametrize(
    ("code", "write", "causes", "want"),
    [
        pytest.param(429, BIND, (), NextStep.RETRY, id="too many requests"),
        pytest.param(429, EVICT, (), NextStep.RETRY, id="too many requests for an eviction"),
        pytest.param(429, EVICT, ("DisruptionBudget",), NextStep.GIVE_UP, id="a budget forbids it"),
        pytest.param(500, BIND, (), NextStep.RETRY, id="an internal error"),
        pytest.param(503, BIND, (), NextStep.RETRY, id="unavailable"),
        pytest.param(504, BIND, (), NextStep.RETRY, id="a timeout"),
        pytest.param(520, BIND, (), NextStep.RETRY, id="a failure of what stands between"),
        pytest.param(404, BIND, (), NextStep.GONE, id="not there"),
        pytest.param(409, BIND, (), NextStep.READ_OBJECT, id="a conflict"),
        pytest.param(422, BIND, (), NextStep.CHECK_UID, id="invalid, or of another uid"),
        pytest.param(422, TELL, (), NextStep.GIVE_UP, id="an invalid event"),
        pytest.param(403, BIND, (), NextStep.RETRY, id="forbidden, perhaps by a server that knows no roles yet"),
        pytest.param(400, BIND, (), NextStep.GIVE_UP, id="malformed"),
    ],
)
def test_what_an_error_means(code, write, causes, want):
    assert want is next_step(code, causes, write)


def content(uid="uid-p", node="", *, leaving=False):
    metadata = {"uid": uid, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {})}
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}}


@pytest.mark.parametrize(
    ("write", "found", "want"),
    [
        pytest.param(BIND, content(node="n1"), WriteOutcome.DONE, id="bound as wanted"),
        pytest.param(BIND, content(node="n2"), WriteOutcome.REFUSED, id="bound elsewhere"),
        pytest.param(BIND, content(), None, id="not bound yet"),
        pytest.param(BIND, content(leaving=True), WriteOutcome.GONE, id="being deleted"),
        pytest.param(BIND, content(uid="other", node="n1"), WriteOutcome.GONE, id="another of the name"),
        pytest.param(BIND, None, WriteOutcome.GONE, id="not there"),
        pytest.param(EVICT, content(leaving=True), WriteOutcome.DONE, id="on its way"),
        pytest.param(EVICT, content(), None, id="not evicted yet"),
        pytest.param(Remove(POD, ""), content(leaving=True), WriteOutcome.DONE, id="being removed"),
        pytest.param(Nominate(POD, "n"), content(leaving=True), WriteOutcome.GONE, id="nothing to nominate"),
        pytest.param(SetCondition(POD, Condition("T", "True", "R", "")), content(leaving=True), None, id="a condition of what leaves"),
    ],
)
def test_what_became_of_a_write_whose_answer_was_lost(write, found, want):
    answer = outcome_from_object(write, found)

    assert want == (answer and answer[0])
