"""Every result is valid, and every invalid tree is refused, over trees of every kind."""

from __future__ import annotations

import collections
import copy
import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.workloadbuilder.strategies import faulty_trees, options, sound_trees
from tests.workloadbuilder.trees import WITH_UID
from validators import pipeline
from validators.object_lookup import KnownObjects
from validators.rules.base import Operation, Profile, Settings, Severity
from workloadbuilder import update
from workloadbuilder.builder import Builder
from workloadbuilder.errors import BuildError
from workloadbuilder.existing_workload import read

MANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


MINORS = [37, 38]


def unsound(objects: list[dict], profile: Profile, minor: int) -> list[str]:
    """Return the errors of our validators in *objects*, each validated with all of them known."""
    known = KnownObjects([pipeline.decode_for_lookup(each) for each in objects], complete=False)
    strictly = Settings(profile=profile, minor=minor, linting=True)
    return [
        f"{each['metadata']['name']} {judged.error.path}: {judged.error}"
        for each in objects
        for judged in pipeline.validate(
            each["kind"], each, None, Operation.CREATE, api_version=each["apiVersion"], settings=strictly, lookup=known
        )
        if judged.severity is Severity.ERROR
    ]


def assert_sound(workload: dict, groups: tuple[dict, ...], minor: int) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in groups]
    created: set[str] = set()
    for profile in Profile:
        assert unsound([workload, *groups], profile, minor) == []
    assert len(set(names)) == len(names)
    for each in groups:
        assert each["spec"].get("parentCompositePodGroupName", "") in {"", *created}, "a parent comes before its children"
        created.add(each["metadata"]["name"])


@settings(MANY, max_examples=sampled(150))
@given(st.sampled_from(MINORS).flatmap(lambda minor: st.tuples(sound_trees(kubernetes=minor), options(minor))))
def test_what_is_sound_is_built_and_passes_both_profiles(drawn):
    root, chosen = drawn
    builder, minor = Builder(root, chosen), chosen.kubernetes

    assert builder.validate() == ()
    workload, groups = builder.build_workload(), builder.groups()
    assert_sound(workload, groups, minor)
    assert update.changes(workload, workload, kubernetes=minor) == ()
    assert update.changes(workload, root, kubernetes=minor) == ()
    assert builder.validate(root) == ()


@settings(MANY, max_examples=sampled(300))
@given(faulty_trees(), st.sampled_from(MINORS).flatmap(options))
def test_what_is_accepted_is_built_and_sound_and_what_is_not_raises_the_same_errors(root, chosen):
    builder = Builder(root, chosen)
    errors = builder.validate()

    if errors:
        for request in (builder.build_workload, builder.groups, lambda: builder.pod_group("t0")):
            with pytest.raises(BuildError) as caught:
                request()
            assert set(map(str, caught.value.errors)) <= set(map(str, errors))
    else:
        assert_sound(builder.build_workload(), builder.groups(), chosen.kubernetes)


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
@given(
    st.sampled_from(MINORS).flatmap(lambda minor: st.tuples(sound_trees(kubernetes=minor), sound_trees(kubernetes=minor), options(minor)))
)
def test_the_patch_of_a_workload_makes_it_the_one_that_is_wanted(drawn):
    root, other, chosen = drawn
    minor = chosen.kubernetes
    old, new = Builder(root, chosen).build_workload(), Builder(other, chosen).build_workload()

    changes = update.changes(old, new, kubernetes=minor)

    patches = [each.patch for each in changes if each.kind == "Workload" and each.patch is not None]
    for patch in patches:
        patched = {**old, "spec": {**old["spec"], **patch["spec"]}}
        assert read(patched, minor).name == old["metadata"]["name"]
        assert update.changes(patched, new, kubernetes=minor) == ()
    assert (not changes) == (update.changes(new, old, kubernetes=minor) == ())


def test_a_workload_that_was_stored_before_can_be_replaced_by_one_that_is_valid_now():
    """Kubernetes 1.37 has accepted a gang with a child that is none, and 1.38 has accepted a priority that 1.37 refuses."""
    leaf = {"name": "driver", "schedulingPolicy": {"basic": {}}}
    root = {"name": "root", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [leaf]}
    stored = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"compositePodGroupTemplates": [root]},
    }
    wanted = copy.deepcopy(stored)
    wanted["spec"]["compositePodGroupTemplates"][0]["podGroupTemplates"][0]["schedulingPolicy"] = {"gang": {"minCount": 1}}

    assert ["recreate", "recreate"] == [each.action for each in update.changes(stored, wanted, kubernetes=38)]
    assert ["recreate", "recreate"] == [each.action for each in update.changes(wanted, stored)]
    with pytest.raises(BuildError, match="must have"):
        update.changes(wanted, stored, kubernetes=38)
