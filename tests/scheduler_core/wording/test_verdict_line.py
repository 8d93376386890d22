"""The verdict line has whole clauses of the reason, whatever the texts in them contain."""

from __future__ import annotations

import json
import random
import typing

import pytest

from kubeapi.base_structs import replaced
from kubeapi.nodes import Taint
from kubeapi.selectors import NodeSelectorTerm, Requirement
from scheduler_core.causes import changes, removed_causes
from scheduler_core.causes.attempts import PluginReason
from scheduler_core.causes.changes import DroppedSelectors, ToleratedTaint, UncordonedNodes
from scheduler_core.causes.constraints import InOneDomain
from scheduler_core.causes.device_refusals import InsufficientDevices
from scheduler_core.causes.domains import AttemptFailed, DomainCause, DroppedFilter
from scheduler_core.causes.filter_reasons import RelationsUnmet
from scheduler_core.causes.groups import (
    ChildrenDoNotFit,
    ChildrenInDomain,
    FitsAlone,
    FurtherDomains,
    InsufficientCapacity,
    PartlyPlaced,
    PodDemand,
    PodsDoNotFit,
    PodsLeftOver,
    TooFewMembers,
)
from scheduler_core.causes.node_count import Amount, NodeCount
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, NodesRefused, PodRefused, UntoleratedTaint
from scheduler_core.causes.other_pods import AffinityConflict, AffinityRule, HostPortsInUse
from scheduler_core.causes.pre_enqueue import ClaimMissing, MembersGated, QuorumAwaited, QuorumShortage, SchedulingGated
from scheduler_core.causes.resources import ComparedNodes, InsufficientOnNodes, InsufficientResource, RequestTooLarge
from scheduler_core.causes.volume_causes import NoFreeVolume, OutsideAllowedTopologies
from scheduler_core.model.device_comparisons import ComparedPart, Comparison, DeviceComparison, LiteralKind, SelectorLiteral
from scheduler_core.model.names import HOSTNAME, Domain, Name, NamedClaim
from scheduler_core.model.resource_values import AttachableVolumes
from scheduler_core.wording import verdict_line as verdict_line_module
from scheduler_core.wording.constraints import constraint_text
from scheduler_core.wording.decision_words import sentences
from scheduler_core.wording.group_words import group_words
from scheduler_core.wording.node_words import closed_nodes, node_words
from scheduler_core.wording.phrases import domain_names, further
from scheduler_core.wording.titles import expression_text
from scheduler_core.wording.verdict_line import verdict_line

WORLD, ROOT = Domain("", ""), Name("PodGroup", "ml", "train")
SEPARATORS = ("; ", ": ", ". ", " (", ")", "[", "]", ", ", "1 of 2 nodes ", "it would fit if ", "a", "Z", "9")
SHORT = InsufficientResource("cpu", 1000, 4000, 2)


def refused(*causes, nodes=4, **more):
    """A PodGroup whose pods fit nowhere in the cluster, for these *causes*."""
    domain = DomainCause(WORLD, nodes, 0, 2, causes=causes, **more)
    return PodsDoNotFit((ROOT,), WORLD, PodDemand(2, 2, 0, ()), (domain,), undivided=True)


def lacking(literal):
    value = SelectorLiteral(LiteralKind.TEXT, literal)
    selector = DeviceComparison("gpu.example.com", ComparedPart.ATTRIBUTE, "model", Comparison.EQUAL, (value,))
    claim = NamedClaim("pod/train-0/gpu", None)
    return InsufficientDevices(claim, "gpu.example.com", "gpu", 0, 1, NodeCount(4, 4), selectors=(selector,))


@pytest.mark.parametrize("seed", range(50))
def test_literals_are_whole_whatever_they_contain(seed):
    chance = random.Random(seed)
    literal = "x" + "".join(chance.choice(SEPARATORS) for _ in range(chance.randint(1, 8))) + ";"

    line = verdict_line((refused(lacking(literal)),))
    assert json.dumps(literal) in line
    assert group_words(refused(lacking(literal))) == line


def test_reasons_about_all_nodes_come_before_those_about_a_part():
    cordoned, taint = Cordoned(NodeCount(1, 4)), UntoleratedTaint(Taint(key="gpu", effect="NoSchedule"), NodeCount(3, 4))
    head = "group train does not fit in the cluster (2 pods): "

    assert f"{head}short of 3 cpu: 1 free, 4 needed" == verdict_line((refused(cordoned, SHORT),))
    assert f"{head}3 of 4 nodes have the untolerated taint gpu:NoSchedule; 1 of 4 nodes is cordoned" == verdict_line(
        (refused(cordoned, taint),)
    )


