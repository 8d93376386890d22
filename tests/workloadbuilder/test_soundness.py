"""Every result is valid, and every invalid tree is refused, over trees of every kind."""

from __future__ import annotations

import collections
import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.workloadbuilder.strategies import faulty_trees, options, sound_trees
from tests.workloadbuilder.trees import WITH_UID
from validators import pipeline
from validators.lookup import KnownObjects
from validators.rules.base import Operation, Profile, Settings, Severity
from workloadbuilder import update
from workloadbuilder.builder import Builder
from workloadbuilder.errors import BuildError
from workloadbuilder.existing_workload import read

MANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def unsound(objects: list[dict], profile: Profile) -> list[str]:
    """Return the errors of our validators in *objects*, each validated with all of them known."""
    known = KnownObjects([pipeline.decode_for_lookup(each) for each in objects], complete=False)
    strictly = Settings(profile=profile, linting=True)
    return [
        f"{each['metadata']['name']} {judged.error.path}: {judged.error}"
        for each in objects
        for judged in pipeline.validate(
            each["kind"], each, None, Operation.CREATE, api_version=each["apiVersion"], settings=strictly, lookup=known
        )
        if judged.severity is Severity.ERROR
    ]


def assert_sound(workload: dict, groups: tuple[dict, ...]) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in groups]
    created: set[str] = set()
    for profile in Profile:
        assert unsound([workload, *groups], profile) == []
    assert len(set(names)) == len(names)
    for each in groups:
        assert each["spec"].get("parentCompositePodGroupName", "") in {"", *created}, "a parent comes before its children"
        created.add(each["metadata"]["name"])


@settings(MANY, max_examples=sampled(150))
@given(sound_trees(), options())
def test_what_is_sound_is_built_and_passes_both_profiles(root, chosen):
    builder = Builder(root, chosen)

    assert builder.validate() == ()
    workload, groups = builder.build_workload(), builder.groups()
    assert_sound(workload, groups)
    assert update.changes(workload, workload) == ()
    assert update.changes(workload, root) == ()
    assert builder.validate(root) == ()


@settings(MANY, max_examples=sampled(300))
@given(faulty_trees(), options())
def test_what_is_accepted_is_built_and_sound_and_what_is_not_raises_the_same_errors(root, chosen):
    builder = Builder(root, chosen)
    errors = builder.validate()

    if errors:
        for request in (builder.build_workload, builder.groups, lambda: builder.pod_group("t0")):
            with pytest.raises(BuildError) as caught:
                request()
            assert set(map(str, caught.value.errors)) <= set(map(str, errors))
    else:
        assert_sound(builder.build_workload(), builder.groups())


def test_planted_faults_are_mostly_refused_and_sometimes_harmless():
    seen: collections.Counter[bool] = collections.Counter()

    @settings(MANY, max_examples=sampled(200, least=66), database=None, derandomize=True)
    @given(faulty_trees(), options())
    def count(root, chosen):
        seen[Builder(root, chosen).validate() == ()] += 1

    count()
    assert min(seen[True], seen[False]) > 10


@settings(MANY, max_examples=sampled(60))
@given(sound_trees(), options())
def test_a_stored_workload_gives_the_same_groups_as_its_tree(root, chosen):
    tree = Builder(root, dataclasses.replace(chosen, owner=WITH_UID))
    stored = Builder.from_workload(tree.build_workload())

    for want in tree.groups():
        make = stored.pod_group if want["kind"] == "PodGroup" else stored.composite_pod_group
        parent = want["spec"].get("parentCompositePodGroupName")
        assert want == make(want["spec"]["workloadRef"]["templateName"], name=want["metadata"]["name"], parent=parent)


@settings(MANY, max_examples=sampled(60))
@given(sound_trees(), sound_trees(), options(), st.sampled_from([37, 38]))
def test_the_patch_of_a_workload_makes_it_the_one_that_is_wanted(root, other, chosen, minor):
    old, new = Builder(root, chosen).build_workload(), Builder(other, chosen).build_workload()

    changes = update.changes(old, new, kubernetes=minor)

    patches = [each.patch for each in changes if each.kind == "Workload" and each.patch is not None]
    for patch in patches:
        patched = {**old, "spec": {**old["spec"], **patch["spec"]}}
        assert read(patched).name == old["metadata"]["name"]
        assert update.changes(patched, new, kubernetes=minor) == ()
    assert (not changes) == (update.changes(new, old, kubernetes=minor) == ())
