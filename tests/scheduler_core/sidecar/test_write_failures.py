"""Which writes that were not made the log tells of."""

from __future__ import annotations

import pytest

from scheduler_core.sidecar.process.write_failures import EVERY_SECONDS, WriteFailures
from scheduler_core.sidecar.writes import AddFinalizer, Bind, Ref, WriteOutcome

POD, OTHER, GROUP = Ref("Pod", "ns", "p", "u"), Ref("Pod", "ns", "q", "v"), Ref("PodGroup", "ns", "g", "w")


@pytest.mark.parametrize("outcome", [WriteOutcome.DONE, WriteOutcome.GONE, WriteOutcome.DROPPED])
def test_successes_and_deleted_objects_are_not_reported(outcome):
    assert None is WriteFailures().log_fields(Bind(POD, "n"), outcome, "", 0.0)


@pytest.mark.parametrize("outcome", [WriteOutcome.REFUSED, WriteOutcome.FAILED])
def test_the_write_its_object_and_the_reason_are_reported(outcome):
    told = WriteFailures().log_fields(Bind(POD, "n"), outcome, "HTTP 403: no", 0.0)

    assert {"write": "Bind", "object": "Pod ns/p", "outcome": outcome.value, "reason": "HTTP 403: no", "untold": 0} == told


def test_a_retried_write_is_distinguished_from_a_failed_one():
    failures = WriteFailures()
    retried = failures.log_fields(Bind(POD, "n"), None, "HTTP 500: no", 0.0)
    assert retried is not None
    assert ("retried", "HTTP 500: no") == (retried["outcome"], retried["reason"])
    assert failures.log_fields(Bind(POD, "n"), WriteOutcome.FAILED, "no", 0.0)


def test_equal_failures_are_logged_again_after_a_while_with_their_number():
    grievances = WriteFailures()
    grievances.log_fields(Bind(POD, "n"), WriteOutcome.REFUSED, "no", 0.0)
    assert [None] * 2 == [grievances.log_fields(Bind(OTHER, "n"), WriteOutcome.REFUSED, "no", when) for when in (0.0, EVERY_SECONDS - 1)]
    again = grievances.log_fields(Bind(OTHER, "n"), WriteOutcome.REFUSED, "no", EVERY_SECONDS)

    assert again is not None
    assert ("Pod ns/q", 2) == (again["object"], again["untold"])


def test_other_failures_are_logged_meanwhile():
    grievances = WriteFailures()
    grievances.log_fields(Bind(POD, "n"), WriteOutcome.REFUSED, "no", 0.0)

    assert grievances.log_fields(AddFinalizer(GROUP, "f"), WriteOutcome.REFUSED, "no", 0.0)
    assert grievances.log_fields(Bind(POD, "n"), WriteOutcome.FAILED, "no", 0.0)


def test_a_long_reason_is_cut():
    told = WriteFailures().log_fields(Bind(POD, "n"), WriteOutcome.REFUSED, "x" * 10_000, 0.0)

    assert told is not None
    assert len(told["reason"]) <= 500