def test_a_plugin_whose_words_look_like_ours_is_not_cut():
    own = NodesRefused("under maintenance: it would fit if it were not; 1 of 2 nodes (of 9) are closed. Call us", NodeCount(4, 4))

    assert own.reason in verdict_line((refused(own),))


def test_what_would_help_comes_last():
    cordoned = Cordoned(NodeCount(2, 4))
    alone = refused(SHORT, cordoned, relaxation=DroppedFilter(cordoned, 1))
    single = PodsDoNotFit(
        (Name("Pod", "ml", "p"),),
        WORLD,
        PodDemand(1, 1, 0, ()),
        (DomainCause(WORLD, 4, 0, 1, causes=(SHORT,), relaxation=DroppedFilter(cordoned, 1)),),
        undivided=True,
    )

    assert verdict_line((alone,)).endswith("short of 3 cpu: 1 free, 4 needed; only 1 of 2 pods would fit if 2 of 4 nodes were uncordoned")
    assert verdict_line((single,)).endswith("short of 3 cpu: 1 free, 4 needed; it would fit if 2 of 4 nodes were uncordoned")


def test_the_first_sentence_is_about_the_group_that_fails_first():
    inner = TooFewMembers((Name("CompositePodGroup", "ml", "top"), ROOT), 1, 2)
    rack = Domain("rack", "r1")
    tree = ChildrenDoNotFit((Name("CompositePodGroup", "ml", "top"),), 2, 2, (ChildrenInDomain(rack, 1, (inner,)),), "rack")
    failed = ChildrenDoNotFit(tree.path, 2, 2, (ChildrenInDomain(rack, 2),), "rack", failure=AttemptFailed(PluginReason("no: really; no")))

    assert "group train of top has 1 of the 2 pods that it needs" == verdict_line((tree,)) == verdict_line((PartlyPlaced((tree,)),))
    assert "group top: no: really; no" == verdict_line((failed,))


def test_the_clause_that_decides_is_kept_whatever_the_room():
    labels = tuple((f"example.com/label-{number}", "true") for number in range(4))
    selector = NodeAffinityMismatch(NodeCount(2, 4), labels)
    states = [UntoleratedTaint(Taint(f"example.com/t{number}", "NoSchedule"), NodeCount(1, 4)) for number in range(2)]
    single = PodsDoNotFit(
        (Name("Pod", "ml", "p"),),
        WORLD,
        PodDemand(1, 1, 0, ()),
        (DomainCause(WORLD, 4, 0, 1, causes=(*states, selector), relaxation=DroppedFilter(selector, 1)),),
        undivided=True,
    )

    line = verdict_line((single,))
    assert all(f"{key}=true" in line for key, _ in labels)
    assert line.endswith("which 2 of 4 nodes do not match, were dropped")


def test_affinity_is_named_as_far_as_it_decides():
    block = Requirement("topology.example.com/block", "In", ("b1", "b2"))
    disk = Requirement("disk", "In", tuple(f"d{number}" for number in range(9)))
    cores, rack, old = Requirement("cores", "Gt", ("8",)), Requirement("rack", "Exists"), Requirement("old", "DoesNotExist")
    terms = (NodeSelectorTerm((disk, cores)), NodeSelectorTerm((rack, old), (Requirement("metadata.name", "NotIn", ("n1",)),)))
    named = NodeAffinityMismatch(NodeCount(4, 4), node_affinity=True, node_selector_terms=terms)
    nowhere = replaced(named, node_selector=(("a", "true"),), unmet_requirements=(block, cores, old))

    assert verdict_line((refused(named),)).endswith(
        ": none of the 4 nodes matches its node affinity disk in (d0, d1, d2, d3 and 5 more),cores > 8 or rack,!old,metadata.name!=n1"
    )
    assert verdict_line((refused(nowhere),)).endswith(
        ": none of the 4 nodes matches its node selector a=true and node affinity: "
        "no node has label topology.example.com/block in (b1, b2) or cores > 8, and no node matches !old"
    )


