"""FieldErrors as a Status: kubectl shows its causes."""

from __future__ import annotations

import dataclasses
import json

from kubeapi.field_path import FieldPath
from validators import field
from webhooks.admission import status

ERROR = dataclasses.replace(field.invalid(FieldPath("spec", "priority"), 7, "must be less"), origin="priority-range")


def test_each_cause_is_complete() -> None:
    result = status.from_errors([ERROR], group="scheduling.k8s.io", kind="PodGroup", name="a", named=True)

    assert (result["reason"], result["code"]) == ("Invalid", 422)
    assert result["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "field": "spec.priority", "message": "Invalid value: 7: must be less [muster: priority-range]"}
    ]
    assert {"name": "a", "group": "scheduling.k8s.io", "kind": "PodGroup"}.items() <= result["details"].items()


def test_upstream_names_no_rule() -> None:
    result = status.from_errors([ERROR], group="", kind="Pod", name="a", named=False)

    assert result["details"]["causes"][0]["message"] == "Invalid value: 7: must be less"


def test_the_message_reads_as_the_api_servers() -> None:
    result = status.from_errors([ERROR, ERROR], group="scheduling.k8s.io", kind="PodGroup", name="a", named=False)

    assert (
        result["message"]
        == 'PodGroup.scheduling.k8s.io "a" is invalid: [spec.priority: Invalid value: 7: must be less, spec.priority: Invalid value: 7: must be less]'
    )


def test_thousands_of_causes_are_cut() -> None:
    result = status.from_errors([ERROR] * (status.MAX_CAUSES + 5), group="", kind="Pod", name="a", named=True)

    assert len(result["details"]["causes"]) == status.MAX_CAUSES
    assert "and 5 more" in result["message"]


def test_a_plugins_answer_has_no_causes() -> None:
    result = status.forbidden("no PriorityClass with name x was found", group="", kind="Pod", name="a")

    assert (result["reason"], result["code"], result["message"]) == ("Forbidden", 403, "no PriorityClass with name x was found")
    assert "causes" not in result["details"]


def test_a_message_is_no_longer_than_can_be_read() -> None:
    """It may quote a name of megabytes, and the message of the Status repeats it."""
    error = dataclasses.replace(ERROR, detail="x" * 1_000_000)
    result = status.from_errors([error], group="", kind="Pod", name="a", named=True)

    assert result["details"]["causes"][0]["message"].endswith("x… [muster: priority-range]")
    assert len(json.dumps(result)) < 3 * status.MAX_MESSAGE
    assert len(status.of_plugin([error], named=True)) < 2 * status.MAX_MESSAGE


def test_thousands_of_a_plugins_errors_are_cut() -> None:
    result = status.of_plugin([ERROR] * (status.MAX_CAUSES + 5), named=False)

    assert result.split("; ") == ["must be less"] * status.MAX_CAUSES + ["and 5 more"]
