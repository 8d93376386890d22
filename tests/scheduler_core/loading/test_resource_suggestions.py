"""Misspelt extended resources: the similar one that nodes have, and no node with the misspelt one as a change that helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubeapi.problem import ProblemKind
from scheduler_core.causes.input_problems import ResourceUnknown
from scheduler_core.cluster.load import load
from tests.muster.simulated import node, pod
from tests.muster.test_fit import fit, judged
from tests.scheduler_core.plugins.device_objects import device, device_class, device_slice

GPU = "nvidia.com/gpu"
PROBLEM = ProblemKind.UNKNOWN_RESOURCE


def having(name: str, **amounts: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(node(name)))
    made["status"]["allocatable"] |= {key.replace("_", "."): value for key, value in amounts.items()}
    return made


def requesting(resource: str, amount: str = "1") -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(pod("p")))
    made["spec"]["containers"][0]["resources"]["requests"] |= {resource: amount}
    return made


GPUS = having("n1", **{GPU: "8"})


@pytest.mark.parametrize("written", ["nvidia.com/gpus", "nvidia.com/GPU", "nvdia.com/gpu", "nvidia.com/gp", "nvidia.org/gpu"])
def test_a_similar_resource_is_named(written: str) -> None:
    facts = [each.fact for each in load([GPUS, requesting(written)]).problems]
    assert [ResourceUnknown(written, GPU)] == facts


@pytest.mark.parametrize(
    ("present", "written"),
    [
        (GPU, "amd.com/gpu"),
        (GPU, "nvidia.com/gpu.shared"),
        ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"),
        (GPU, "example.com/fpga"),
        ("example.com/nic", "example.com/nic"),
    ],
)
def test_another_resource_is_no_misspelling(present: str, written: str) -> None:
    assert not [each for each in load([having("n1", **{present: "8"}), requesting(written)]).problems if each.kind is PROBLEM]


def test_a_resource_of_which_nodes_have_nothing_is_not_proposed() -> None:
    assert not load([having("n1", **{GPU: "0"}), requesting("nvidia.com/gpus")]).problems


def test_a_resource_that_devices_provide_is_not_missing() -> None:
    provided = device_class("gpus", extendedResourceName="nvidia.com/gpus")
    slices = device_slice("n2", device("d", {}))
    assert not [each for each in load([GPUS, node("n2"), provided, slices, requesting("nvidia.com/gpus")]).problems if each.kind is PROBLEM]


def test_the_verdict_asks_for_the_right_name_and_proposes_no_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, answer = judged([requesting("nvidia.com/gpus")], [GPUS])
    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert answer["message"].endswith('; no node has the resource "nvidia.com/gpus"; did you mean "nvidia.com/gpu"?')
    assert "more node" not in fit([requesting("nvidia.com/gpus")], [GPUS])[1]
    # Of a resource without a similar one, more nodes are still a change that helps.
    assert "more node" in judged([requesting("example.com/fpga")], [GPUS])[1]["message"]
