"""``muster migrate``: options in; manifests, report and exit status out."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from muster.commands.migrate import output
from validators.migrate.outcome import File

WORKLOAD = """\
apiVersion: scheduling.k8s.io/v1alpha1  # old
kind: Workload
metadata: {name: train}
spec:
  podGroups:
  - name: workers
    policy: {gang: {minCount: 4}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: worker-0}
spec:
  workloadRef: {name: train, podGroup: workers}
"""
CURRENT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
WORKLOAD_AFTER = """\
apiVersion: scheduling.k8s.io/v1beta1  # old
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {gang: {minCount: 4}}
"""
MADE = """\
---
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
POD_AFTER = POD.replace("workloadRef: {name: train, podGroup: workers}", "schedulingGroup: {podGroupName: train-workers}")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with some manifests."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"workload.yaml": WORKLOAD, "pod.yaml": POD, "config.yaml": CURRENT, "broken.yaml": "a: ["}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def migrate(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.main, ["migrate", *arguments], input=stdin)


def texts(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text(encoding="utf-8") for each in sorted(folder.iterdir()) if each.is_file()}


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["workload.yaml", "pod.yaml"], 0),
        (["config.yaml"], 0),
        (["pod.yaml"], 1),
        (["workload.yaml", "broken.yaml"], 2),
        (["pod.yaml", "broken.yaml"], 3),
        (["nowhere.yaml"], 2),
        ([], 2),
        (["--to", "v1", "pod.yaml"], 2),
        (["--output", "xml=out", "pod.yaml"], 2),
        (["--in-place", "-"], 2),
    ],
)
def test_the_exit_status(arguments: list[str], want: int) -> None:
    assert want == migrate(*arguments).exit_code


def test_what_cannot_be_converted_is_named_and_kept(folder: Path) -> None:
    claim = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata: {name: old}\nspec: {resourceClassName: gpu}\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  resourceClaims:\n  - {name: gpu, source: {resourceClaimName: old}}\n"
    (folder / "old.yaml").write_text(f"{claim}---\n{pod}", encoding="utf-8")
    answer = migrate("old.yaml")

    assert (answer.exit_code, answer.stdout) == (1, f"{claim}---\n{pod}")
    lost = [line for line in answer.stderr.splitlines() if ": lost: " in line]
    assert lost == [
        "old.yaml:1:1: lost: ResourceClaim default/old: apiVersion: the whole object: ResourceClaim of resource.k8s.io/v1alpha2 cannot be converted",
        "old.yaml:11:17: lost: Pod default/p: spec.resourceClaims[0].source: source of a claim",
    ]
    assert answer.stderr.endswith("0 of 2 objects changed, in 0 of 1 file; 0 PodGroups created; 2 losses\n")


@pytest.mark.parametrize("arguments", [["nowhere.yaml"], [], ["--output", "xml=out", "pod.yaml"], ["--in-place", "-"]])
def test_a_mistake_is_one_line(arguments: list[str]) -> None:
    answer = migrate(*arguments)

    assert (answer.stdout, answer.stderr.count("\n")) == ("", 1)
    assert answer.stderr.startswith("muster migrate: ")


def test_a_stream_is_migrated_to_standard_output() -> None:
    answer = migrate("-", stdin=WORKLOAD + "---\n" + POD)

    assert answer.stdout == WORKLOAD_AFTER + MADE + "---\n" + POD_AFTER
    assert answer.stderr.splitlines()[-1] == "2 of 2 objects changed, in 1 of 1 file; 1 PodGroup created; 0 losses"


def test_several_files_become_one_stream_of_all_their_documents() -> None:
    answer = migrate("workload.yaml", "config.yaml", "pod.yaml")

    assert answer.stdout == f"{CURRENT}---\n{POD_AFTER}---\n{WORKLOAD_AFTER}{MADE}"


def test_a_file_with_nothing_to_migrate_comes_out_as_it_is() -> None:
    assert migrate("config.yaml").stdout == CURRENT


@pytest.mark.parametrize("arguments", [["workload.yaml", "broken.yaml"], ["--in-place", "workload.yaml", "broken.yaml"]])
def test_where_one_file_cannot_be_read_nothing_is_written(folder: Path, arguments: list[str]) -> None:
    before = texts(folder)
    answer = migrate(*arguments)

    assert before == texts(folder)
    assert "apiVersion" not in answer.stdout
    assert "broken.yaml:1:5: unreadable: " in answer.output


