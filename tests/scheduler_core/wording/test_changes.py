"""Every change and constraint has a text; all names in it are shown as the caller wants."""

from __future__ import annotations

import itertools
import typing

import pytest

from kubeapi.base_structs import Record, replaced
from kubeapi.nodes import Taint
from scheduler_core.causes import changes, constraints
from scheduler_core.causes.changes import Change, SearchLimit
from scheduler_core.causes.constraints import Constraint
from scheduler_core.causes.domains import PodRule
from scheduler_core.model.decision import Remedy
from scheduler_core.model.names import HOSTNAME, Domain, Name
from scheduler_core.whatif.edits.change_order import order_key
from scheduler_core.wording.changes import change_text, limit_text, remedy_text, searched_text
from scheduler_core.wording.constraints import constraint_text

GROUP, OTHER, TREE = Name("PodGroup", "ml", "a"), Name("PodGroup", "ml", "a-b"), Name("CompositePodGroup", "ml", "t")
POD, CLAIM = Name("Pod", "ml", "p"), Name("ResourceClaim", "ml", "c")
RACK = Domain("topology.example/rack", "r1")
TAINT = Taint("team", "NoSchedule", "x")
MOVED = changes.MovedPods((changes.MovedPod(POD, "n1", "n2"),))
REQUEST = changes.RequestOfClaim("gpu", CLAIM)
NODES = changes.AddedNodes(2, (), "n1")
GI = 2**30

