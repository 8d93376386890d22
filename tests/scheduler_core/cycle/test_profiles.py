"""Cycles with a KubeSchedulerConfiguration among the objects: each pod is placed by the profile of its scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.model.status import Status
from tests.scheduler_core.builders import GPU, HOST, Json, composite, leaf, node, placed, pod, pods, racks, reasons_of, run, taint
from tests.scheduler_core.worded_problems import worded

STRATEGIES = pytest.mark.parametrize("strategy", ["greedy", "complete"])
MOST = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 3}, {"name": "cpu"}]}}


def profile(name: str = "default-scheduler", plugins: Json | None = None, **args: Json) -> Json:
    return {"schedulerName": name, "plugins": plugins or {}, "pluginConfig": [{"name": key, "args": each} for key, each in args.items()]}


def configured(*profiles: Json) -> Json:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [*profiles]}


def assigned(objects: list[Json], **options: Any) -> dict[str, str]:
    return {key: where for decision in run(objects, **options).decisions for key, where in placed(decision).items()}


NODES = [node("n1", gpu="8"), node("n2", gpu="8"), pod("old", cpu="1", gpu="2", on="n2")]


@STRATEGIES
def test_the_profile_of_a_pod_is_that_of_its_scheduler(strategy):
    objects = [*NODES, pod("a", gpu="1"), pod("b", gpu="1", schedulerName="packing"), pod("c", schedulerName="other")]
    packing = configured(profile(), profile("packing", NodeResourcesFit=MOST))

    # The pod a goes where least is allocated, b where most is.  No profile is for c.
    assert assigned([*objects, packing], strategy=strategy) == {"a": "n1", "b": "n2"}
    assert assigned(objects, strategy=strategy) == {"a": "n1", "b": "n1", "c": "n2"}


@STRATEGIES
@pytest.mark.parametrize("shapes", [("1",) * 8, ("1", "2") * 4], ids=["equal", "by turns"])
def test_a_gang_is_packed(strategy, shapes):
    members = [pod(f"g-{number}", "g", cpu="100m", gpu=gpus) for number, gpus in enumerate(shapes)]
    objects = [*NODES, node("n3", gpu="8"), leaf("g", len(members)), *members, configured(profile(NodeResourcesFit=MOST))]
    nodes = list(assigned(objects, strategy=strategy).values())

    # A node that is begun is filled first.
    assert nodes == sorted(nodes, key=lambda name: (name != "n2", name))
    assert len({*nodes}) == 2


def test_the_placement_of_a_tree_is_scored_by_the_resources_of_the_strategy():
    nodes = racks({"r1": 2, "r2": 2}, gpu="8")
    busy = [pod("cpu", cpu="3", on="r1-0"), pod("gpu", cpu="100m", gpu="4", on="r2-0")]
    objects = [*nodes, *busy, composite("c", 1, "rack"), leaf("g", 2, parent="c"), *pods("g", 2, "100m", gpu="1")]

    assert {each[:2] for each in assigned(objects).values()} == {"r1"}
    assert {each[:2] for each in assigned([*objects, configured(profile(NodeResourcesFit=MOST))]).values()} == {"r2"}


def test_added_affinity_is_required_of_every_node_and_preferred():
    def affinity(kind: str) -> Json:
        expression = {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n2"]}]}
        term: Any = {"nodeSelectorTerms": [expression]} if kind == "required" else [{"weight": 5, "preference": expression}]
        return {"addedAffinity": {f"{kind}DuringSchedulingIgnoredDuringExecution": term}}

    objects = [*NODES, pod("a"), pod("b", cpu="4")]
    result = run([*objects, configured(profile(NodeAffinity=affinity("required")))])

    assert placed(result.decisions[0]) == {"a": "n2"}
    assert "1 node(s) didn't match scheduler-enforced node affinity" in reasons_of(result.decisions[1])["default/b"]
    assert assigned([*objects[:-1], configured(profile(NodeAffinity=affinity("preferred")))]) == {"a": "n2"}


@STRATEGIES
def test_ignored_resources_are_not_checked_but_count_for_other_profiles(strategy):
    args = {"ignoredResources": [GPU]}
    objects = [node("n1", gpu="2"), pod("a", gpu="8"), pod("b", gpu="1", schedulerName="strict"), leaf("g", 3), *pods("g", 3, gpu="1")]
    ignoring = configured(profile(NodeResourcesFit=args), profile("strict"))
    decisions = {each.root.name: each for each in run([*objects, ignoring], strategy=strategy).decisions}

    assert [decisions[name].status for name in "abg"] == [Status.SUCCESS, Status.UNSCHEDULABLE, Status.SUCCESS]
    assert "1 Insufficient example.com/gpu" in reasons_of(decisions["b"])["default/b"]


@STRATEGIES
@pytest.mark.parametrize(
    ("plugin", "what"),
    [
        ("TaintToleration", {}),
        ("NodeAffinity", {"nodeSelector": {HOST: "n7"}}),
        ("NodePorts", {"host_port": 80}),
        (
            "InterPodAffinity",
            {
                "affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": {}}]}
                }
            },
        ),
    ],
)
def test_a_disabled_filter_refuses_no_node(strategy, plugin, what):
    taints = [taint("a=b:NoSchedule")] if plugin == "TaintToleration" else []
    objects = [node("n1", taints=taints), pod("old", host_port=80, on="n1"), leaf("g", 2), *pods("g", 2, **what)]

    assert run(objects, strategy=strategy).decisions[0].status is not Status.SUCCESS
    disabled = profile(plugins={"multiPoint": {"disabled": [{"name": plugin}]}})
    assert run([*objects, configured(disabled)], strategy=strategy).decisions[0].status is Status.SUCCESS


@pytest.mark.parametrize(("point", "group"), [("postFilter", False), ("podGroupPostFilter", True)])
def test_without_default_preemption_nothing_is_evicted(point, group):
    members = [leaf("g", 1, priority=9), *pods("g", 1, "4", priority=9)] if group else [pod("high", cpu="4", priority=9)]
    objects = [node("n1"), pod("low", cpu="3", on="n1"), *members]
    disabled = profile(plugins={point: {"disabled": [{"name": "DefaultPreemption"}]}})

    assert run(objects).decisions[0].victims
    assert not run([*objects, configured(disabled)]).decisions[0].victims


def test_the_weight_of_required_affinity_and_preferred_terms_of_running_pods():
    def affine(kind: str, weight: int = 0) -> Json:
        term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "a"}}}
        terms = [{"weight": weight, "podAffinityTerm": term}] if weight else [term]
        return {"affinity": {"podAffinity": {f"{kind}DuringSchedulingIgnoredDuringExecution": terms}}}

    required = pod("one", cpu="1", on="n1", labels={"app": "a"}, **affine("required"))
    preferred = pod("two", cpu="1", on="n2", **affine("preferred", 5))
    objects = [node("n1"), node("n2"), required, preferred, pod("new", labels={"app": "a"})]

    assert assigned(objects) == {"new": "n2"}
    assert assigned([*objects, configured(profile(InterPodAffinity={"hardPodAffinityWeight": 6}))]) == {"new": "n1"}
    ignoring = profile(InterPodAffinity={"ignorePreferredTermsOfExistingPods": True})
    assert assigned([*objects, configured(ignoring)]) == {"new": "n1"}


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "a"}}}


@STRATEGIES
@pytest.mark.parametrize(
    ("args", "plugins", "want"),
    [
        pytest.param(None, {}, [2, 2], id="those of kube-scheduler"),
        pytest.param({"defaultingType": "List"}, {}, [4], id="none"),
        pytest.param({"defaultingType": "List", "defaultConstraints": [("ScheduleAnyway", 1)]}, {}, [2, 2], id="soft"),
        pytest.param({"defaultingType": "List", "defaultConstraints": [("DoNotSchedule", 1)]}, {}, [2, 2], id="hard"),
        pytest.param(None, {"score": {"disabled": [{"name": "PodTopologySpread"}]}}, [4], id="without score"),
    ],
)
def test_default_constraints_are_those_of_the_profile(strategy, args, plugins, want):
    packing: Json = {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}}
    if args is not None:
        listed = [{"whenUnsatisfiable": when, "topologyKey": HOST, "maxSkew": skew} for when, skew in args.get("defaultConstraints", ())]
        packing["PodTopologySpread"] = {**args, "defaultConstraints": listed}
    objects = [node("n1", cpu="8"), node("n2", cpu="8"), SERVICE, leaf("g", 4), *pods("g", 4, labels={"app": "a"})]
    nodes = list(assigned([*objects, configured(profile(plugins=plugins, **packing))], strategy=strategy).values())

    assert sorted(map(nodes.count, {*nodes})) == want


def test_a_configuration_with_errors_is_left_out():
    result = run([*NODES, pod("a", gpu="1"), configured(profile(NodeResourcesFit={"scoringStrategy": {"type": "Most"}}))])

    assert placed(result.decisions[0]) == {"a": "n1"}
    (problem,) = worded(result.problems)
    assert problem.object == "KubeSchedulerConfiguration"
    assert problem.message.startswith('profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Most"')
    assert problem.message.endswith("; the configuration is left out")


def test_of_different_configurations_the_one_that_sorts_first_is_used():
    first, second = configured(profile("a")), configured(profile("default-scheduler"))
    result = run([node("n1"), pod("p"), second, first])

    assert not result.decisions
    assert ["KubeSchedulerConfiguration"] == [each.object for each in worded(result.problems)]
