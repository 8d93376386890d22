"""Constraints among the items of a tree."""

from __future__ import annotations

import pytest

from kubeapi.field_path import FieldPath
from tests.workloadbuilder.trees import builder, composite, error_lines, leaf
from workloadbuilder.workload_item import WorkloadItem


def errors(root: WorkloadItem) -> list[str]:
    return error_lines(builder(root).validate())


def listed(count: int, **more) -> tuple[WorkloadItem, ...]:
    """Return leaves of a list in the user's object."""
    return tuple(WorkloadItem(f"job-{number}", FieldPath("spec", "replicatedJobs", number), **more) for number in range(count))


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("a" * 63, [], id="63 bytes"),
        pytest.param("a" * 64, ["must be no more than 63 bytes"], id="64 bytes"),
        pytest.param("", ["workload item name cannot be empty"], id="empty"),
        pytest.param("a.b", ["must not contain dots"], id="a dot"),
        pytest.param("Driver", ["a lowercase RFC 1123 label"], id="a capital"),
    ],
)
def test_a_name_is_a_label(name, want):
    result = errors(WorkloadItem(name, FieldPath("spec", "jobs", 0), name_path=FieldPath("spec", "jobs", 0, "name")))

    assert len(want) == len(result)
    assert all(each.startswith("spec.jobs[0].name: ") and text in each for each, text in zip(result, want, strict=True))


@pytest.mark.parametrize(
    "root",
    [
        pytest.param(composite("root", leaf("twin"), leaf("twin")), id="siblings"),
        pytest.param(composite("root", composite("a", leaf("twin")), composite("twin", leaf("b"))), id="cousins"),
    ],
)
def test_names_are_unique_in_the_whole_tree(root):
    rule = 'duplicate workload item name "twin": template names must be unique across the Workload'
    assert [f'spec.twin: Duplicate value: "twin": {rule}; already used at spec.twin'] == errors(root)


def test_a_leaf_must_not_be_called_as_its_own_parent():
    assert [each.partition(":")[0] for each in errors(composite("a", leaf("a")))] == ["spec.a"]


@pytest.mark.parametrize(("count", "want"), [(8, []), (9, ["spec.replicatedJobs: Too many: 9: must have at most 8 items"])])
def test_eight_leaves_at_most_reported_at_the_users_list(count, want):
    assert want == errors(composite("root", *listed(count)))


@pytest.mark.parametrize(("count", "want"), [(8, []), (9, ["spec.root: Too many: 9: must have at most 8 items"])])
def test_eight_composites_at_most_reported_at_the_parent_where_there_is_no_list(count, want):
    assert want == errors(composite("root", *(composite(f"c-{number}", leaf(f"l-{number}")) for number in range(count))))


def test_eight_of_each_kind_are_not_too_many():
    composites = [composite(f"c-{number}", leaf(f"l-{number}")) for number in range(8)]

    assert errors(composite("root", *listed(8), *composites)) == []


@pytest.mark.parametrize(
    ("of_child", "of_root", "want"),
    [
        pytest.param({}, {}, 0, id="none"),
        pytest.param({"priority": 5}, {"priority": 5}, 0, id="the same number"),
        pytest.param({"priority": 0}, {}, 1, id="0 is not absent"),
        pytest.param({"priority_class_name": "high"}, {}, 1, id="a class of its own"),
        pytest.param({"priority_class_name": "high", "priority": 5}, {"priority_class_name": "high"}, 1, id="a number of its own"),
    ],
)
def test_priority_is_one_in_the_whole_tree(of_child, of_root, want):
    result = errors(composite("root", leaf("driver", **of_root), leaf(**of_child), **of_root))

    assert want == len(result)
    prefix = "spec.workers: Invalid value: all priority and priorityClassName values must be identical, detected multiple values: ("
    assert all(each.startswith(prefix) for each in result)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param({"priority": 10**9}, [], id="the highest"),
        pytest.param({"priority": 10**9 + 1}, ["1000000001: must be less than or equal to 1000000000"], id="higher"),
        pytest.param({"priority": -(2**31)}, [], id="the lowest"),
        pytest.param(
            {"priority": -(2**31) - 1}, ["-2147483649: must be at least -2147483648: less does not fit into this field's type"], id="lower"
        ),
        pytest.param(
            {"priority_class_name": "system-node-critical"},
            [
                '"system-node-critical": must be a class with a value of at most 1000000000: the API server refuses groups of the system\'s own classes'
            ],
            id="a system class",
        ),
    ],
)
def test_priority_is_one_that_a_user_may_have(changed, want):
    assert [f"spec.workers: Invalid value: {each}" for each in want] == errors(leaf(**changed))


def test_a_class_name_is_a_subdomain():
    assert ["spec.workers"] == [each.partition(":")[0] for each in errors(leaf(priority_class_name="High"))]


@pytest.mark.parametrize(("replicas", "want"), [(0, 0), (-1, 1)])
def test_replicas_are_not_negative(replicas, want):
    text = "spec.workers: Invalid value: -1: must be greater than or equal to 0: it is the number of groups of this item"

    assert [text] * want == errors(leaf(replicas=replicas))


@pytest.mark.parametrize(
    ("children", "want"),
    [
        pytest.param((leaf("a", replicas=2), leaf("a-1")), ["a-1"], id="the second of two"),
        pytest.param((leaf("a", replicas=2), leaf("a-2")), [], id="there is no third"),
        pytest.param((leaf("a"), leaf("a-1")), [], id="there is one, without a number"),
        pytest.param((leaf("a", replicas=2), leaf("a-01")), [], id="no number is written so"),
        pytest.param((leaf("a", replicas=2), leaf("a-x-1")), [], id="another name in between"),
        pytest.param((leaf("a", replicas=2), leaf("a-1", replicas=2)), [], id="both with a number"),
        pytest.param((composite("r", leaf("a", replicas=3), replicas=2), leaf("a-1-2")), ["a-1-2"], id="below one of several"),
        pytest.param(
            (composite("r", leaf("a", replicas=3), replicas=2), leaf("a-1", replicas=3)), ["a-1"], id="several of one, below several"
        ),
        pytest.param((composite("r", leaf("a", replicas=3), replicas=2), leaf("a-2", replicas=3)), [], id="there is no third above"),
    ],
)
def test_no_two_groups_have_the_same_name(children, want):
    root = composite("root", *children)
    result = errors(root)

    assert [f"spec.{each}" for each in want] == [each.partition(":")[0] for each in result]
    assert all("would have the same name as a group of" in each for each in result)
    if not want:
        names = [each["metadata"]["name"] for each in builder(root).groups()]
        assert len(set(names)) == len(names)


def test_a_name_of_very_many_digits_is_only_too_long():
    result = errors(composite("root", leaf("a", replicas=2), leaf("a-" + "1" * 5000)))

    assert ["must be no more than 63 bytes"] == [each[-len("must be no more than 63 bytes") :] for each in result]