CHANGES: list[tuple[Change, str]] = [
    (changes.LoweredMinimums((changes.LoweredMinimum(GROUP, 4, 2),)), "minCount of PodGroup ml/a lowered from 4 to 2"),
    (
        changes.LoweredMinimums((changes.LoweredMinimum(GROUP, 4, 2), changes.LoweredMinimum(OTHER, 4, 2))),
        "minCount of PodGroup ml/a and PodGroup ml/a-b lowered from 4 to 2",
    ),
    (
        changes.LoweredMinimums((changes.LoweredMinimum(GROUP, 4, 2), changes.LoweredMinimum(TREE, 4, 2))),
        "minCount of PodGroup ml/a lowered from 4 to 2 and minGroupCount of CompositePodGroup ml/t lowered from 4 to 2",
    ),
    (
        changes.WidenedTopology((GROUP, OTHER), "topology.example/rack", "zone"),
        "topology constraints of PodGroup ml/a and PodGroup ml/a-b widened from rack to zone (zone)",
    ),
    (changes.WidenedTopology((GROUP,), "rack", "zone"), "topology constraint of PodGroup ml/a widened from rack to zone (zone)"),
    (changes.DroppedTopology(("zone", "rack"), (GROUP,)), "topology constraints zone and rack of PodGroup ml/a dropped"),
    (changes.DroppedTopology(("rack",), (GROUP, OTHER)), "topology constraints rack of PodGroup ml/a and PodGroup ml/a-b dropped"),
    (changes.DroppedTopology(("rack",), (GROUP,)), "topology constraint rack of PodGroup ml/a dropped"),
    (changes.AwaitedDeletions((POD,)), "wait for 1 pod that is being deleted: Pod ml/p"),
    (MOVED, "1 running pod moved: ml/p from n1 to n2"),
    (changes.EvictedUnits(3, (GROUP, POD)), "PodGroup ml/a and Pod ml/p evicted (3 running pods)"),
    (changes.UncordonedNodes(("n1",)), "node n1 uncordoned"),
    (changes.UncordonedNodes(("n1", "n2")), "2 nodes uncordoned: n1 and n2"),
    (NODES, "2 more nodes like n1"),
    (replaced(NODES, count=1, domains=(RACK, Domain("zone", "zone-1"))), "1 more node in rack r1 and zone-1 like n1"),
    (replaced(NODES, domains=(Domain(HOSTNAME, "n1"),)), "2 more nodes on node n1 like n1"),
    (
        changes.AddedDevices(1, "gpu", Domain(HOSTNAME, "n1"), ("n1",)),
        "1 more device of class gpu on node n1",
    ),
    (
        replaced(NODES, larger=(changes.Amount("cpu", 9500), changes.Amount("memory", 64 * GI))),
        "2 more nodes like n1, but with 9500m cpu and 64Gi memory",
    ),
    (
        changes.AddedNodesByDomain((replaced(NODES, domains=(RACK,)), changes.AddedNodes(1, (Domain("zone", "z"),), "n2"))),
        "3 more nodes: 2 in rack r1 like n1 and 1 in zone z like n2",
    ),
    (changes.ToleratedTaint(TAINT, GROUP), "taint team=x:NoSchedule tolerated by the pods of PodGroup ml/a"),
    (
        changes.Successive(
            changes.Successive(changes.ToleratedTaint(TAINT, GROUP), changes.ToleratedTaint(Taint("a", "NoExecute"), GROUP)),
            changes.UncordonedNodes(("n1",)),
        ),
        "taints team=x:NoSchedule and a:NoExecute tolerated by the pods of PodGroup ml/a, and node n1 uncordoned",
    ),
    (changes.ToleratedTaint(TAINT, POD), "taint team=x:NoSchedule tolerated by Pod ml/p"),
    (changes.DroppedSelectors(POD, True, False), "node selector of Pod ml/p dropped"),
    (changes.DroppedPodRules(POD, (PodRule.SPREAD,)), "topology spread of Pod ml/p dropped"),
    (changes.RemovedGates(POD), "scheduling gates of Pod ml/p removed"),
    (changes.DroppedSelectors(GROUP, True, True), "node selector and affinity of the pods of PodGroup ml/a dropped"),
    (changes.DroppedSelectors(GROUP, True, False), "node selector of the pods of PodGroup ml/a dropped"),
    (changes.DroppedSelectors(GROUP, False, True), "node affinity of the pods of PodGroup ml/a dropped"),
    (changes.DroppedPodRules(GROUP, (PodRule.SPREAD,)), "topology spread of the pods of PodGroup ml/a dropped"),
    (
        changes.DroppedPodRules(GROUP, (PodRule.AFFINITY, PodRule.ANTI_AFFINITY)),
        "pod affinity and pod anti-affinity of the pods of PodGroup ml/a dropped",
    ),
    (changes.RemovedGates(GROUP), "scheduling gates of the pods of PodGroup ml/a removed"),
    (
        changes.AddedVolumes((changes.LocalVolumes(2, "fast", 5 * GI), changes.LocalVolumes(1, "slow", 0)), RACK, ("n1", "n2")),
        "2 more local volumes of class fast with 5Gi and 1 more local volume of class slow in rack r1, on n1 and n2",
    ),
    (
        changes.RaisedCapacities(
            (
                changes.RaisedCapacity("c", changes.NodeLabel("zone", ("z1", "z2")), changes.Raised(GI, 2 * GI), None),
                changes.RaisedCapacity("d", RACK, None, changes.Raised(None, 3 * GI)),
            )
        ),
        "maximum volume size of class c in zone z1 or z2 raised from 1Gi to 2Gi and storage capacity of class d in rack r1 raised to 3Gi",
    ),
    (
        changes.RaisedAttachLimits("csi.example", (changes.AttachLimit("n1", 3), changes.AttachLimit("n2", 3)), 2),
        "attach limit of CSI driver csi.example raised from 3 to 5 on n1 and n2",
    ),
    (
        changes.RaisedAttachLimits("csi.example", (changes.AttachLimit("n1", 3), changes.AttachLimit("n2", 4)), 2),
        "attach limit of CSI driver csi.example raised by 2 on n1 and n2",
    ),
    (changes.CreatedClassesLike(("fast", "slow"), "plain"), "StorageClass fast and slow created like plain"),
    (changes.CreatedClasses(("fast",), "csi.example"), "StorageClass fast created with provisioner csi.example"),
    (changes.DroppedAllowedTopologies("fast"), "allowed topologies of StorageClass fast dropped"),
    (
        changes.RemovedSelectedNodes(
            tuple(changes.SelectedNode(Name("PersistentVolumeClaim", "ml", each), "n1") for each in ("data", "logs"))
        ),
        "selected node of claims ml/data (n1) and ml/logs (n1) removed",
    ),
    (
        changes.AddedVolumes((changes.LocalVolumes(1, "fast", 0),), Domain(HOSTNAME, "n1"), ("n1",)),
        "1 more local volume of class fast on node n1",
    ),
    (changes.AddedDevices(1, "gpu", Domain("zone", "n1"), ("n1",)), "1 more device of class gpu in zone n1, on n1"),
    (changes.AddedDevices(1, "gpu", Domain(HOSTNAME, "h1"), ("n1",)), "1 more device of class gpu on node h1, on n1"),
    (changes.AddedDevices(2, "gpu", RACK, ("n1", "n2")), "2 more devices of class gpu in rack r1, on n1 and n2"),
    (
        changes.ToleratedDeviceTaint(Taint("broken", "NoExecute"), REQUEST),
        "device taint broken:NoExecute tolerated by request gpu of ResourceClaim ml/c",
    ),
    (changes.DroppedDeviceSelectors(REQUEST), "selectors of request gpu of ResourceClaim ml/c dropped"),
    (changes.ChangedDeviceClass(REQUEST, "big", "small"), "class of request gpu of ResourceClaim ml/c changed from big to small"),
    (changes.DroppedDeviceConstraint("gpu.example/model", CLAIM), "constraint about gpu.example/model of ResourceClaim ml/c dropped"),
    (
        changes.DeletedBudgets((Name("PodDisruptionBudget", "ml", "b"),), 2),
        "PodDisruptionBudget ml/b deleted, or changed to allow 2 disruptions; the victims are then evicted",
    ),
    (
        changes.DeletedBudgets((Name("PodDisruptionBudget", "ml", "b"), Name("PodDisruptionBudget", "ml", "c"))),
        "PodDisruptionBudget ml/b and PodDisruptionBudget ml/c deleted; the victims are then evicted",
    ),
    (changes.EnabledPlugin("Tolerant"), "admission plugin Tolerant on (judge with --admission-plugins Tolerant)"),
    (
        changes.EnabledPlugin("Tolerant", stored=True),
        "admission plugin Tolerant on when the pods are created again (judge their manifest with muster fit --admission-plugins Tolerant)",
    ),
    (changes.Successive(MOVED, NODES), "1 running pod moved: ml/p from n1 to n2, and 2 more nodes like n1"),
]
CONSTRAINTS: list[tuple[Constraint, str]] = [
    (constraints.NeedsMembers(GROUP, 4), "PodGroup ml/a needs 4 pods"),
    (constraints.NeedsMembers(TREE, 2), "CompositePodGroup ml/t needs 2 groups"),
    (constraints.InOneDomain(GROUP, "topology.example/rack"), "PodGroup ml/a must be in one rack (topology.example/rack)"),
    (constraints.TakesCapacity(GROUP), "PodGroup ml/a also takes capacity"),
    (constraints.EarlierRoot(GROUP), "PodGroup ml/a, placed before it, takes capacity"),
    (constraints.EarlierRoots(17), "17 roots placed before it take capacity"),
    (constraints.NominatedPodsKeepCapacity(), "pods with a nominated node keep their capacity"),
    (constraints.RunningPodsKeepNodes(), "running pods keep their nodes"),
    (constraints.NotRelaxed(changes.ToleratedTaint(TAINT, GROUP)), "taint team=x:NoSchedule is not tolerated by the pods of PodGroup ml/a"),
    (constraints.NotRelaxed(changes.DroppedSelectors(GROUP, True, True)), "node selector and affinity of the pods of PodGroup ml/a apply"),
    (constraints.NotRelaxed(changes.DroppedSelectors(GROUP, True, False)), "node selector of the pods of PodGroup ml/a applies"),
    (constraints.NotRelaxed(changes.DroppedSelectors(GROUP, False, True)), "node affinity of the pods of PodGroup ml/a applies"),
    (constraints.NotRelaxed(changes.DroppedPodRules(GROUP, (PodRule.AFFINITY,))), "pod affinity of the pods of PodGroup ml/a applies"),
    (
        constraints.NotRelaxed(changes.DroppedPodRules(GROUP, (PodRule.ANTI_AFFINITY, PodRule.SPREAD))),
        "pod anti-affinity and topology spread of the pods of PodGroup ml/a apply",
    ),
    (constraints.NotRelaxed(changes.RemovedGates(GROUP)), "scheduling gates of the pods of PodGroup ml/a remain"),
]