@pytest.mark.parametrize(
    ("operator", "values", "text"),
    [
        ("In", ("1",), "z=1"),
        ("NotIn", ("1",), "z!=1"),
        ("NotIn", ("1", "2"), "z notin (1, 2)"),
        ("Foo", ("1",), "z Foo (1)"),
        ("Foo", ("1", "2"), "z Foo (1, 2)"),
    ],
)
def test_an_operator_that_does_not_exist_is_shown_as_it_is(operator, values, text):
    assert expression_text("z", operator, values) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("r1", "rack", "rackless"), "racks r1, rack and rackless"),
        (("rackless",), "rack rackless"),
        (("rack",), "rack rack"),
        (("rack-1", "r2"), "rack-1 and rack r2"),
        (("rack1", "rack_2", "rack.3"), "rack1, rack_2 and rack.3"),
    ],
)
def test_a_value_is_a_name_only_if_it_begins_with_the_noun_as_a_word(values, text):
    assert domain_names([Domain("example.com/rack", each) for each in values]) == text


@pytest.mark.parametrize(
    ("key", "names", "one", "several"),
    [
        ("example.com/switch", "switch s1 and s2", "and 1 more switch", "and 2 more domains of switch (at most 1 each)"),
        ("gpu.example.com/chassis", "chassis s1 and s2", "and 1 more chassis", "and 2 more domains of chassis (at most 1 each)"),
        ("example.com/topology-rack", "topology-racks s1 and s2", "and 1 more topology-rack", "and 2 more topology-racks (at most 1 each)"),
        ("topology.kubernetes.io/zone", "zones s1 and s2", "and 1 more zone", "and 2 more zones (at most 1 each)"),
    ],
)
def test_a_key_that_is_no_known_level_has_no_plural(key, names, one, several):
    domains = [Domain(key, "s1"), Domain(key, "s2")]
    apart = AffinityConflict(AffinityRule.ANTI_AFFINITY, key, (), ("s1", "s2"), everywhere=False, nodes=NodeCount(1, 4))

    assert (names, one, several) == (domain_names(domains), further(1, key, None), further(2, key, 1))
    assert f"{names} have a pod with any label" in node_words(apart)


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (NodeCount(1, 4), "1 of 4 nodes does not match"),
        (NodeCount(2, 4), "2 of 4 nodes do not match"),
        (NodeCount(1, 1), "its only node does not match"),
        (NodeCount(2, 2), "neither node matches"),
        (NodeCount(4, 4), "none of the 4 nodes matches"),
    ],
)
def test_that_no_node_matches_is_not_ambiguous(nodes, text):
    mismatch = NodeAffinityMismatch(nodes, (("a", "1"),))

    assert f"{text} its node selector a=1" == node_words(mismatch)
    assert f", which {text}, were dropped" in verdict_line((refused(mismatch, relaxation=DroppedFilter(mismatch, 2)),))


def test_long_selections_are_named_once_and_the_line_has_its_end():
    labels = tuple((f"k{number}.example.com/" + "a" * 50, "b" * 60) for number in range(12))
    absent = tuple(Requirement(key, "In", (value,)) for key, value in labels)
    terms = (NodeSelectorTerm(tuple(absent)), *(NodeSelectorTerm((each,)) for each in absent))
    whole = NodeAffinityMismatch(NodeCount(2, 4), labels, unmet_requirements=absent)
    part = replaced(whole, unmet_requirements=absent[1:])
    affine = NodeAffinityMismatch(NodeCount(2, 4), labels, node_affinity=True, node_selector_terms=terms)

    for each in (whole, part, affine, replaced(affine, unmet_requirements=absent)):
        line = verdict_line((refused(SHORT, each, relaxation=DroppedFilter(each, 2)),))
        assert line.endswith(", were dropped")
        assert line.count(labels[0][0]) <= 2
    line = verdict_line((refused(whole, relaxation=DroppedFilter(whole, 2)),))
    assert line.count("=") == 1
    assert "and 11 more, which 2 of 4 nodes do not match (no node has any of these labels), were dropped" in line
    few = NodeAffinityMismatch(NodeCount(4, 4), (("a", "1"), ("b", "2")), unmet_requirements=(Requirement("b", "In", ("2",)),))
    assert node_words(few) == "none of the 4 nodes matches its node selector a=1 and b=2: no node has label b=2"


@pytest.mark.parametrize(
    ("ports", "text"),
    [((("TCP", 80),), "host port 80/TCP in use"), ((("TCP", 80), ("UDP", 53)), "host ports 80/TCP and 53/UDP in use")],
)
def test_one_host_port_or_several(ports, text):
    assert node_words(HostPortsInUse(ports, NodeCount(1, 1))) == f"its only node has {text}"


