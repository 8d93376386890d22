"""The recorded errors of claims to devices are those of this API server, for claims and for templates of claims."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster import claim_validation

CASES = claim_validation.read()
AT_ONCE = 8


@pytest.mark.parametrize(("kind", "before"), [("ResourceClaim", "spec."), ("ResourceClaimTemplate", "spec.spec.")])
def test_recorded_errors_are_those_of_the_api_server(plane, api, namespace, kind, before):
    recorded = [claim_validation.recorded(case, plane.programs.minor()) for case in CASES]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [*threads.map(lambda case: claim_validation.errors(api, claim_validation.claim(case["devices"], kind, namespace)), CASES)]
    expected = [[[field.replace("spec.", before, 1), *others] for field, *others in each] for each in recorded]
    names = [case["name"] for case in CASES]
    assert dict(zip(names, expected, strict=True)) == dict(zip(names, answers, strict=True))


def test_recorded_errors_of_slices_are_those_of_the_api_server(plane, api):
    cases = claim_validation.read(claim_validation.SLICES)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [*threads.map(lambda case: claim_validation.errors(api, claim_validation.slice_of(case["spec"])), cases)]
    names = [case["name"] for case in cases]
    expected = [claim_validation.recorded(case, plane.programs.minor()) for case in cases]
    assert dict(zip(names, expected, strict=True)) == dict(zip(names, answers, strict=True))
