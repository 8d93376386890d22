"""The recorded answers of the admission of pods are those of this API server."""

from __future__ import annotations

import pytest

from tests.cluster import pod_admission
from tests.cluster.conftest import new_namespace

CASES = pod_admission.read()
ATTEMPTS = 10


@pytest.mark.parametrize("case", CASES, ids=[each["name"].replace(" ", "-") for each in CASES])
def test_recorded_answers_are_those_of_the_api_server(api, case):
    """A plugin may know only some of the new objects yet, so a case is asked again."""
    for _ in range(ATTEMPTS):
        with new_namespace(api) as namespace:
            try:
                pod_admission.create(api, namespace, case)
                answers = pod_admission.answers(api, namespace, case)
            finally:
                pod_admission.remove(api, case)
        if answers == case["answers"]:
            return
    assert case["answers"] == answers
