"""Compiling groups of other schedulers, and fields that are lost."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, pods, root, sound, sources, unquoted

COSCHEDULING = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train, namespace: ml}
spec: {minMember: 3, scheduleTimeoutSeconds: 60, minResources: {cpu: 4}}
---
apiVersion: v1
kind: Pod
metadata: {name: p-2, namespace: ml, uid: x, labels: {scheduling.x-k8s.io/pod-group: train}}
spec: {schedulerName: coscheduler, nodeName: n1, containers: [{name: main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p-1, namespace: ml, labels: {scheduling.x-k8s.io/pod-group: train}}
spec: {containers: [{name: main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p-3, namespace: other, labels: {scheduling.x-k8s.io/pod-group: train}}
"""
VOLCANO = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pg, namespace: ml}
spec: {minMember: 5, queue: gpus, priorityClassName: high}
"""
KAI = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: pg, namespace: ml}
spec:
  queue: team
  topologyConstraint: {topology: t, requiredTopologyLevel: cloud/zone, preferredTopologyLevel: cloud/rack}
  subGroups:
  - {name: decode, minSubGroup: 1}
  - {name: leader, parent: decode, minMember: 1}
  - {name: worker, parent: decode, minMember: 4, topologyConstraint: {requiredTopologyLevel: cloud/rack}}
  - {name: router, minMember: 0}
"""


def test_a_coscheduling_group_is_a_flat_gang():
    result = sound(COSCHEDULING, groups=True, pods=True)

    assert {"name": "podgroup-root", "schedulingPolicy": {"gang": {"minCount": 3}}} == root(result)
    assert ["spec.minResources", "spec.scheduleTimeoutSeconds"] == lost_fields(result)
    assert {"p-1": "train-podgroup-root", "p-2": "train-podgroup-root"} == pods(result)
    assert {"containers", "schedulingGroup"} == result.objects[-1]["spec"].keys()


@pytest.mark.parametrize("minimum", ["minMember: 0", "x: 1"])
def test_without_a_minimum_it_is_basic(minimum):
    assert {"basic": {}} == root(sound(COSCHEDULING.replace("minMember: 3", minimum)))["schedulingPolicy"]


def test_the_workload_describes_the_groups_controller():
    owned = COSCHEDULING.replace(
        "namespace: ml}\nspec: {min",
        "namespace: ml, ownerReferences: [{apiVersion: a/v1, kind: Run, name: r, uid: u, controller: true}]}\nspec: {min",
    )
    result = sound(owned)

    assert {"apiGroup": "a", "kind": "Run", "name": "r"} == result.objects[0]["spec"]["controllerRef"]
    assert names(result, "Workload")[0].startswith("r-")


def volcano(spec: str) -> str:
    return VOLCANO.replace("minMember: 5", spec)


def test_a_volcano_group_is_a_flat_gang():
    result = sound(VOLCANO)

    assert {"name": "podgroup-root", "schedulingPolicy": {"gang": {"minCount": 5}}, "priorityClassName": "high"} == root(result)
    assert ["spec.queue"] == lost_fields(result)


@pytest.mark.parametrize(
    ("minimum", "want", "at"),
    [
        pytest.param(
            5, {"podgroup-root": "gang, minGroupCount 2", "a": "gang, minCount 2", "b": "gang, minCount 3"}, [], id="as many as the tasks"
        ),
        pytest.param(
            6, {"podgroup-root": "gang, minGroupCount 2", "a": "gang, minCount 2", "b": "gang, minCount 3"}, ["spec.minMember"], id="more"
        ),
        pytest.param(4, {"podgroup-root": "gang, minCount 4"}, ["spec.minTaskMember"], id="fewer: Volcano looks at the tasks no more"),
    ],
)
def test_minimums_of_tasks_are_groups_of_their_own(minimum, want, at):
    result = sound(volcano(f"minMember: {minimum}, minTaskMember: {{b: 3, a: 2}}"))

    assert want == {name: blocks["schedulingPolicy"].removesuffix(" (default)") for name, blocks in sources(result).items()}
    assert ["spec.queue", *at] == lost_fields(result)


def test_members_of_tasks_are_found():
    members = "".join(
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p-{task}, namespace: ml, annotations: {{scheduling.k8s.io/group-name: pg, volcano.sh/task-spec: {task}}}}}\n"
        for task in "ba"
    )
    result = sound(volcano("minMember: 5, minTaskMember: {b: 3, a: 2}"), further=members, pods=True)

    assert {"p-a": "pg-a", "p-b": "pg-b"} == pods(result)


