"""Examples of KEP-6089, and each point of its test plan."""

from __future__ import annotations

import dataclasses

import pytest

from kubeapi.field_path import FieldPath
from tests.workloadbuilder.trees import ALL, WITH_UID, basic, builder, composite, config, error_lines, gang, intent
from workloadbuilder import template_annotations
from workloadbuilder.blocks import map_composite_group_config, map_pod_group_config, read_intent
from workloadbuilder.builder import Builder
from workloadbuilder.errors import BuildError
from workloadbuilder.update import changes
from workloadbuilder.workload_item import Callback, PolicyKind, ResourceClaim, SchedulingConfig, UserIntent, WorkloadItem

ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
BASIC = config(basic())


def default_min_count(job: dict) -> Callback:
    """Return the minimum as the document's ``defaultMinCountForJob``."""

    def fill_in(_item: WorkloadItem, resolved: SchedulingConfig) -> SchedulingConfig:
        if resolved.policy is not None and resolved.policy.kind is PolicyKind.GANG and resolved.policy.minimum is None:
            return dataclasses.replace(resolved, policy=gang(job["spec"]["parallelism"]))
        return resolved

    return fill_in


def multiply_min_count(job: dict) -> Callback:
    """Return the minimum as the document's ``multiplyMinCountForAdjustedJob``."""

    def multiply(_item: WorkloadItem, resolved: SchedulingConfig) -> SchedulingConfig:
        adjusted = job["metadata"].get("annotations", {}).get("isAdjustedJob.example.com") == "true"
        if adjusted and resolved.policy is not None and resolved.policy.minimum is not None:
            return dataclasses.replace(resolved, policy=gang(resolved.policy.minimum * 42))
        return resolved

    return multiply


def job(parallelism: int, scheduling: dict | None = None, **metadata) -> dict:
    return {"metadata": {"name": "train", **metadata}, "spec": {"parallelism": parallelism, "scheduling": scheduling}}


def item_of(job: dict) -> WorkloadItem:
    """Return the item as the document's ``generateWorkload`` does, as far as the library is concerned."""
    reading = read_intent(job["spec"]["scheduling"], path=FieldPath("spec", "scheduling"), composite=False)
    assert reading.errors == ()
    return WorkloadItem("job-root", default=BASIC, intent=reading.intent, callbacks=(default_min_count(job), multiply_min_count(job)))


def templates(item: WorkloadItem) -> list[dict]:
    spec = builder(item).build_workload()["spec"]
    return spec.get("podGroupTemplates") or spec["compositePodGroupTemplates"]


def test_example_1_job_with_gang_zone_and_atomic_disruption():
    scheduling = {"policy": {"gang": {}}, "constraints": {"topology": [{"level": ZONE}]}, "disruption": {"all": {}}}

    assert templates(item_of(job(4, scheduling))) == [
        {
            "name": "job-root",
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
            "disruptionMode": {"all": {}},
        }
    ]


def test_example_2_job_that_says_nothing_is_basic():
    assert [{"name": "job-root", "schedulingPolicy": {"basic": {}}}] == templates(item_of(job(10)))


@pytest.mark.parametrize(
    ("annotations", "scheduling", "want"),
    [
        pytest.param({}, {"policy": {"gang": {}}}, 4, id="only defaulted"),
        pytest.param({"isAdjustedJob.example.com": "true"}, {"policy": {"gang": {}}}, 168, id="defaulted, then multiplied"),
        pytest.param({"isAdjustedJob.example.com": "true"}, {"policy": {"gang": {"minCount": 2}}}, 84, id="the user's, multiplied"),
        pytest.param({"isAdjustedJob.example.com": "false"}, {"policy": {"gang": {"minCount": 2}}}, 2, id="the user's"),
    ],
)
def test_the_documents_callbacks(annotations, scheduling, want):
    (template,) = templates(item_of(job(4, scheduling, annotations=annotations)))

    assert {"gang": {"minCount": want}} == template["schedulingPolicy"]


# The unit tests that the document's test plan lists, one by one.


@pytest.mark.parametrize(("policy", "want"), [(basic(), {"basic": {}}), (gang(4), {"gang": {"minCount": 4}})], ids=["basic", "gang"])
def test_a_policy_is_compiled_into_workload_and_pod_group(policy, want):
    one = builder(WorkloadItem("workers", default=config(policy)))

    assert want == one.build_workload()["spec"]["podGroupTemplates"][0]["schedulingPolicy"]
    assert want == one.pod_group("workers")["spec"]["schedulingPolicy"]


def test_constraints_mode_and_claims_are_mapped():
    blocks = config(gang(4), ZONE, mode=ALL, claims=(ResourceClaim("fabric", None, "fabric"),))
    spec = builder(WorkloadItem("workers", default=blocks)).pod_group("workers")["spec"]

    assert {"topology": [{"key": ZONE}]} == spec["schedulingConstraints"]
    assert {"all": {}} == spec["disruptionMode"]
    assert [{"name": "fabric", "resourceClaimTemplateName": "fabric"}] == spec["resourceClaims"]


