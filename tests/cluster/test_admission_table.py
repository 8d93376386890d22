"""The table by which profile ``upstream`` is tested holds what this API server answers: what it says of validation is asked again."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from tests.cluster.api import ApiError
from tests.cluster.conftest import new_namespace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import WITHOUT_CONTROLLERS, Options
from tests.cluster.programs import MissingError, find
from tests.reliability import equality, explained_differences
from tests.sampling import WHOLE

TABLES = {37: "admission.json", 38: "admission-1.38.json"}
"""Tables by the minor version of the API server that is asked."""
NOT_STORABLE = frozenset({"pg-update-stored-parent-without-workloadref", "pg-status-claims-five"})
"""Questions about old objects that the API server does not take any more."""
WRITTEN_TO_ETCD = "the old object was written to etcd"
"""Part of the note of such a question."""
RANDOM = 300
"""Random objects that are asked about here; there are 100,000 in ``tests.reliability``."""
MANY = 15_000
"""Random objects among which each difference that is explained, and not rare, is seen."""
OF_THE_STORED = ("resourceVersion", "uid", "creationTimestamp")


def table():
    """Return the cases of the version of the programs; those of the oldest if there are none or older ones."""
    try:
        minor = max(find().minor(), min(TABLES))
    except MissingError:
        minor = min(TABLES)
    return json.loads((Path(__file__).parents[1] / "cases" / TABLES[minor]).read_text(encoding="utf-8"))


def asked():
    """Yield each case that was sent to a live server with all gates on, and can be sent again."""
    for case in table():
        repeatable = case["id"] not in NOT_STORABLE and WRITTEN_TO_ETCD not in case.get("note", "")
        if (case["layer"], case["verified"]) == ("validation", "live") and not case.get("gates") and repeatable:
            yield case


def variants(operation):
    """Each case in each API version for which it holds."""
    results = []
    for case in asked():
        if case["operation"] != operation:
            continue
        for version in [None, *(case.get("alsoApiVersions") or [])]:
            variant = copy.deepcopy(case)
            for each in filter(None, (variant["object"], variant["oldObject"])):
                each["apiVersion"] = version or each["apiVersion"]
            results.append(pytest.param(variant, id=f"{case['id']}@{version or 'own'}"))
    return results


@pytest.fixture(scope="module")
def plane(programs):
    """One of its own, without the plugins that would answer before validation does."""
    with ControlPlane(Options(disabled_plugins=(*WITHOUT_CONTROLLERS, "Priority", "PodGroupProtection")), programs) as started:
        yield started


@pytest.fixture(scope="module")
def namespace(plane):
    """One for all: nothing stays in it from one test to the next."""
    with new_namespace(plane.api) as name:
        yield name


def placed(manifest, namespace):
    """The object in *namespace*, wherever the case has it, and as one that is not stored yet."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in OF_THE_STORED}
    if "namespace" in metadata:
        metadata["namespace"] = namespace
    return {**manifest, "metadata": metadata}


def answered(ask):
    """Return the errors of the API server as (field, type)."""
    try:
        ask()
    except ApiError as error:
        if error.code == 422:
            return {(field, reason) for field, reason, _ in error.causes}
        raise
    return set()


def expected(case):
    return {(each["field"], each["type"]) for each in case["expect"]["errors"]}


@pytest.mark.parametrize("case", variants("CREATE"))
def test_a_creation_is_answered_as_the_table_says(api, namespace, case):
    assert expected(case) == answered(lambda: api.create(placed(case["object"], namespace), dryRun="All"))


@pytest.mark.parametrize("case", variants("UPDATE"))
def test_an_update_is_answered_as_the_table_says(api, namespace, case):
    before = placed(case["oldObject"], namespace)
    old = api.create(before)
    try:
        if "status" in before and case.get("subresource"):
            old = api.replace({**old, "status": before["status"]}, subresource="status")
        after = placed(case["object"], namespace)
        after["metadata"] = {**after["metadata"], **{key: old["metadata"][key] for key in OF_THE_STORED}}
        if old["kind"] == "Job":
            # Made by the API server, and the same ever after.
            after["spec"] = {**after["spec"], **{key: old["spec"][key] for key in ("selector", "template")}}
        got = answered(lambda: api.replace(after, subresource=case.get("subresource") or ""))
    finally:
        api.delete(
            old["kind"], old["metadata"]["name"], namespace, version=old["apiVersion"], propagationPolicy="Background", gracePeriodSeconds=0
        )

    assert expected(case) == got


def test_random_objects_are_answered_by_profile_upstream_alike(plane, namespace):
    result = equality.asked(plane.api, namespace, plane.programs.minor(), seed=1, count=RANDOM)
    assert (RANDOM, ()) == (result.tried, result.failures)


@pytest.mark.skipif(not WHOLE, reason="it takes minutes; `make soak` runs it")
def test_each_explained_difference_is_still_seen(plane, namespace):
    seen, _ = equality.compared(plane.api, namespace, plane.programs.minor(), seed=2, count=MANY)
    assert [] == explained_differences.unneeded(seen)
