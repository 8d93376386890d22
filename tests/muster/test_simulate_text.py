"""The report of a simulation for a person."""

# ruff: noqa: RUF001 - the multiplication sign is meant to be one

from __future__ import annotations

import dataclasses

import pytest

from kubeapi.problem import Problem
from muster.render import answer_text, root_text
from muster.render.answer import Answer
from muster.render.file_notes import DocumentUnreadable
from scheduler_core.causes.attempts import PluginReason
from scheduler_core.causes.pre_enqueue import GroupViolations, InvalidTree, RuleViolation
from scheduler_core.model.decision import Decision, GroupDecision, RankedGroup, RankLevel, VolumeChoice
from scheduler_core.model.device_claims import DeviceClaim
from scheduler_core.model.devices import Allocation, GivenDevice
from scheduler_core.model.status import Status
from tests.muster.simulated import (
    composite,
    failed_gang,
    kinship,
    leaf,
    members,
    placed_tree,
    preempting,
    single,
    single_left,
    stated,
    told,
)

KIN = kinship({"a": "run", "b": "run"}, a=2, b=2, g=3, urgent=2, low=2)


def unread(place, why):
    return Problem(DocumentUnreadable(why, left_out=False), place=place)


def shown(*decisions, kin=KIN, every=False, colour=False, **rest):
    return answer_text.render(Answer.from_decisions(decisions, **rest), kin, every=every, colour=colour).splitlines()


def test_a_placed_tree_is_reported_with_domains_counts_and_nodes():
    assert shown(placed_tree()) == [
        "✓ CompositePodGroup default/run  zone z1  4/4 pods",
        "├─ ✓ PodGroup a                  rack r1  2/2 pods  n1 ×2",
        "└─ ✓ PodGroup b                  rack r2  2/2 pods  n2, n10",
        "",
        "1 of 1 root placed: 4 pods placed",
    ]


def test_a_gang_that_is_not_placed_has_reasons_with_their_pods():
    assert shown(failed_gang()) == [
        "✗ PodGroup default/g  0/3 pods  Unschedulable",
        "     no feasible placements found",
        "     kube-scheduler's message: pod group is unschedulable",
        "     g-1, g-2: 0/3 nodes are available: 3 Insufficient cpu.",
        "     1 more pod fits or was not tried",
        "",
        "0 of 1 root placed: 0 pods placed, 3 pending",
    ]


def test_a_preemption_is_reported_with_its_victims_and_nominated_nodes():
    assert shown(preempting()) == [
        "→ PodGroup default/urgent  0/2 pods  Unschedulable  after eviction on n1, n2",
        "     group urgent does not fit in any rack (2 pods)",
        "     3 pods must be evicted first: PodGroup default/low (low-0, low-1), Pod default/web",
        "     kube-scheduler's message: pod group is unschedulable, pod group preemption: found a placement",
        "       for podgroup, preempting 3 victims",
        "",
        "0 of 1 root placed: 0 pods placed, 2 pending, 3 pods would be evicted",
    ]


def with_volumes(count):
    chosen = {f"default/c{number}": VolumeChoice(volume=f"pv-{number}") for number in range(count)}
    return dataclasses.replace(placed_tree(), volumes={**chosen, "default/scratch": VolumeChoice(node="n10")})


def test_volumes_of_a_root_are_on_one_line():
    assert shown(with_volumes(2))[:3] == [
        "✓ CompositePodGroup default/run  zone z1  4/4 pods",
        "│    volumes: c0 → pv-0, c1 → pv-1, scratch → new volume for n10",
        "├─ ✓ PodGroup a                  rack r1  2/2 pods  n1 ×2",
    ]
    (line,) = [each for each in shown(with_volumes(40)) if "volumes" in each]
    assert line.startswith("│    volumes: c0 → pv-0, c1 → pv-1, c2 → pv-2")
    assert line.endswith(" … and 35 more")


def test_devices_of_a_root_are_on_one_line():
    given = Allocation(tuple(GivenDevice("gpu", ("gpu.example", "n1", f"gpu-{number}")) for number in range(2)))
    names = ("pod/a-0/gpu", "default/fabric", "podgroup/a/nic")
    chosen = {DeviceClaim(name, name): given if name == "pod/a-0/gpu" else Allocation(given.devices[:1]) for name in names}
    (line,) = [each for each in shown(dataclasses.replace(placed_tree(), devices=chosen)) if "devices" in each]
    assert line == "│    devices: fabric → n1/gpu-0, a-0/gpu → n1/gpu-0, n1/gpu-1, a/nic → n1/gpu-0"


def ranked(*levels):
    """The tree whose group b has its two pods in rank order on *levels*."""
    order = RankedGroup(leaf("b"), 3, tuple(RankLevel(*each) for each in levels))
    return dataclasses.replace(placed_tree(), ranks=(order,))