def test_a_name_of_a_task_that_is_no_template_is_refused_at_its_field():
    (line,) = error_lines(compiled(volcano("minMember: 1, minTaskMember: {A.b: 1}")).errors)

    assert line.startswith("spec.minTaskMember[A.b]: Invalid value")


@pytest.mark.parametrize(
    ("topology", "levels", "want", "at"),
    [
        pytest.param("{mode: hard, highestTierAllowed: 1}", {"1": "rack"}, "rack", [], id="a tier that is known"),
        pytest.param("{highestTierName: cloud/rack}", {}, "cloud/rack", [], id="a name that is a label"),
        pytest.param("{mode: hard, highestTierAllowed: 1}", {}, None, ["spec.networkTopology"], id="a tier that is not"),
        pytest.param("{mode: soft, highestTierAllowed: 1}", {"1": "rack"}, None, ["spec.networkTopology"], id="a preference"),
    ],
)
def test_tiers_of_volcano(topology, levels, want, at):
    result = sound(volcano(f"minMember: 5, networkTopology: {topology}"), levels=levels)

    assert want == (root(result)["schedulingConstraints"]["topology"][0]["key"] if want else root(result).get("schedulingConstraints"))
    assert ["spec.queue", *at] == lost_fields(result)


def test_volcanos_subgroups_are_groups_of_groups():
    policy = "minMember: 4, subGroupPolicy: [{name: shard, subGroupSize: 2, minSubGroups: 2, matchLabelKeys: [a], networkTopology: {highestTierName: rack}}]"
    result = sound(volcano(policy), levels={"rack": "example/rack"}, groups=True)

    assert {"podgroup-root": "gang, minGroupCount 1", "shard": "gang, minGroupCount 2", "shard-subgroup": "gang, minCount 2"} == {
        name: blocks["schedulingPolicy"].removesuffix(" (default)") for name, blocks in sources(result).items()
    }
    assert ["pg-shard-subgroup-0", "pg-shard-subgroup-1"] == names(result, "PodGroup")
    assert ["spec.queue", "spec.subGroupPolicy[0].matchLabelKeys"] == lost_fields(result)


def volcano_pods(*tasks: str, labels: str = "") -> str:
    """Return a pod of the group for each of *tasks*, which are named by annotations and labels in turn; *labels* has ``TASK``, ``NUMBER``."""
    pods = []
    for number, task in enumerate(tasks):
        role = f"volcano.sh/task-spec: {task}"
        own = ", ".join(each for each in (role if number % 2 else "", labels.replace("TASK", task).replace("NUMBER", str(number))) if each)
        annotations = ", ".join(["scheduling.k8s.io/group-name: pg", *([] if number % 2 else [role])])
        metadata = f"name: p-{number}, namespace: ml, labels: {{{own}}}, annotations: {{{annotations}}}"
        pods.append(f"---\napiVersion: v1\nkind: Pod\nmetadata: {{{metadata}}}\nspec: {{containers: [{{name: main}}]}}\n")
    return "".join(pods)


@pytest.mark.parametrize(
    ("spec", "tasks", "want", "groups"),
    [
        pytest.param(
            "minMember: 4, minTaskMember: {t0: 2, t1: 2}",
            ["t1", "t1", "t2", "t2"],
            {"podgroup-root": 3, "t0": 2, "t1": 2, "other-pods": 1},
            ["t1", "t1", "other-pods", "other-pods"],
            id="a task without pods",
        ),
        pytest.param(
            "minMember: 4, minTaskMember: {t0: 1, t1: 2}",
            ["t0", "t1", "t1", "t1"],
            {"podgroup-root": 2, "t0": 1, "t1": 3},
            ["t0", "t1", "t1", "t1"],
            id="one task has the others",
        ),
        pytest.param(
            "minMember: 5, minTaskMember: {t0: 1, t1: 1}",
            ["t0", "t1", "t1", "t2", "t2"],
            {"podgroup-root": 3, "t0": 1, "t1": 2, "other-pods": 2},
            ["t0", "t1", "t1", "other-pods", "other-pods"],
            id="all pods",
        ),
        pytest.param(
            "minMember: 6, minTaskMember: {t0: 1, t1: 1}",
            ["t0", "t1"],
            {"podgroup-root": 3, "t0": 1, "t1": 1, "other-pods": 4},
            ["t0", "t1"],
            id="more than there are",
        ),
        pytest.param(
            "minMember: 3, minTaskMember: {t0: 1, t1: 0}",
            ["t0", "t1", "t1", "t1"],
            {"podgroup-root": 2, "t0": 1, "other-pods": 2},
            ["t0", "other-pods", "other-pods", "other-pods"],
            id="a task without a minimum",
        ),
        pytest.param("minMember: 2, minTaskMember: {}", ["t0", "t1"], {"podgroup-root": 2}, ["podgroup-root"] * 2, id="none"),
        pytest.param(
            "minMember: 2, minTaskMember: {t0: 2, t1: 2}",
            ["t0", "t2"],
            {"podgroup-root": 2},
            ["podgroup-root"] * 2,
            id="more in the tasks than in all",
        ),
    ],
)
def test_each_pod_of_a_group_with_tasks_is_a_member(spec, tasks, want, groups):
    result = sound(volcano(spec), further=volcano_pods(*tasks), groups=True, pods=True)

    blocks = {name: each["schedulingPolicy"].removesuffix(" (default)") for name, each in sources(result).items()}
    root = len(want) > 1
    assert {
        name: f"gang, {'minGroupCount' if root and name == 'podgroup-root' else 'minCount'} {count}" for name, count in want.items()
    } == blocks
    assert {f"p-{number}": f"pg-{group}" for number, group in enumerate(groups)} == pods(result)
    assert "spec.minMember" not in lost_fields(result)


