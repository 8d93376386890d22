"""Errors in the blocks of each item, at fields that the user wrote."""

from __future__ import annotations

import pytest

from kubeapi.field_path import FieldPath
from tests.workloadbuilder.trees import ALL, SINGLE, basic, builder, composite, config, error_lines, gang, intent, leaf
from workloadbuilder.workload_item import Block, DisruptionMode, PolicyKind, ResourceClaim, SchedulingConfig, UserIntent, WorkloadItem

AT = "spec.scheduling"


def errors(root: WorkloadItem, **options) -> list[str]:
    return error_lines(builder(root, **options).validate())


def user(wanted: SchedulingConfig, **more) -> WorkloadItem:
    """Return a leaf that is basic by default, with the user's block."""
    return leaf(default=config(basic()), intent=intent(wanted), **more)


@pytest.mark.parametrize(
    ("expected", "allowed", "want"),
    [
        pytest.param(config(gang(4)), {PolicyKind.GANG}, [], id="listed"),
        pytest.param(
            config(gang(4)),
            {PolicyKind.BASIC},
            [f"{AT}.schedulingPolicy: Forbidden: gang scheduling policy is not supported by this controller"],
            id="gang",
        ),
        pytest.param(
            config(basic()),
            {PolicyKind.GANG},
            [f"{AT}.schedulingPolicy: Forbidden: basic scheduling policy is not supported by this controller"],
            id="basic",
        ),
        pytest.param(
            config(basic()),
            set(),
            [f"{AT}.schedulingPolicy: Forbidden: basic scheduling policy is not supported by this controller"],
            id="nothing listed",
        ),
        pytest.param(
            config(), set(), ["spec.workers: Forbidden: basic scheduling policy is not supported by this controller"], id="a default"
        ),
    ],
)
def test_a_policy_that_is_not_listed_is_refused(expected, allowed, want):
    assert want == errors(user(expected), allowed_policies=frozenset(allowed))


@pytest.mark.parametrize(
    ("mode", "allowed", "want"),
    [
        pytest.param(SINGLE, {SINGLE}, [], id="listed"),
        pytest.param(
            SINGLE, {ALL}, [f"{AT}.disruptionMode: Forbidden: the disruptionMode `single` is not supported by this controller"], id="single"
        ),
        pytest.param(
            ALL, {SINGLE}, [f"{AT}.disruptionMode: Forbidden: the disruptionMode `all` is not supported by this controller"], id="all"
        ),
        pytest.param(
            ALL,
            set(),
            [f"{AT}.disruptionMode: Forbidden: the disruptionMode `all` is not supported by this controller"],
            id="nothing listed",
        ),
        pytest.param(None, set(), [], id="not given"),
    ],
)
def test_a_disruption_mode_that_is_not_listed_is_refused(mode, allowed, want):
    assert want == errors(user(config(gang(4), mode=mode)), allowed_disruption_modes=frozenset(allowed))


def test_no_policy_is_checked_against_no_list():
    assert errors(leaf(default=config()), allowed_policies=frozenset()) == []


@pytest.mark.parametrize(
    ("root", "want"),
    [
        pytest.param(user(config(basic(), mode=ALL)), f"{AT}.disruptionMode", id="both the user's"),
        pytest.param(user(config(mode=ALL)), f"{AT}.disruptionMode", id="the policy by default"),
        pytest.param(leaf(default=config(), intent=intent(config(mode=ALL))), f"{AT}.disruptionMode", id="no policy"),
        pytest.param(
            leaf(default=config(gang(4), mode=ALL), intent=intent(config(basic()))), f"{AT}.schedulingPolicy", id="the mode by default"
        ),
        pytest.param(leaf(default=config(basic(), mode=ALL)), "spec.workers", id="neither the user's"),
        pytest.param(
            composite("replica", leaf(default=config(gang(4), mode=ALL)), default=config(basic(), mode=ALL)),
            "spec.replica",
            id="a composite",
        ),
    ],
)
def test_all_is_not_for_a_basic_policy(root, want):
    assert [f'{want}: Invalid value: "all": the disruptionMode `all` is not supported with the Basic scheduling policy'] == errors(root)


@pytest.mark.parametrize(
    ("minimum", "want"),
    [
        pytest.param(1, [], id="the least"),
        pytest.param(0, [f"{AT}.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1"], id="none"),
        pytest.param(2**31 - 1, [], id="the most"),
        pytest.param(
            2**31,
            [
                f"{AT}.schedulingPolicy.gang.minCount: Invalid value: 2147483648: must be at most 2147483647: more does not fit into this field's type"
            ],
            id="more",
        ),
        pytest.param(
            None,
            [f"{AT}.schedulingPolicy.gang.minCount: Required value: gang scheduling requires minCount to be set after resolution"],
            id="left open",
        ),
    ],
)
def test_a_gang_has_a_minimum_of_at_least_one(minimum, want):
    assert want == errors(user(config(gang(minimum))))


def test_a_composite_gang_has_a_minimum_of_groups():
    root = composite("replica", leaf(), intent=intent(config(gang()), composite=True))

    assert errors(root) == [
        f"{AT}.schedulingPolicy.gang.minGroupCount: Required value: composite gang scheduling requires minGroupCount to be set after resolution"
    ]


def test_a_default_that_is_wrong_is_reported_at_the_item():
    assert ["spec.workers: Invalid value: 0: must be greater than or equal to 1"] == errors(leaf(default=config(gang(0))))


