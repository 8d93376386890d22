"""Compiling LeaderWorkerSets: one gang for each replica, its constraint, subgroups, and basic policies."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, parents, pods, root, sound, sources
from validators.model import start_order

LWS = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, namespace: ml, annotations: {}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 5
    workerTemplate: {spec: {containers: [{name: main, image: worker}]}}
"""
EXCLUSIVE = start_order.LWS_EXCLUSIVE
SUBGROUP = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"


def lws(*, annotations: str = "", scheduling: str = "", startup: str = "", subgroups: str = "", size: int = 5) -> str:
    text = LWS.replace("annotations: {}", f"annotations: {{{annotations}}}").replace("size: 5", f"size: {size}")
    text += f"    subGroupPolicy: {{{subgroups}}}\n" if subgroups else ""
    text += f"  scheduling: {{{scheduling}}}\n" if scheduling else ""
    return text + (f"  startupPolicy: {startup}\n" if startup else "")


def test_each_replica_is_a_gang_of_leader_and_workers():
    result = sound(lws(), groups=True)

    assert {
        "name": "replica",
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "podGroupTemplates": [
            {"name": "leader", "schedulingPolicy": {"gang": {"minCount": 1}}},
            {"name": "worker", "schedulingPolicy": {"gang": {"minCount": 4}}},
        ],
    } == root(result)
    assert {
        "serve-replica-0": "",
        "serve-leader-0": "serve-replica-0",
        "serve-worker-0": "serve-replica-0",
        "serve-replica-1": "",
        "serve-leader-1": "serve-replica-1",
        "serve-worker-1": "serve-replica-1",
    } == parents(result)


def test_a_replica_of_one_pod_is_its_leader():
    result = sound(lws(size=1), pods=True)

    assert {"gang": {"minGroupCount": 1}} == root(result)["schedulingPolicy"]
    assert ["leader"] == [each["name"] for each in root(result)["podGroupTemplates"]]
    assert {"serve-0": "serve-leader-0", "serve-1": "serve-leader-1"} == pods(result)


def test_without_replicas_there_are_no_groups():
    assert [] == names(sound(lws().replace("replicas: 2", "replicas: 0"), groups=True, pods=True), "PodGroup")


def test_the_first_replica_keeps_its_name_when_others_come():
    assert ["serve-replica-0"] == names(sound(lws().replace("  replicas: 2\n", ""), groups=True), "CompositePodGroup")


def test_pods_are_named_and_labelled_as_the_controller_does():
    result = sound(lws(size=3), pods=True)

    assert {
        "serve-0": "serve-leader-0",
        "serve-0-1": "serve-worker-0",
        "serve-0-2": "serve-worker-0",
        "serve-1": "serve-leader-1",
        "serve-1-1": "serve-worker-1",
        "serve-1-2": "serve-worker-1",
    } == pods(result)
    leader, worker = (each["metadata"] for each in result.objects[-3:-1])
    prefix = "leaderworkerset.sigs.k8s.io/"
    assert ["serve", "1", "0"] == [leader["labels"][prefix + name] for name in ("name", "group-index", "worker-index")]
    assert ["1", "1"] == [worker["labels"][prefix + name] for name in ("group-index", "worker-index")]
    assert leader["labels"][prefix + "group-key"] == worker["labels"][prefix + "group-key"]
    assert {prefix + "size": "3", prefix + "leader-name": "serve-1"} == worker["annotations"]


def test_the_leader_may_have_a_template_of_its_own():
    result = sound(lws() + "    leaderTemplate: {spec: {containers: [{name: main, image: leader}]}}\n", pods=True)
    images = {each["metadata"]["name"]: each["spec"]["containers"][0]["image"] for each in result.objects if each["kind"] == "Pod"}

    assert ("leader", "worker") == (images["serve-1"], images["serve-1-4"])


