"""Queue of a snapshot: roots that are tried, their order, and the decisions on all others."""

from __future__ import annotations

import itertools

import pytest

from kubeapi.meta import ObjectMeta
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.queueing.scheduling_queue import Forest, OrderError, QueueOptions, build
from scheduler_core.wording import decision_words
from scheduler_core.wording.decision_words import causes_words
from scheduler_core.wording.pre_enqueue_words import order_words
from scheduler_core.wording.truncation import LONGEST
from tests.scheduler_core.builders import message_of, reasons_of
from tests.scheduler_core.planted import composite, leaf, pod, snapshot
from validators.model.objects import Named

ANY = QueueOptions()
MANY = 10_000


def ready(forest: Forest) -> list[str]:
    return [entity.name.name for entity in forest.ready]


def refused(forest: Forest) -> dict[str, Status]:
    return {result.root.name: result.status for result in forest.refused}


def test_groups_and_pods_are_in_one_queue():
    groups = [composite("low", priority=1), leaf("a", "low", priority=1), leaf("high", priority=9)]
    pods = [pod("a-0", "a", priority=1), pod("high-0", "high", priority=9), pod("lonely", priority=5)]
    forest = build(snapshot(groups, pods), ANY)

    assert ready(forest) == ["high", "lonely", "low"]
    assert ["PodGroup", "Pod", "CompositePodGroup"] == [entity.name.kind for entity in forest.ready]
    assert ((), ()) == (forest.refused, forest.pending)


def test_the_older_root_comes_first():
    groups = [leaf("b", created="2026-08-01T00:00:02Z"), leaf("a", created="2026-08-01T00:00:03Z"), leaf("new", created=None)]
    pods = [pod("b-0", "b"), pod("a-0", "a"), pod("new-0", "new"), pod("lonely", created="2026-08-01T00:00:01Z")]

    assert ready(build(snapshot(groups, pods), ANY)) == ["lonely", "b", "a", "new"]


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="none"),
        pytest.param([pod("p", "a", node=0)], id="all run"),
        pytest.param([pod("p", "a", terminating=True)], id="all are being deleted"),
        pytest.param([pod("p", node=0), pod("q", terminating=True)], id="pods alone"),
    ],
)
def test_only_roots_with_pending_pods_are_decided_on(pods):
    forest = build(snapshot([leaf("a", "a", gang=3), composite("c", "c")], pods), ANY)

    assert ((), (), ()) == (forest.ready, forest.refused, forest.pending)


def test_refused_roots_are_in_order_too():
    groups = [
        leaf("short", gang=2, priority=5),
        composite("circle", "circle", priority=9),
        leaf("below", "circle", priority=9),
        leaf("lost", "nobody"),
        leaf("mixed", priority=7),
    ]
    pods = [
        pod("short-0", "short", priority=5),
        pod("below-0", "below", priority=9),
        pod("lost-0", "lost"),
        pod("mixed-0", "mixed", priority=7),
        pod("mixed-1", "mixed", priority=7, scheduler="other"),
        pod("gated", priority=1, gates=("x",)),
    ]
    forest = build(snapshot(groups, pods), ANY)

    assert list(refused(forest).items()) == [
        ("circle", Status.INVALID),
        ("mixed", Status.ERROR),
        ("short", Status.WAIT),
        ("gated", Status.WAIT),
        ("lost", Status.WAIT),
    ]
    assert ready(forest) == []


def test_a_gated_pod_alone_waits():
    (result,) = build(snapshot([], [pod("p", gates=("x", "y"))]), ANY).refused
    message = "waiting for scheduling gates: [x y]"

    assert (Name("Pod", "default", "p"), Status.WAIT, message) == (result.root, result.status, message_of(result))
    assert ({"default/p": message}, ()) == (reasons_of(result), result.groups)


def test_pods_of_an_absent_group_belong_to_no_root():
    pods = [pod("p", "a"), pod("q", "a", gates=("x",)), pod("run", "a", node=0), pod("gone", "a", terminating=True)]
    forest = build(snapshot([composite("a")], pods), ANY)
    reason = 'waiting for pods\'s pod group "a" to appear in scheduling queue'

    assert {"default/p": reason, "default/q": f"{reason}; waiting for scheduling gates: [x]"} == decision_words.pending(
        dict(forest.pending)
    )
    assert ((), ()) == (forest.ready, forest.refused)


def test_pods_of_a_group_that_cannot_be_read_are_reported():
    forest = build(snapshot([], [pod("p", "a")], others=[Named("PodGroup", ObjectMeta(name="a"))]), ANY)

    assert [causes_words(causes) for _, causes in forest.pending] == [
        'waiting for pods\'s pod group "a" to appear in scheduling queue: it exists but cannot be used'
    ]