@pytest.mark.parametrize(("change", "want"), CHANGES)
def test_a_change_in_words(change: Change, want: str) -> None:
    assert want == change_text(change)


@pytest.mark.parametrize(("constraint", "want"), CONSTRAINTS)
def test_a_constraint_in_words(constraint: Constraint, want: str) -> None:
    assert want == constraint_text(constraint)


def test_every_kind_has_a_case() -> None:
    assert set(typing.get_args(Change)) == {type(each) for each, _ in CHANGES}
    assert set(typing.get_args(Constraint)) == {type(each) for each, _ in CONSTRAINTS}
    relaxed = {type(each.relaxation) for each, _ in CONSTRAINTS if isinstance(each, constraints.NotRelaxed)}
    assert set(typing.get_args(changes.Relaxation)) == relaxed


def test_values_are_keys_and_have_an_order() -> None:
    found = [change for change, _ in CHANGES]
    assert len(found) == len(set(found)) == len({order_key(each) for each in found})
    backwards = found[::-1]
    assert sorted(found, key=order_key) == sorted(backwards, key=order_key)
    for first, second in itertools.product(found, found):
        assert (first == second) == (order_key(first) == order_key(second))


@pytest.mark.parametrize(("change", "want"), [*CHANGES, *CONSTRAINTS])
def test_a_name_is_shown_as_the_caller_wants(change: Change | Constraint, want: str) -> None:
    """Of the names of pods and claims that are moved or bound, only namespace and name are in the text."""
    text = change_text if type(change) in typing.get_args(Change) else constraint_text
    shown = text(change, lambda name: f"<{name.kind} {name.namespace}/{name.name}>")  # type: ignore[operator]

    assert want == shown.replace("<", "").replace(">", "")
    assert all(f"<{each.kind} {each.namespace}/{each.name}>" in shown for each in titled_in(change))


