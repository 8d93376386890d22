"""Resolution: defaults, then the user's blocks, then callbacks; invalid trees and callbacks."""

from __future__ import annotations

import dataclasses

import pytest

from kubeapi.field_path import FieldPath
from tests.workloadbuilder.trees import ALL, SINGLE, basic, composite, config, error_lines, gang, intent, leaf
from workloadbuilder.resolve import Source, resolve
from workloadbuilder.workload_item import Block, ResourceClaim, SchedulingConfig, UserIntent, WorkloadItem

FABRIC = ResourceClaim("fabric", "fabric")
DISK = ResourceClaim("disk", "disk")


def one(item: WorkloadItem):
    resolution = resolve(item)

    assert resolution.errors == ()
    assert resolution.root is not None
    return resolution.root


@pytest.mark.parametrize(
    ("default", "expected", "want"),
    [
        pytest.param(config(basic()), config(gang(4)), config(gang(4)), id="a policy of the user's wins"),
        pytest.param(config(gang(4)), config(gang()), config(gang()), id="it replaces the default whole, minimum included"),
        pytest.param(config(basic(), "zone"), config(gang(4)), config(gang(4), "zone"), id="other blocks keep their defaults"),
        pytest.param(
            config(basic()), config(None, "zone", mode=SINGLE), config(basic(), "zone", mode=SINGLE), id="blocks are merged one by one"
        ),
        pytest.param(
            config(None, "zone"), SchedulingConfig(topology=()), config(None, "zone"), id="an empty list is one that was not given"
        ),
        pytest.param(config(claims=(FABRIC,)), config(claims=(DISK,)), config(claims=(DISK,)), id="claims are replaced, not added"),
        pytest.param(config(claims=(FABRIC,)), config(claims=()), config(claims=(FABRIC,)), id="no claims leave the default"),
        pytest.param(SchedulingConfig(topology=()), config(), config(), id="an empty default is none"),
    ],
)
def test_the_users_blocks_go_over_the_defaults(default, expected, want):
    assert want == one(leaf(default=default, intent=intent(expected))).config


def test_callbacks_are_called_in_order_after_the_merge_with_the_item():
    seen = []

    def first(item, resolved):
        seen.append((item.name, resolved.policy))
        return dataclasses.replace(resolved, policy=gang(2))

    def second(_item, resolved):
        seen.append(resolved.policy)
        return dataclasses.replace(resolved, policy=gang(resolved.policy.minimum * 21))

    got = one(leaf(default=config(basic()), intent=intent(config(gang())), callbacks=(first, second)))

    assert [("workers", gang()), gang(2)] == seen
    assert config(gang(42)) == got.config


def test_who_decided_about_a_block_is_known():
    def drop_the_mode(_item, resolved):
        return dataclasses.replace(resolved, disruption_mode=None, resource_claims=(DISK,))

    got = one(leaf(default=config(basic(), mode=ALL), intent=intent(config(None, "zone")), callbacks=(drop_the_mode,)))

    want = {
        Block.POLICY: Source.DEFAULT,
        Block.TOPOLOGY: Source.USER,
        Block.DISRUPTION_MODE: Source.CALLBACK,
        Block.RESOURCE_CLAIMS: Source.CALLBACK,
    }
    assert want == dict(got.sources)
    assert Source.USER is got.source(Block.TOPOLOGY)
    assert one(leaf()).source(Block.TOPOLOGY) is None


def test_a_callback_that_changes_nothing_decides_nothing():
    got = one(leaf(callbacks=(lambda _, resolved: dataclasses.replace(resolved),)))

    assert ((Block.POLICY, Source.DEFAULT),) == got.sources


def test_place_of_a_block_is_where_the_user_wrote_it_else_that_of_the_item():
    got = one(leaf(intent=intent(config(None, "zone"))))

    assert FieldPath("spec", "scheduling", "schedulingConstraints") == got.error_path(Block.TOPOLOGY)
    assert FieldPath("spec", "workers") == got.error_path(Block.POLICY)
    assert got.user_path(Block.POLICY) is None


def test_tree_keeps_its_shape_and_is_walked_parents_first():
    got = one(composite("root", composite("b", leaf("c")), leaf("a")))

    assert ["root", "b", "c", "a"] == [each.item.name for each in got.walk()]
    assert [True, True, False, False] == [each.composite for each in got.walk()]


def _raises(_item, _config):
    raise KeyError("parallelism")


def _endless(item, resolved):
    return _endless(item, resolved)


class Odd:
    def __call__(self, _item, _config):
        return {"policy": "gang"}


def _with(**changed):
    return lambda _item, resolved: dataclasses.replace(resolved, **changed)