@pytest.mark.parametrize(
    ("keys", "want"),
    [
        pytest.param(("zone",), [], id="one"),
        pytest.param(("zone", "rack"), [f"{AT}.schedulingConstraints.topology: Too many: 2: must have at most 1 item"], id="two"),
        pytest.param(
            ("",), [f"{AT}.schedulingConstraints.topology[0].key: Required value: a topology constraint names a node label"], id="empty"
        ),
        pytest.param(
            ("/zone",),
            [f'{AT}.schedulingConstraints.topology[0].key: Invalid value: "/zone": prefix part must be non-empty'],
            id="no label key",
        ),
    ],
)
def test_topology_is_one_label_key_at_most(keys, want):
    assert want == errors(user(SchedulingConfig(topology=keys)))


def test_a_key_is_reported_under_the_name_that_the_user_gave_it():
    item = leaf(
        intent=UserIntent(config(None, ""), ((Block.TOPOLOGY, FieldPath("spec", "scheduling", "constraints")),), topology_field="level")
    )

    assert ["spec.scheduling.constraints.topology[0].level: Required value: a topology constraint names a node label"] == errors(item)


@pytest.mark.parametrize(
    ("claims", "want"),
    [
        pytest.param((ResourceClaim("a", "a"), ResourceClaim("b", None, "b")), [], id="each from one source"),
        pytest.param((ResourceClaim("a", "a", "a"),), ["[0]"], id="two sources"),
        pytest.param((ResourceClaim("a"),), ["[0]"], id="no source"),
        pytest.param((ResourceClaim("a", "a"), ResourceClaim("a", "b")), ["[1]"], id="a name twice"),
        pytest.param((ResourceClaim("", "a"),), ["[0].name"], id="no name"),
        pytest.param((ResourceClaim("A", "a"),), ["[0].name"], id="a name that is no label"),
        pytest.param((ResourceClaim("a", "A"),), ["[0].resourceClaimName"], id="a claim that is no subdomain"),
        pytest.param(tuple(ResourceClaim(f"a-{n}", "a") for n in range(4)), [], id="four"),
        pytest.param(tuple(ResourceClaim(f"a-{n}", "a") for n in range(5)), [""], id="five"),
    ],
)
def test_claims_are_four_at_most_each_of_its_own_name_from_one_source(claims, want):
    result = builder(user(config(claims=claims))).validate()

    assert [f"{AT}.resourceClaims{each}" for each in want] == [str(error.path) for error in result]
    by_default = builder(leaf(default=config(basic(), claims=claims))).validate()
    assert ["spec.workers"] * len(want) == [str(error.path) for error in by_default]


@pytest.mark.parametrize(
    ("parent", "child", "want"),
    [
        pytest.param(ALL, ALL, 0, id="all below all"),
        pytest.param(ALL, SINGLE, 1, id="single below all"),
        pytest.param(ALL, None, 1, id="none below all"),
        pytest.param(SINGLE, ALL, 0, id="all below single"),
        pytest.param(None, ALL, 0, id="all below none"),
    ],
)
def test_below_all_every_child_is_all(parent, child, want):
    item = leaf(default=config(), intent=intent(config(gang(4), mode=child)))
    root = composite("replica", item, default=config(gang(1), mode=parent))
    where = f"{AT}.disruptionMode" if child else "spec.workers"

    assert [
        f"{where}: Invalid value: \"single\": must be `all`, as the mode of its parent 'replica' is (a template without a mode counts as `single`)"
    ] * want == errors(root)


@pytest.mark.parametrize(
    ("level", "want"),
    [
        pytest.param(
            True,
            [f'{AT}.schedulingPolicy: Invalid value: leaf workload item "workers" sets composite building block: policy'],
            id="a composite's",
        ),
        pytest.param(False, [], id="a leaf's"),
        pytest.param(None, [], id="not said"),
    ],
)
def test_a_leaf_has_a_leafs_blocks(level, want):
    assert want == errors(leaf(intent=intent(config(gang(4)), composite=level)))


def test_a_composite_has_a_composites_blocks():
    wanted_value = SchedulingConfig(gang(1), ("zone",), SINGLE, (ResourceClaim("a", "a"),))
    root = composite("replica", leaf(), intent=intent(wanted_value, composite=False))

    texts = {
        "disruptionMode": "disruptionMode",
        "resourceClaims": "resourceClaims",
        "schedulingConstraints": "constraints",
        "schedulingPolicy": "policy",
    }
    assert errors(root) == [
        f'{AT}.{name}: Invalid value: composite workload item "replica" sets leaf building block: {status_text}'
        for name, status_text in texts.items()
    ]


def test_a_composite_has_no_claims_by_default_either():
    root = composite("replica", leaf(), default=config(basic(), claims=(ResourceClaim("a", "a"),)))

    assert ['spec.replica: Invalid value: composite workload item "replica" sets leaf building block: resourceClaims'] == errors(root)


@pytest.mark.parametrize(
    ("expected", "unread"),
    [
        pytest.param(config(gang()), Block.POLICY, id="no minimum because it could not be read"),
        pytest.param(config(mode=ALL), Block.POLICY, id="basic because the policy could not be read"),
    ],
)
def test_nothing_is_reported_of_what_follows_from_a_block_that_could_not_be_read(expected, unread):
    given = intent(expected)
    item = leaf(default=config(basic()), intent=UserIntent(given.config, given.paths, unread=(unread,)))

    assert errors(item) == []
    assert errors(leaf(default=config(basic()), intent=given)) != []


def test_a_child_whose_mode_could_not_be_read_is_not_said_to_be_single():
    item = leaf(default=config(gang(4)), intent=UserIntent(unread=(Block.DISRUPTION_MODE,)))

    assert errors(composite("replica", item, default=config(gang(1), mode=DisruptionMode.ALL))) == []