def test_a_chosen_scheduler_leaves_the_roots_of_others_alone():
    groups = [leaf("ours"), leaf("theirs"), leaf("both")]
    pods = [
        pod("ours-0", "ours", scheduler="muster"),
        pod("theirs-0", "theirs"),
        pod("both-0", "both", scheduler="muster"),
        pod("both-1", "both"),
        pod("lonely"),
        pod("mine", scheduler="muster"),
        pod("stray", "nowhere"),
    ]
    forest = build(snapshot(groups, pods), QueueOptions(scheduler_name="muster"))

    assert ready(forest) == ["mine", "ours"]
    assert {"both": Status.ERROR} == refused(forest)
    assert forest.pending == ()


def test_an_order_puts_roots_first_refused_ones_too():
    groups = [leaf("a", priority=9), leaf("b"), leaf("c", gang=2), leaf("d", gang=2, priority=9)]
    pods = [pod("a-0", "a", priority=9), pod("b-0", "b"), pod("c-0", "c"), pod("d-0", "d", priority=9), pod("e", priority=5)]
    forest = build(snapshot(groups, pods), QueueOptions(order=("c", "Pod/default/e", "default/b")))

    assert ready(forest) == ["e", "b", "a"]
    assert ["c", "d"] == list(refused(forest))


def test_an_order_may_name_a_root_without_pending_pods():
    assert ready(build(snapshot([leaf("a"), leaf("b")], [pod("p", "b"), pod("q", node=0)]), QueueOptions(order=("a", "q", "b")))) == ["b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("rot", 'the order names "rot", which is not a root; did you mean default/root?', id="misspelt"),
        pytest.param("a", 'the order names "a", which is not a root: it is a PodGroup in the tree of "root"', id="inner group"),
        pytest.param(
            "default/p", 'the order names "default/p", which is not a root: it is a pod of PodGroup "a", whose root is "root"', id="member"
        ),
        pytest.param("s", 'the order names "s", which is not a root: it is a pod of PodGroup "gone", which does not exist', id="stray pod"),
    ],
)
def test_an_order_that_names_no_root_is_refused(name, message):
    with pytest.raises(OrderError) as caught:
        build(snapshot([composite("root"), leaf("a", "root")], [pod("p", "a"), pod("s", "gone")]), QueueOptions(order=("root", name)))

    assert message == order_words(caught.value.cause)


def test_the_order_of_the_input_does_not_matter():
    groups = [composite("x", "y"), composite("y", "x"), leaf("b", gang=2), composite("root"), leaf("a", "root")]
    pods = [pod("y-0", "b"), pod("a-0", "a"), pod("lonely"), pod("stray", "gone")]
    forests = [
        build(snapshot(groups[turn:] + groups[:turn], order), ANY) for turn in range(len(groups)) for order in itertools.permutations(pods)
    ]

    assert {("root", "lonely")} == {tuple(sorted(ready(each), reverse=True)) for each in forests}
    assert {repr(forests[0].refused)} == {repr(each.refused) for each in forests}
    assert {tuple(ready(forests[0]))} == {tuple(ready(each)) for each in forests}


def test_ten_thousand_trees():
    groups = [leaf(f"g{number}") for number in range(MANY)]
    forest = build(snapshot(groups, [pod(f"p{number}", f"g{number}") for number in range(MANY)]), ANY)

    assert MANY == len(forest.ready)
    assert sorted(ready(forest)) == ready(forest)


def test_a_tree_of_ten_thousand_children():
    groups = [composite("root", gang=MANY), *(leaf(f"g{number}", "root") for number in range(MANY))]
    (root,) = build(snapshot(groups, [pod(f"p{number}", f"g{number}") for number in range(MANY)]), ANY).ready

    assert MANY == len(root.children)


def test_ten_thousand_groups_that_break_a_rule():
    groups = [composite("root"), *(leaf(f"g{number}", "root", workload="other") for number in range(MANY))]
    (result,) = build(snapshot(groups, [pod("p", "g0")]), ANY).refused

    assert (Status.INVALID, MANY + 1) == (result.status, len(result.groups))
    assert len(message_of(result)) <= LONGEST


@pytest.mark.parametrize("top", ["nobody", "level-0", None])
def test_a_chain_of_ten_thousand_levels(top):
    groups = [composite("level-0", top), *(composite(f"level-{level}", f"level-{level - 1}") for level in range(1, MANY))]
    (result,) = build(snapshot([*groups, leaf("a", f"level-{MANY - 1}")], [pod("p", "a")]), ANY).refused

    assert (Status.INVALID, MANY + 1) == (result.status, len(result.groups))
