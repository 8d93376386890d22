"""What Muster's webhook refuses is no success of fit and simulate, and Muster's own scheduling gate is no obstacle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.muster.simulated import node

Json = dict[str, Any]
GATE, OTHER = {"name": "muster.dev/placement"}, {"name": "example.com/other"}


def group(version: str = "scheduling.muster.dev/v1beta1") -> Json:
    metadata = {"name": "workers", "namespace": "default"}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}


def template(label: str = "workers", **spec: Any) -> Json:
    container = {"name": "main", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": {"scheduling.muster.dev/pod-group": label}}, "spec": {"containers": [container], **spec}}


def pod(label: str = "workers", **spec: Any) -> Json:
    content = template(label, **spec)
    content["metadata"] |= {"name": "p", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", **content}


def job(label: str) -> Json:
    spec = {"parallelism": 1, "template": template(label, schedulingGroup={"podGroupName": "workers"}, restartPolicy="Never")}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec}


def run(folder: Path, command: str, manifests: list[Json], *options: str) -> Result:
    for name, items in (("mine", manifests), ("cluster", [node("n1", 8)])):
        (folder / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    paths = (str(folder / "mine.json"), "--objects", str(folder / "cluster.json"))
    return CliRunner().invoke(cli.main, [command, *paths, *options])


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize("kind", [lambda label: pod(label, schedulingGroup={"podGroupName": "workers"}), job], ids=["Pod", "Job"])
def test_a_label_that_differs_from_the_field_is_reported(tmp_path: Path, command: str, kind: Any) -> None:
    differing = run(tmp_path, command, [group(), kind("drivers")], "--format", "json")
    same = run(tmp_path, command, [group(), kind("workers")])

    assert "metadata.labels[scheduling.muster.dev/pod-group]: Invalid value" in differing.stdout
    assert "'workers', the name in schedulingGroup.podGroupName" in differing.stdout
    assert same.exit_code == 0, same.output


def test_such_an_object_does_not_fit(tmp_path: Path) -> None:
    assert 1 == run(tmp_path, "fit", [group(), job("drivers")]).exit_code


@pytest.mark.parametrize("version", ["scheduling.muster.dev/v1", "scheduling.k8s.io/v9"])
def test_a_group_of_an_unknown_version_is_reported(tmp_path: Path, version: str) -> None:
    result = run(tmp_path, "simulate", [group(version), pod()])

    assert f'Unsupported value: "{version}"' in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize("command", ["fit", "simulate"])
@pytest.mark.parametrize(
    ("gates", "options", "want"),
    [
        pytest.param([GATE], (), 0, id="the gate alone"),
        pytest.param([GATE, OTHER], (), 1, id="with another gate"),
        pytest.param([OTHER], (), 1, id="another gate"),
        pytest.param([GATE], ("--strategy", "greedy"), 1, id="as kube-scheduler"),
    ],
)
def test_the_gate_of_muster_is_no_obstacle(tmp_path: Path, command: str, gates: list[Json], options: tuple[str, ...], want: int) -> None:
    result = run(tmp_path, command, [group(), pod(schedulingGates=gates)], *options)

    assert result.exit_code == want, result.output


def test_a_remedy_does_not_remove_the_gate_of_muster(tmp_path: Path) -> None:
    greatest = pod(schedulingGates=[GATE])
    greatest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"

    result = run(tmp_path, "fit", [group(), greatest])

    assert "1 more node like n1" in result.output
    assert "gates" not in result.output