def test_taints_that_the_pods_do_not_tolerate_are_one_clause():
    states = [UntoleratedTaint(Taint(f"t{number}", "NoSchedule"), NodeCount(number + 1, 4)) for number in range(2)]

    assert verdict_line((refused(*states),)).endswith(": 3 of 4 nodes have untolerated taints: t0:NoSchedule and t1:NoSchedule")


def test_clauses_about_parts_of_the_nodes_are_kept_until_they_can_be_all_nodes():
    states = (
        Cordoned(NodeCount(3, 6)),
        UntoleratedTaint(Taint("a", "NoSchedule"), NodeCount(4, 6)),
        NodesRefused("node(s) were full", NodeCount(1, 6)),
    )

    assert verdict_line((refused(*states, nodes=6),)).endswith(
        ": 4 of 6 nodes have the untolerated taint a:NoSchedule; 3 of 6 nodes are cordoned"
    )


def test_a_clause_for_which_there_is_no_room_is_left_out():
    whole = InsufficientResource("cpu", 1000, 4000, 2)

    assert "short of" in verdict_line((refused(whole, PodRefused("x" * 240)),))
    assert "x" not in verdict_line((refused(whole, PodRefused("x" * 240)),)).partition("short")[2]


def test_what_a_plugin_of_a_user_says_is_quoted_whole():
    refusals = NodesRefused("node(s) were under maintenance", NodeCount(1, 1), "Maintenance")

    assert verdict_line((refused(refusals, nodes=1),)).endswith(
        ": its only node is refused by plugin Maintenance: node(s) were under maintenance"
    )


@pytest.mark.parametrize(
    ("reason", "one", "several"),
    [
        ("node(s) exceed max volume count", "exceeds max volume count", "exceed max volume count"),
        ("node(s) had no available disk", "had no available disk", "had no available disk"),
        ("node(s) were full", "was full", "were full"),
        ("node(s) unavailable due to a claim", "is unavailable due to a claim", "are unavailable due to a claim"),
        (
            RelationsUnmet(),
            "didn't satisfy the pod's relations to other pods",
            "didn't satisfy the pod's relations to other pods",
        ),
    ],
)
def test_the_verb_of_a_reason_of_kube_scheduler_agrees_with_the_nodes(reason, one, several):
    single, both = NodesRefused(reason, NodeCount(1, 1)), NodesRefused(reason, NodeCount(2, 2))

    assert (f"its only node {one}", f"both nodes {several}") == (node_words(single), node_words(both))
    assert (f"1 node that {one}", f"2 nodes that {several}") == (closed_nodes(single), closed_nodes(both))


def test_the_cause_that_the_change_removes_decides_and_not_another_filter():
    selector = NodeAffinityMismatch(NodeCount(2, 6), (("a", "true"),))
    taints = [UntoleratedTaint(Taint(f"t{number}", "NoSchedule", "v" * 60), NodeCount(1, 6)) for number in range(4)]
    cause = refused(*taints, selector, nodes=6, relaxation=DroppedFilter(selector, 1))
    owner = Name("Pod", "ml", "p")

    assert "t3=" not in verdict_line((cause,))
    assert "t3=" in verdict_line((cause,), ToleratedTaint(taints[3].taint, owner))
    assert "node selector a=true" in verdict_line((cause,), DroppedSelectors(owner, node_selector=True, node_affinity=False))


def test_the_clause_that_decides_is_first_and_a_condition_last():
    taint, cordoned = UntoleratedTaint(Taint("t", "NoSchedule"), NodeCount(1, 6)), Cordoned(NodeCount(3, 6))
    selector = NodeAffinityMismatch(NodeCount(2, 6), (("a", "true"),))
    cause = refused(selector, taint, cordoned, nodes=6, relaxation=DroppedFilter(cordoned, 1))
    tainted, selected = "1 of 6 nodes has the untolerated taint t:NoSchedule", "2 of 6 nodes do not match its node selector a=true"
    condition = "only 1 of 2 pods would fit if 3 of 6 nodes were uncordoned"

    owner = Name("Pod", "ml", "p")
    assert verdict_line((cause,)).endswith(f": {selected}; {tainted}; {condition}")
    assert verdict_line((cause,), ToleratedTaint(taint.taint, owner)).endswith(f": {tainted}; {selected}; {condition}")
    assert verdict_line((cause,), UncordonedNodes(("n1",))).endswith(f": {selected}; {tainted}; {condition}")


