"""Immutable fields of an existing Workload."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.trees import ALL, SINGLE, basic, builder, composite, config, error_lines, gang, intent, leaf
from workloadbuilder.workload_item import ResourceClaim, SchedulingConfig

AT = "spec.scheduling"
BEFORE = config(gang(4), "zone", mode=SINGLE, claims=(ResourceClaim("a", "a"),))


def changed(**blocks):
    return SchedulingConfig(
        **{
            "policy": BEFORE.policy,
            "topology": BEFORE.topology,
            "disruption_mode": SINGLE,
            "resource_claims": BEFORE.resource_claims,
            **blocks,
        }
    )


@pytest.mark.parametrize(
    ("after", "want"),
    [
        pytest.param(changed(), [], id="nothing"),
        pytest.param(changed(policy=gang(5)), [], id="the minimum"),
        pytest.param(
            changed(policy=basic()),
            [f"{AT}.schedulingPolicy: Invalid value: the basic/gang policy variant is immutable after creation"],
            id="kind",
        ),
        pytest.param(changed(topology=("rack",)), [f"{AT}.schedulingConstraints: Invalid value: field is immutable"], id="another level"),
        pytest.param(changed(topology=None), ["spec.workers: Invalid value: field is immutable"], id="no level any more"),
        pytest.param(changed(disruption_mode=ALL), [f"{AT}.disruptionMode: Invalid value: field is immutable"], id="another mode"),
        pytest.param(
            changed(resource_claims=(ResourceClaim("a", "b"),)),
            [f"{AT}.resourceClaims: Invalid value: field is immutable"],
            id="another claim",
        ),
    ],
)
def test_all_but_the_minimum_stays(after, want):
    old = leaf(default=config(), intent=intent(BEFORE))

    assert want == error_lines(builder(leaf(default=config(), intent=intent(after))).validate(old))


def test_priority_stays():
    (error,) = error_lines(builder(leaf(priority=5)).validate(leaf(priority=4)))

    assert error.startswith("spec.workers: Invalid value: field is immutable: priority")


def test_items_are_neither_added_nor_removed_nor_moved():
    old = composite("root", leaf("a"), composite("b", leaf("c"), leaf("e")))
    new = composite("root", leaf("d"), composite("b", leaf("a"), leaf("e")))

    assert error_lines(builder(new).validate(old)) == [
        "spec.a: Forbidden: item may not be added: the existing Workload has no template 'a' here",
        "spec.b: Forbidden: item may not be removed: the existing Workload has a template 'c' here",
        "spec.d: Forbidden: item may not be added: the existing Workload has no template 'd' here",
        "spec.root: Forbidden: item may not be removed: the existing Workload has a template 'a' here",
    ]


def test_order_is_free():
    assert builder(composite("root", leaf("a"), leaf("b"))).validate(composite("root", leaf("b"), leaf("a"))) == ()


def test_a_tree_of_another_name_is_another_tree():
    errors = builder(leaf("b")).validate(leaf("a"))

    assert ['spec.b: Invalid value: old root name "a" does not match new root name "b"'] == error_lines(errors)


def test_nothing_is_compared_with_a_tree_that_cannot_be_walked():
    assert builder(leaf()).validate(3) == ()