def test_members_that_several_tasks_could_give_are_lost():
    result = sound(volcano("minMember: 4, minTaskMember: {t0: 1, t1: 1}"), further=volcano_pods("t0", "t0", "t1", "t1", "t1"), pods=True)

    assert ["spec.queue", "spec.minMember"] == lost_fields(result)
    assert {"pg-t0", "pg-t1"} == {*pods(result).values()}


@pytest.mark.parametrize(
    ("policies", "labels", "want"),
    [
        pytest.param(
            "[{name: shard, subGroupSize: 2, minSubGroups: 2, matchLabelKeys: [part]}]",
            "part: TASK",
            {"shard": (2, ["shard-subgroup-0", "shard-subgroup-1"])},
            id="a label",
        ),
        pytest.param(
            "[{name: a, labelSelector: {matchLabels: {part: t0}}, matchLabelKeys: [part]}]",
            "part: TASK",
            {"a": (1, ["a-subgroup-0"]), "other-pods": (1, [])},
            id="a selector, and the rest",
        ),
        pytest.param(
            "[{name: a, labelSelector: {matchExpressions: [{key: part, operator: NotIn, values: [t0]}]}, matchLabelKeys: [part]},"
            " {name: b, subGroupSize: 2, minSubGroups: 3, matchLabelKeys: [part]}]",
            "part: TASK",
            {"a": (1, ["a-subgroup-0"]), "b": (3, ["b-subgroup-0", "b-absent"])},
            id="two policies, of which one has too few pods",
        ),
        pytest.param("[{name: a, labelSelector: {}}]", "part: TASK", {"a": (1, ["a-subgroup"]), "other-pods": (1, [])}, id="no keys"),
    ],
)
def test_each_pod_of_a_group_with_subgroups_is_a_member(policies, labels, want):
    members = volcano_pods("t0", "t0", "t1", "t1", labels=labels)
    result = sound(volcano(f"minMember: 1, subGroupPolicy: {policies}"), further=members, groups=True, pods=True)

    tree = root(result)
    below = {each["name"]: each for kind in ("podGroupTemplates", "compositePodGroupTemplates") for each in tree.get(kind, ())}
    got = {}
    for name, each in below.items():
        (minimum,) = each["schedulingPolicy"]["gang"].values()
        got[name] = minimum, [leaf["name"] for leaf in each.get("podGroupTemplates", ())]
    assert want == got
    assert len(want) == tree["schedulingPolicy"]["gang"]["minGroupCount"]
    assert 4 == len(pods(result))
    assert {*pods(result).values()} <= {*names(result, "PodGroup")}


def test_a_name_that_is_too_long_once_derived_is_refused_at_its_field():
    name = "s" * 60
    (line,) = error_lines(compiled(volcano(f"minMember: 1, subGroupPolicy: [{{name: {name}}}]")).errors)

    assert f'spec.subGroupPolicy[0].name: Invalid value: "{name}-subgroup": must be no more than 63 bytes' == line