def test_in_place_files_are_written_and_the_report_is_all_there_is(folder: Path) -> None:
    answer = migrate("--in-place", "workload.yaml", "pod.yaml", "config.yaml")

    assert answer.exit_code == 0
    assert answer.stderr == ""
    assert answer.stdout.endswith("2 of 3 objects changed, in 2 of 3 files; 1 PodGroup created; 0 losses; 2 files written\n")
    assert texts(folder) == {
        "broken.yaml": "a: [",
        "config.yaml": CURRENT,
        "pod.yaml": POD_AFTER,
        "workload.yaml": WORKLOAD_AFTER + MADE,
    }


def test_a_loss_is_written_and_reported(folder: Path) -> None:
    answer = migrate("-i", "pod.yaml")

    assert answer.exit_code == 1
    assert "pod.yaml:5:3: lost: Pod default/worker-0: spec.workloadRef: the policy of PodGroup default/train-workers" in answer.stdout
    assert (folder / "pod.yaml").read_text(encoding="utf-8") == POD_AFTER


def test_a_second_call_finds_nothing_to_do(folder: Path) -> None:
    migrate("--in-place", "workload.yaml", "pod.yaml")
    before = texts(folder)
    answer = migrate("--in-place", "workload.yaml", "pod.yaml")

    assert (before, 0) == (texts(folder), answer.exit_code)
    assert answer.stdout == "0 of 3 objects changed, in 0 of 2 files; 0 PodGroups created; 0 losses\n"


def test_the_linter_finds_nothing_retired_afterwards(folder: Path) -> None:
    before = CliRunner().invoke(cli.main, ["lint", "workload.yaml", "pod.yaml"])
    migrate("--in-place", "workload.yaml", "pod.yaml")
    after = CliRunner().invoke(cli.main, ["lint", "workload.yaml", "pod.yaml"])

    assert ["run muster migrate" in before.stdout, "as muster migrate does" in before.stdout] == [True, True]
    assert (before.exit_code, after.exit_code) == (1, 0)


def test_the_difference_is_a_patch(folder: Path) -> None:
    answer = migrate("--diff", "pod.yaml", "workload.yaml", "config.yaml")

    assert answer.stdout.startswith("--- a/pod.yaml\n+++ b/pod.yaml\n@@ -2,4 +2,4 @@\n")
    assert "-  workloadRef: {name: train, podGroup: workers}\n+  schedulingGroup: {podGroupName: train-workers}\n" in answer.stdout
    assert "config.yaml" not in answer.stdout
    assert (folder / "pod.yaml").read_text(encoding="utf-8") == POD


def test_the_difference_in_place_is_shown_and_nothing_is_written(folder: Path) -> None:
    before = {name: (folder / name).read_bytes() for name in ("pod.yaml", "workload.yaml")}
    answer = migrate("--diff", "--in-place", "pod.yaml", "workload.yaml")

    assert before == {name: (folder / name).read_bytes() for name in before}
    assert answer.stdout == migrate("--diff", "pod.yaml", "workload.yaml").stdout
    assert "written" not in answer.stderr
    migrate("--in-place", "pod.yaml", "workload.yaml")
    assert answer.stdout == output.differences([File(name, name, text, (folder / name).read_bytes()) for name, text in before.items()])


def test_the_report_on_standard_output_by_name(folder: Path) -> None:
    by_name = migrate("--in-place", "-o", "json=-", "pod.yaml", "workload.yaml")

    assert json.loads(by_name.stdout)["summary"]["losses"] == 0
    refused = migrate("-o", "text=-", "pod.yaml")
    assert (2, "") == (refused.exit_code, refused.stdout)
    assert "standard output has the manifests or the diff" in refused.stderr


def test_the_report_as_json_on_standard_error_and_in_a_file(folder: Path) -> None:
    answer = migrate("--format", "json", "--output", "json=report.json", "--output", "text=report.txt", "pod.yaml")

    assert json.loads(answer.stderr)["summary"]["losses"] == 1
    assert (folder / "report.json").read_text(encoding="utf-8") == answer.stderr
    assert "lost: " in (folder / "report.txt").read_text(encoding="utf-8")