@pytest.mark.parametrize(
    ("callback", "want"),
    [
        pytest.param(_raises, "callback _raises of workload item 'workers' raised KeyError: 'parallelism'", id="raises"),
        pytest.param(
            _endless,
            "callback _endless of workload item 'workers' raised RecursionError: maximum recursion depth exceeded",
            id="recurs without end",
        ),
        pytest.param(
            Odd(),
            "callback Odd of workload item 'workers' must return a configuration: it must be a SchedulingConfig, not a dict",
            id="answers with something else",
        ),
        pytest.param(
            lambda _item, _config: None, "must return a configuration: it must be a SchedulingConfig, not None", id="forgets to answer"
        ),
        pytest.param(lambda item, _config: item, "it must be a SchedulingConfig, not a WorkloadItem", id="answers with the item"),
        pytest.param(
            _with(policy=gang("4")), "the minimum of a policy must be a whole number or None, not '4'", id="a minimum that is text"
        ),
        pytest.param(_with(policy="gang"), "policy must be a SchedulingPolicy of a PolicyKind or None", id="a policy that is text"),
        pytest.param(_with(topology=["zone"]), "topology must be a tuple of node label keys or None", id="a list"),
        pytest.param(_with(disruption_mode="all"), "disruption_mode must be a DisruptionMode or None", id="a mode that is text"),
        pytest.param(
            _with(resource_claims=("fabric",)), "resource_claims must be a tuple of ResourceClaim or None", id="a claim that is text"
        ),
        pytest.param(
            _with(resource_claims=(ResourceClaim(3),)), "the names of a ResourceClaim must be strings", id="a claim with a number"
        ),
        pytest.param(
            lambda _item, resolved: dataclasses.replace(resolved, policy=dataclasses.replace(basic(), minimum=3)),
            "a basic policy has no minimum",
            id="a minimum for a basic policy",
        ),
        pytest.param(lambda: None, "raised TypeError: ", id="takes no arguments"),
        pytest.param(3, "callback int of workload item 'workers' raised TypeError: 'int' object is not callable", id="no function"),
    ],
)
def test_a_callback_that_fails_is_reported_at_the_item(callback, want):
    resolution = resolve(composite("root", leaf("driver"), leaf("workers", callbacks=(callback, _with(policy=basic())))))

    (error,) = resolution.errors
    assert "spec.workers" == str(error.path)
    assert want in str(error)


def test_a_callback_cannot_change_the_shape_of_the_tree():
    def cut(item, resolved):
        item.children.clear()
        return resolved

    def force(item, resolved):
        object.__setattr__(item, "children", ())
        return resolved

    told_at_first = error_lines(resolve(composite("root", leaf(), callbacks=(force,))).errors)
    root = composite("root")
    object.__setattr__(root, "children", [leaf()])
    object.__setattr__(root, "callbacks", (cut,))

    want = ["spec.root: Invalid value: a callback changed the children of workload item 'root': it must not change the tree"]
    assert want == told_at_first
    assert want == error_lines(resolve(root).errors)


def test_callbacks_below_one_that_fails_still_run():
    resolution = resolve(composite("root", leaf("a", callbacks=(_raises,)), leaf("b", callbacks=(_raises,)), callbacks=(_raises,)))

    assert ["spec.a", "spec.b", "spec.root"] == [str(error.path) for error in resolution.errors]


def test_items_that_run_in_a_circle_are_reported_once():
    inner = composite("inner")
    root = composite("root", leaf(), inner)
    object.__setattr__(inner, "children", (root,))

    assert ["spec.root: Invalid value: workload item 'root' must not be below itself: the children form a cycle"] == error_lines(
        resolve(root).errors
    )


def test_an_item_that_is_in_the_tree_twice_is_reported():
    shared = leaf("shared")

    resolution = resolve(composite("root", composite("a", shared), composite("b", shared)))

    assert ["spec.shared: Invalid value: workload item 'shared' must be in the tree only once"] == error_lines(resolution.errors)


def test_a_tree_that_shares_all_its_items_ends():
    item = leaf("bottom")
    for level in range(40):
        item = composite(f"level-{level}", item, item)

    assert resolve(item).errors


@pytest.mark.parametrize(("levels", "errors"), [(4, []), (5, ["spec.level-3"])], ids=["four levels", "five"])
def test_tree_has_four_levels_at_most(levels, errors):
    item = leaf(f"level-{levels - 1}")
    for level in reversed(range(levels - 1)):
        item = composite(f"level-{level}", item)

    resolution = resolve(item)

    assert errors == [str(error.path) for error in resolution.errors]
    assert all(
        "maximum template hierarchy depth is 4: workload item 'level-3' is on level 4 and has children" in str(e) for e in resolution.errors
    )


@pytest.mark.parametrize(
    ("child", "want"),
    [
        pytest.param(None, "workload item cannot be nil", id="None"),
        pytest.param("workers", "must be a WorkloadItem, not a str", id="text"),
        pytest.param(WorkloadItem(3), "name of workload item 3 must not be a int", id="a name that is a number"),
        pytest.param(WorkloadItem("a", path="spec"), "path of workload item 'a' must not be a str", id="a path that is text"),
        pytest.param(WorkloadItem("a", replicas=True), "replicas of workload item 'a' must not be a bool", id="replicas that are true"),
        pytest.param(WorkloadItem("a", children={}), "children of workload item 'a' must not be a dict", id="children in a mapping"),
        pytest.param(WorkloadItem("a", intent=None), "intent of workload item 'a' must not be a NoneType", id="no intent"),
        pytest.param(
            WorkloadItem("a", intent=UserIntent(paths=((Block.POLICY, ("spec",)),))),
            "the paths in the intent of workload item 'a' must be FieldPaths",
            id="a place that is no path",
        ),
    ],
)
def test_what_is_no_item_is_reported_at_its_parent(child, want):
    assert [f"spec.root: Invalid value: {want}"] == error_lines(resolve(composite("root", leaf(), child)).errors)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        ({"default": None}, "the default of workload item 'workers' is no configuration: it must be a SchedulingConfig, not None"),
        ({"intent": UserIntent(3)}, "the intent of workload item 'workers' is no configuration: it must be a SchedulingConfig, not a int"),
    ],
    ids=["default", "intent"],
)
def test_what_is_no_configuration_is_reported(changed, want):
    item = dataclasses.replace(leaf(), **changed)

    assert [f"spec.workers: Invalid value: {want}"] == error_lines(resolve(item).errors)
