"""Replay of recorded reviews: reading, settings of each review, and reviews that cannot be answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import builders
from tests.webhooks.test_review import envelope
from validators.object_lookup import NOTHING
from validators.rules.base import Settings
from webhooks.admission import replay

OPTIONS = replay.Options(Settings(), NOTHING)


def answered(record: object, options: replay.Options = OPTIONS) -> dict[str, Any]:
    text = record if isinstance(record, bytes) else json.dumps(record).encode()
    return json.loads(replay.answer(text, options).text)  # type: ignore[no-any-return]


def pod_group(**spec: Any) -> dict[str, Any]:
    return builders.pod_group("a", 1, version="v1beta1", **spec)


def test_a_bare_review_is_validated() -> None:
    assert answered(envelope(object=pod_group(schedulingPolicy={})))["response"]["allowed"] is False


def test_the_records_path_beats_the_option() -> None:
    record = {"review": json.loads(envelope(object=pod_group())), "path": "/mutate"}

    assert "patch" in answered(record)["response"]
    assert "patch" not in answered(record | {"path": None})["response"]


def test_objects_given_are_all_there_is() -> None:
    review = json.loads(envelope(object=pod_group(priorityClassName="high")))
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}

    assert answered({"review": review, "path": "/mutate"})["response"]["allowed"] is True
    assert answered({"review": review, "path": "/mutate", "objects": []})["response"]["status"]["code"] == 403
    assert answered({"review": review, "path": "/mutate", "objects": [high]})["response"]["allowed"] is True


def test_gates_of_a_record() -> None:
    review = json.loads(envelope(object=pod_group(preemptionPolicy="never")))

    assert answered({"review": review})["response"]["allowed"] is False
    assert answered({"review": review, "gates": {"PodGroupPreemptionPolicy": False}})["response"]["allowed"] is True


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        pytest.param(b"nonsense", "not JSON", id="no JSON"),
        pytest.param(b"4", "AdmissionReview", id="a number"),
        pytest.param({"review": {}}, "must be an AdmissionReview", id="no review"),
        pytest.param({"review": json.loads(envelope()), "path": "/elsewhere"}, "path must be one of", id="another path"),
        pytest.param({"review": json.loads(envelope()), "gates": ["x"]}, "gates: must be", id="gates in a list"),
        pytest.param({"review": json.loads(envelope()), "gates": {"Nope": True}}, "no feature gate 'Nope'", id="an unknown gate"),
        pytest.param({"review": json.loads(envelope()), "objects": {}}, "objects must be a list", id="objects in a map"),
        pytest.param(b'{"review":' * 50_000, "not JSON", id="nested without end"),
    ],
)
def test_what_cannot_be_answered_says_why(record: object, reason: str) -> None:
    text = record if isinstance(record, bytes) else json.dumps(record).encode()
    answer = replay.answer(text, OPTIONS)

    assert answer.bad
    assert reason in json.loads(answer.text)["error"]
