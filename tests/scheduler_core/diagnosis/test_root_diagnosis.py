"""Messages of a diagnosis on clusters worked out by hand, by group and domain."""

from __future__ import annotations

from scheduler_core.model.names import Name
from tests.scheduler_core.diagnosis.diagnosing import (
    GPU,
    RACK,
    Object,
    composite,
    diagnosed,
    greedy_trap,
    group,
    labelled,
    named,
    node,
    outcomes,
    pod,
    pods,
)


def placed(objects: list[Object]) -> bool:
    return all(outcome.success for _, _, outcome in outcomes(objects))


def sixteen_gpus() -> list[Object]:
    """Return four racks of four nodes with eight GPUs; in three, GPUs for four pods are free, in one a node is unschedulable."""
    created = []
    full = {1: (8, 8, 4, 4), 2: (8, 8, 4, 4), 3: (8, 8, 4, 4), 4: (8, 8, 4, 0)}
    for rack, used in full.items():
        for number, gpus in enumerate(used, 1):
            name = f"gpu-r{rack}-n{number}"
            taints = ("maintenance=yes:NoSchedule",) if not gpus else ()
            created.append(node(name, "96", rack=f"rack-{rack}", taints=taints, **{GPU: "8"}))
            created += [pod(f"infer-{name}-{each}", cpu="8", on=name, requests={GPU: "4"}) for each in range(gpus // 4)]
    return [*created, group("finetune", 4, key=RACK), *pods("finetune", 4, "8", requests={GPU: "4"})]


def stealing() -> list[Object]:
    created = [node(f"n{number}", "1", rack="r1") for number in range(8)]
    created += [composite("serve", 2, key=RACK), group("prefill", 4, parent="serve", age=1), group("decode", 3, parent="serve", age=2)]
    return [*created, *pods("prefill", 7), *pods("decode", 3)]


def blocks(**racks: int) -> list[Object]:
    """Return one-slot nodes in racks named by block and number, and the tree of the worked example of KEP-6012."""
    created = [
        labelled(node(f"{rack}-{number}", "1", rack=f"rack-{rack}"), block=f"block-{rack[0]}")
        for rack, count in racks.items()
        for number in range(count)
    ]
    created.append(composite("train", 2, key="block"))
    for number in (1, 2):
        created += [group(f"pg-{number}", 5, key=RACK, parent="train", age=number), *pods(f"pg-{number}", 5)]
    return created


class TestSixteenGpus:
    def test_each_rack_says_how_many_pods_it_holds_and_why_not_more(self):
        want = (
            "group finetune does not fit in any rack (4 pods with 8 cpu, 4 nvidia.com/gpu each): "
            "rack-1, rack-2 and rack-3 can hold 2 each (short of 8 nvidia.com/gpu: 8 free, 16 needed); "
            "rack-4 can hold 1 (short of 12 nvidia.com/gpu: 4 free, 16 needed), "
            "or 3 if the taint maintenance=yes:NoSchedule on 1 of 4 nodes were tolerated"
        )

        result = diagnosed(sixteen_gpus())

        assert want == result.message
        assert {"finetune": want} == named(result.groups)

    def test_what_if_holds_when_it_is_tried(self):
        objects = sixteen_gpus()
        for each in objects:
            if each["kind"] == "PodGroup":
                each["spec"]["schedulingPolicy"]["gang"]["minCount"] = 3

        assert not placed(objects)
        for each in objects:
            if each["metadata"]["name"].startswith("finetune-"):
                each["spec"]["tolerations"] = [{"key": "maintenance", "operator": "Exists"}]
        assert placed(objects)

    def test_pods_without_a_node_have_their_own_reason_and_others_that_of_the_group(self):
        own = "0/16 nodes are available: 4 Insufficient nvidia.com/gpu, 12 node(s) didn't match pod group's topology."
        of_group = (
            "pod group is unschedulable, 0/4 placements are available, first placement status: "
            "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"
        )
        want = {"default/finetune-0": of_group, "default/finetune-1": of_group, "default/finetune-2": own, "default/finetune-3": own}

        assert want == diagnosed(sixteen_gpus()).pods

    def test_equal_pods_leave_nothing_uncertain(self):
        assert diagnosed(sixteen_gpus()).uncertain == ""


class TestTrees:
    def test_a_group_that_its_siblings_left_no_rack_for_says_where_they_went(self):
        result = diagnosed(greedy_trap())

        assert result.message == (
            "group g4 of trap does not fit in any rack in zone z1 (3 pods with 1 cpu each): "
            "rack r2 can hold 2 (short of 1 cpu: 2 free, 3 needed); "
            "rack r1 can hold 1 (short of 2 cpu: 1 free, 3 needed). It would fit by itself, but earlier g1 and g2 took rack r1 and "
            "g3 took rack r2. trap needs all 4 of its groups in one zone: zone z1 can hold 3"
        )
        assert result.uncertain == (
            "The greedy algorithm may have missed a placement: g1, g2 and g3 keep their placements, although a sibling "
            "may need the capacity (KEP-6012, No-Backtracking)"
        )
        assert named(result.groups)["g3"] == "fits by itself in rack r2, but group g4 does not"

    def test_optional_pods_that_took_a_siblings_capacity_are_named(self):
        result = diagnosed(stealing())

        assert result.message == (
            "group decode of serve does not fit in rack r1 (3 pods with 1 cpu each): "
            "rack r1 can hold 1 (short of 2 cpu: 1 free, 3 needed). "
            "It would fit by itself, but earlier prefill placed 7 pods, 3 more than it needs. "
            "serve needs both of its groups in one rack: rack r1 can hold 1"
        )
        assert result.uncertain == (
            "The greedy algorithm may have missed a placement: 3 optional pods of group prefill took capacity before its "
            "siblings were placed (KEP-6012, Resource stealing under greedy evaluation)"
        )

    def test_the_worked_example_fits(self):
        assert placed(blocks(a1=3, a2=5, b1=5, b2=5))

    def test_the_worked_example_with_a_slot_less_says_how_far_each_block_gets(self):
        result = diagnosed(blocks(a1=3, a2=5, b1=5, b2=4))

        assert result.message == (
            "group pg-2 of train does not fit in any rack in block-a (5 pods with 1 cpu each): "
            "rack-a1 can hold 3 (short of 2 cpu: 3 free, 5 needed); "
            "rack-a2 can hold none (short of 5 cpu: 0 free, 5 needed). It would fit by itself, but earlier pg-1 took rack-a2. "
            "train needs both of its groups in one block: block-a can hold 1; "
            "block-b can hold 1 (group pg-2 has capacity for 4 of 5 pods in one rack)"
        )
        assert result.uncertain == ""

    def test_the_innermost_group_that_fails_comes_first_then_what_is_above_it(self):
        created = [
            labelled(node(f"{zone}-{rack}-{number}", "1", rack=rack), zone=zone)
            for zone in "abcdef"
            for rack in "xy"
            for number in range(3)
        ]
        created += [composite("root", 2, key="zone"), composite("left", 2, parent="root", age=1), group("late", 1, parent="root", age=2)]
        created += [group("l1", 3, key=RACK, parent="left", age=1), group("l2", 4, key=RACK, parent="left", age=2)]

        result = diagnosed([*created, *pods("l1", 3), *pods("l2", 4), *pods("late", 1)])

        assert result.message == (
            "group l2 of left of root does not fit in any rack in zone a (4 pods with 1 cpu each): "
            "rack y can hold 3 (short of 1 cpu: 3 free, 4 needed); "
            "rack x can hold none (short of 4 cpu: 0 free, 4 needed). left needs both of its groups: 1 fits. "
            "root needs both of its groups in one zone: zone a can hold 1; "
            "zones b, c and d can hold 1 each (group l2 of left has capacity for 3 of 4 pods in one rack); and 2 more zones"
        )
        assert named(result.groups)["late"] == "not tried: root can no longer place both of its groups"
        assert result.uncertain == ""

    def test_children_that_were_not_tried_count_if_they_fit(self):
        created = [*(node(f"r1-{number}", "1", rack="r1") for number in range(4)), node("r2-0", "2", rack="r2")]
        created += [composite("t", 2, key=RACK), group("big", 9, parent="t", age=1), group("small", 1, parent="t", age=2)]

        result = diagnosed([*created, *pods("big", 9), *pods("small", 1, "2")])

        assert result.message == (
            "group big of t does not fit in rack r2 (9 pods with 1 cpu each): rack r2 can hold 2 (short of 7 cpu: 2 free, 9 needed). "
            "t needs both of its groups in one rack: rack r2 can hold 1; rack r1 can hold none (group big has capacity for 4 of 9 pods)"
        )
        assert named(result.groups)["small"] == "not tried: t can no longer place both of its groups"

    def test_all_children_that_fail_are_named(self):
        created = [node("n1"), composite("w", 1), group("a", 2, parent="w"), group("b", 3, parent="w")]

        result = diagnosed([*created, *pods("a", 2, "3"), *pods("b", 1)])

        assert result.message == (
            "group a of w does not fit in the cluster (2 pods with 3 cpu each): the cluster can hold 1 (short of 2 cpu: 4 free, 6 needed). "
            "b does not fit either. w needs 1 of its 2 groups: none fits"
        )
        assert named(result.groups)["b"] == "group b of w has 1 of the 3 pods that it needs"

    def test_a_composite_without_enough_children_says_so(self):
        created = [node("n1"), composite("w"), composite("few", 2, parent="w"), group("a", 1, parent="few")]

        result = diagnosed([*created, group("b", 1, parent="w"), *pods("a", 1), *pods("b", 1, "9")])

        assert named(result.groups)["few"] == "group few of w has 1 of the 2 groups that it needs"
        assert named(result.groups)["a"] == "not tried: few has 1 of the 2 groups that it needs"

    def test_an_error_is_reported_of_the_group_that_has_it(self):
        created = [
            node("n1", rack="r1"),
            node("n2", rack="r2"),
            composite("w", 2),
            group("a", 2, parent="w"),
            group("b", 3, key=RACK, parent="w"),
        ]
        running = [pod("b-x", "b", on="n1"), pod("b-y", "b", on="n2")]

        result = diagnosed([*created, *pods("a", 2), *pods("b", 2), *running])

        assert result.message.startswith("group b of w: members run in 2 domains of 'topology.example/rack'")
        assert {Name("PodGroup", "default", "b"): result.message} == result.groups
        assert {f"default/{name}": result.message for name in ("a-0", "a-1", "b-0", "b-1")} == result.pods


def test_domains_beyond_the_fourth_are_counted():
    nodes = [node(f"n{number:03}", "2", rack=f"rack-{number % 50:02}") for number in range(100)]

    result = diagnosed([*nodes, group("g", 9, key=RACK), *pods("g", 9)])

    assert result.message == (
        "group g does not fit in any rack (9 pods with 1 cpu each): rack-00, rack-01, rack-02 and rack-03 can hold 4 each "
        "(short of 5 cpu: 4 free, 9 needed); and 46 more racks (at most 4 each)"
    )


def test_the_domain_that_holds_most_comes_first():
    nodes = [node("a", "1", rack="a"), node("b", "3", rack="b"), node("c", "2", rack="c")]

    result = diagnosed([*nodes, group("g", 4, key=RACK), *pods("g", 4)])

    assert [result.message.index(f"rack {rack} can hold") for rack in "bca"] == sorted(
        result.message.index(f"rack {rack} can hold") for rack in "abc"
    )


def test_no_message_is_longer_than_a_thousand_characters():
    long = "a" * 240
    nodes = [node(f"n{number}", rack="r" * 50 + str(number), taints=(f"{'t' * 60}{number}=v{number}:NoSchedule",)) for number in range(40)]
    created = [
        composite(long, 1),
        *(composite(f"{long}-{number}", 1, parent=long if not number else f"{long}-{number - 1}") for number in range(2)),
    ]

    result = diagnosed([*nodes, *created, group("g", 3, key=RACK, parent=f"{long}-1"), *pods("g", 3)])

    assert max(map(len, (result.message, *result.groups.values(), *result.pods.values(), result.uncertain))) <= 1000


def test_a_cluster_without_nodes_is_reported_as_such():
    result = diagnosed([group("g", 1), *pods("g", 1)])

    assert result.message == "group g does not fit in the cluster (1 pod with 1 cpu): there are no nodes"
    assert result.pods == {"default/g-0": "0/0 nodes are available."}
