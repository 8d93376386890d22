"""The recorded answers about device selectors are those of the package that kube-scheduler uses."""

from __future__ import annotations

import json

import pytest

from tests.cluster import programs, selectors
from tests.cluster.conftest import available


@pytest.fixture(scope="module")
def program():
    return available(programs.find_judge)


def test_the_recorded_answers_are_those_of_kubernetes(program):
    recorded = json.loads(selectors.CASES.read_text(encoding="utf-8"))

    answers = selectors.judge(program, recorded["devices"], recorded["cases"])

    given = [{key: value for key, value in case.items() if key not in {"device", "expression"}} for case in recorded["cases"]]
    assert answers == given
