"""A custom resource and a built-in object of one kind and name: the built-in one counts in every command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.editor import started

GROUP = """\
apiVersion: {api}
kind: PodGroup
metadata: {{name: same}}
spec:
  schedulingPolicy: {{gang: {{minCount: {count}}}}}
"""
CUSTOM = GROUP.format(api="scheduling.muster.dev/v1beta1", count=2)
BUILT_IN = GROUP.format(api="scheduling.k8s.io/v1beta1", count=3)
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {scheduling.muster.dev/pod-group: same}
spec:
  schedulerName: muster
  containers: [{name: main, image: train:1}]
"""


def write(folder: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("texts", [(CUSTOM, BUILT_IN, POD), (BUILT_IN, CUSTOM, POD), (f"{CUSTOM}---\n{BUILT_IN}---\n{POD}",)])
def test_tree_has_the_pod_below_the_built_in_group(tmp_path: Path, texts: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli.main, ["tree", str(write(tmp_path, *texts)), "--format", "json"])

    rows = json.loads(result.stdout)["rows"]
    (at,) = (number for number, each in enumerate(rows) if each["name"] == "default/p")
    assert ["scheduling.k8s.io", "gang of 3 pods"] == rows[at - 1]["notes"]
    assert ["scheduling.muster.dev (ignored)", "gang of 2 pods"] in [each["notes"] for each in rows]


def test_tree_does_not_name_the_api_group_of_other_objects(tmp_path: Path) -> None:
    other = CUSTOM.replace("name: same", "name: other")
    result = CliRunner().invoke(cli.main, ["tree", str(write(tmp_path, other, BUILT_IN)), "--format", "json"])

    assert [["gang of 2 pods"], ["gang of 3 pods"]] == [each["notes"] for each in json.loads(result.stdout)["rows"]]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_lint_warns_of_the_custom_object(tmp_path: Path, jobs: str) -> None:
    write(tmp_path, CUSTOM, BUILT_IN, POD)
    result = CliRunner().invoke(cli.main, ["lint", str(tmp_path), "--format", "json", "--jobs", jobs])

    found = json.loads(result.stdout)["findings"]
    assert [("one-api-group", "warning", "0.yaml")] == [(each["rule"], each["severity"], Path(each["file"]).name) for each in found]


def test_an_object_of_the_cluster_is_compared_too(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "cluster.yaml").write_text(BUILT_IN, encoding="utf-8")
    arguments = ["lint", str(write(tmp_path / "mine", CUSTOM)), "--objects", str(tmp_path / "cluster.yaml"), "--format", "json"]

    assert ["one-api-group"] == [each["rule"] for each in json.loads(CliRunner().invoke(cli.main, arguments).stdout)["findings"]]


def test_the_editor_goes_to_the_built_in_group(tmp_path: Path) -> None:
    async def steps() -> None:
        async with started(write(tmp_path, CUSTOM, BUILT_IN, POD)) as editor:
            for number, text in enumerate((CUSTOM, BUILT_IN, POD)):
                await editor.open(f"{number}.yaml", text)
            line = POD.splitlines()[4]
            assert await editor.definition("2.yaml", 4, line.index("same")) == ("1.yaml", 2, 11)

    asyncio.run(steps())