def test_pairs_of_consecutive_pods_apart_are_below_their_group():
    zones, racks, nodes = ("topology.kubernetes.io/zone", 2, 1), ("topology.example/rack", 3, 2), ("kubernetes.io/hostname", 3, 2)
    assert shown(ranked(zones, racks, nodes))[2:4] == [
        "└─ ✓ PodGroup b                  rack r2  2/2 pods  n2, n10",
        "        consecutive pods in different domains: zone 1 of 2, rack 2 of 2",
    ]


def test_pods_that_differ_in_their_nodes_only_have_no_line_about_their_order():
    assert shown(placed_tree()) == shown(ranked(("topology.example/rack", 1, 0), ("kubernetes.io/hostname", 3, 2)))


def test_with_nothing_omitted_each_claim_has_a_line():
    lines = shown(with_volumes(40), every=True)
    begin = lines.index("│    volumes:")
    assert lines[begin + 1 : begin + 12 : 10] == ["│      c0 → pv-0", "│      c10 → pv-10"]
    assert lines[begin + 41] == "│      scratch → new volume for n10"


def test_the_cycle_after_an_eviction_is_separate():
    later = Decision(
        leaf("urgent"), Status.SUCCESS, assignments={"default/urgent-0": "n1", "default/urgent-1": "n2"}, groups=(told(leaf("urgent")),)
    )

    lines = shown(preempting(), later)
    assert lines[6:] == [
        "After the evictions:",
        "",
        "✓ PodGroup default/urgent  2/2 pods  n1, n2",
        "",
        "1 of 1 root placed: 2 pods placed, 3 pods evicted",
    ]


def test_the_cycle_for_the_pods_that_are_left_is_no_eviction():
    first = Decision(leaf("web"), Status.SUCCESS, assignments={"default/web-0": "n1"}, groups=(told(leaf("web")),))
    second = Decision(leaf("web"), Status.SUCCESS, assignments={"default/web-1": "n2"}, groups=(told(leaf("web")),))

    lines = shown(first, second)
    assert "In the next cycle:" in lines
    assert "After the evictions:" not in lines


def test_a_message_is_reported_once_in_a_tree():
    message = "minGroupCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    groups = (
        told(composite("run"), Status.UNSCHEDULABLE, message),
        told(leaf("a"), Status.UNSCHEDULABLE, "minCount (2) cannot be satisfied"),
    )
    groups += (told(leaf("b"), Status.UNSCHEDULABLE, message),)
    pending = {**dict.fromkeys(members("a", 2), stated("3 Insufficient cpu")), **dict.fromkeys(members("b", 2), stated(message))}
    decision = Decision(composite("run"), Status.UNSCHEDULABLE, stated(message), groups=groups, pending=pending)

    assert shown(decision)[:8] == [
        "✗ CompositePodGroup default/run  0/4 pods  Unschedulable",
        f"│    {message}",
        "│    kube-scheduler's message: pod group is unschedulable",
        "├─ ✗ PodGroup a                  0/2 pods",
        "│       minCount (2) cannot be satisfied",
        "│       a-0, a-1: 3 Insufficient cpu",
        "└─ ✗ PodGroup b                  0/2 pods",
        "",
    ]


def test_messages_of_the_scheduler_are_at_the_root_and_where_there_are_no_others():
    groups = (
        told(composite("run"), Status.UNSCHEDULABLE, "group a of run does not fit", reason=PluginReason("outer")),
        told(leaf("a"), Status.UNSCHEDULABLE, "it is too large", reason=PluginReason("inner")),
        told(leaf("b"), Status.UNSCHEDULABLE, reason=PluginReason("other")),
    )
    decision = Decision(composite("run"), Status.UNSCHEDULABLE, stated("group a of run does not fit"), groups=groups)

    assert [line.lstrip("│ ") for line in shown(decision)[:7] if not line.startswith("✗")] == [
        "group a of run does not fit",
        "kube-scheduler's message: pod group is unschedulable, outer",
        "├─ ✗ PodGroup a                  0/0 pods",
        "it is too large",
        "└─ ✗ PodGroup b                  0/0 pods",
        "kube-scheduler's message: pod group is unschedulable, other",
    ]


def test_what_the_root_quotes_of_its_groups_is_not_repeated():
    own = {"run": RuleViolation("spec", "too deep", "tree-depth"), "a": RuleViolation("spec", "no child", "tree-matches-templates")}
    invalid = InvalidTree((GroupViolations(composite("run"), (own["run"],)), GroupViolations(leaf("a"), (own["a"],))))
    whole = (
        'the tree is invalid: CompositePodGroup "run": spec: too deep (tree-depth); PodGroup "a": spec: no child (tree-matches-templates)'
    )
    groups = (
        GroupDecision(composite("run"), Status.INVALID, (own["run"],)),
        GroupDecision(leaf("a"), Status.INVALID, (own["a"],)),
        GroupDecision(leaf("b"), Status.INVALID, (invalid,)),
    )
    lines = shown(Decision(composite("run"), Status.INVALID, (invalid,), groups=groups))

    assert "".join(line.lstrip("│ ") for line in lines[1:3]).replace(" ", "") == whole.replace(" ", "")
    assert lines[3:6] == ["├─ ✗ PodGroup a                  0/0 pods", "└─ ✗ PodGroup b                  0/0 pods", ""]


