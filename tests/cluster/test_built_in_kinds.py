"""Verdicts about built-in kinds: schemas, recorded answers, and objects with one changed field, compared with this API server."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3

from tests.cluster import kind_schemas, manifest_verdicts
from tests.cluster.api import Api, ApiError
from tests.cluster.resources import path
from tests.sampling import every
from tests.validators.mutants import mutants
from tests.validators.whole_objects import OBJECTS
from validators.built_in import whole_objects

Json = dict[str, Any]
AT_ONCE = 4
STEP = 29
"""One of so many changed objects is compared, except in `make soak`."""
DIFFERING = {
    38: {
        # Fields of the gate SecurityProfileOCI, which is off by default.
        "SeccompProfile",
        "SecurityProfileOCI",
        "SecurityProfileOCIBase",
        # Fields that validation requires in 1.37 too.
        "ScaleIOVolumeSource",
        "StorageOSVolumeSource",
        "WorkloadPodGroupSchedulingConstraints",
        "WorkloadTopologyConstraint",
        # Of a status.
        "JobCondition",
        "ModifyVolumeStatus",
    }
}
"""Definitions of newer versions that the stored ones, of the default version, do not have, with what makes no other verdict."""
ELSEWHERE = ("must not be specified when serviceAccountName is not set", "PreemptionPolicy", "serviceAccountToken")
"""Answers of admission plugins, or that need one which sets a default and is disabled here."""


def answer(api: Api, manifest: Json) -> str:
    """Return why the API server refuses an object, without creating it; empty if it does not."""
    url = path(manifest["kind"], namespace="default", version=manifest["apiVersion"])
    try:
        api.send("POST", url, manifest, query={"dryRun": "All", "fieldValidation": "Strict"})
    except ApiError as error:
        return str(error)
    except urllib3.exceptions.HTTPError:
        return "the API server closes the connection: its defaulting panics"
    return ""


@pytest.mark.parametrize("base", OBJECTS, ids=[each["kind"] for each in OBJECTS])
def test_objects_with_one_change_have_the_verdict_of_the_api_server(api, base):
    # Specifications of pods are changed in Pods only: they are the same in all kinds.
    cases = [("unchanged", base), *every(STEP, [each for each in mutants(base) if "template.spec." not in each[0]])]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [*threads.map(lambda case: answer(api, case[1]), cases)]
    wrong = []
    for (label, manifest), refused in zip(cases, answers, strict=True):
        mine = [f"{each.path}: {each}" for each in whole_objects.errors(copy.deepcopy(manifest))]
        if bool(mine) != bool(refused) and not any(each in refused for each in ELSEWHERE):
            wrong.append((label, refused, mine))
    assert wrong == []


def test_schemas_are_those_of_the_api_server(plane, api):
    stored: Mapping[str, Any] = json.loads(kind_schemas.FILE.read_text(encoding="utf-8"))
    definitions, kinds = kind_schemas.of_server(api)
    assert kinds == {name: each for name, each in kind_schemas.expanded(stored).items() if name in kinds}
    differing = {name for name, each in definitions.items() if each != stored["$defs"].get(name)}
    assert differing == DIFFERING.get(plane.programs.minor(), set())


@pytest.mark.parametrize("name", manifest_verdicts.MANIFESTS)
def test_recorded_answers_are_those_of_the_api_server(api, name):
    assert manifest_verdicts.recorded()[name] == manifest_verdicts.answer(api, manifest_verdicts.MANIFESTS[name])
