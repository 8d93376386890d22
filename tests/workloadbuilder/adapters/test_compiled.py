"""All kinds: examples of the documentation, valid results, and arbitrary objects."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.workloadbuilder.adapters import jobs, jobsets, test_grove, test_leaderworkerset, test_scheduler_groups, test_trainjob
from tests.workloadbuilder.adapters.compiling import sound
from validators import pipeline
from validators.rules.base import Operation, Profile, Settings, Severity
from workloadbuilder.adapters import kinds
from workloadbuilder.adapters.compiled import CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known

CASES = Path(__file__).parents[2] / "cases" / "compile"
EXAMPLES = sorted(path for path in CASES.glob("*.yaml") if not path.name.endswith(".out.yaml"))
SAMPLES = {
    "Job": (jobs.GANG, ""),
    "JobSet": (jobsets.jobset(at_root="schedulingPolicy: {gang: {}}", nested="schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}"), ""),
    "JobSet with exclusive topology": (jobsets.EXCLUSIVE, ""),
    "LeaderWorkerSet": (test_leaderworkerset.lws(annotations=f"{test_leaderworkerset.EXCLUSIVE}: rack"), ""),
    "LeaderWorkerSet of subgroups": (
        test_leaderworkerset.lws(annotations=f"{test_leaderworkerset.SUBGROUP}: host", subgroups="subGroupSize: 2", size=7),
        "",
    ),
    "TrainJob": (test_trainjob.TRAINJOB, test_trainjob.RUNTIME),
    "coscheduling": (test_scheduler_groups.COSCHEDULING, ""),
    "Volcano": (test_scheduler_groups.volcano("minMember: 5, minTaskMember: {b: 3, a: 2}"), ""),
    "KAI": (test_scheduler_groups.KAI, ""),
    "Grove": (test_grove.SET, test_grove.TOPOLOGY),
}  # fmt: skip


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_documents_examples_give_these_workloads(path):
    want = list(yaml.safe_load_all((CASES / f"{path.stem}.out.yaml").read_text(encoding="utf-8")))

    assert want == list(sound(path.read_text(encoding="utf-8")).objects)


def test_all_examples_of_the_document_are_there():
    assert {"kep-job-1", "kep-job-2", "kep-jobset-a", "kep-jobset-b"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
@pytest.mark.parametrize(("text", "further"), SAMPLES.values(), ids=SAMPLES)
def test_what_is_made_is_what_the_validators_accept(text, further, version, profile):
    with_uid = text.replace("{name: ", "{uid: uid-1, name: ", 1)
    for each in (text, with_uid):
        result = sound(each, further=further, groups=True, version=version)
        refused = [
            f"{created['metadata']['name']}: {judged.error.path}: {judged.error}"
            for created in result.objects
            for judged in pipeline.validate(
                created["kind"],
                created,
                None,
                Operation.CREATE,
                api_version=created["apiVersion"],
                settings=Settings(profile=profile, linting=True),
            )
            if judged.severity is Severity.ERROR
        ]

        assert [] == refused


@pytest.mark.parametrize(("text", "further"), SAMPLES.values(), ids=SAMPLES)
def test_every_pod_has_a_name_of_its_own_and_a_group_that_is_made(text, further):
    result = sound(text, further=further, groups=True, pods=True)
    groups = {each["metadata"]["name"] for each in result.objects if each["kind"] == "PodGroup"}
    pods = [each for each in result.objects if each["kind"] == "Pod"]

    assert len(pods) == len({each["metadata"]["name"] for each in pods})
    assert groups >= {each["spec"]["schedulingGroup"]["podGroupName"] for each in pods}


@pytest.mark.parametrize(("text", "further"), SAMPLES.values(), ids=SAMPLES)
def test_what_is_made_shares_nothing_with_the_object(text, further):
    documents = [each for each in yaml.safe_load_all(text) if each]
    before = yaml.safe_dump_all(documents)
    known = Known(documents, [each for each in yaml.safe_load_all(further) if each])
    result = compile_object(documents[0], known, CompileOptions(groups=True, pods=True))
    assert result is not None
    for created in result.objects:
        created["metadata"].clear()
        created["spec"].clear()

    assert before == yaml.safe_dump_all(documents)
    assert result.explained == compile_object(documents[0], known, CompileOptions(groups=True, pods=True)).explained


def test_all_groups_of_one_template_are_made_with_its_minimum():
    result = sound(SAMPLES["JobSet"][0], groups=True)
    groups = [each["spec"]["schedulingPolicy"] for each in result.objects if each["metadata"]["name"].startswith("train-workers")]

    assert [{"gang": {"minCount": 4}}] * 3 == groups


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}, id="another kind"),
        pytest.param({"apiVersion": "example.org/v1", "kind": "Job"}, id="a kind of that name in another group"),
        pytest.param({"apiVersion": 3, "kind": ["Job"]}, id="no kind at all"),
        pytest.param([], id="no object"),
        pytest.param(None, id="nothing"),
    ],
)
def test_other_kinds_are_passed_over(content):
    assert compile_object(content, Known(), CompileOptions()) is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def _paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _paths(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _paths(each, (*path, place))


def _changed(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize(("text", "further"), SAMPLES.values(), ids=SAMPLES)
@settings(max_examples=sampled(60), deadline=None)
@given(data=st.data())
def test_any_value_in_a_field_gives_an_error_or_sound_objects(text, further, data):
    """Nothing is raised: errors are reported, or valid objects are generated."""
    result = [each for each in yaml.safe_load_all(text) if each]
    first = {key: each for key, each in result[0].items() if key not in {"apiVersion", "kind"}}
    path = data.draw(st.sampled_from(list(_paths(first))[1:]))
    changed = {"apiVersion": result[0]["apiVersion"], "kind": result[0]["kind"], **_changed(first, path, data.draw(ANYTHING))}
    known = Known([changed, *result[1:]], [each for each in yaml.safe_load_all(further) if each])
    compiled = compile_object(changed, known, CompileOptions(groups=True, pods=True))

    assert compiled is not None
    assert bool(compiled.errors) != bool(compiled.objects or compiled.skipped)


def test_an_object_that_is_nested_too_deeply_is_refused():
    spec = {}
    for _ in range(10_000):
        spec = {"a": spec}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": spec}}}
    result = compile_object(job, Known(), CompileOptions(pods=True))

    assert result is not None
    assert ["Invalid value: must be nested less deeply: it cannot be read"] == [str(error) for error in result.errors]


def test_the_kinds_are_listed_by_name_each_once():
    listed, all_kinds = (kinds.listed(with_single=single).split(", ") for single in (False, True))
    assert sorted(set(listed)) == listed
    assert {"Job", "JobSet", "PodGroup"} < set(listed)
    assert {kind for _, kind in kinds.SINGLE} == set(all_kinds) - set(listed)