def test_kais_subgroups_are_a_tree():
    result = sound(KAI)

    assert {
        "podgroup-root": {"schedulingPolicy": "gang, minGroupCount 2 (default)", "schedulingConstraints": "cloud/zone (default)"},
        "decode": {"schedulingPolicy": "gang, minGroupCount 1 (default)"},
        "leader": {"schedulingPolicy": "gang, minCount 1 (default)"},
        "worker": {"schedulingPolicy": "gang, minCount 4 (default)", "schedulingConstraints": "cloud/rack (default)"},
        "router": {"schedulingPolicy": "basic (default)"},
    } == sources(result)
    assert ["spec.queue", "spec.topologyConstraint.preferredTopologyLevel"] == lost_fields(result)


def test_kais_members_are_found_by_their_subgroup():
    member = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ml, labels: {kai.scheduler/subgroup-name: worker}, annotations: {pod-group-name: pg}}\n"

    assert {"p": "pg-worker"} == pods(sound(KAI, further=member, pods=True))


@pytest.mark.parametrize(
    ("group", "labels"),
    [
        pytest.param(KAI, "{}", id="no label"),
        pytest.param(KAI, "{kai.scheduler/subgroup-name: wroker}", id="misspelt"),
        pytest.param(KAI, "{kai.scheduler/subgroup-name: decode}", id="one with subgroups below"),
        pytest.param(
            KAI.partition("  topology")[0] + "  minMember: 2\n", "{kai.scheduler/subgroup-name: worker}", id="a group without any"
        ),
    ],
)
def test_a_pod_that_kai_ignores_is_an_error(group, labels):
    member = (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: ml, labels: {labels}, annotations: {{pod-group-name: pg}}}}\n"
    )
    (line,) = error_lines(compiled(group, further=member).errors)

    assert line.startswith("spec.subGroups: Invalid value: must have a subgroup for each pod: pod 'p' ")


def test_a_kai_group_without_subgroups_is_flat():
    result = sound(KAI.partition("  topology")[0] + "  minMember: 2\n")

    assert {"name": "podgroup-root", "schedulingPolicy": {"gang": {"minCount": 2}}} == root(result)


def kai(*subgroups: str) -> str:
    return KAI.partition("  topology")[0] + "  subGroups: [" + ", ".join(f"{{{each}}}" for each in subgroups) + "]\n"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            kai("name: a", "name: b, parent: aa"), ["spec.subGroups[1].parent: Not found: \"aa\": there must be a subgroup of this name; did you mean 'a'?"], id="no parent"
        ),
        pytest.param(
            kai("name: a, parent: b", "name: b, parent: a", "name: c"),
            ["spec.subGroups[0].parent: Invalid value: must not be below itself: the parents form a cycle"],
            id="a circle",
        ),
        pytest.param(
            kai("name: c", "name: a, parent: a"), ["spec.subGroups[1].parent: Invalid value: must not be below itself: the parents form a cycle"], id="itself"
        ),
        pytest.param(kai("name: a", "name: a"), ['spec.subGroups[1].name: Duplicate value: "a": already used at spec.subGroups[0]'], id="twice"),
        pytest.param(kai("minMember: 1"), ["spec.subGroups[0].name: Required value: a subgroup must have a name"], id="no name"),
        pytest.param(
            kai("name: a", "name: b, parent: a", "name: c, parent: b", "name: d, parent: c"),
            [
                "spec.subGroups[2]: Invalid value: maximum template hierarchy depth is 4: workload item \"c\" is on level 4 and has children"
            ],
            id="five levels",
        ),
        pytest.param(kai(*(f"name: a{number}" for number in range(9))), ["spec.subGroups: Too many: 9: must have at most 8 items"], id="nine templates"),
    ],
)  # fmt: skip
def test_refuses_trees_that_are_none(text, want):
    assert unquoted(want) == unquoted(error_lines(compiled(text).errors))


def test_a_long_circle_costs_little():
    count = 2000
    text = kai(*(f"name: a{number}, parent: a{(number + 1) % count}" for number in range(count)))

    assert ["spec.subGroups[0].parent"] == [line.partition(":")[0] for line in error_lines(compiled(text).errors)]


@pytest.mark.parametrize(
    "spec", ["7", "[]", "{minMember: x}", "{minMember: -1}", "{subGroups: [3]}", "{minTaskMember: [1], subGroupPolicy: 3}"]
)
@pytest.mark.parametrize("group", ["scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1", "scheduling.run.ai/v2alpha2"])
def test_never_raises(group, spec):
    result = compiled(f"apiVersion: {group}\nkind: PodGroup\nmetadata: {{name: a}}\nspec: {spec}\n")

    assert result.errors != () or len(result.objects) == 1
