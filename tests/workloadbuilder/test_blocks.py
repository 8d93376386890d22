"""Conversion of a user's scheduling blocks to the library's form."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloadbuilder.trees import ALL, SCHEDULING, SINGLE, basic, config, error_lines, gang
from workloadbuilder.blocks import IntentReading, map_composite_group_config, map_pod_group_config, read_intent
from workloadbuilder.errors import BlockError
from workloadbuilder.workload_item import Block, ResourceClaim, SchedulingConfig, UserIntent

ZONE = "topology.kubernetes.io/zone"


def read(scheduling, *, composite=False, also=()):
    return read_intent(scheduling, path=SCHEDULING, composite=composite, also=also)


def test_leaf_blocks_are_mapped():
    got = map_pod_group_config(
        {"gang": {"minCount": 4}},
        {"topology": [{"key": ZONE}]},
        {"all": {}},
        [{"name": "fabric", "resourceClaimTemplateName": "fabric"}, {"name": "disk", "resourceClaimName": "disk-0"}],
    )

    claims = (ResourceClaim("fabric", None, "fabric"), ResourceClaim("disk", "disk-0"))
    assert config(gang(4), ZONE, mode=ALL, claims=claims) == got


def test_composite_blocks_are_mapped():
    got = map_composite_group_config({"gang": {"minGroupCount": 2}}, {"topology": [{"key": ZONE}]}, {"single": {}})

    assert config(gang(2), ZONE, mode=SINGLE) == got


@pytest.mark.parametrize("mapped", [map_pod_group_config, map_composite_group_config])
def test_blocks_that_are_not_given_stay_open(mapped):
    assert SchedulingConfig() == mapped()
    assert config(basic()) == mapped({"basic": {}})
    assert config(gang()) == mapped({"gang": {}})
    assert SchedulingConfig(topology=()) == mapped(constraints={})


@pytest.mark.parametrize(
    ("mapped", "blocks", "want"),
    [
        pytest.param(map_pod_group_config, {"policy": 3}, "schedulingPolicy: Invalid value: 3: must be a mapping", id="no mapping"),
        pytest.param(
            map_pod_group_config,
            {"policy": {}},
            'schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
            id="empty union",
        ),
        pytest.param(
            map_composite_group_config,
            {"policy": {"gang": {"minCount": 2}}},
            "schedulingPolicy.gang.minCount: Invalid value: unknown field 'minCount'; did you mean 'minGroupCount'?",
            id="a leaf's policy in a composite",
        ),
        pytest.param(
            map_pod_group_config,
            {"policy": {"gang": {"minGroupCount": 2}}},
            "schedulingPolicy.gang.minGroupCount: Invalid value: unknown field 'minGroupCount'; did you mean 'minCount'?",
            id="a composite's policy in a leaf",
        ),
        pytest.param(
            map_pod_group_config,
            {"resource_claims": {}},
            'resourceClaims: Invalid value: "{…}": must be a list',
            id="claims that are no list",
        ),
    ],
)
def test_blocks_that_are_none_are_refused(mapped, blocks, want):
    with pytest.raises(BlockError) as caught:
        mapped(**blocks)

    assert [want] == error_lines(caught.value.errors)
    assert want == str(caught.value)


def test_all_that_is_wrong_is_reported_at_once_in_order_of_path():
    with pytest.raises(BlockError) as caught:
        map_pod_group_config(3, 4, 5, 6)

    assert ["disruptionMode", "resourceClaims", "schedulingConstraints", "schedulingPolicy"] == [
        str(error.path) for error in caught.value.errors
    ]


def test_the_names_of_kubernetes_1_37_are_read():
    got = read(
        {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
            "disruptionMode": {"all": {}},
            "resourceClaims": [{"name": "fabric", "resourceClaimName": "fabric"}],
        }
    )

    want = UserIntent(
        config(gang(4), ZONE, mode=ALL, claims=(ResourceClaim("fabric", "fabric"),)),
        (
            (Block.POLICY, SCHEDULING / "schedulingPolicy"),
            (Block.TOPOLOGY, SCHEDULING / "schedulingConstraints"),
            (Block.DISRUPTION_MODE, SCHEDULING / "disruptionMode"),
            (Block.RESOURCE_CLAIMS, SCHEDULING / "resourceClaims"),
        ),
        composite=False,
    )
    assert IntentReading(want) == got


def test_the_names_of_the_keps_examples_are_read_with_warnings():
    got = read({"policy": {"gang": {}}, "constraints": {"topology": [{"level": ZONE}]}, "disruption": {"all": {}}})

    assert config(gang(), ZONE, mode=ALL) == got.intent.config
    assert [(Block.POLICY, SCHEDULING / "policy"), (Block.TOPOLOGY, SCHEDULING / "constraints")] == list(got.intent.paths[:2])
    assert "level" == got.intent.topology_field
    assert () == got.errors
    assert error_lines(got.warnings) == [
        'spec.scheduling.constraints: Invalid value: "constraints": this is the name in KEP-6089\'s examples; in Kubernetes 1.37 it is schedulingConstraints',
        'spec.scheduling.constraints.topology[0].level: Invalid value: "level": this is the name in KEP-6089\'s examples; in Kubernetes 1.37 it is key',
        'spec.scheduling.disruption: Invalid value: "disruption": this is the name in KEP-6089\'s examples; in Kubernetes 1.37 it is disruptionMode',
        'spec.scheduling.policy: Invalid value: "policy": this is the name in KEP-6089\'s examples; in Kubernetes 1.37 it is schedulingPolicy',
    ]


@pytest.mark.parametrize(
    ("scheduling", "want", "unread"),
    [
        pytest.param(
            {"policy": {"basic": {}}, "schedulingPolicy": {"basic": {}}},
            ["spec.scheduling.policy: Invalid value: must be absent: it is a former name of schedulingPolicy, which is set"],
            (Block.POLICY,),
            id="both names of a block",
        ),
        pytest.param(
            {"schedulingConstraints": {"topology": [{"key": "zone", "level": "zone"}]}},
            [
                "spec.scheduling.schedulingConstraints.topology[0].level: Invalid value: must be absent: it is a former name of key, which is set"
            ],
            (Block.TOPOLOGY,),
            id="both names of a key",
        ),
        pytest.param(
            {"schedulingPolice": {"basic": {}}},
            ["spec.scheduling.schedulingPolice: Invalid value: unknown field 'schedulingPolice'; did you mean 'schedulingPolicy'?"],
            (),
            id="a block misspelt",
        ),
        pytest.param(
            {"queue": "research"}, ["spec.scheduling.queue: Invalid value: unknown field 'queue'"], (), id="a field like none that is known"
        ),
        pytest.param(
            {"schedulingPolicy": {"gangs": {}}},
            ["spec.scheduling.schedulingPolicy.gangs: Invalid value: unknown field 'gangs'; did you mean 'gang'?"],
            (Block.POLICY,),
            id="a member misspelt is told once",
        ),
        pytest.param(
            {"schedulingPolicy": {"basic": {}, "gang": {}}},
            ['spec.scheduling.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`'],
            (Block.POLICY,),
            id="both members",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": None}},
            ['spec.scheduling.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
            (Block.POLICY,),
            id="a member that is null",
        ),
        pytest.param(
            {"schedulingPolicy": {"basic": {"minCount": 2}}},
            ["spec.scheduling.schedulingPolicy.basic.minCount: Invalid value: unknown field 'minCount'"],
            (Block.POLICY,),
            id="something in basic",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {"minCount": "4"}}},
            ['spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: "4": must be an integer'],
            (Block.POLICY,),
            id="a count that is text",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {"minCount": True}}},
            ["spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: true: must be an integer"],
            (Block.POLICY,),
            id="a count that is true",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {"minCount": 1.5}}},
            ["spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 1.5: must be an integer"],
            (Block.POLICY,),
            id="half a pod",
        ),
        pytest.param(
            {"schedulingConstraints": {"topology": ["zone", {"key": 3}]}},
            [
                'spec.scheduling.schedulingConstraints.topology[0]: Invalid value: "zone": must be a mapping',
                "spec.scheduling.schedulingConstraints.topology[1].key: Invalid value: 3: must be a string",
            ],
            (Block.TOPOLOGY,),
            id="constraints of wrong types",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "a", "resourceClaim": "b"}]},
            [
                "spec.scheduling.resourceClaims[0].resourceClaim: Invalid value: unknown field 'resourceClaim'; did you mean 'resourceClaimName'?"
            ],
            (Block.RESOURCE_CLAIMS,),
            id="a claim's field misspelt",
        ),
        pytest.param([], ['spec.scheduling: Invalid value: "[…]": must be a mapping'], (), id="a list"),
    ],
)
def test_what_is_wrong_is_reported_where_the_user_wrote_it(scheduling, want, unread):
    got = read(scheduling)

    assert want == error_lines(got.errors)
    assert unread == got.intent.unread


def test_a_block_that_is_null_is_not_given():
    got = read({"policy": None, "schedulingPolicy": {"basic": {}}, "disruptionMode": None})

    assert IntentReading(UserIntent(config(basic()), ((Block.POLICY, SCHEDULING / "schedulingPolicy"),), composite=False)) == got


@pytest.mark.parametrize("composite", [True, False])
def test_no_scheduling_object_is_an_intent_that_says_nothing(composite):
    assert IntentReading(UserIntent(composite=composite)) == read(None, composite=composite)
    assert IntentReading(UserIntent(composite=composite)) == read({}, composite=composite)


def test_a_whole_number_stays_one_however_it_is_written():
    assert gang(3) == read({"schedulingPolicy": {"gang": {"minCount": 3.0}}}).intent.config.policy


def test_claims_on_a_composite_are_refused():
    got = read({"resourceClaims": []}, composite=True)

    assert [
        "spec.scheduling.resourceClaims: Invalid value: must be absent: only a group of pods has resource claims, not a group of groups"
    ] == error_lines(got.errors)


def test_fields_that_the_caller_reads_itself_are_passed_over():
    got = read({"schedulingPolicy": {"basic": {}}, "replicatedJobPolicies": [], "replicatedJobPolicy": 1}, also={"replicatedJobPolicies"})

    assert error_lines(got.errors) == [
        "spec.scheduling.replicatedJobPolicy: Invalid value: unknown field 'replicatedJobPolicy'; did you mean 'replicatedJobPolicies'?"
    ]


def test_errors_come_in_one_order_whatever_the_order_of_the_fields():
    scheduling = {"disruption": 1, "policy": 2, "x": 3, "constraints": {"topology": [{"keys": 1}] * 11}}

    one, other = read(scheduling), read(dict(reversed(scheduling.items())))

    assert one == other
    assert [f"spec.scheduling.constraints.topology[{place}].keys" for place in range(11)] == [str(error.path) for error in one.errors[:11]]


WORDS = st.sampled_from(
    [
        *("schedulingPolicy", "policy", "schedulingConstraints", "constraints", "disruptionMode", "disruption", "resourceClaims"),
        *("basic", "gang", "minCount", "minGroupCount", "topology", "key", "level", "single", "all", "name", "resourceClaimName", ""),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_never_raises_whatever_json_it_is(scheduling, composite):
    got = read(scheduling, composite=composite)

    assert got.intent.composite is composite
    assert len(error_lines(got.errors)) == len(got.errors)
    json.dumps(error_lines(got.warnings))


@given(JSON, JSON, JSON, JSON)
def test_mapping_raises_nothing_but_what_it_says(policy, constraints, mode, claims):
    with contextlib.suppress(BlockError):
        assert isinstance(map_pod_group_config(policy, constraints, mode, claims), SchedulingConfig)