def test_quiet_writes_no_report() -> None:
    answer = migrate("--quiet", "pod.yaml")

    assert (answer.exit_code, answer.stdout, answer.stderr) == (1, POD_AFTER, "")


def test_the_requested_version() -> None:
    assert "scheduling.k8s.io/v1alpha3" in migrate("--to", "v1alpha3", "workload.yaml").stdout


def test_a_folder_without_manifests_is_said_to_be_empty(folder: Path) -> None:
    (folder / "empty").mkdir()

    answer = migrate("-q", "empty")
    assert (2, "muster migrate: no .yaml, .yml, .json file in empty\n") == (answer.exit_code, answer.stderr)


def test_a_report_that_cannot_be_written_is_a_mistake_of_one_line() -> None:
    answer = migrate("--quiet", "--output", "text=nowhere/report.txt", "pod.yaml")

    assert (answer.exit_code, answer.stderr) == (
        2,
        "muster migrate: 'nowhere/report.txt' cannot be written: no such file or directory (see 'muster migrate --help')\n",
    )


def test_modes_stay(folder: Path) -> None:
    (folder / "pod.yaml").chmod(0o640)
    migrate("--in-place", "pod.yaml")

    assert stat.S_IMODE((folder / "pod.yaml").stat().st_mode) == 0o640


def test_a_file_that_changes_under_way_is_a_mistake_of_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivered = output.replace

    def after_somebody_else(files: list[File]) -> None:
        (folder / "pod.yaml").write_text("changed", encoding="utf-8")
        delivered(files)

    monkeypatch.setattr(output, "replace", after_somebody_else)
    answer = migrate("--in-place", "pod.yaml")

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == "muster: 'pod.yaml' cannot be written: it has changed since it was read; nothing was written\n"
    assert (folder / "pod.yaml").read_text(encoding="utf-8") == "changed"


CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
"""


def test_migrated_pods_are_placed_as_they_were(folder: Path) -> None:
    spec = "  priorityClassName: high\n  containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]\n"
    pods = [
        POD.replace("worker-0", f"worker-{number}").replace("workers}", f"workers, podGroupReplicaKey: r{number // 4}}}") + spec
        for number in range(7)
    ]
    before = "---\n".join([CLUSTER, WORKLOAD, *pods])
    answer = migrate("-", stdin=before)

    def decisions(manifests: str) -> object:
        found = CliRunner().invoke(cli.main, ["simulate", "-", "--remedies", "0", "--format", "json"], input=manifests)
        return json.loads(found.stdout)

    assert answer.exit_code == 0
    assert decisions(before) == decisions(answer.stdout)
    assert "train-workers-r1" in json.dumps(decisions(before))


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["--dry-run"], "--dry-run needs --cluster"),
        (["--to-kubernetes", "1.38"], "--to-kubernetes needs --cluster"),
        (["--cluster", "--to-kubernetes", "1.38", "--dry-run"], "--to-kubernetes writes nothing, and needs neither --to nor --dry-run"),
        (["--cluster", "--to", "scheduling.muster.dev"], "--cluster moves objects to scheduling.k8s.io only"),
        (["--cluster", "workload.yaml"], "--cluster needs no PATH"),
    ],
)
def test_options_of_a_move_that_exclude_each_other(arguments: list[str], want: str) -> None:
    answer = migrate(*arguments)

    assert (2, True) == (answer.exit_code, want in answer.stderr), answer.stderr


def test_files_move_to_another_api_group_and_back(folder: Path) -> None:
    there = migrate("--to", "scheduling.muster.dev", "--in-place", ".", "workload.yaml", "pod.yaml")
    assert there.exit_code == 2  # one of the files is broken
    (folder / "broken.yaml").unlink()
    assert migrate("--to", "scheduling.muster.dev", "--in-place", ".").exit_code == 0
    after = texts(folder)
    assert after["workload.yaml"].count("scheduling.muster.dev/v1beta1") == 2
    assert "labels: {scheduling.muster.dev/pod-group: train-workers}" in after["pod.yaml"]
    assert migrate("--to", "scheduling.k8s.io", "--in-place", ".").exit_code == 0
    assert texts(folder)["workload.yaml"] == WORKLOAD_AFTER + MADE
    assert "schedulingGroup: {podGroupName: train-workers}" in texts(folder)["pod.yaml"]
