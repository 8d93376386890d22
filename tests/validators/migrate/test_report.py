"""Report of a migration, for people and for scripts."""

from __future__ import annotations

import json

import pytest

from tests.validators.migrate.migrating import CURRENT, GROUP, WORKLOAD, migrate, migrate_files, pod, together
from validators.migrate import report

LOSSY = together(WORKLOAD.replace("policy: {basic: {}}", "policy: {basic: {desiredCount: 3}}"), pod("a", key="r0"), GROUP)


def test_text_reports_losses_notes_files_and_a_summary() -> None:
    messages = report.as_text(migrate_files({"a.yaml": LOSSY, "b.yaml": CURRENT}), {"a.yaml"}).splitlines()

    assert messages[0] == "a.yaml:9:22: lost: Workload default/train: spec.podGroups[1].policy.basic.desiredCount: 3"
    assert messages[1].startswith("    what it meant: a hint for the expected number of pods")
    assert messages[2].startswith("    what to do: nothing, if pods may start one by one")
    assert messages[3].startswith("a.yaml:8:5: note: Workload default/train: spec.podGroups[1]: no pod among the inputs names this group")
    assert messages[4:] == [
        "a.yaml: 3 objects changed, 1 PodGroup created: train-workers-r0",
        "3 of 4 objects changed, in 1 of 2 files; 1 PodGroup created; 1 loss; 1 file written",
    ]


def test_text_reports_what_is_refused() -> None:
    messages = report.as_text(migrate_files({"a.yaml": "a: [", "b.yaml": GROUP.replace("minCount: 4", "minCount: 0")}))

    assert messages.startswith("a.yaml:1:5: unreadable: must be YAML: ")
    assert (
        "\nb.yaml:10:29: refused: PodGroup default/workers: spec.schedulingPolicy.gang.minCount: is not valid in Kubernetes 1.36 either: "
        in messages
    )
    assert messages.endswith("\n2 refused, and nothing is written; 1 of 1 object to be changed; 0 PodGroups to be created; 0 losses\n")


def test_json_has_everything() -> None:
    messages = json.loads(report.as_json(migrate_files({"a.yaml": LOSSY, "b.yaml": "a: ["}, to="v1alpha3"), {"a.yaml"}))
    workload = {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "namespace": "default", "name": "train"}

    assert messages["version"] == 1
    assert messages["files"] == [
        {"file": "a.yaml", "changed": True, "written": True},
        {"file": "b.yaml", "changed": False, "written": False},
    ]
    assert {"file": "a.yaml", "line": 1, "column": 1, "document": workload, "field": "apiVersion", "to": "scheduling.k8s.io/v1alpha3"} == {
        key: value for key, value in messages["migrated"][0].items() if key != "changes"
    }
    assert messages["made"] == [
        {
            "file": "a.yaml",
            "apiVersion": "scheduling.k8s.io/v1alpha3",
            "kind": "PodGroup",
            "namespace": "default",
            "name": "train-workers-r0",
            "workload": "train",
            "template": "workers",
            "replicaKey": "r0",
            "references": 1,
        }
    ]
    field = "spec.podGroups[1].policy.basic.desiredCount"
    assert {"file": "a.yaml", "line": 9, "column": 22, "document": workload, "field": field, "lost": "3"}.items() <= messages["losses"][
        0
    ].items()
    assert messages["losses"][0].keys() >= {"meant", "remedy"}
    assert [{"file": "b.yaml", "line": 1, "column": 5, "document": None, "field": ""}] == [
        {key: value for key, value in each.items() if key != "message"} for each in messages["refused"]
    ]
    assert messages["summary"] == {
        "files": 2,
        "changed": 1,
        "written": 1,
        "documents": 3,
        "migrated": 3,
        "made": 1,
        "losses": 1,
        "notes": 1,
        "refused": 1,
    }


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            GROUP,
            [
                {"field": "apiVersion", "value": "scheduling.k8s.io/v1beta1"},
                {"field": "spec.disruptionMode", "value": {"all": {}}},
                {"field": "spec.podGroupTemplateRef", "name": "workloadRef"},
                {"field": "spec.podGroupTemplateRef", "replacedBy": "workload"},
                {"field": "spec.podGroupTemplateRef.workload.podGroupTemplateName", "name": "templateName"},
            ],
            id="a PodGroup",
        ),
        pytest.param(
            pod("a"),
            [
                {"field": "spec.workloadRef", "name": "schedulingGroup"},
                {"field": "spec.workloadRef", "value": {"podGroupName": "train-workers"}},
            ],
            id="a pod",
        ),
        pytest.param(
            pod("a", more="  schedulingGroup: {podGroupName: x}\n"),
            [{"field": "spec.workloadRef", "removed": True}],
            id="a pod that loses one",
        ),
    ],
)
def test_json_reports_every_change(text: str, want: list[dict[str, object]]) -> None:
    assert want == json.loads(report.as_json(migrate(text)))["migrated"][0]["changes"]


def test_a_field_that_is_added_is_reported() -> None:
    messages = json.loads(report.as_json(migrate(WORKLOAD, pod("a", more="  priorityClassName: high\n"))))

    assert {"field": "spec.podGroups[0]", "added": {"priorityClassName": "high"}} in messages["migrated"][0]["changes"]


def test_what_a_stranger_wrote_does_not_steer_a_terminal() -> None:
    text = pod("a").replace("name: a", 'name: "\\e[31m"').replace("podGroup: workers", "podGroup: W")

    assert "\x1b" not in report.as_text(migrate(text))