def test_the_filter_without_which_a_gang_would_fit_decides_too():
    selector = NodeAffinityMismatch(NodeCount(3, 4), (("a", "x" * 100),))
    large = [RequestTooLarge("cpu", 2000, 1000, ComparedNodes.USABLE) for _ in range(3)]

    line = verdict_line((refused(*large, selector, relaxation=DroppedFilter(selector, 2)),))
    assert line.endswith("x, which 3 of 4 nodes do not match, were dropped")


def test_a_rack_that_a_filter_closes_is_named_whatever_its_place():
    cordoned = Cordoned(NodeCount(2, 4))
    racks = [DomainCause(Domain("rack", f"r{number}" + "x" * 100), 4, 0, 2, decisive=(SHORT,)) for number in range(3)]
    closed = DomainCause(Domain("rack", "closed"), 4, 0, 2, causes=(cordoned,), relaxation=DroppedFilter(cordoned, 2))
    cause = PodsDoNotFit((ROOT,), WORLD, PodDemand(2, 2, 0, ()), (*racks, closed), "rack")

    for change in (None, UncordonedNodes(("n1", "n2"))):
        assert "closed can hold none" in verdict_line((cause,), change)


def rack(name, pods=0, text="", **more):
    return DomainCause(Domain("rack", name + text), 4, pods, 3, **more)


def test_racks_are_in_their_order_and_those_left_out_are_counted_at_the_end():
    cordoned, taint = Cordoned(NodeCount(1, 4)), UntoleratedTaint(Taint("t", "NoSchedule"), NodeCount(4, 4))
    closed = rack("r2", 0, causes=(cordoned,), relaxation=DroppedFilter(cordoned, 3))
    tainted = rack("r3", 0, causes=(taint,), relaxation=DroppedFilter(taint, 3))
    named = (rack("r1", 1), closed, tainted, rack("r4", 2, "x" * 250))

    def line(further, racks=named):
        cause = PodsDoNotFit((ROOT,), WORLD, PodDemand(3, 3, 0, ()), racks, "rack", further=further)
        return verdict_line((cause,), UncordonedNodes(("n1",))).partition("(3 pods): ")[2]

    both = "rack r1 can hold 1; rack r2 can hold none, or all 3 if 1 of 4 nodes were uncordoned"
    assert line(FurtherDomains(8, 0), named[:2]) == f"{both}; and 8 more racks (can hold none)"
    assert line(FurtherDomains(8, 0)).startswith(f"{both}; rack r3 can hold none")
    assert line(FurtherDomains(8, 0)).endswith("were tolerated; and 9 more racks (at most 2 each)")
    assert line(FurtherDomains(8)).endswith("; and 9 more racks")
    assert line(None).endswith("; and 1 more rack (at most 2)")


def test_racks_in_which_the_groups_of_a_tree_do_not_fit_are_counted_too():
    top = Name("CompositePodGroup", "ml", "top")
    short = TooFewMembers((top, ROOT), 1, 2)
    racks = (ChildrenInDomain(Domain("rack", "r1"), 1), ChildrenInDomain(Domain("rack", "x" * 250), 0, (short,)))
    tree = ChildrenDoNotFit((top,), 2, 2, racks, "rack", further=FurtherDomains(3))

    last = verdict_line_module._main_clauses([*sentences((tree,))][-1].clauses, None)
    assert last == "rack r1 can hold 1; and 4 more racks"


def test_taints_of_several_racks_are_not_added_up():
    racks = [rack(f"r{each}", causes=(UntoleratedTaint(Taint(f"t{each}", "NoSchedule"), NodeCount(4, 4)),)) for each in range(2)]
    cause = PodsDoNotFit((ROOT,), WORLD, PodDemand(3, 3, 0, ()), tuple(racks), "rack")

    assert verdict_line((cause,)) == group_words(cause)


