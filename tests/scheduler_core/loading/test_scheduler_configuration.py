"""KubeSchedulerConfiguration: profiles, defaults, validation, and what is not modelled."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.pods import TopologySpreadConstraint
from kubeapi.problem import Problem
from scheduler_core.loading.configuration import fields
from scheduler_core.loading.configuration.fields import POINTS
from scheduler_core.loading.configuration.plugin_sets import PLUGINS, WEIGHTS
from scheduler_core.loading.configuration.scheduler_configuration import SchedulerConfiguration, read_configuration
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile, ScoringStrategy
from scheduler_core.plugins import registry
from scheduler_core.wording.problem_words import problem_words
from tests.scheduler_core.worded_problems import worded

Json = dict[str, Any]


def configuration(*profiles: Json, **more: Any) -> Json:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [*profiles], **more}


def read(*profiles: Json, **more: Any) -> SchedulerConfiguration:
    return read_configuration(configuration(*profiles, **more))


def profile(plugins: Json | None = None, **args: Json) -> SchedulerProfile:
    """Return the only profile, which must be valid; *args* are the arguments of plugins by name."""
    listed = [{"name": name, "args": each} for name, each in args.items()]
    found = read({"plugins": plugins or {}, "pluginConfig": listed})
    assert not found.errors
    (only,) = (found.profiles.by_name or {}).values()
    return only


def errors(found: SchedulerConfiguration) -> list[str]:
    return [f"{each.path}: {each}" for each in found.errors]


def notes(found: SchedulerConfiguration) -> list[str]:
    return [problem_words(Problem(each)) for each in found.notes]


def names(*listed: str) -> list[Json]:
    return [{"name": each} for each in listed]


def test_without_profiles_there_is_that_of_the_default_scheduler():
    found = read_configuration({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"})

    assert found.profiles.by_name == {"default-scheduler": DEFAULT_PROFILE}
    assert not found.errors
    assert not found.notes
    assert found.profiles.schedules("default-scheduler")
    assert not found.profiles.schedules("volcano")


def test_a_single_profile_without_a_name_is_that_of_the_default_scheduler():
    assert list(read({}).profiles.by_name or {}) == ["default-scheduler"]
    assert errors(read({}, {"schedulerName": "a"})) == ["profiles[0].schedulerName: Required value"]


def test_default_plugins_are_those_that_are_modelled_with_their_weights():
    for plugin in registry.modelled():
        assert plugin.name in PLUGINS
        if plugin.weight:
            assert WEIGHTS.get(plugin.name, 1) == plugin.weight
    assert {point for points in PLUGINS.values() for point in points} <= set(POINTS)


@pytest.mark.parametrize(
    ("plugins", "weights"),
    [
        pytest.param({"multiPoint": {"enabled": [{"name": "TaintToleration"}]}}, {"TaintToleration": 1}, id="no weight counts as 1"),
        pytest.param({"score": {"enabled": [{"name": "ImageLocality", "weight": 7}]}}, {"ImageLocality": 7}, id="one score"),
        pytest.param({"score": {"disabled": names("ImageLocality")}}, {"ImageLocality": 0}, id="one score disabled"),
        pytest.param(
            {"score": {"enabled": [{"name": "NodeAffinity", "weight": 3}], "disabled": names("*")}},
            {name: 3 * (name == "NodeAffinity") for name, points in PLUGINS.items() if "score" in points},
            id="only one",
        ),
        pytest.param(
            {
                "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 9}, {"name": "ImageLocality", "weight": 4}]},
                "score": {"enabled": [{"name": "NodeAffinity", "weight": 5}]},
            },
            {"NodeAffinity": 5, "ImageLocality": 4},
            id="the set of the point comes before multiPoint",
        ),
    ],
)
def test_weights_of_scores(plugins, weights):
    assert dict(profile(plugins).weights) == weights


@pytest.mark.parametrize(
    ("plugins", "disabled"),
    [
        pytest.param({"filter": {"disabled": names("TaintToleration")}}, {"TaintToleration"}, id="at the point"),
        pytest.param({"multiPoint": {"disabled": names("VolumeZone", "NodePorts")}}, {"VolumeZone", "NodePorts"}, id="everywhere"),
        pytest.param(
            {"filter": {"enabled": names("NodePorts"), "disabled": names("*")}},
            {name for name, points in PLUGINS.items() if "filter" in points} - {"NodePorts", "NodeResourcesFit"},
            id="all but one",
        ),
        pytest.param(
            {"multiPoint": {"disabled": names("NodePorts")}, "filter": {"enabled": names("NodePorts")}}, set(), id="enabled at the point"
        ),
        pytest.param({"multiPoint": {"enabled": names("NodePorts"), "disabled": names("NodePorts")}}, set(), id="enabled again"),
    ],
)
def test_disabled_filters(plugins, disabled):
    assert profile(plugins).disabled == disabled


def test_placement_scores_and_preemption():
    found = profile({"placementScore": {"enabled": [{"name": "PodGroupPodsCount", "weight": 3}], "disabled": names("NodeResourcesFit")}})

    assert dict(found.placement_weights) == {"NodeResourcesFit": 0, "PodGroupPodsCount": 3}
    assert (found.preempts_pods, found.preempts_groups) == (True, True)
    assert not profile({"postFilter": {"disabled": names("DefaultPreemption")}}).preempts_pods
    assert not profile({"multiPoint": {"disabled": names("DefaultPreemption")}}).preempts_groups


def test_arguments_and_their_defaults():
    ratio = {"shape": [{"utilization": 0}, {"utilization": 100, "score": 10}]}
    constraint = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    expression = {"key": "pool", "operator": "In", "values": ["train"]}
    found = profile(
        NodeResourcesFit={
            "ignoredResources": ["example.com/fpga"],
            "ignoredResourceGroups": ["example.org"],
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "nvidia.com/gpu", "weight": 5}, {"name": "cpu", "weight": 0}],
                "requestedToCapacityRatio": ratio,
            },
        },
        NodeResourcesBalancedAllocation={"resources": [{"name": "cpu"}, {"name": "nvidia.com/gpu", "weight": 1}]},
        InterPodAffinity={"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": True},
        NodeAffinity={
            "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        },
        PodTopologySpread={"defaultingType": "List", "defaultConstraints": [constraint]},
    )

    assert found.strategy == ScoringStrategy("RequestedToCapacityRatio", (("nvidia.com/gpu", 5), ("cpu", 1)), ((0, 0), (100, 10)))
    assert found.balanced == ("cpu", "nvidia.com/gpu")
    assert (found.hard_pod_affinity_weight, found.ignores_preferred_terms) == (0, True)
    assert found.ignores("example.com/fpga")
    assert found.ignores("example.org/any")
    assert not found.ignores("example.com/any")
    assert found.added_affinity is not None
    assert found.default_constraints == (TopologySpreadConstraint(max_skew=2, topology_key="zone", when_unsatisfiable="ScheduleAnyway"),)
    timed = profile(VolumeBinding={"bindTimeoutSeconds": 0}, DynamicResources={"bindingTimeout": "1m30.5s", "filterTimeout": "0"})
    assert (timed.volume_seconds, timed.device_seconds) == (0, 90.5)
    assert (profile(VolumeBinding={}).volume_seconds, profile(DynamicResources={}).device_seconds) == (600, 600)
    assert profile(PodTopologySpread={"defaultingType": "List"}).default_constraints == ()
    assert profile(PodTopologySpread={}).default_constraints is None
    assert profile(NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated"}}).strategy == ScoringStrategy("MostAllocated")


FIT, ARGS = "profiles[0].pluginConfig[0].args.scoringStrategy", "profiles[0].pluginConfig[0].args"


def fit(**strategy: Any) -> Json:
    return {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}


def points(*listed: tuple[int, int]) -> Json:
    return {"shape": [{"utilization": use, "score": score} for use, score in listed]}


@pytest.mark.parametrize(
    ("config", "want"),
    [
        pytest.param(fit(type="Most"), f"{FIT}.type: Unsupported value", id="type"),
        pytest.param(fit(type="MostAllocated", resources=[{"name": "cpu", "weight": 101}]), f"{FIT}.resources[0].weight", id="weight"),
        pytest.param(fit(type="MostAllocated", requestedToCapacityRatio={}), f"{FIT}.requestedToCapacityRatio: Forbidden", id="no ratio"),
        pytest.param(fit(type="RequestedToCapacityRatio"), f"{FIT}.requestedToCapacityRatio: Required value", id="ratio"),
        pytest.param(
            fit(type="RequestedToCapacityRatio", requestedToCapacityRatio=points((50, 1), (50, 2))),
            f"{FIT}.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: values must be sorted in increasing order",
            id="order",
        ),
        pytest.param(
            fit(type="RequestedToCapacityRatio", requestedToCapacityRatio=points((0, 11))),
            f"{FIT}.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
            id="score",
        ),
        pytest.param({"name": "NodeResourcesFit", "args": {"ignoredResourceGroups": ["a/b"]}}, "group name can't contain '/'", id="group"),
        pytest.param({"name": "NodeResourcesFit", "args": {"kind": "Other"}}, f"{ARGS}.kind: Unsupported value", id="kind of arguments"),
        pytest.param(
            {"name": "NodeResourcesBalancedAllocation", "args": {"resources": [{"name": "cpu"}, {"name": "cpu", "weight": 2}]}},
            f'{ARGS}.resources[1].name: Duplicate value: "cpu"',
            id="twice",
        ),
        pytest.param({"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}, "not in valid range [0, 100]", id="affinity"),
        pytest.param(
            {"name": "PodTopologySpread", "args": {"defaultConstraints": [{"maxSkew": 0}]}},
            f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
            id="spread",
        ),
        pytest.param(
            {
                "name": "NodeAffinity",
                "args": {
                    "addedAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"preference": {"matchExpressions": [{"key": "a", "operator": "Like"}]}, "weight": 1}
                        ]
                    }
                },
            },
            f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]: Invalid value",
            id="added affinity",
        ),
        pytest.param(
            {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 101}}, "not in valid range [0, 100]", id="nodes"
        ),
        pytest.param({"name": "VolumeBinding", "args": {"bindTimeoutSeconds": -1}}, "should not be a negative value", id="volume timeout"),
        pytest.param(
            {"name": "DynamicResources", "args": {"bindingTimeout": "900ms"}},
            f'{ARGS}.bindingTimeout: Invalid value: "900ms": must be at least 1 second',
            id="binding timeout",
        ),
        pytest.param(
            {"name": "DynamicResources", "args": {"filterTimeout": "-1s"}},
            f'{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive',
            id="filter timeout",
        ),
        pytest.param(
            {"name": "DynamicResources", "args": {"filterTimeout": "10"}},
            f'{ARGS}.filterTimeout: Invalid value: "10": must be a duration, for example 30s or 1m30s',
            id="no duration",
        ),
    ],
)
def test_errors_of_arguments(config, want):
    (first, *_) = errors(read({"pluginConfig": [config]}))

    assert want in first
    assert errors(read({"pluginConfig": [config, config]}))[-1].startswith("profiles[0].pluginConfig[1]: Duplicate value")


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            configuration(percentageOfNodesToScore=101),
            ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
            id="share",
        ),
        pytest.param(
            configuration(parallelism=0), ["parallelism: Invalid value: 0: should be an integer value greater than zero"], id="threads"
        ),
        pytest.param(configuration(parallelism="a"), ['parallelism: Invalid value: "a": must be a whole number of 32 bits'], id="type"),
        pytest.param(configuration(threads=2), ["threads: Forbidden: unknown field"], id="unknown field"),
        pytest.param(
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "kind": "KubeSchedulerConfiguration"},
            ['apiVersion: Unsupported value: "kubescheduler.config.k8s.io/v1beta3": supported values: "kubescheduler.config.k8s.io/v1"'],
            id="version",
        ),
        pytest.param(
            configuration({"schedulerName": "a"}, {"schedulerName": "a"}),
            ['profiles[1].schedulerName: Duplicate value: "a"'],
            id="same name",
        ),
        pytest.param(
            configuration({"plugins": {"filter": {"enabled": names("ImageLocality")}}}),
            ['profiles[0].plugins.filter.enabled[0].name: Invalid value: "ImageLocality": the plugin does not extend filter'],
            id="point",
        ),
        pytest.param(
            configuration({"plugins": {"score": {"enabled": names("NodeAffinity", "NodeAffinity")}}}),
            ['profiles[0].plugins.score.enabled[1]: Duplicate value: "NodeAffinity": the plugin is already registered'],
            id="twice",
        ),
        pytest.param(
            configuration({"plugins": {"filter": {"enabled": names("EBSLimits")}}}),
            ['profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": the plugin was removed; NodeVolumeLimits replaces it'],
            id="removed",
        ),
        pytest.param(
            configuration({"plugins": {"bind": {"disabled": names("*")}}}),
            ["profiles[0].plugins.bind: Required value: at least one bind plugin is needed"],
            id="bind",
        ),
        pytest.param(
            configuration(
                {
                    "plugins": {
                        "multiPoint": {"disabled": names("DefaultPreemption")},
                        "podGroupPostFilter": {"enabled": names("DefaultPreemption")},
                    }
                }
            ),
            [
                (
                    'profiles[0].plugins.podGroupPostFilter.enabled: Invalid value: "DefaultPreemption": needs pluginConfig of '
                    "DefaultPreemption: it has no default arguments if it is enabled only here"
                )
            ],
            id="no default arguments",
        ),
        pytest.param(
            configuration(extenders=[{"urlPrefix": "http://a", "prioritizeVerb": "p"}]),
            ["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
            id="extender",
        ),
        pytest.param(
            configuration(podInitialBackoffSeconds=20),
            ["podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"],
            id="backoff",
        ),
    ],
)
def test_errors_of_the_configuration(given, want):
    assert errors(read_configuration(given)) == want


def test_what_is_not_modelled_is_a_note():
    found = read(
        {
            "plugins": {
                "permit": {"disabled": names("*")},
                "filter": {"disabled": names("NodeResourcesFit")},
                "multiPoint": {"enabled": names("Coscheduling")},
                "preScore": {"disabled": names("TaintToleration")},
            },
            "pluginConfig": [
                {"name": "Coscheduling", "args": {"anything": 1}},
                {"name": "DefaultPreemption", "args": {"minCandidateNodesAbsolute": 5}},
                {"name": "DynamicResources", "args": {"filterTimeout": "5s", "bindingTimeout": "5s"}},
                {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 5, "shape": [{"utilization": 0, "score": 1}]}},
            ],
        },
        extenders=[{"urlPrefix": "http://a"}],
    )

    assert not found.errors
    assert notes(found) == [
        "extenders: extenders are not called: not modelled",
        "profiles[0].plugins.multiPoint.enabled[0]: Coscheduling is not a default plugin of kube-scheduler 1.37 and is not modelled",
        "profiles[0].plugins.filter: NodeResourcesFit stays enabled at filter: a profile without it is not modelled",
        "profiles[0].plugins.preScore: TaintToleration stays enabled at preScore: a profile without it is not modelled",
        "profiles[0].plugins.permit: GangScheduling stays enabled at permit: a profile without it is not modelled",
        "profiles[0].pluginConfig[0]: arguments of Coscheduling are not modelled",
        "profiles[0].pluginConfig[1].args.minCandidateNodesAbsolute: all nodes are candidates of a preemption: a limit is not modelled",
        "profiles[0].pluginConfig[2].args.filterTimeout: the time to find devices for a pod on a node is not limited: not modelled",
        "profiles[0].pluginConfig[3].args.shape: nodes are not scored by storage capacity: not modelled",
    ]
    assert {each.object for each in worded(found.problems())} == {"KubeSchedulerConfiguration"}


def test_each_argument_of_a_plugin_is_used_or_reported():
    """Each field of ARGS with a value other than the default changes the profile, or is a note."""
    points = [{"utilization": 50, "score": 5}]
    expression = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    values: dict[str, Json] = {
        "minCandidateNodesPercentage": {"minCandidateNodesPercentage": 20},
        "minCandidateNodesAbsolute": {"minCandidateNodesAbsolute": 20},
        "filterTimeout": {"filterTimeout": "20s"},
        "bindingTimeout": {"bindingTimeout": "20s"},
        "hardPodAffinityWeight": {"hardPodAffinityWeight": 20},
        "ignorePreferredTermsOfExistingPods": {"ignorePreferredTermsOfExistingPods": True},
        "addedAffinity": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [expression]}}},
        "resources": {"resources": names("cpu")},
        "ignoredResources": {"ignoredResources": ["example.com/fpga"]},
        "ignoredResourceGroups": {"ignoredResourceGroups": ["example.com"]},
        "scoringStrategy": {"scoringStrategy": {"type": "MostAllocated"}},
        "defaultConstraints": {
            "defaultingType": "List",
            "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        },
        "defaultingType": {"defaultingType": "List"},
        "bindTimeoutSeconds": {"bindTimeoutSeconds": 20},
        "shape": {"shape": points},
    }
    for plugin, listed in fields.ARGS.items():
        for name in listed:
            found = read({"pluginConfig": [{"name": plugin, "args": values[name]}]})
            assert not found.errors
            (only,) = (found.profiles.by_name or {}).values()
            assert only != SchedulerProfile() or notes(found), f"{plugin}.{name}"


def scored(*own, nodes=None, **fields):
    """Return what is reported of the percentages of profiles with the percentage of each of *own*."""
    profiles = [{"schedulerName": f"s{number}", "percentageOfNodesToScore": each} for number, each in enumerate(own)]
    found = read_configuration(configuration(*profiles, **fields))
    assert not found.errors
    return [each.message for each in worded(found.problems(nodes))]


def test_a_percentage_is_reported_where_kube_scheduler_scores_a_part_of_the_nodes():
    assert [] == scored(50, nodes=100, percentageOfNodesToScore=5)
    assert [] == scored(100, None, nodes=5000, percentageOfNodesToScore=100)
    text = "every feasible node is scored; of {} nodes kube-scheduler scores {} feasible ones, which depend on timing; "
    text += "a domain of up to 100 nodes is scored whole"
    assert ["profiles[1].percentageOfNodesToScore: " + text.format(300, 150)] == scored(100, 50, nodes=300)
    # The percentage of a profile comes before the global one.
    assert [] == scored(100, nodes=300, percentageOfNodesToScore=50)
    assert ["percentageOfNodesToScore: " + text.format(101, 100)] == scored(100, None, nodes=101, percentageOfNodesToScore=0)
    assert ["profiles[0]", "profiles[1]"] == [each.partition(".")[0] for each in scored(1, 2)]
    assert [] == scored(None, nodes=5000)


@pytest.mark.parametrize(
    ("percentage", "nodes", "want"),
    # From numFeasibleNodesToFind of kube-scheduler 1.37.1, and its test.
    [
        (None, 10, 10),
        (None, 100, 100),
        (40, 100, 100),
        (None, 1000, 420),
        (40, 1000, 400),
        (0, 6000, 300),
        (40, 6000, 2400),
        (100, 6000, 6000),
    ],
)
def test_number_of_scored_nodes(percentage, nodes, want):
    assert want == SchedulerProfile(percentage_of_nodes=percentage).most_scored(nodes)


junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
WHOLE = configuration(
    {
        "schedulerName": "a",
        "plugins": {"multiPoint": {"enabled": [{"name": "NodePorts", "weight": 2}], "disabled": [{"name": "*"}]}},
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "ignoredResources": ["a"],
                    "scoringStrategy": {
                        "type": "MostAllocated",
                        "resources": [{"name": "cpu", "weight": 1}],
                        "requestedToCapacityRatio": {"shape": [{"utilization": 1}]},
                    },
                },
            },
            {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "a"}]}},
            {
                "name": "NodeAffinity",
                "args": {
                    "addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"preference": {"matchFields": [{"key": "a"}]}}]}
                },
            },
            {"name": "NodeResourcesBalancedAllocation", "args": {"resources": [{"name": "cpu"}]}},
        ],
    },
    extenders=[{"managedResources": [{"name": "a"}], "weight": 1, "prioritizeVerb": "p"}],
    leaderElection={"leaderElect": True, "resourceLock": "leases"},
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for key, child in inner for each in _paths(child, (*path, key)))]


@given(st.sampled_from(_paths(WHOLE)[1:]), junk)
def test_any_value_anywhere_is_read_or_is_an_error(path, value):
    given_ = copy.deepcopy(WHOLE)
    owner: Any = given_
    for part in path[:-1]:
        owner = owner[part]
    owner[path[-1]] = value
    found = read_configuration(given_)

    assert found == read_configuration(given_)
    assert all(str(each.path) or path[0] in ("apiVersion", "kind") for each in found.errors)
