"""Generated PodGroups follow their Workload, in the format and layout of the file."""

from __future__ import annotations

import json

import pytest

from tests.validators.migrate.migrating import CURRENT, WORKLOAD, migrate, migrate_files, objects_in, pod, text_of, together

MADE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train-workers
spec:
  workloadRef:
    workloadName: train
    templateName: workers
  schedulingPolicy:
    gang:
      minCount: 4
"""
POD = pod("p")
AFTER = WORKLOAD.replace("v1alpha1", "v1beta1").replace("podGroups", "podGroupTemplates").replace("policy", "schedulingPolicy")
POD_AFTER = POD.replace("workloadRef: {name: train, podGroup: workers}", "schedulingGroup: {podGroupName: train-workers}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(together(WORKLOAD, POD), together(AFTER, MADE, POD_AFTER), id="between documents"),
        pytest.param(together(POD, WORKLOAD), together(POD_AFTER, AFTER, MADE), id="at the end"),
        pytest.param(together(POD, WORKLOAD).rstrip(), together(POD_AFTER, AFTER, MADE).rstrip(), id="at an end without a line end"),
        pytest.param(
            WORKLOAD + "# of the Workload\n---\n" + POD,
            AFTER + "# of the Workload\n---\n" + MADE + "---\n" + POD_AFTER,
            id="behind its comment",
        ),
        pytest.param(
            WORKLOAD + "\n# of the pod\n---\n" + POD,
            AFTER + "---\n" + MADE + "\n# of the pod\n---\n" + POD_AFTER,
            id="before another's comment",
        ),
        pytest.param(WORKLOAD + "...\n---\n" + POD, AFTER + "---\n" + MADE + "...\n---\n" + POD_AFTER, id="before the end of a document"),
        pytest.param(
            "%YAML 1.1\n---\n" + WORKLOAD + "---\n" + POD,
            "%YAML 1.1\n---\n" + AFTER + "---\n" + MADE + "---\n" + POD_AFTER,
            id="a directive",
        ),
    ],
)
def test_in_yaml(before: str, after: str) -> None:
    assert after == text_of(migrate(before))


def as_list(*texts: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "List", "items": objects_in(together(*texts))}


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param({"indent": 2}, id="indented"),
        pytest.param({"indent": "\t"}, id="tabs"),
        pytest.param({"separators": (",", ":")}, id="compact"),
        pytest.param({}, id="one line"),
    ],
)
@pytest.mark.parametrize("name", ["a.json", "<stdin>"])
def test_in_a_list_of_json(layout: dict[str, object], name: str) -> None:
    migration = migrate(json.dumps(as_list(WORKLOAD, POD), **layout), name=name)

    assert as_list(AFTER, MADE, POD_AFTER) == json.loads(text_of(migration))
    assert text_of(migration).count("\n") == json.dumps(as_list(AFTER, MADE, POD_AFTER), **layout).count("\n")


def test_a_list_of_workloads_takes_no_group() -> None:
    workload = {key: value for key, value in objects_in(WORKLOAD)[0].items() if key not in {"apiVersion", "kind"}}
    before = json.dumps({"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "WorkloadList", "items": [workload]})
    migration = migrate_files({"a.json": before, "b.yaml": POD})
    first, second = text_of(migration).split("\n")

    assert json.loads(first)["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert [json.loads(second)] == objects_in(MADE)


def test_in_lines_of_json() -> None:
    before = "".join(f"{json.dumps(each)}\n" for each in objects_in(together(WORKLOAD, POD)))
    want = "".join(f"{json.dumps(each)}\n" for each in objects_in(together(AFTER, MADE, POD_AFTER)))

    assert want == text_of(migrate(before, name="a.json"))


def test_json_among_yaml_is_followed_by_a_document_of_its_own() -> None:
    after = text_of(migrate(json.dumps(objects_in(WORKLOAD)[0]) + "\n", POD))

    assert after.count("---") == 2
    assert objects_in(together(AFTER, MADE, POD_AFTER)) == objects_in(after)


def test_groups_are_in_the_order_of_what_they_are_for() -> None:
    pods = [pod("a", key="r1"), pod("b", "driver"), pod("c", key="r0"), pod("d"), CURRENT]
    migration = migrate(WORKLOAD, *pods)

    assert [each.subject.name for each in migration.made] == ["train-driver", "train-workers", "train-workers-r0", "train-workers-r1"]
    assert migration.made == migrate(WORKLOAD, *reversed(pods)).made
