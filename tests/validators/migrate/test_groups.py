"""Generated PodGroups: one for each Workload, group and replica key, with the priority of its pods."""

from __future__ import annotations

import pytest

from tests.validators.migrate.migrating import WORKLOAD, findings, migrate, migrate_files, objects_in, pod, text_of, together

HIGH = "  priorityClassName: high\n"
CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 10\n"


def groups(text: str) -> dict[str, dict[str, object]]:
    """Return the specs of the PodGroups in a text, by name."""
    return {each["metadata"]["name"]: each["spec"] for each in objects_in(text) if each["kind"] == "PodGroup"}


def members(text: str) -> dict[str, str]:
    """Return the PodGroup of each pod in a text."""
    return {each["metadata"]["name"]: each["spec"]["schedulingGroup"]["podGroupName"] for each in objects_in(text) if each["kind"] == "Pod"}


def test_each_replica_has_a_group_of_its_own() -> None:
    after = text_of(migrate(WORKLOAD, pod("a", key="r0"), pod("b", key="r1"), pod("c", key="r0"), pod("d", "driver")))

    assert members(after) == {"a": "train-workers-r0", "b": "train-workers-r1", "c": "train-workers-r0", "d": "train-driver"}
    assert groups(after) == {
        "train-driver": {"workloadRef": {"workloadName": "train", "templateName": "driver"}, "schedulingPolicy": {"basic": {}}},
        "train-workers-r0": {
            "workloadRef": {"workloadName": "train", "templateName": "workers"},
            "schedulingPolicy": {"gang": {"minCount": 4}},
        },
        "train-workers-r1": {
            "workloadRef": {"workloadName": "train", "templateName": "workers"},
            "schedulingPolicy": {"gang": {"minCount": 4}},
        },
    }


@pytest.mark.parametrize("to", ["v1beta1", "v1alpha3"])
def test_groups_are_of_the_version_that_is_requested(to: str) -> None:
    after = objects_in(text_of(migrate(WORKLOAD, pod("a"), to=to)))

    assert [f"scheduling.k8s.io/{to}"] * 2 + ["v1"] == [each["apiVersion"] for each in after]


def test_pods_find_their_workload_in_another_file() -> None:
    migration = migrate_files({"pods.yaml": pod("a"), "workloads/train.yaml": WORKLOAD})

    assert ["train-workers"] == list(groups(text_of(migration, 1)))
    assert {"a": "train-workers"} == members(text_of(migration, 0))


def test_a_workload_is_searched_for_in_the_namespace_of_the_pod() -> None:
    elsewhere = WORKLOAD.replace("{name: train}", "{name: train, namespace: other}")
    migration = migrate(elsewhere, pod("a"), pod("b").replace("{name: b}", "{name: b, namespace: other}"))

    assert [("other", "train-workers")] == [(each.subject.namespace, each.subject.name) for each in migration.made]
    assert ["spec.workloadRef"] == [each.spot.field for each in migration.losses]
    created = [each for each in objects_in(text_of(migration)) if each["kind"] == "PodGroup"]
    assert [{"name": "train-workers", "namespace": "other"}] == [each["metadata"] for each in created]


def test_pod_templates_of_any_controller_count() -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {workloadRef: {name: train, podGroup: workers}}}}\n"
    )
    farm = (
        "apiVersion: example.com/v1\nkind: Farm\nmetadata: {name: f}\n"
        "spec: {pods: [{containers: [], workloadRef: {name: train, podGroup: driver}}]}\n"
    )
    after = text_of(migrate(WORKLOAD, job, farm))

    assert ["train-driver", "train-workers"] == list(groups(after))
    assert "schedulingGroup: {podGroupName: train-workers}" in after
    assert "schedulingGroup: {podGroupName: train-driver}" in after


def test_two_references_of_one_name_have_two_groups() -> None:
    other = WORKLOAD.replace("name: train", "name: train-workers").replace("name: workers", "name: r0")
    after = text_of(migrate(WORKLOAD, other, pod("a", key="r0"), pod("b", "r0", workload="train-workers")))

    assert len(set(members(after).values())) == 2
    assert sorted(groups(after)) == sorted(members(after).values())


