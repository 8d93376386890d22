"""``muster lint --fix``: files are changed only where a finding has a fix, and the result is linted."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli

pytestmark = pytest.mark.usefixtures("folder")

WRONG = """\
# The workers.
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: workers
  labels: {revision: 7}  # quoted by the fix
spec:
  schedulingPolicy:
    gang: {"minCuont": &count 2}
"""
RIGHT = WRONG.replace("revision: 7", 'revision: "7"').replace("minCuont", "minCount")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulingGroup: {podGroupName: worker}
  containers: []
"""


def lint(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["lint", *arguments], input=stdin)


def written(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_files_are_fixed_and_linted_again() -> None:
    file, other = written("group.yaml", WRONG), written("pod.yaml", POD)
    file.chmod(0o640)
    answer = lint("--fix", ".")

    assert answer.exit_code == 1
    assert answer.stderr == "muster lint: 2 findings fixed in 1 file\nmuster lint: 1 more finding would be fixed with --unsafe-fixes\n"
    assert "scheduling-group-exists" in answer.stdout
    assert "schema-" not in answer.stdout
    assert (file.read_text(), other.read_text()) == (RIGHT, POD)
    assert file.stat().st_mode & 0o777 == 0o640

    answer = lint("--fix", "--unsafe-fixes", ".")
    assert (answer.exit_code, other.read_text()) == (0, POD.replace("worker}", "workers}"))
    assert lint("--fix", "--unsafe-fixes", ".").stderr == ""


def test_a_diff_is_a_patch_and_writes_nothing() -> None:
    file = written("group.yaml", WRONG)
    answer = lint("--fix", "--diff", "group.yaml")

    assert (answer.exit_code, file.read_text()) == (1, WRONG)
    assert answer.stderr == "muster lint: 2 findings would be fixed in 1 file\n"
    subprocess.run(["git", "apply", "-"], input=answer.stdout, text=True, check=True)
    assert file.read_text() == RIGHT
    answer = lint("--fix", "--diff", "group.yaml")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "", "")


BEFORE_UPGRADE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: driver
    disruptionMode: {all: {}}
    schedulingPolicy: {basic: {}}
  - name: workers
    preemptionPolicy: PreemptLowerPriority
    schedulingPolicy: {gang: {minCount: 2}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {scheduling.k8s.io/group-template-name: workers}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: eval}
spec:
  compositePodGroupTemplates:
  - name: replica
    preemptionPolicy: Never
    schedulingPolicy: {gang: {minGroupCount: 1}}
    podGroupTemplates:
    - name: leaf
      schedulingPolicy: {basic: {}}
"""


def test_manifests_are_prepared_for_a_newer_version() -> None:
    file = written("objects.yaml", BEFORE_UPGRADE)
    assert lint("--profile", "upstream", "objects.yaml").exit_code == 0

    answer = lint("--fix", "--kubernetes", "1.38", "objects.yaml")
    fixed = BEFORE_UPGRADE
    for old, new in (
        ("{all: {}}\n    sched", "{single: {}}\n    preemptionPolicy: PreemptLowerPriority\n    sched"),
        ("annotations: {", "annotations: {scheduling.k8s.io/workload-name: train, "),
    ):
        fixed = fixed.replace(old, new)
    assert fixed == file.read_text()
    assert answer.stderr == "muster lint: 3 findings fixed in 1 file\nmuster lint: 1 more finding would be fixed with --unsafe-fixes\n"
    assert "2 errors" in answer.stdout

    # Which of several policies is meant, nobody can know.
    answer = lint("--fix", "--unsafe-fixes", "--kubernetes", "1.38", "objects.yaml")
    assert (
        fixed.replace("leaf\n      schedulingPolicy: {basic: {}}", "leaf\n      schedulingPolicy: {gang: {minCount: 1}}")
        == file.read_text()
    )
    assert ("1 error", True) == (answer.stdout.splitlines()[-1].partition(" in ")[0], "priority-uniform" in answer.stdout)


def test_standard_input_can_be_compared() -> None:
    answer = lint("--fix", "--diff", "-", stdin=WRONG)

    assert answer.exit_code == 1
    assert '+    gang: {"minCount": &count 2}\n' in answer.stdout


def test_other_encodings_and_line_ends_stay() -> None:
    file = written("group.yaml", b"\xef\xbb\xbf" + WRONG.replace("\n", "\r\n").replace("workers.", "workers \N{PILE OF POO}.").encode())

    assert lint("--fix", "group.yaml").exit_code == 0
    assert file.read_bytes() == b"\xef\xbb\xbf" + RIGHT.replace("\n", "\r\n").replace("workers.", "workers \N{PILE OF POO}.").encode()


def test_suppressed_findings_and_looked_up_objects_are_not_fixed() -> None:
    known = written("known.yaml", WRONG)
    text = WRONG.replace("7}  # quoted by the fix", "7}  # muster: ignore[schema-type] as it is")
    file = written("group.yaml", text)
    lint("--fix", "group.yaml", "--objects", "known.yaml")

    assert (known.read_text(), file.read_text()) == (WRONG, text.replace("minCuont", "minCount"))


def test_an_unreadable_file_does_not_prevent_fixes() -> None:
    broken, file = written("broken.yaml", "a: ["), written("group.yaml", WRONG)

    assert lint("--fix", ".").exit_code == 2
    assert (broken.read_text(), file.read_text()) == ("a: [", RIGHT)


def test_a_file_that_cannot_be_written_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    file = written("group.yaml", WRONG)
    monkeypatch.setattr("os.access", lambda *_: False)
    answer = lint("--fix", "group.yaml")

    assert (answer.exit_code, answer.stdout, file.read_text()) == (2, "", WRONG)
    assert answer.stderr == "muster: 'group.yaml' cannot be written: it is not writable; nothing was written\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--diff", "a.yaml"], "--diff needs --fix"),
        (["--unsafe-fixes", "a.yaml"], "--unsafe-fixes needs --fix"),
        (["--fix", "-"], "--fix needs files: standard input cannot be fixed"),
        (["--fix", "--diff", "--output", "json=-", "a.yaml"], "--output: standard output has the patch"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    written("a.yaml", RIGHT)
    answer = lint(*arguments, stdin="")

    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert message in answer.stderr


FIXABLE = """\
# ü
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec: {schedulingPolicy: {gang: {minCount: "4"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: w-0, namespace: default}, spec: {schedulingGroup: {podGroupName: worker}}}
"""


def test_reports_have_the_fixes_with_their_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(FIXABLE, encoding="utf-8")
    column = FIXABLE.splitlines()[6].index("worker}") + 1
    answer = CliRunner().invoke(cli.main, ["lint", "a.yaml", "--format", "json", "--output", "sarif=a.sarif"])
    fixes = [each["fix"] for each in json.loads(answer.stdout)["findings"]]
    assert fixes == [
        {"title": "replace with 4", "safe": True, "edits": [{"line": 5, "column": 44, "endLine": 5, "endColumn": 47, "text": "4"}]},
        {
            "title": "replace with 'workers'",
            "safe": False,
            "edits": [{"line": 7, "column": column, "endLine": 7, "endColumn": column + 6, "text": "workers"}],
        },
    ]
    (run,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"]
    regions = [each["fixes"][0]["artifactChanges"][0]["replacements"][0] for each in run["results"]]
    assert [each["insertedContent"]["text"] for each in regions] == ["4", "workers"]
    assert regions[1]["deletedRegion"] == {"startLine": 7, "startColumn": column, "endLine": 7, "endColumn": column + 6}
