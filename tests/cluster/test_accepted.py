"""Objects that the library accepts are accepted by a real API server: random trees, and every form of a Job's block."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cluster.api import ApiError
from tests.cluster.programs import find
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import priority_classes
from tests.sampling import every, sampled
from tests.workloadbuilder.strategies import faulty_trees, options, sound_trees
from validators import pipeline
from validators.rules import gang_nesting
from validators.rules.base import Operation, Profile, Settings, Severity
from workloadbuilder.adapters.compiled import CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.builder import Builder

CLASSES = {"high": 10**9}
"""The class that the trees name, with the value that they give it."""
TREES, MOST_GROUPS = sampled(60, least=20), 40
STRICTLY = {"dryRun": "All", "fieldValidation": "Strict"}

POLICIES = (
    None,
    {"basic": {}},
    *({"gang": gang} for gang in ({}, *({"minCount": count} for count in (4, 5, 0, -1)))),
    {"basic": {}, "gang": {}},
    {},
)
CONSTRAINTS = (
    None,
    {},
    *({"topology": list(keys)} for keys in ((), ({"key": "a/b"},), ({"key": "a"}, {"key": "b"}), ({"key": "a b"},), ({},))),
)
MODES = (None, {"single": {}}, {"all": {}}, {"single": {}, "all": {}}, {})
CLAIM = {"name": "a", "resourceClaimName": "b"}
CLAIMS: tuple[list[Manifest] | None, ...] = (
    None,
    [],
    [CLAIM],
    [CLAIM, CLAIM],
    [{"name": "a"}],
    [{"resourceClaimName": "b"}],
    [{**CLAIM, "resourceClaimTemplateName": "c"}],
    [{"name": "A", "resourceClaimName": "B_"}],
    [{"name": f"c{number}", "resourceClaimName": "b"} for number in range(4)],
    [{"name": f"c{number}", "resourceClaimName": "b"} for number in range(5)],
)
BLOCKS = ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "resourceClaims")


@pytest.fixture
def classed(api) -> Iterator[None]:
    with priority_classes(api, CLASSES):
        yield


@pytest.mark.usefixtures("classed")
def test_what_the_builder_accepts_the_api_server_accepts(api, namespace):
    seen: collections.Counter[str] = collections.Counter()

    @settings(
        max_examples=TREES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.one_of(sound_trees(), faulty_trees()), options())
    def send(root, chosen):
        builder = Builder(root, dataclasses.replace(chosen, namespace=namespace, kubernetes=find().minor()))
        if builder.validate():
            seen["refused"] += 1
            return
        for each in (builder.build_workload(), *builder.groups()[:MOST_GROUPS]):
            api.create(each, **STRICTLY)
            seen[each["kind"]] += 1

    send()
    # Where everything below a gang must be a gang, more of the trees are refused.
    least = TREES // (5 if find().minor() >= gang_nesting.RULE.since else 3)
    assert min(seen[kind] for kind in ("Workload", "PodGroup", "CompositePodGroup")) >= least


def job(namespace: str, blocks: tuple[Any, ...]) -> Manifest:
    scheduling = {name: block for name, block in zip(BLOCKS, blocks, strict=True) if block is not None}
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/main:1"}]}}
    spec = {"parallelism": 4, "completions": 4, "scheduling": scheduling, "template": pods}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": namespace}, "spec": spec}


def refused_by_the_server(api, manifest: Manifest) -> set[tuple[str, str]]:
    """(field, reason) of each cause."""
    try:
        api.create(manifest, **STRICTLY)
    except ApiError as error:
        if error.reason != "Invalid":
            raise
        return {(path, reason) for path, reason, _ in error.causes}
    return set()


def refused_here(manifest: Manifest) -> set[tuple[str, str]]:
    """As ``muster compile`` tells."""
    result = compile_object(manifest, Known([manifest], kubernetes=find().minor()), CompileOptions(groups=True))
    assert result is not None
    return {(str(error.path), str(error.type)) for error in result.errors}


def refused_at_admission(manifest: Manifest) -> set[tuple[str, str]]:
    """As the linter and the webhooks tell."""
    judged = pipeline.validate("Job", manifest, None, Operation.CREATE, settings=Settings(Profile.UPSTREAM, find().minor()))
    return {(str(each.error.path), str(each.error.type)) for each in judged if each.severity is Severity.ERROR}


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_jobs_block_is_refused_where_the_api_server_refuses_it_and_nowhere_else(api, namespace, policy):
    """Of a policy that is none or two, nothing further is told here: what follows from it is not known."""
    unread = policy is not None and len(policy) != 1
    follows = {("spec.scheduling.disruptionMode", "FieldValueInvalid")} if unread else set()
    for blocks in every(3, list(itertools.product((policy,), CONSTRAINTS, MODES, CLAIMS))):
        manifest = job(namespace, blocks)
        theirs = refused_by_the_server(api, manifest)
        for ours in (refused_here(manifest), refused_at_admission(manifest)):
            assert theirs - follows == ours - follows, blocks
            assert ours <= theirs, blocks