def test_a_group_that_is_there_is_not_made_again() -> None:
    there = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train-workers}
spec:
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 4}}
"""
    migration = migrate(WORKLOAD, there, pod("a"))

    assert migration.made == ()
    assert migration.losses == ()
    assert {"a": "train-workers"} == members(text_of(migration))


def test_a_group_of_that_name_that_is_for_something_else_is_left_alone() -> None:
    there = (
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: train-workers}\nspec: {schedulingPolicy: {basic: {}}}\n"
    )
    migration = migrate(WORKLOAD, there, pod("a"))
    (name,) = members(text_of(migration)).values()

    assert name.startswith("train-workers-")
    assert [name] == [each.subject.name for each in migration.made]


def test_a_workload_of_today_gives_its_groups_all_that_its_template_has() -> None:
    today = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
    schedulingConstraints: {topology: [{key: rack}]}
    disruptionMode: {all: {}}
    priorityClassName: high
"""
    migration = migrate(today, pod("a", more=HIGH), CLASS)
    after = text_of(migration)

    assert migration.losses == ()
    assert findings(after) == ()
    assert groups(after)["train-workers"] == {
        "workloadRef": {"workloadName": "train", "templateName": "workers"},
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": {"all": {}},
        "priorityClassName": "high",
    }


# Priority


def test_the_class_that_all_pods_have_goes_into_every_template_and_group() -> None:
    migration = migrate(WORKLOAD, pod("a", more=HIGH), pod("b", "driver", more=HIGH), CLASS)
    after = text_of(migration)

    assert migration.losses == ()
    assert after.count("priorityClassName: high") == 2 + 2 + 2
    assert findings(after) == ()


def test_never_to_preempt_goes_with_the_class() -> None:
    after = text_of(migrate(WORKLOAD, pod("a", more=HIGH + "  preemptionPolicy: Never\n")))
    template = objects_in(after)[0]["spec"]["podGroupTemplates"][0]

    assert {"priorityClassName": "high", "preemptionPolicy": "Never"}.items() <= groups(after)["train-workers"].items()
    assert {"priorityClassName": "high", "preemptionPolicy": "Never"}.items() <= template.items()


def test_a_number_without_a_class_is_carried_over() -> None:
    assert groups(text_of(migrate(WORKLOAD, pod("a", more="  priority: 1000000000\n"))))["train-workers"]["priority"] == 1_000_000_000


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([pod("a", more=HIGH), pod("b")], ["priorityClassName: high, for PodGroup train-workers"], id="one has none"),
        pytest.param(
            [pod("a", more=HIGH), pod("b", "driver", more="  priorityClassName: low\n")],
            ["priorityClassName: high, for PodGroup train-workers", "priorityClassName: low, for PodGroup train-driver"],
            id="two classes in one Workload",
        ),
        pytest.param(
            [pod("a", more="  priorityClassName: system-node-critical\n")],
            ["priorityClassName: system-node-critical, for PodGroup train-workers"],
            id="a class of the system",
        ),
        pytest.param(
            [pod("a", more="  priority: 1000000001\n")],
            ["priority: 1000000001, for PodGroup train-workers"],
            id="more than a group may have",
        ),
        pytest.param(
            [pod("a", more=HIGH), pod("b", more=HIGH), pod("c")],
            ["priorityClassName: high, for PodGroup train-workers (named in 2 places)"],
            id="losses that are alike",
        ),
    ],
)
def test_a_priority_that_a_group_cannot_have_is_lost(pods: list[str], want: list[str]) -> None:
    migration = migrate(WORKLOAD, *pods)

    assert (want, 1) == ([each.lost for each in migration.losses], migration.exit_status)
    assert all("priority" not in spec for spec in map(str, groups(text_of(migration)).values()))


def test_a_priority_unlike_that_of_a_template_of_today_is_lost() -> None:
    today = "apiVersion: scheduling.k8s.io/v1beta1\nkind: Workload\nmetadata: {name: train}\nspec: {podGroupTemplates: [{name: workers, schedulingPolicy: {basic: {}}}]}\n"
    migration = migrate(together(today, pod("a", more=HIGH)))

    assert ["spec.priorityClassName"] == [each.spot.field for each in migration.losses]
    assert today in text_of(migration)
