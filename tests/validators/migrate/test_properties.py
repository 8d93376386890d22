"""Properties of every migration: every loss is reported, and nothing else changes."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.groups import PodGroup
from kubeapi.meta import replaced
from kubeapi.versions import v1alpha1, v1alpha2
from kubeapi.workloads import Basic, PodGroupTemplate, Workload
from tests.sampling import sampled
from tests.validators.migrate import written_by_people as written
from tests.validators.migrate.migrating import findings, migrate, objects_in, text_of
from validators import pipeline
from validators.lint.examination import subject_of
from validators.migrate.change import Remove, applied
from validators.migrate.outcome import Migration
from validators.model.objects import Object
from validators.rules.base import Profile

ONE = st.lists(written.RETIRED, min_size=1, max_size=3)
LATEST = {"v1alpha1": v1alpha1, "v1alpha2": v1alpha2}
_RETIRED_RULES = {"retired-version", "retired-workload-ref", "unreadable"}
_CHANGED = re.compile(
    r"apiVersion|podGroup|policy|disruptionMode|workload|basic|desiredCount|PodGroupScheduled|\bname\b|podGroupReplicaKey|^\s*$",
    re.IGNORECASE,
)


def migrated(file: tuple[str, str], to: str = "v1beta1") -> Migration:
    name, text = file
    migration = migrate(text, name=name, to=to)
    assert migration.refused == ()
    return migration


def typed(content: dict[str, object]) -> Object:
    result = pipeline.decode_for_lookup(content)
    assert result is not None
    return replaced(result, api_version="") if isinstance(result, (Workload, PodGroup)) else result


def without_counts(found: Object) -> Object:
    """Return the object without the fields that only v1alpha1 has."""
    if not isinstance(found, Workload):
        return found
    templates = tuple(_without_count(each) for each in found.spec.pod_group_templates or ())
    return replaced(found, spec=replaced(found.spec, pod_group_templates=templates))


def _without_count(template: PodGroupTemplate) -> PodGroupTemplate:
    policy = template.scheduling_policy
    return template if policy.basic is None else replaced(template, scheduling_policy=replaced(policy, basic=Basic()))


@given(written.RETIRED)
def test_the_way_to_todays_form_and_back_loses_nothing(content: dict[str, Any]) -> None:
    version = LATEST[content["apiVersion"].rpartition("/")[2]]

    assert version.from_hub(version.to_hub(content)) == content


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(ONE), st.sampled_from(["v1beta1", "v1alpha3"]))
def test_an_object_means_the_same_after_as_before(file: tuple[str, str], to: str) -> None:
    before, after = (objects_in(text, file[0]) for text in (file[1], text_of(migrated(file, to))))

    assert [without_counts(typed(each)) for each in before] == [typed(each) for each in after]
    assert {f"scheduling.k8s.io/{to}"} == {each["apiVersion"] for each in after}


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(ONE))
def test_migration_and_back_keeps_all_but_the_reported_losses(file: tuple[str, str]) -> None:
    migration = migrated(file)
    before, after = objects_in(file[1], file[0]), objects_in(text_of(migration), file[0])
    for number, each in enumerate(before):
        version = LATEST[str(each["apiVersion"]).rpartition("/")[2]]
        back = {**version.from_hub(after[number]), "apiVersion": each["apiVersion"]}
        messages = [loss.spot.field for loss in migration.losses if loss.spot.subject == subject_of(each)]

        assert applied(each, [Remove(_parts(field)) for field in messages]) == back


def _parts(field: str) -> tuple[str | int, ...]:
    result = re.findall(r"\[(\d+)\]|([^.\[\]]+)", field)
    return tuple(int(number) if number else name for number, name in result)


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(st.one_of(ONE, written.jobs())))
def test_migrating_twice_changes_nothing(file: tuple[str, str]) -> None:
    after = text_of(migrated(file))
    again = migrated((file[0], after))

    assert (after, 0) == (text_of(again), again.exit_status)


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(st.one_of(ONE, written.jobs())))
def test_comments_and_untouched_lines_stay_in_their_order(file: tuple[str, str]) -> None:
    after = text_of(migrated(file)).splitlines()
    if file[0].endswith(".json"):
        return  # one line may hold all
    comments = re.compile(r"# (?:above|behind) \d+")
    lines = file[1].splitlines()

    assert comments.findall("\n".join(lines)) == comments.findall("\n".join(after))
    rest = iter(map(_line, after))
    assert [line for line in lines if not _CHANGED.search(line) and _line(line) not in rest] == []


def _line(text: str) -> str:
    """Return a line without its comment; comments move with their lines."""
    return text.strip() if text.lstrip().startswith("#") else text


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(written.jobs()))
def test_pods_are_in_groups_of_their_workload(file: tuple[str, str]) -> None:
    before, after = objects_in(file[1], file[0]), objects_in(text_of(migrated(file)), file[0])
    groups = {each.metadata.name: each for each in map(pipeline.decode_for_lookup, after) if isinstance(each, PodGroup)}
    references = [_reference(each) for each in before if each["kind"] != "Workload"]
    named = [_group(each) for each in after if each["kind"] not in {"Workload", "PodGroup"}]

    assert sorted(set(named)) == sorted(groups)
    assert len(set(references)) == len(groups)
    for name, reference in zip(named, references, strict=True):
        created = groups[name].spec.workload_ref
        assert created is not None
        assert reference[:2] == (created.workload_name, created.template_name)


def _pod(content: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = content["spec"]
    return spec if content["kind"] == "Pod" else spec["template"]["spec"]


def _reference(content: dict[str, Any]) -> tuple[str, str, str]:
    reference = _pod(content)["workloadRef"]
    return reference["name"], reference["podGroup"], reference.get("podGroupReplicaKey") or ""


def _group(content: dict[str, Any]) -> str:
    assert "workloadRef" not in _pod(content)
    return str(_pod(content)["schedulingGroup"]["podGroupName"])


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(st.one_of(ONE, written.jobs())))
def test_what_was_valid_is_valid_today(file: tuple[str, str]) -> None:
    migration = migrated(file)
    result = {each.rule for each in findings(text_of(migration), name=file[0])}

    assert _RETIRED_RULES & result == set()
    assert findings(text_of(migration), name=file[0], profile=Profile.UPSTREAM) == ()


@settings(max_examples=sampled(60), deadline=None)
@given(written.files(written.jobs(written.POLICY)))
def test_a_job_that_loses_nothing_is_right_by_every_rule(file: tuple[str, str]) -> None:
    migration = migrated(file)

    # What has one name is one object, and its pods would count once.
    if not migration.losses and len({subject_of(each) for each in objects_in(file[1], file[0])}) == migration.documents:
        assert findings(text_of(migration), name=file[0]) == ()


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "Pod", "PodGroup", "Workload", "List"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("name", "metadata", "spec", "status", "items", "podGroups", "podGroupTemplates", "policy", "basic", "gang"),
                    *("disruptionMode", "podGroupTemplateRef", "workload", "workloadRef", "podGroup", "containers", "conditions", "type"),
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)


@settings(max_examples=sampled(100), deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "apiVersion": st.sampled_from(
                    ["v1", "scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1"]
                ),
                "kind": st.sampled_from(["Pod", "Job", "Workload", "PodGroup", "WorkloadList", "PriorityClass"]),
            },
            optional={"metadata": JSON, "spec": JSON, "status": JSON, "items": JSON},
        ),
        max_size=3,
    )
)
def test_nonsense_is_refused_or_left_alone_and_never_worse(objects: list[dict[str, object]]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    migration = migrate(text, name="a.json")
    again = migrate(text_of(migration), name="a.json")

    assert migration.refused or again.migrated == ()
    assert migration.migrated or text == text_of(migration)
