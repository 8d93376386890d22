"""Groups with other values than their templates: these count in ``simulate`` and ``fit``, with a note; missing references are Invalid."""

from __future__ import annotations

import pytest

from tests.builders import SCHEDULING, manifest
from tests.muster.simulated import node, pod
from tests.muster.test_fit import fit, judged

pytestmark = pytest.mark.usefixtures("folder")

RACKS = [node("n1", rack="a"), node("n2", rack="b")]
GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}
BY_RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
REFERENCE = {"workloadName": "train", "templateName": "workers"}


def workload(**template):
    return manifest(f"{SCHEDULING}/v1beta1", "Workload", "train", {"podGroupTemplates": [{"name": "workers", **GANG, **template}]})


def nested(**template):
    """A Workload with the template below one for a composite."""
    below = {"name": "replica", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [{"name": "workers", **GANG, **template}]}
    return manifest(f"{SCHEDULING}/v1beta1", "Workload", "train", {"compositePodGroupTemplates": [below]})


def group(**spec):
    return manifest(f"{SCHEDULING}/v1beta1", "PodGroup", "w", {"workloadRef": REFERENCE, **GANG, **spec})


def composite(**spec):
    reference = {"workloadName": "train", "templateName": "replica"}
    return manifest(
        f"{SCHEDULING}/v1alpha3", "CompositePodGroup", "run", {"workloadRef": reference, "schedulingPolicy": {"basic": {}}, **spec}
    )


def members(count=2):
    return [pod(f"w-{number}", group="w") for number in range(count)]


@pytest.mark.parametrize(
    ("groups", "count", "fields"),
    [
        pytest.param([workload(**BY_RACK), group()], 2, ["spec.schedulingConstraints"], id="no constraint, of a template with one"),
        pytest.param([workload(), group(disruptionMode={"all": {}})], 2, ["spec.disruptionMode"], id="another disruption mode"),
        pytest.param(
            [workload(), group(schedulingPolicy={"basic": {}})], 1, ["spec.schedulingPolicy"], id="Basic, of a template with a gang"
        ),
        pytest.param([workload(), group(schedulingPolicy={"gang": {"minCount": 1}})], 1, ["spec.schedulingPolicy"], id="a smaller gang"),
        pytest.param(
            [nested(disruptionMode={"all": {}}), composite(), group(parentCompositePodGroupName="run")],
            2,
            ["spec.disruptionMode"],
            id="below a composite",
        ),
    ],
)
def test_the_values_of_the_group_count_with_a_note(groups, count, fields):
    status, answer = judged([*groups, *members(count)], RACKS)

    assert (status, answer["verdict"]) == (0, "fits")
    assert [(each["object"], each["reason"], each["causes"][0]["differingFields"]) for each in answer["notes"]] == [
        ("PodGroup default/w", "TemplateDiffers", fields)
    ]
    assert answer["problems"] == []


def test_the_constraint_of_the_group_decides_and_not_that_of_its_template():
    large = [pod(f"w-{number}", group="w", cpu="3") for number in range(2)]
    apart, _ = fit([workload(**BY_RACK), group(), *large], RACKS)
    together, text = fit([workload(), group(**BY_RACK), *large], RACKS)

    assert (apart, together) == (0, 1)
    assert "spec.schedulingConstraints is not as in template workers; the values of the group count" in " ".join(text.split())


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([workload(name="driver"), group()], id="a template"),
        pytest.param([nested(), group()], id="the parent"),
        pytest.param(
            [workload(), composite(workloadRef={**REFERENCE}), group(parentCompositePodGroupName="run")], id="a composite template"
        ),
    ],
)
def test_a_reference_to_what_does_not_exist_is_invalid(groups):
    status, answer = judged([*groups, *members()], RACKS)

    assert (status, answer["verdict"]) == (1, "does-not-fit")
    assert {each["status"] for each in answer["decisions"]} == {"Invalid"}


def test_groups_of_the_rest_of_the_cluster_have_no_note():
    other = {**group(disruptionMode={"all": {}}), "metadata": {"name": "other", "namespace": "default"}}
    _, answer = judged([workload(), group(), *members()], [*RACKS, other])

    assert "notes" not in answer
