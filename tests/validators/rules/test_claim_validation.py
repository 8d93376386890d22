"""Profile ``upstream`` reports of claims to devices exactly what the API server refuses: errors recorded from a real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.commands.device_selectors import CompiledSelectors
from tests.cluster.claim_validation import SLICES, claim, read, recorded, slice_of
from validators import pipeline
from validators.rules.base import Operation, Profile, Settings

CASES = read()
SETTINGS = {minor: Settings(Profile.UPSTREAM, minor, linting=True, selectors=CompiledSelectors()) for minor in (37, 38)}


def reported(devices: Any, kind: str, minor: int) -> list[tuple[str, str, str]]:
    found = pipeline.validate(kind, json.dumps(claim(devices, kind)).encode(), None, Operation.CREATE, settings=SETTINGS[minor])
    return sorted((str(each.error.path), str(each.error.type), words(each.error.detail)) for each in found)


def words(text: str) -> str:
    """Return *text* in one line, without the copies of the expression below each of its errors."""
    lines = [line for line in text.splitlines() if not line.startswith(" | ")]
    return " ".join("; ".join(lines).split())


@pytest.mark.parametrize("minor", SETTINGS)
@pytest.mark.parametrize("case", CASES, ids=[each["name"].replace(" ", "-") for each in CASES])
def test_errors_are_those_of_the_api_server(case: dict[str, Any], minor: int) -> None:
    expected = sorted((field, type_, words(message)) for field, type_, message in recorded(case, minor))
    found = reported(case["devices"], "ResourceClaim", minor)
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    for (_, type_, detail), (_, _, message) in zip(found, expected, strict=True):
        # The parser of expressions has other words, and a whole request is not shown as a value.
        if type_ != "FieldValueDuplicate" and "Syntax error" not in detail:
            assert message.endswith(detail)
    of_template = [(field.replace("spec.", "spec.spec.", 1), *others) for field, *others in found]
    assert of_template == reported(case["devices"], "ResourceClaimTemplate", minor)


SLICE_CASES = read(SLICES)


@pytest.mark.parametrize("minor", SETTINGS)
@pytest.mark.parametrize("case", SLICE_CASES, ids=[each["name"].replace(" ", "-") for each in SLICE_CASES])
def test_errors_of_slices_are_those_of_the_api_server(case: dict[str, Any], minor: int) -> None:
    body = json.dumps(slice_of(case["spec"])).encode()
    violations = pipeline.validate("ResourceSlice", body, None, Operation.CREATE, settings=SETTINGS[minor])
    found = sorted((str(each.error.path), str(each.error.type), words(each.error.detail)) for each in violations)
    expected = sorted((field, type_, words(message)) for field, type_, message in recorded(case, minor))
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    for (_, type_, detail), (_, _, message) in zip(found, expected, strict=True):
        if type_ != "FieldValueDuplicate":
            assert message.endswith(detail)
