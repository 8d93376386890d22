"""``muster tree``: every object is at its place, with its findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.validators.lint.test_cases import CASES
from validators.reports import tree_report

pytestmark = pytest.mark.usefixtures("folder")

TREE = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: top
    schedulingPolicy: {gang: {minGroupCount: 1}}
    podGroupTemplates:
    - name: workers
      schedulingPolicy: {gang: {minCount: 0}}
      schedulingConstraints: {topology: [{key: rack}]}
      disruptionMode: {all: {}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: top-0}
spec:
  workloadRef: {workloadName: train, templateName: top}
  schedulingPolicy: {gang: {minGroupCount: 1}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: PodGroup
metadata: {name: workers-0}
spec:
  parentCompositePodGroupName: top-0
  workloadRef: {workloadName: train, templateName: none}
  schedulingPolicy: {basic: {}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: driver}
spec:
  parallelism: 3
  template: {spec: {restartPolicy: Never, schedulingGroup: {podGroupName: workers-0}}}
"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata: {{name: worker-{number}}}
spec: {{schedulingGroup: {{podGroupName: {group}}}, containers: []}}
"""


def tree(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["tree", *arguments], input=stdin)


def test_objects_and_findings_are_in_place() -> None:
    Path("train.yaml").write_text(TREE + "".join(POD.format(number=number, group="workers-0") for number in range(7)), encoding="utf-8")
    Path("more.yaml").write_text("a: 1\n" + POD.format(number=9, group="nobody"), encoding="utf-8")
    answer = tree("train.yaml", "more.yaml")

    assert answer.exit_code == 1
    assert (
        answer.stdout
        == """\
Workload default/train  (train.yaml:1)
└─ CompositePodGroupTemplate top: gang of 1 group  (train.yaml:6)
   └─ PodGroupTemplate workers: gang of 0 pods, in one rack, disrupted together  (train.yaml:9)
         10:33: error gang-minimum: spec.compositePodGroupTemplates[0].podGroupTemplates[0].schedulingPolicy.gang.minCount: \
Required value: must be given, and greater than or equal to 1

CompositePodGroup default/top-0: gang of 1 group  (train.yaml:14)
└─ PodGroup default/workers-0: basic  (train.yaml:21)
   │  26:38: error tree-matches-templates: spec.workloadRef.templateName: Not found: "none": there must be a template of this name \
in Workload train
   ├─ 7 pods: worker-0, worker-1, worker-2, worker-3, worker-4 and 2 more  (train.yaml:36)
   └─ Job default/driver: 3 pods  (train.yaml:29)

Pod default/worker-9  (more.yaml:3)
   6:26: error scheduling-group-exists: spec.schedulingGroup.podGroupName: Not found: "nobody": there must be a PodGroup of this \
name in namespace default

Other findings
   more.yaml:1:1: warning not-kubernetes: must be a Kubernetes object, with apiVersion and kind

3 errors, 1 warning in 12 documents of 2 files
"""
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_finding_is_reported_once(case: Path) -> None:
    """Findings and exit status are those of the linter."""
    linted = CliRunner().invoke(cli.main, ["lint", "--format", "json", str(case / "input")])
    answer = tree("--format", "json", str(case / "input"))
    report = json.loads(answer.stdout)
    findings = [*report["findings"], *(each for row in report["rows"] for each in row["findings"])]

    def order(finding: dict[str, object]) -> str:
        return json.dumps(finding, sort_keys=True)

    assert sorted(json.loads(linted.stdout)["findings"], key=order) == sorted(findings, key=order)
    assert answer.exit_code == linted.exit_code
    assert tree(str(case / "input")).exit_code == linted.exit_code


def test_a_missing_parent_and_a_cycle_are_named() -> None:
    group = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: NAME}
spec:
  parentCompositePodGroupName: PARENT
  workloadRef: {workloadName: w, templateName: t}
  schedulingPolicy: {basic: {}}