def test_a_status_that_differs_from_that_of_the_parent_is_reported():
    groups = (told(composite("run"), Status.UNSCHEDULABLE, "m"), told(leaf("a"), Status.ERROR, "e"))
    lines = shown(Decision(composite("run"), Status.UNSCHEDULABLE, stated("m"), groups=groups))
    assert "└─ ✗ PodGroup a                  0/0 pods  Error" in lines


def test_waiting_has_a_sign_of_its_own():
    why = 'waiting for CompositePodGroup "run"'
    decision = Decision(
        leaf("a"),
        Status.WAIT,
        stated(why),
        groups=(told(leaf("a"), Status.WAIT, why),),
        pending=dict.fromkeys(members("a", 2), stated(why)),
    )
    assert shown(decision)[:3] == ["○ PodGroup default/a  0/2 pods  Wait", f"     {why}", ""]


def test_a_circle_of_parents_is_drawn():
    kin = kinship({"loop-a": "loop-b", "loop-b": "loop-a", "g": "loop-b"}, g=3)
    groups = tuple(told(name, Status.INVALID, "in a circle") for name in (composite("loop-a"), composite("loop-b"), leaf("g")))
    circle = stated("in a circle")
    decision = Decision(composite("loop-a"), Status.INVALID, circle, groups=groups, pending=dict.fromkeys(members("g", 3), circle))

    assert [line.partition("  0/")[0].rstrip() for line in shown(decision, kin=kin)[:4]] == [
        "✗ CompositePodGroup default/loop-a",
        "│    in a circle",
        "└─ ✗ CompositePodGroup loop-b",
        "   └─ ✗ PodGroup g",
    ]


def test_a_gang_of_thousands_is_a_line():
    pods = {pod: f"node-{number // 2}" for number, pod in enumerate(members("big", 5000))}
    lines = shown(Decision(leaf("big"), Status.SUCCESS, assignments=pods, groups=(told(leaf("big")),)), kin=kinship(big=5000))

    assert lines[0] == "✓ PodGroup default/big  5,000/5,000 pods  2,500 nodes: node-0 to node-2499 ×2"


def test_nodes_that_do_not_fit_are_below():
    name = "g" * 70
    kin = kinship(**{name: 3})
    decision = Decision(
        leaf(name), Status.SUCCESS, assignments={pod: f"a-node-{pod[-1]}.example" for pod in members(name, 3)}, groups=(told(leaf(name)),)
    )
    assert shown(decision, kin=kin)[:2] == [
        f"✓ PodGroup default/{name}  3/3 pods",
        "     a-node-0.example, a-node-1.example, a-node-2.example",
    ]


def test_every_pod_is_named_on_request():
    assert shown(placed_tree(), every=True)[1:4] == [
        "├─ ✓ PodGroup a                  rack r1  2/2 pods",
        "│       a-0 → n1",
        "│       a-1 → n1",
    ]


def test_reasons_are_cut_to_the_commonest():
    pending = {f"default/g-{number}": stated(f"reason {min(number, 6)}") for number in range(9)}
    decision = Decision(leaf("g"), Status.UNSCHEDULABLE, stated("m"), groups=(told(leaf("g"), Status.UNSCHEDULABLE, "m"),), pending=pending)
    lines = shown(decision, kin=kinship(g=9))

    assert lines[3:8] == [
        "     g-6, g-7, g-8: reason 6",
        "     g-0: reason 0",
        "     g-1: reason 1",
        "     g-2: reason 2",
        "     … and 3 more pods for other reasons",
    ]
    assert "     g-5: reason 5" in shown(decision, kin=kinship(g=9), every=True)


@pytest.mark.parametrize(
    ("count", "want"),
    [
        pytest.param(answer_text.PLACED_SHOWN, 0, id="just all"),
        pytest.param(answer_text.PLACED_SHOWN + 1, 1, id="one more"),
    ],
)
def test_many_placed_roots_are_cut(count, want):
    roots = [
        Decision(leaf(f"g{n}"), Status.SUCCESS, assignments={f"default/p{n}": "n1"}, groups=(told(leaf(f"g{n}")),)) for n in range(count)
    ]
    lines = shown(*roots)

    assert answer_text.PLACED_SHOWN == sum(line.startswith("✓") for line in lines)
    assert want == sum(line.startswith("… and 1 more root placed, 1 pod: default/g20") for line in lines)