def test_exclusive_topology_keeps_a_replica_in_one_domain():
    result = sound(lws(annotations=f"{EXCLUSIVE}: rack"), pods=True)

    assert {"topology": [{"key": "rack"}]} == root(result)["schedulingConstraints"]
    assert "rack (default)" == sources(result)["replica"]["schedulingConstraints"]
    assert [f"metadata.annotations[{EXCLUSIVE}]"] == lost_fields(result)
    affine = [each["metadata"]["name"] for each in result.objects if each["kind"] == "Pod" and "affinity" in each["spec"]]
    assert ["serve-0", "serve-1"] == affine


def test_workers_that_wait_for_a_place_of_their_leader_are_not_in_one_gang_with_it():
    """LeaderWorkerSet sends them to the domain of their leader, and creates them when it has a node."""
    result = sound(lws(annotations=f"{EXCLUSIVE}: rack"))

    assert {"basic": {}} == root(result)["schedulingPolicy"]
    assert {"worker": start_order.Wait(start_order.Event.LEADER_PLACED, ("leader",))} == result.waits
    assert [f"metadata.annotations[{EXCLUSIVE}]"] == [str(each.path) for each in result.warnings if "separate gangs" in str(each)]


def test_a_replica_of_its_leader_alone_waits_for_nothing():
    result = sound(lws(annotations=f"{EXCLUSIVE}: rack", size=1))

    assert "gang" in root(result)["schedulingPolicy"]
    assert not [each for each in result.warnings if "separate gangs" in str(each)]


@pytest.mark.parametrize("first", [pytest.param({"startup": "LeaderReady"}, id="ready"), pytest.param({}, id="placed")])
def test_a_subgroup_with_its_leader_is_no_gang_if_the_leader_comes_first(first):
    annotations = f"{SUBGROUP}: host" if first else f"{SUBGROUP}: host, {EXCLUSIVE}: rack"
    result = sound(lws(annotations=annotations, subgroups="subGroupSize: 2", **first))

    assert ["basic", "gang"] == [key for each in root(result)["podGroupTemplates"] for key in each["schedulingPolicy"]]


def test_the_escape_hatch_is_basic_on_both_levels():
    result = sound(lws(scheduling="schedulingPolicy: {basic: {}}"))

    assert {"replica": "basic (user)", "leader": "basic (default)", "worker": "basic (default)"} == {
        name: blocks["schedulingPolicy"] for name, blocks in sources(result).items()
    }


def test_the_users_blocks_win():
    result = sound(
        lws(
            annotations=f"{EXCLUSIVE}: rack",
            scheduling="schedulingPolicy: {gang: {minGroupCount: 1}}, schedulingConstraints: {topology: [{key: zone}]}",
        )
    )

    assert {"schedulingPolicy": "gang, minGroupCount 1 (user)", "schedulingConstraints": "zone (user)"} == sources(result)["replica"]


def test_workers_that_wait_for_a_ready_leader_are_no_gang_with_it():
    result = sound(lws(startup="LeaderReady"))

    assert {"replica": "basic (default)", "leader": "gang, minCount 1 (default)", "worker": "gang, minCount 4 (default)"} == {
        name: blocks["schedulingPolicy"] for name, blocks in sources(result).items()
    }
    assert ["spec.startupPolicy"] == [line.partition(":")[0] for line in error_lines(result.warnings)]


@pytest.mark.parametrize(
    ("scheduling", "want"),
    [
        pytest.param("schedulingPolicy: {gang: {}}", ["spec.scheduling.schedulingPolicy.gang"], id="all"),
        pytest.param("schedulingPolicy: {gang: {minGroupCount: 2}}", ["spec.scheduling.schedulingPolicy.gang"], id="both"),
        pytest.param("schedulingPolicy: {gang: {minGroupCount: 1}}", [], id="the leader alone"),
        pytest.param("schedulingPolicy: {basic: {}}", [], id="none"),
    ],
)
def test_a_gang_that_waits_for_pods_that_wait_for_it_is_compiled_with_a_warning(scheduling, want):
    result = compiled(lws(startup="LeaderReady", scheduling=scheduling))

    assert want == [line.partition(":")[0] for line in error_lines(result.warnings)]
    assert [] == error_lines(result.errors)