def test_defaults_are_merged_with_what_the_user_overrides():
    got = builder(WorkloadItem("workers", default=config(basic(), ZONE), intent=intent(config(gang(4))))).resolved()

    assert config(gang(4), ZONE) == got.config


def test_callbacks_run_after_the_merge_and_fill_in_the_minimum():
    seen = []

    def look(_item, resolved):
        seen.append(resolved.policy)
        return resolved

    item = WorkloadItem("workers", default=BASIC, intent=intent(config(gang())), callbacks=(look, default_min_count(job(7)), look))

    assert config(gang(7)) == builder(item).resolved().config
    assert [gang(), gang(7)] == seen


def test_validate_refuses_what_makes_no_sense():
    item = WorkloadItem("workers", default=BASIC, intent=intent(config(mode=ALL)))

    assert error_lines(builder(item).validate()) == [
        'spec.scheduling.disruptionMode: Invalid value: "all": the disruptionMode `all` is not supported with the Basic scheduling policy'
    ]


def test_one_level_makes_a_pod_group_only():
    one = builder(WorkloadItem("workers", default=BASIC))

    assert {"controllerRef", "podGroupTemplates"} == set(one.build_workload()["spec"])
    assert ["PodGroup"] == [group["kind"] for group in one.groups()]


def test_several_levels_make_a_composite_with_parents_and_children():
    groups = builder(composite("jobset", WorkloadItem("driver", default=BASIC), WorkloadItem("workers", default=config(gang(4))))).groups()

    assert [("CompositePodGroup", None), ("PodGroup", "train-jobset"), ("PodGroup", "train-jobset")] == [
        (group["kind"], group["spec"].get("parentCompositePodGroupName")) for group in groups
    ]


def test_both_maps_translate_to_one_form():
    assert config(gang(4), ZONE, mode=ALL) == map_pod_group_config({"gang": {"minCount": 4}}, {"topology": [{"key": ZONE}]}, {"all": {}})
    assert config(gang(4), ZONE, mode=ALL) == map_composite_group_config(
        {"gang": {"minGroupCount": 4}}, {"topology": [{"key": ZONE}]}, {"all": {}}
    )


def jobset(scheduling: dict | None, workers: dict | None) -> WorkloadItem:
    """Return a JobSet of a driver and 16 Jobs of workers, as in the document's reference examples."""
    root = read_intent(scheduling, path=FieldPath("spec", "scheduling"), composite=True)
    path = FieldPath("spec", "replicatedJobs", 1, "template", "spec", "scheduling")
    below = read_intent(workers, path=path, composite=False)
    assert root.errors == below.errors == ()
    return WorkloadItem(
        "jobset",
        default=config(gang(2)),
        intent=root.intent,
        children=(
            WorkloadItem("driver", FieldPath("spec", "replicatedJobs", 0), default=BASIC),
            WorkloadItem("workers", FieldPath("spec", "replicatedJobs", 1), default=BASIC, intent=below.intent, replicas=16),
        ),
    )


def test_a_jobset_tree_has_its_escape_hatch_and_racks():
    item = jobset({"policy": {"basic": {}}}, {"constraints": {"topology": [{"level": RACK}]}})

    assert templates(item) == [
        {
            "name": "jobset",
            "schedulingPolicy": {"basic": {}},
            "podGroupTemplates": [
                {"name": "driver", "schedulingPolicy": {"basic": {}}},
                {
                    "name": "workers",
                    "schedulingPolicy": {"basic": {}},
                    "schedulingConstraints": {"topology": [{"key": RACK}]},
                },
            ],
        }
    ]
    groups = builder(item).groups()
    assert ["train-jobset", "train-driver", *(f"train-workers-{place}" for place in range(16))] == [
        each["metadata"]["name"] for each in groups
    ]


def test_a_child_controller_makes_the_group_that_its_annotations_name():
    one = builder(jobset(None, None), owner=WITH_UID)
    parent = one.composite_pod_group("jobset")["metadata"]["name"]
    child = {"annotations": template_annotations.write("train", "workers", parent)}

    messages = template_annotations.read(child)
    group = Builder.from_workload(one.build_workload()).pod_group(messages.template, parent=messages.parent, index=3)

    assert one.pod_group("workers", index=3) == group


def test_a_changed_minimum_is_carried_to_workload_and_pod_group():
    old = builder(item_of(job(4, {"schedulingPolicy": {"gang": {}}}))).build_workload()

    assert [("patch", "Workload"), ("patch", "PodGroup")] == [
        (each.action, each.kind) for each in changes(old, item_of(job(8, {"schedulingPolicy": {"gang": {}}})))
    ]


def test_a_policy_that_a_later_version_brings_is_denied_until_it_is_listed():
    item = WorkloadItem("workers", default=BASIC, intent=UserIntent(config(gang(4))))

    with pytest.raises(BuildError, match="gang scheduling policy is not supported by this controller"):
        builder(item, allowed_policies=frozenset({PolicyKind.BASIC})).build_workload()