---
"""
    pairs = [("a", "b"), ("b", "a"), ("below", "a"), ("orphan", "nobody")]
    text = "".join(group.replace("NAME", name).replace("PARENT", parent) for name, parent in pairs)
    lines = tree("-", stdin=text).stdout.splitlines()

    assert "CompositePodGroup default/a: basic, its parents are a cycle: b above  (<stdin>:1)" in lines
    assert "└─ CompositePodGroup default/below: basic  (<stdin>:17)" in lines
    assert "CompositePodGroup default/b: basic, its parents are a cycle: a above  (<stdin>:9)" in lines
    assert "CompositePodGroup default/orphan: basic, the parent nobody is missing  (<stdin>:25)" in lines


def test_a_chain_of_thousands_of_groups_is_a_tree() -> None:
    group = (
        '{{"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": {{"name": "g{number}"}}, "spec": '
        '{{"parentCompositePodGroupName": "g{parent}", "workloadRef": {{"workloadName": "w", "templateName": "t"}}, '
        '"schedulingPolicy": {{"basic": {{}}}}}}}}'
    )
    Path("chain.json").write_text("\n".join(group.format(number=number, parent=number - 1) for number in range(1500)), encoding="utf-8")
    answer = tree("--format", "json", "chain.json")

    assert answer.exit_code == 1
    assert max(row["depth"] for row in json.loads(answer.stdout)["rows"]) == 1499

    lines = [each for each in tree("chain.json").stdout.splitlines() if "CompositePodGroup default/" in each]
    assert lines[20].startswith(f"{' ' * 57}└─ CompositePodGroup default/g20")
    assert lines[21].startswith(f"{' ' * 60}└─ level 21: CompositePodGroup default/g21")
    assert lines[-1].startswith(f"{' ' * 60}└─ level 1499: CompositePodGroup default/g1499")


def test_pods_with_and_without_findings_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    monkeypatch.setattr(tree_report.Branch, "__eq__", lambda *both: bool(compared.append(both)))  # type: ignore[func-returns-value]
    pods = [
        f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{letter}{number}"}}, "spec": {{"schedulingGroup": {{"podGroupName": "g"}}, '
        '"containers": [{"name": "c", "image": "i"}]}}'
        for letter in "pP"
        for number in range(30)
    ]
    group = '{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}}'
    Path("pods.json").write_text("\n".join([group, *pods]), encoding="utf-8")
    lines = tree("pods.json").stdout.splitlines()

    assert lines[1].startswith("├─ 30 pods: p0, ")
    assert sum("─ Pod default/P" in each for each in lines) == 30
    assert compared == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "give at least one FILE"), (["nowhere.yaml"], "'nowhere.yaml' must be a file"), (["."], "no .yaml, .yml, .json file in .")],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    answer = tree(*arguments)

    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert message in answer.stderr


@pytest.mark.parametrize(("level", "want"), [("never", 0), ("error", 1)])
def test_the_configuration_sets_the_severity_of_failure(level: str, want: int) -> None:
    Path("train.yaml").write_text(TREE, encoding="utf-8")
    Path(".muster.yaml").write_text(f"fail-on: {level}\n", encoding="utf-8")

    assert want == tree("train.yaml").exit_code == CliRunner().invoke(cli.main, ["lint", "train.yaml"]).exit_code
    assert 0 == tree("train.yaml", "--fail-on", "never").exit_code


def test_files_of_other_tools_are_skipped_and_counted() -> None:
    Path("package.json").write_text('{"name": "x"}', encoding="utf-8")
    Path("train.yaml").write_text(TREE, encoding="utf-8")

    assert "muster tree: 1 file of other tools skipped (" in tree(".").stderr
    Path("train.yaml").unlink()
    assert tree(".").exit_code == CliRunner().invoke(cli.main, ["lint", "."]).exit_code


def test_of_a_group_only_what_is_written_is_shown() -> None:
    Path("a.yaml").write_text(
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
        "spec: {policy: {gang: {minMember: 3}}, schedulingConstraints: {topology: [{level: rack}]}}\n"
    )

    assert "PodGroup default/g  (a.yaml:1)\n" in CliRunner().invoke(cli.main, ["tree", "a.yaml"]).stdout