@pytest.mark.parametrize(
    ("size", "subgroups", "want", "leaders"),
    [
        pytest.param(5, "subGroupSize: 2", {"leader": 3, "subgroup": 2}, ["serve-0", "serve-0-1", "serve-0-2"], id="workers divide: the leader is one more"),
        pytest.param(6, "subGroupSize: 3", {"leader": 3, "subgroup": 3}, ["serve-0", "serve-0-1", "serve-0-2"], id="all divide: the leader is one of them"),
        pytest.param(5, "subGroupSize: 4", {"leader": 5}, ["serve-0", "serve-0-1", "serve-0-2", "serve-0-3", "serve-0-4"], id="one subgroup of all"),
        pytest.param(
            5, "subGroupSize: 2, subGroupPolicyType: LeaderExcluded", {"leader": 1, "subgroup": 2}, ["serve-0"], id="the leader is in none"
        ),
        pytest.param(4, "subGroupSize: 1", {"leader": 2, "subgroup": 1}, ["serve-0", "serve-0-1"], id="of one pod"),
    ],
)  # fmt: skip
def test_subgroups_with_domains_of_their_own_are_groups(size, subgroups, want, leaders):
    result = sound(lws(annotations=f"{SUBGROUP}: host", subgroups=subgroups, size=size), groups=True, pods=True)

    templates = root(result)["podGroupTemplates"]
    assert want == {each["name"]: each["schedulingPolicy"]["gang"]["minCount"] for each in templates}
    placed = pods(result)
    assert leaders == [name for name, group in placed.items() if group == "serve-leader-0"]
    assert 2 * size == len(placed)
    assert {*names(result, "PodGroup")} == {*placed.values()}
    excluded = "Excluded" in subgroups
    assert [not excluded or each["name"] == "subgroup" for each in templates] == ["schedulingConstraints" in each for each in templates]


def test_the_subgroup_labels_name_the_group():
    result = sound(lws(annotations=f"{SUBGROUP}: host", subgroups="subGroupSize: 2", size=7), groups=True, pods=True)
    label = "leaderworkerset.sigs.k8s.io/subgroup-index"
    told_by_label = {each["metadata"]["name"]: each["metadata"]["labels"][label] for each in result.objects if each["kind"] == "Pod"}

    groups = {
        "serve-leader-0": "0",
        "serve-subgroup-0-0": "1",
        "serve-subgroup-0-1": "2",
        "serve-leader-1": "0",
        "serve-subgroup-1-0": "1",
        "serve-subgroup-1-1": "2",
    }
    assert {name: groups[group] for name, group in pods(result).items()} == told_by_label


def test_subgroups_without_domains_are_labels():
    result = sound(lws(subgroups="subGroupSize: 2"), pods=True)

    assert ["leader", "worker"] == [each["name"] for each in root(result)["podGroupTemplates"]]
    assert "leaderworkerset.sigs.k8s.io/subgroup-index" in result.objects[-1]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("subgroups", "want"),
    [
        pytest.param(
            "subGroupSize: 3", "subGroupSize: Invalid value: 3: must divide 5, the size of a replica, or 4, its workers", id="a rest"
        ),
        pytest.param(
            "subGroupSize: 5, subGroupPolicyType: LeaderExcluded",
            "subGroupSize: Invalid value: 5: must divide 4, the number of workers",
            id="a rest of workers",
        ),
        pytest.param(
            "subGroupSize: 6",
            "subGroupSize: Invalid value: 6: must not be greater than the size of a replica (5)",
            id="more than there are",
        ),
        pytest.param(
            "subGroupPolicyType: LeaderWorker",
            "subGroupSize: Required value: a subgroup policy must set the number of pods of a subgroup",
            id="no size",
        ),
        pytest.param("subGroupSize: 0", "subGroupSize: Invalid value: 0: must be greater than or equal to 1", id="none"),
        pytest.param(
            "subGroupSize: 2, subGroupPolicyType: Leader",
            'subGroupPolicyType: Unsupported value: "Leader": supported values: "LeaderWorker", "LeaderExcluded"',
            id="a type that there is not",
        ),
    ],
)
def test_refuses_subgroups_that_do_not_come_out_even(subgroups, want):
    assert [f"spec.leaderWorkerTemplate.subGroupPolicy.{want}"] == error_lines(compiled(lws(subgroups=subgroups)).errors)


