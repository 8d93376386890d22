"""Example controller without a cluster: its CustomResourceDefinition, trees and pods."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from muster.commands.schema import block_schemas

if TYPE_CHECKING:
    import kopf

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FIELDS = {"schedulingPolicy": "SchedulingPolicy", "schedulingConstraints": "SchedulingConstraints", "disruptionMode": "DisruptionMode"}


@pytest.fixture(scope="module")
def trainer() -> ModuleType:
    import kopf

    result = importlib.util.spec_from_file_location("kopf_trainer", EXAMPLES / "kopf_trainer.py")
    assert result is not None
    assert result.loader is not None
    module = importlib.util.module_from_spec(result)
    registry = kopf.get_default_registry()
    kopf.set_default_registry(kopf.OperatorRegistry())
    result.loader.exec_module(module)
    kopf.set_default_registry(registry)
    return module


def run(**spec: Any) -> kopf.Body:
    import kopf

    metadata = {"name": "llm", "namespace": "research", "uid": "uid-1"}
    return kopf.Body({"metadata": metadata, "spec": {"image": "example.com/train:1", "workers": {"replicas": 4}, **spec}})


def test_the_definition_embeds_the_blocks_as_they_are_printed():
    definition = next(yaml.safe_load_all((EXAMPLES / "kopf_trainer_crd.yaml").read_text(encoding="utf-8")))
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    whole, part = spec["scheduling"]["properties"], spec["workers"]["properties"]["scheduling"]["properties"]

    for field, name in FIELDS.items():
        assert block_schemas.structural(f"WorkloadCompositePodGroup{name}") == whole[field]
        assert block_schemas.structural(f"WorkloadPodGroup{name}") == part[field]
    assert block_schemas.structural("WorkloadPodGroupResourceClaim") == part["resourceClaims"]["items"]


@pytest.mark.parametrize(
    ("workers", "want"),
    [
        pytest.param({}, {"gang": {"minCount": 4}}, id="all workers where nothing is said"),
        pytest.param({"schedulingPolicy": {"gang": {}}}, {"gang": {"minCount": 4}}, id="all workers where no size is said"),
        pytest.param({"schedulingPolicy": {"gang": {"minCount": 3}}}, {"gang": {"minCount": 3}}, id="as many as the user says"),
        pytest.param({"schedulingPolicy": {"basic": {}}}, {"basic": {}}, id="one by one where the user wants it"),
    ],
)
def test_a_run_is_a_gang_by_default(trainer, workers, want):
    builder, errors = trainer.read(run(workers={"replicas": 4, "scheduling": workers}))
    root = builder.build_workload()["spec"]["compositePodGroupTemplates"][0]

    assert [] == errors
    assert {"gang": {"minGroupCount": 2}} == root["schedulingPolicy"]
    assert [{"gang": {"minCount": 1}}, want] == [each["schedulingPolicy"] for each in root["podGroupTemplates"]]


def test_what_is_disrupted_as_a_whole_has_only_such_parts(trainer):
    builder, errors = trainer.read(run(scheduling={"disruptionMode": {"all": {}}}))
    root = builder.build_workload()["spec"]["compositePodGroupTemplates"][0]

    assert [] == errors
    assert [{"all": {}}] * 3 == [each["disruptionMode"] for each in (root, *root["podGroupTemplates"])]


@pytest.mark.parametrize(("minimum", "want"), [(4, []), (5, ["spec.workers.scheduling.schedulingPolicy.gang.minCount"])])
def test_a_gang_has_at_most_as_many_members_as_there_are_workers(trainer, minimum, want):
    scheduling = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    _, errors = trainer.read(run(workers={"replicas": 4, "scheduling": scheduling}))

    assert want == [str(each.path) for each in errors]


def test_each_pod_is_in_the_group_of_its_role(trainer):
    builder, _ = trainer.read(run(driver={"resources": {"cpu": 1}}))
    groups = builder.groups()
    names = {each["spec"]["workloadRef"]["templateName"]: each["metadata"]["name"] for each in groups}
    pods = trainer.pods(run(driver={"resources": {"cpu": 1}}), groups)
    group_of = {each["metadata"]["name"]: each["spec"]["schedulingGroup"]["podGroupName"] for each in pods}

    assert {"llm-driver-0": names["driver"], **{f"llm-workers-{number}": names["workers"] for number in range(4)}} == group_of
    assert {"requests": {"cpu": 1}, "limits": {"cpu": 1}} == pods[0]["spec"]["containers"][0]["resources"]
