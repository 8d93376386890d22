"""Nodes that a shape may use, as far as the node alone decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from kubeapi.affinity import Affinity, NodeAffinity, PreferredSchedulingTerm
from kubeapi.nodes import Taint
from kubeapi.pods import Toleration
from kubeapi.selectors import NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.cluster.load import load
from scheduler_core.plugins.node_affinity import NODE_AFFINITY, unmet_requirements
from scheduler_core.plugins.node_affinity import NodeAffinity as NodeAffinityPlugin
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE
from scheduler_core.plugins.noderesources import resource_reason
from scheduler_core.plugins.profile import Profile, ShapeProfile
from scheduler_core.plugins.taint_toleration import TaintToleration, Tolerations
from tests.sampling import sampled
from tests.scheduler_core.builders import decided, node, pod, reasons_of, shape, table
from tests.scheduler_core.oracle import fit as slow
from tests.scheduler_core.oracle import score as slow_score
from tests.scheduler_core.oracle.model import read
from tests.scheduler_core.oracle.strategies import Size, clusters

HARD = Taint("team", "NoSchedule", "a")
SOFT = Taint("old", "PreferNoSchedule")
SSD = NodeSelectorTerm(match_expressions=(Requirement("disk", "In", ("ssd",)),))
ZONE_A = NodeSelectorTerm(match_expressions=(Requirement("zone", "In", ("a",)),))
TAPE = Requirement("disk", "In", ("tape", "drum"))
NAMED_N9 = Requirement("metadata.name", "In", ("n9",))
ZONE_AND_NONE = NodeSelectorTerm((Requirement("zone", "In", ("a",)), Requirement("zone", "DoesNotExist")))
NODES = table([{"disk": "ssd", "zone": "a"}, {"disk": "hdd", "zone": "a"}, {"disk": "ssd"}, {}])


def wanting(*terms: NodeSelectorTerm, preferred: tuple[PreferredSchedulingTerm, ...] | None = None) -> Affinity:
    return Affinity(NodeAffinity(NodeSelector(terms) if terms else None, preferred))


def untolerated(found: ShapeProfile) -> list[int] | None:
    return next((score.raw.tolist() for score in found.scores if score.weight == TaintToleration.weight and score.reverse), None)


def preferred(found: ShapeProfile) -> list[int] | None:
    return next((score.raw.tolist() for score in found.scores if score.weight == NodeAffinityPlugin.weight and not score.reverse), None)


def as_lists(found: list[tuple[str, Any]]) -> list[tuple[str, list[bool]]]:
    return [(reason, mask.tolist()) for reason, mask in found]


@pytest.mark.parametrize(
    ("toleration", "taint", "covered"),
    [
        pytest.param(Toleration("team", "Equal", "a", "NoSchedule"), HARD, True, id="all alike"),
        pytest.param(Toleration("team", "", "a", "NoSchedule"), HARD, True, id="no operator is Equal"),
        pytest.param(Toleration("team", "Equal", "b", "NoSchedule"), HARD, False, id="another value"),
        pytest.param(Toleration("team", "Equal", "a", "NoExecute"), HARD, False, id="another effect"),
        pytest.param(Toleration("team", "Equal", "a"), HARD, True, id="every effect"),
        pytest.param(Toleration("other", "Exists"), HARD, False, id="another key"),
        pytest.param(Toleration("team", "Exists"), HARD, True, id="any value"),
        pytest.param(Toleration("", "Exists"), HARD, True, id="every taint"),
        pytest.param(Toleration("", "Exists", effect="NoExecute"), HARD, False, id="every taint of one effect"),
        pytest.param(Toleration("team", "Near", "a"), HARD, False, id="an operator that there is not"),
        pytest.param(Toleration("sla", "Gt", "950"), Taint("sla", "NoSchedule", "999"), True, id="a larger number"),
        pytest.param(Toleration("sla", "Gt", "950"), Taint("sla", "NoSchedule", "950"), False, id="not larger than itself"),
        pytest.param(Toleration("sla", "Lt", "5"), Taint("sla", "NoSchedule", "-3"), True, id="a smaller number"),
        pytest.param(Toleration("sla", "Lt", "5"), Taint("sla", "NoSchedule", "5"), False, id="not smaller than itself"),
        pytest.param(Toleration("sla", "Lt", "5"), Taint("sla", "NoSchedule", "low"), False, id="no number"),
        pytest.param(Toleration("sla", "Gt", "5"), Taint("sla", "NoSchedule", "1_0"), False, id="no number to Go"),
        pytest.param(Toleration("sla", "Gt", "5"), Taint("sla", "NoSchedule", str(2**63)), False, id="more than 64 bits"),
    ],
)
def test_a_toleration_covers_a_taint(toleration, taint, covered):
    assert covered == Tolerations([toleration]).cover(taint)
    assert covered == Tolerations([Toleration("nothing", "Equal", "x"), toleration]).cover(taint)


def test_no_toleration_covers_nothing():
    assert not Tolerations([]).cover(HARD)


def test_of_several_numbers_one_suffices():
    listed = [Toleration("sla", operator, bound) for operator in ("Gt", "Lt") for bound in ("-5", "5", "x")]
    covered = [Tolerations(listed[:3]), Tolerations(listed[3:]), Tolerations(listed)]
    answers = {value: [each.cover(Taint("sla", "NoSchedule", value)) for each in covered] for value in ("-6", "-5", "-4", "4", "5", "6")}
    assert answers == {
        "-6": [False, True, True],
        "-5": [False, True, True],
        "-4": [True, True, True],
        "4": [True, True, True],
        "5": [True, False, True],
        "6": [True, False, True],
    }


@pytest.mark.parametrize(
    ("what", "want"),
    [
        pytest.param(shape(), [], id="no wishes"),
        pytest.param(shape(node_selector=(("disk", "ssd"),)), [True, False, True, False], id="node selector"),
        pytest.param(shape(node_selector=(("disk", "ssd"), ("zone", "a"))), [True, False, False, False], id="all of the selector"),
        pytest.param(shape(affinity=wanting(SSD)), [True, False, True, False], id="required term"),
        pytest.param(shape(affinity=wanting(SSD, ZONE_A)), [True, True, True, False], id="one of the terms"),
        pytest.param(shape(affinity=wanting(SSD), node_selector=(("zone", "a"),)), [True, False, False, False], id="both"),
        pytest.param(shape(affinity=Affinity(NodeAffinity(NodeSelector(())))), [False] * 4, id="no term matches nothing"),
        pytest.param(shape(affinity=wanting(preferred=(PreferredSchedulingTerm(5, SSD),))), [], id="a preference keeps nobody away"),
    ],
)
def test_selectors_and_required_affinity_choose_nodes(what, want):
    assert ([(NODE_AFFINITY, want)] if want else []) == as_lists(Profile(NODES).filters(what))
    mask = Profile(NODES).compile(what).mask
    assert (want or None) == (None if mask is None else mask.tolist())


@pytest.mark.parametrize(
    ("what", "want"),
    [
        pytest.param(shape(), (), id="no wishes"),
        pytest.param(shape(node_selector=(("disk", "ssd"), ("zone", "b"))), (Requirement("zone", "In", ("b",)),), id="of the selector"),
        pytest.param(shape(affinity=wanting(NodeSelectorTerm((TAPE,)))), (TAPE,), id="of the only term"),
        pytest.param(shape(affinity=wanting(NodeSelectorTerm((TAPE,)), SSD)), (), id="another term is met"),
        pytest.param(shape(affinity=wanting(ZONE_AND_NONE)), (), id="each for itself is met"),
        pytest.param(shape(affinity=wanting(NodeSelectorTerm(None, (NAMED_N9,)), NodeSelectorTerm((TAPE,)))), (NAMED_N9, TAPE), id="names"),
        pytest.param(shape(affinity=wanting(NodeSelectorTerm((TAPE, Requirement("x", "Exists"))))), (TAPE,), id="the first of a term"),
        pytest.param(
            shape(affinity=wanting(NodeSelectorTerm((TAPE,)), NodeSelectorTerm((TAPE,))), node_selector=(("zone", "c"),)),
            (Requirement("zone", "In", ("c",)), TAPE),
            id="of both, each once",
        ),
    ],
)
def test_requirements_that_no_node_meets_are_known(what, want):
    assert want == unmet_requirements(what, NODES)


def test_each_node_names_the_first_taint_that_keeps_a_shape_away():
    drained = Taint("drain", "NoExecute")
    nodes = table([{}] * 5, taints=[(HARD, drained), (drained, HARD), (SOFT,), (), (HARD,)])
    team, drain = "node(s) had untolerated taint {team: a}", "node(s) had untolerated taint {drain: }"

    assert [(drain, [True, False, True, True, True]), (team, [False, True, True, True, False])] == as_lists(Profile(nodes).filters(shape()))
    tolerating = shape(tolerations=(Toleration("team", "Exists"),))
    assert [(drain, [False, False, True, True, True])] == as_lists(Profile(nodes).filters(tolerating))


@pytest.mark.parametrize(
    ("tolerations", "want"),
    [
        pytest.param((), [False, True], id="not tolerated"),
        pytest.param((Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule"),), None, id="tolerated"),
        pytest.param((Toleration("", "Exists"),), None, id="everything is tolerated"),
        pytest.param((Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoExecute"),), [False, True], id="another effect"),
    ],
)
def test_a_cordoned_node_takes_only_who_tolerates_that(tolerations, want):
    nodes = load([node("a", unschedulable=True), node("b")]).nodes
    mask = Profile(nodes).compile(shape(tolerations=tolerations)).mask

    assert want == (None if mask is None else mask.tolist())


def test_filters_are_in_the_order_of_kube_scheduler():
    objects = [node("a", unschedulable=True), node("b", taints=[{"key": "k", "effect": "NoSchedule"}]), node("c")]
    what = shape(unmodelled=("spec.volumes[0].rbd",), node_selector=(("disk", "ssd"),))
    reasons = [reason for reason, _ in Profile(load(objects).nodes).filters(what)]

    assert ["spec.volumes[0].rbd", UNSCHEDULABLE, "node(s) had untolerated taint {k: }", NODE_AFFINITY] == reasons


UNMODELLED = ("spec.volumes[0].rbd", "spec.resourceClaims")


@pytest.mark.parametrize(
    ("ignore", "refused"),
    [
        pytest.param((), UNMODELLED, id="nothing is ignored"),
        pytest.param(("spec.volumes.rbd",), UNMODELLED[1:], id="without the index"),
        pytest.param(("spec.volumes[0].rbd",), UNMODELLED[1:], id="with the index"),
        pytest.param(("spec.volumes[1].rbd",), UNMODELLED, id="with another index"),
        pytest.param(("spec.volumes.rbd", "spec.resourceClaims"), (), id="all are ignored"),
    ],
)
def test_fields_that_are_not_modelled_refuse_a_pod_by_name(ignore, refused):
    result = Profile(NODES, ignore)

    assert result.refused(UNMODELLED) == (UnmodelledField(refused) if refused else None)
    mask = result.compile(shape(unmodelled=UNMODELLED)).mask
    assert (None if not refused else [False] * 4) == (None if mask is None else mask.tolist())


def test_preferences_and_soft_taints_are_counted_by_node():
    nodes = table([{"disk": "ssd"}, {"zone": "a", "disk": "ssd"}, {}], taints=[(SOFT, Taint("older", "PreferNoSchedule")), (SOFT,), ()])
    terms = (PreferredSchedulingTerm(7, SSD), PreferredSchedulingTerm(5, ZONE_A), PreferredSchedulingTerm(9, NodeSelectorTerm()))
    result = Profile(nodes).compile(shape(affinity=wanting(preferred=terms), tolerations=(Toleration("older", "Exists"),)))

    assert ([1, 1, 0], [7, 12, 0]) == (untolerated(result), preferred(result))
    assert not result.plain


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        pytest.param(Toleration("old", "Exists", effect="PreferNoSchedule"), None, id="of that effect"),
        pytest.param(Toleration("old", "Exists"), None, id="of every effect"),
        pytest.param(Toleration("old", "Exists", effect="NoSchedule"), [1, 0], id="of another effect"),
    ],
)
def test_soft_taints_that_are_tolerated_do_not_count(toleration, want):
    result = Profile(table([{}, {}], taints=[(SOFT,), ()])).compile(shape(tolerations=(toleration,)))

    assert want == untolerated(result)
    assert result.plain == (want is None)


def test_a_shape_is_examined_once():
    result, what = Profile(NODES), shape(1000)

    assert result.compile(what) is result.compile(what)
    assert ([0, 3], [[1000], [1]]) == (result.compile(what).rows.tolist(), result.compile(what).amounts.tolist())


def test_a_cluster_without_nodes_fits_nobody():
    result = Profile(table([])).compile(shape(1000, node_selector=(("disk", "ssd"),), unmodelled=("spec.resourceClaims",)))

    assert [] == result.mask.tolist()


@pytest.mark.parametrize(("row", "reason"), [(0, "Insufficient cpu"), (3, "Too many pods"), (4, "Insufficient example.com/gpu")])
def test_shortages_are_worded_as_kube_scheduler_does(row, reason):
    nodes = load([node("n", gpu="1")]).nodes

    assert reason == resource_reason(nodes, row)


@settings(deadline=None, max_examples=sampled(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(clusters(Size(trees=1, depth=1)))
def test_masks_and_counts_are_those_of_a_slow_implementation(objects):
    snapshot, cluster = load(objects), read(objects)
    result, nothing = Profile(snapshot.nodes), [0] * len(snapshot.nodes)
    for each in snapshot.pods:
        static, other = result.compile(each.shape), cluster.pods[each.key]
        for index, name in enumerate(snapshot.nodes.names):
            there = cluster.nodes[name]
            barred = [why for why in slow.misfits(other, there, []) if why in {"a taint is not tolerated", "the node does not match"}]
            allowed = not barred and not slow.cordoned(other, there)
            assert allowed == (static.mask is None or bool(static.mask[index]))
            assert slow_score.untolerated(other, there) == (untolerated(static) or nothing)[index]
            assert slow.preferred(other, there) == (preferred(static) or nothing)[index]


def test_the_words_for_a_pod_of_a_manifest_name_the_field():
    objects = [node("n"), pod("p", volumes=[{"name": "v", "azureFile": {}}])]
    snapshot = load(objects)
    ((_, mask),) = Profile(snapshot.nodes).filters(snapshot.pods[0].shape)

    assert [False] == mask.tolist()
    assert reasons_of(decided(objects))["default/p"] == (
        "0/1 nodes are available: 1 spec.volumes[0].azureFile can exclude nodes and is not modelled"
        " (muster simulate --ignore spec.volumes.azureFile places it anyway)."
    )