KUEUE = "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack, kueue.x-k8s.io/podset-group-name: both}}, "
OWN_LEADER = f"    leaderTemplate: {{{KUEUE}spec: {{containers: [{{name: main, image: leader}}]}}}}\n"


def test_kueue_keeps_leader_and_workers_in_one_domain_where_they_are_one_group():
    one = lws().replace("workerTemplate: {", "workerTemplate: {" + KUEUE) + OWN_LEADER
    apart = one.replace(", kueue.x-k8s.io/podset-group-name: both", "")

    assert "schedulingConstraints" in root(sound(one))
    assert [] == [each for each in root(sound(one))["podGroupTemplates"] if "schedulingConstraints" in each]
    assert "schedulingConstraints" not in root(sound(apart))
    assert 2 == len([each for each in root(sound(apart))["podGroupTemplates"] if "schedulingConstraints" in each])


def test_kueue_makes_one_podset_of_leader_and_workers_with_one_template():
    annotated = lws().replace("workerTemplate: {", "workerTemplate: {" + KUEUE.replace(", kueue.x-k8s.io/podset-group-name: both", ""))

    assert {"topology": [{"key": "rack"}]} == root(sound(annotated))["schedulingConstraints"]
    assert [] == [each for each in root(sound(annotated))["podGroupTemplates"] if "schedulingConstraints" in each]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(lws(size=0), ["spec.leaderWorkerTemplate.size: Invalid value: 0: must be greater than or equal to 1"], id="no pods"),
        pytest.param(
            lws(startup="Later"),
            ['spec.startupPolicy: Unsupported value: "Later": supported values: "LeaderCreated", "LeaderReady"'],
            id="a startup policy",
        ),
        pytest.param(
            lws(scheduling="schedulingPolicy: {gang: {minCount: 4}}"),
            ["spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: unknown field 'minCount'; did you mean 'minGroupCount'?"],
            id="a leaf's minimum",
        ),
        pytest.param(
            lws() + "    leaderTemplate: {spec: {priorityClassName: high}}\n",
            [
                (
                    "spec.leaderWorkerTemplate.workerTemplate.spec.priorityClassName: Invalid value: \"\": must be 'high' as at "
                    "spec.leaderWorkerTemplate.leaderTemplate.spec.priorityClassName: the pods of one Workload have one priority"
                )
            ],
            id="two priorities",
        ),
    ],
)
def test_refuses_at_the_users_field(text, want):
    assert want == error_lines(compiled(text).errors)


@pytest.mark.parametrize(
    "content", ["7", "[]", "{leaderWorkerTemplate: 3}", "{leaderWorkerTemplate: {size: x, subGroupPolicy: []}}", "{scheduling: 3}"]
)
def test_never_raises(content):
    assert (
        compiled(f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: a}}\nspec: {content}\n").errors != ()
    )


def test_a_replica_of_very_many_pods_costs_nothing_until_they_are_wanted():
    result = sound(lws(size=2**31 - 1, annotations=f"{SUBGROUP}: host", subgroups="subGroupSize: 2"))

    assert ["leader", "subgroup"] == [each["name"] for each in root(result)["podGroupTemplates"]]