def titled_in(value: object) -> set[Name]:
    """Return the names in *value* of objects whose kinds are in its text."""
    if isinstance(value, changes.MovedPods | changes.RemovedSelectedNodes):
        return set()
    if isinstance(value, Name):
        return {value}
    if isinstance(value, tuple):
        return {name for each in value for name in titled_in(each)}
    if isinstance(value, Record):
        return {name for each in value.__struct_fields__ for name in titled_in(getattr(value, each))}
    return set()


def test_the_reason_of_a_change_follows_it() -> None:
    one, more = (Remedy(NODES, (), because=changes.TakenAhead(GROUP, others, 1 + others)) for others in (0, 2))

    assert "2 more nodes like n1, because PodGroup ml/a is ahead in the queue and uses 1 of them" == remedy_text(one)
    assert "2 more nodes like n1, because X and 2 more roots are ahead in the queue and use 3 of them" == remedy_text(more, lambda _: "X")


def test_nodes_beyond_the_sums_are_explained() -> None:
    def words(waste: changes.Waste | None, nodes: int = 1, *rules: PodRule) -> str:
        return remedy_text(Remedy(NODES, (), because=changes.MoreThanSums(nodes, waste, 3, rules)))

    start = "2 more nodes like n1, not 1 as by the sum of requests: "
    assert f"{start}each holds only 3 pods" == words(changes.Waste.REST)
    assert f"{start}because of the topology spread of the pods" == words(None, 1, PodRule.SPREAD)
    assert words(changes.Waste.REST, 0).startswith("2 more nodes like n1, though the sum of what is free is enough: ")
    assert len(changes.Waste) == len({words(each) for each in changes.Waste})


def test_limits_of_the_search_in_words() -> None:
    assert "" == limit_text(None)
    assert len(SearchLimit) == len({limit_text(each) for each in SearchLimit} - {""})
    want = "searched for 3 of the 1,200 roots that are not placed; set --remedies 1200 for all of them"
    assert want == searched_text(changes.SearchedRoots(3, 1200))
