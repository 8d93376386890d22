"""Words about gangs that a rolling update replaces."""

from __future__ import annotations

import pytest

from tests.validators.rules.test_every_rule import linted
from validators import rules


@pytest.mark.parametrize(
    ("kind", "words"), [("one more pod", "creates 1 new pod, and "), ("one more and one less", "creates 2 new pods, and ")]
)
def test_new_pods_are_one_or_several(kind: str, words: str) -> None:
    example = next(
        each for each in rules.ALL["gang-rolling-update"].bad if ("maxUnavailable: 1}}" in each.yaml) is (kind != "one more pod")
    )
    (finding,) = [each.error for each in linted(example) if each.error.origin == "gang-rolling-update"]

    assert words in str(finding)
