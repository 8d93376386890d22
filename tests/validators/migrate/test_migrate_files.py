"""Migration of several files together: losses and refusals, with their places."""

from __future__ import annotations

import pytest

from tests.validators.migrate.migrating import CURRENT, GROUP, WORKLOAD, migrate, migrate_files, pod, text_of, together
from validators.migrate.outcome import Spot


def at(spot: Spot) -> tuple[str, int, int, str]:
    return spot.file, spot.line, spot.column, spot.field


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param([WORKLOAD, pod("a"), GROUP], 0, id="all carried over"),
        pytest.param([pod("a")], 1, id="a loss"),
        pytest.param([GROUP, "a: ["], 2, id="unreadable"),
        pytest.param([GROUP.replace("minCount: 4", "minCount: 0")], 2, id="not valid"),
        pytest.param([pod("a"), "a: ["], 3, id="both"),
    ],
)
def test_the_exit_status(texts: list[str], want: int) -> None:
    assert want == migrate(*texts).exit_status


def test_losses_have_a_place_a_meaning_and_a_remedy() -> None:
    counted = WORKLOAD.replace("{basic: {}}", "{basic: {desiredCount: 3}}")
    owned = GROUP.replace(
        "{name: workers}",
        "\n  name: workers\n  ownerReferences:\n  - {apiVersion: scheduling.k8s.io/v1alpha2, kind: Workload, name: train, uid: u-1}",
    )
    migration = migrate_files({"b.yaml": together(counted, pod("a", "nobody")), "a.yaml": together(pod("b", workload="gone"), owned)})

    assert [
        ("a.yaml", 5, 3, "spec.workloadRef"),
        ("a.yaml", 13, 75, "metadata.ownerReferences[0].uid"),
        ("b.yaml", 9, 22, "spec.podGroups[1].policy.basic.desiredCount"),
        ("b.yaml", 15, 3, "spec.workloadRef"),
    ] == [at(each.spot) for each in migration.losses]
    assert ["the policy of PodGroup default/gone-workers", "u-1", "3", "the policy of PodGroup default/train-nobody"] == [
        each.lost for each in migration.losses
    ]
    assert all(each.meant and each.remedy for each in migration.losses)
    assert "migrate the file with Workload gone in the same call" in migration.losses[0].remedy
    assert "name one of driver, workers" in migration.losses[3].remedy


def test_pods_alike_that_wait_for_one_group_are_one_loss() -> None:
    (loss,) = migrate(pod("a"), pod("b")).losses

    assert loss.lost == "the policy of PodGroup default/train-workers (named in 2 places)"


def test_pods_whose_workload_is_not_there_name_the_group_all_the_same() -> None:
    assert "schedulingGroup: {podGroupName: train-workers}" in text_of(migrate(pod("a")))


def test_a_pod_that_named_both_keeps_its_pod_group() -> None:
    migration = migrate(WORKLOAD, pod("a", more="  schedulingGroup: {podGroupName: mine}\n"))

    assert ["workloadRef to group workers of Workload train"] == [each.lost for each in migration.losses]
    assert migration.made == ()


def test_groups_that_no_pod_names_are_noted() -> None:
    migration = migrate(WORKLOAD, pod("a", key="r0"))

    assert [("a.yaml", 8, 5, "spec.podGroups[1]")] == [at(each.spot) for each in migration.notes]
    assert migration.exit_status == 0


@pytest.mark.parametrize(
    ("text", "field", "messages"),
    [
        pytest.param(
            GROUP.replace("minCount: 4", "minCount: 0"),
            "spec.schedulingPolicy.gang.minCount",
            "is not valid in Kubernetes 1.36",
            id="a count",
        ),
        pytest.param(
            GROUP.replace("disruptionMode: PodGroup", "disruptionMode: Group"), "spec.disruptionMode", "Unsupported value", id="a mode"
        ),
        pytest.param(
            GROUP.replace("workloadName: train", "workloadName: Train"),
            "spec.podGroupTemplateRef.workload.workloadName",
            "is not valid in Kubernetes 1.36",
            id="a name",
        ),
        pytest.param(
            WORKLOAD.replace("policy: {basic: {}}", "policy: {}"), "spec.podGroups[1].policy", "must specify one of", id="no policy"
        ),
        pytest.param(WORKLOAD.replace("  podGroups:", "  podGroups: 4\n  other:"), "spec.podGroups", "must be", id="a wrong type"),
        pytest.param(
            pod("a").replace("name: a", "name: A").replace("podGroup: workers", "podGroup: workers"),
            "metadata.name",
            "would not be valid in Kubernetes 1.37",
            id="a pod",
        ),
        pytest.param(pod("a").replace(", podGroup: workers", ""), "spec.workloadRef.podGroup", "must have podGroup", id="a reference"),
    ],
)
def test_what_is_not_valid_is_refused_at_its_place(text: str, field: str, messages: str) -> None:
    migration = migrate(CURRENT, text)

    assert field in [each.spot.field for each in migration.refused]
    assert any(messages in each.message for each in migration.refused), migration.refused


def test_what_is_wrong_with_objects_that_do_not_change_is_no_matter() -> None:
    assert migrate(CURRENT.replace("minCount: 4", "minCount: 0"), GROUP).exit_status == 0


def test_the_order_of_files_does_not_matter() -> None:
    files = {"a.yaml": pod("a"), "b.yaml": WORKLOAD, "c.yaml": together(GROUP, pod("b", "driver"))}
    migration = migrate_files(files)

    assert migration == migrate_files(dict(reversed(files.items())))
    assert ["a.yaml", "b.yaml", "c.yaml"] == [each.name for each in migration.files]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_priority_classes_of_retired_versions_become_v1(version: str) -> None:
    text = f"apiVersion: scheduling.k8s.io/{version}   # old\nkind: PriorityClass\nmetadata: {{name: high}}\nvalue: 10\n"

    assert text_of(migrate(text)) == text.replace(version, "v1")