@pytest.mark.parametrize(
    ("key", "within", "one", "where"),
    [
        (HOSTNAME, "on node x1", "on one node", "on node x1"),
        ("example.com/rack", "in rack x1", "in one rack", "on any node in rack x1"),
    ],
)
def test_pods_are_on_nodes_and_in_other_domains(key, within, one, where):
    top, domain = Name("CompositePodGroup", "ml", "top"), Domain(key, "x1")
    held = DomainCause(domain, 1, 0, 2, causes=(SHORT,))
    single = PodsDoNotFit((top, Name("Pod", "ml", "p")), domain, PodDemand(1, 1, 0, ()), (held,), undivided=True)
    tree = ChildrenDoNotFit((top,), 2, 2, (ChildrenInDomain(domain, 1),), key)

    assert f"does not fit {where}: " in group_words(single)
    assert f"does not fit {within} (2 pods)" in group_words(PodsDoNotFit((ROOT,), domain, PodDemand(2, 2, 0, ()), (held,), undivided=True))
    assert group_words(FitsAlone(domain, None)).startswith(f"fits by itself {within}, but")
    assert f"for 2 more pods {within}" in group_words(PodsLeftOver((ROOT,), (), held))
    assert f"has capacity for 1 of 2 pods {one}" in group_words(InsufficientCapacity((ROOT,), 1, 2, key=key))
    assert f"top needs both of its groups {one}" in group_words(tree)
    assert constraint_text(InOneDomain(ROOT, key)).endswith(f"must be {one} ({key})")


def test_causes_of_one_sentence_are_its_clauses():
    waiting = QuorumAwaited(ROOT, tuple(QuorumShortage(Name("PodGroup", "ml", f"g{number}"), 4, 1) for number in range(40)))
    gated = MembersGated((("ml/p", ("x/g",)),))

    line = verdict_line((QuorumAwaited(ROOT, waiting.shortages[:1]), gated))
    assert line.endswith("3 missing; waiting for scheduling gates of members: ml/p [x/g]")
    assert "waiting for scheduling gates: [a]; claim" == verdict_line((SchedulingGated(("a",)), ClaimMissing("claim")))
    assert len(verdict_line((waiting,))) < 600


def test_a_line_that_cannot_be_cut_at_clauses_is_cut():
    assert len(verdict_line((PluginReason("x" * 5000),))) <= 600


CLAIM = NamedClaim("default/data", None)

REMOVE_NONE_ALONE = {
    *(changes.LoweredMinimums, changes.WidenedTopology, changes.DroppedTopology, changes.MovedPods),
    changes.AwaitedDeletions,
    *(changes.EvictedUnits, changes.AddedNodes, changes.AddedNodesByDomain, changes.RemovedGates, changes.DeletedBudgets),
}
"""Changes of demand or of capacity as a whole: the clause with the figures is what they change."""
OF_OTHER_CHANGES = {changes.Successive, changes.ToleratedTaint, changes.EnabledPlugin}
"""Changes whose causes depend on their fields, or that no verdict line states."""


def test_every_change_says_which_clause_it_decides():
    members = set()
    unions = [changes.Change]
    while unions:
        each = unions.pop()
        unions += typing.get_args(each)
        members |= set() if typing.get_args(each) else {each}

    decided = {*removed_causes.REMOVED, *removed_causes.PROVIDED}
    assert members == decided | REMOVE_NONE_ALONE | OF_OTHER_CHANGES
    assert not decided & (REMOVE_NONE_ALONE | OF_OTHER_CHANGES)


@pytest.mark.parametrize(
    ("change", "cause", "text"),
    [
        pytest.param(
            changes.AddedVolumes((changes.LocalVolumes(1, "local", 1),), None, ("n",)),
            NoFreeVolume(CLAIM, "local", None, NodeCount(1, 12)),
            "has no free volume of class local",
            id="volumes",
        ),
        pytest.param(
            changes.RaisedAttachLimits("csi.x", (), 1),
            InsufficientOnNodes((Amount(AttachableVolumes("csi.x"), 1),), NodeCount(1, 12)),
            "csi.x",
            id="attach limits",
        ),
        pytest.param(
            changes.DroppedAllowedTopologies("csi"),
            OutsideAllowedTopologies(CLAIM, "csi", NodeCount(1, 12)),
            "outside the allowed topologies of class csi",
            id="allowed topologies",
        ),
    ],
)
def test_the_clause_about_volumes_that_the_change_provides_is_kept(change, cause, text):
    keys = [f"example.com/taint-of-a-pool-with-a-long-name-{each}" for each in range(11)]
    taints = [UntoleratedTaint(Taint(key=key, value="reserved"), NodeCount(1, 12)) for key in keys]

    assert text in verdict_line((refused(*taints, cause),), change)