def test_many_roots_that_are_not_placed_are_cut_by_status():
    roots = [Decision(leaf(f"g{n}"), Status.WAIT, stated("m"), groups=(told(leaf(f"g{n}"), Status.WAIT, "m"),)) for n in range(30)]
    lines = shown(*roots)

    assert answer_text.OTHERS_SHOWN == sum(line.startswith("○") for line in lines)
    assert any(line.startswith("… and 18 more roots Wait: default/g12, default/g13") for line in lines)
    assert sum(line.startswith("○") for line in shown(*roots, every=True)) == 30


def test_groups_of_a_wide_tree_are_cut():
    groups = (told(composite("run")), *(told(leaf(f"g{n}")) for n in range(40)))
    lines = shown(Decision(composite("run"), Status.SUCCESS, groups=groups), kin=kinship({f"g{n}": "run" for n in range(40)}))

    assert lines[root_text.ROWS_SHOWN] == "   … and 17 more groups, 17 placed"


def test_a_few_single_pods_are_a_line_each():
    assert shown(single("p", "n1"), single_left("q"))[:3] == [
        "✓ Pod default/p  n1",
        "✗ Pod default/q  Unschedulable",
        "     0/3 nodes are available: 3 Insufficient cpu.",
    ]


def test_many_single_pods_are_reported_together():
    decisions = [single(f"p{n}", f"n{n % 2}") for n in range(20)] + [single_left(f"q{n}") for n in range(20)]
    assert shown(*decisions)[:4] == [
        "✓ 20 pods without a group placed on n0 ×10, n1 ×10",
        "✗ 20 pods without a group: q0, q1, q2 and 17 more",
        "    0/3 nodes are available: 3 Insufficient cpu.",
        "",
    ]


def test_pods_without_a_decision_are_reported():
    waiting = stated("waiting for its group")

    assert shown(rootless=[("default/p", waiting), ("default/q", waiting)])[:2] == [
        "○ 2 pods: p, q",
        "    waiting for its group",
    ]


def test_problems_of_one_kind_are_reported_together():
    problems = [unread(f"Node n{number}", "no allocatable") for number in range(20)] + [unread("Pod default/p", "no name")]
    lines = shown(single("p", "n1"), problems=problems)

    assert lines[2:6] == [
        "Problems in the input:",
        "  Node n0, Node n1, Node n2, Node n3 … and 16 more: no allocatable",
        "  Pod default/p: no name",
        "",
    ]
    assert lines[-1] == "1 of 1 root placed: 1 pod placed; 21 problems in the input"


def test_problems_are_cut():
    lines = shown(problems=[unread("Node n", f"message {number}") for number in range(11)])
    assert "  … and 3 more problems" in lines


@pytest.mark.parametrize(
    ("rest", "want"),
    [
        pytest.param({}, "Nothing to place: there is no pending pod among the inputs", id="nothing"),
        pytest.param({"problems": [unread("f", "m")]}, "Nothing could be decided; 1 problem in the input", id="problems alone"),
        pytest.param({"seconds": 1.5}, "Nothing to place: there is no pending pod among the inputs; 1.500 s", id="timings"),
    ],
)
def test_summary_without_decisions(rest, want):
    assert want == shown(**rest)[-1]


def test_names_and_messages_cannot_steer_a_terminal():
    bad = Decision(
        leaf("\x1b[2J"),
        Status.UNSCHEDULABLE,
        stated("\x1b[1m"),
        groups=(told(leaf("\x1b[2J"), Status.UNSCHEDULABLE, "\x1b[1m", domain="\x07"),),
    )
    assert [line for line in shown(bad, problems=[unread("\x1b", "\x1b")]) if not line.isprintable()] == []


def test_colours_change_nothing_but_the_colour():
    import re

    plain = shown(placed_tree(), failed_gang(), preempting())
    coloured = shown(placed_tree(), failed_gang(), preempting(), colour=True)

    assert plain == [re.sub(r"\x1b\[\d+m", "", line) for line in coloured]
    assert coloured[0].startswith("\x1b[32m✓\x1b[0m CompositePodGroup default/run")


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [
        pytest.param("topology.example/rack", "r1", "rack r1", id="level and value"),
        pytest.param("topology.example/rack", "rack-1", "rack-1", id="a value that says what it is"),
        pytest.param("kubernetes.io/hostname", "n1", "node n1", id="a single node"),
    ],
)
def test_domains_are_called_as_people_call_them(key, value, want):
    decision = Decision(leaf("g"), Status.SUCCESS, groups=(told(leaf("g"), domain=value, key=key),))
    assert shown(decision)[0] == f"✓ PodGroup default/g  {want}  0/0 pods"
