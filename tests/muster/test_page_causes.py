"""Headline, figure and JSON of one run: they state the same amounts and numbers of pods, those of the deciding cause."""

from __future__ import annotations

import collections

import pytest

from muster.html.failure_figure import figures
from muster.html.failure_text import picture
from muster.html.free_capacity import attempts
from muster.render.answer_json import decision_json
from scheduler_core.causes.groups import PodsDoNotFit, PodsLeftOver, failing_groups
from scheduler_core.causes.resources import FragmentedResource, InsufficientResource, NoneFree, RequestTooLarge
from scheduler_core.model.topology import Topology
from scheduler_core.wording.headline import headline
from tests.muster import paged
from tests.muster.paged import RACK, gang, group, machine, member, racks
from tests.muster.test_page_figure import tree, turn_of
from tests.scheduler_core.wording.refused_clusters import OPTIONS, refused_cluster

HOST = "kubernetes.io/hostname"


def ruled(objects, rule):
    """Give all pods of *objects* the label app=x and a rule about the pods with it."""
    for each in objects:
        if each["kind"] == "Pod":
            each["metadata"]["labels"] = {"app": "x"}
            term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOST}
            each["spec"]["affinity"] = {rule: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return objects


def stated(objects, name="job", **options):
    """Return the headline, the figures in words, and the JSON of the first domain of the cause that decides."""
    case, attempt = turn_of(objects, name, **options)
    shown = [picture(figure, {}) for figure in figures(attempt, Topology(case.snapshot.nodes), case.profile)]
    return headline(attempt.decision.causes), shown, described(decision_json(attempt.decision)["causes"][0])


def described(cause):
    """Return the first domain of the first group that fails."""
    return cause if cause["reason"] == "DomainTooSmall" else described(cause["causes"][0])


def test_of_two_resources_that_are_short_the_first_is_drawn():
    text, (shown,), domain = stated([machine("n", cpu="8", gpus=2), *gang("job", 4, cpu="4", gpus=1)])

    assert ("cpu", "8", "16") == tuple(domain["causes"][0][key] for key in ("resource", "free", "needed"))
    assert "Only 8 cpu are free; 16 are needed" == text
    assert ("cpu free", "4 pods of 4 cpu = 16") == (shown.caption, shown.needs[0].text)
    assert [("capacity for 2 of 4 pods", "8 free")] == [(row.text, row.note) for row in shown.rows]
    assert (2, 4) == (domain["pods"], domain["wanted"])


@pytest.mark.parametrize(
    ("rule", "pods", "text", "held"),
    [
        pytest.param("podAntiAffinity", 3, "The nodes have capacity for only 2 of its 3 pods", 2, id="one pod on each node"),
        pytest.param("podAffinity", 5, "The nodes have capacity for only 4 of its 5 pods", 4, id="all on one node"),
    ],
)
def test_free_amounts_are_not_drawn_where_rules_keep_pods_out(rule, pods, text, held):
    assert (text, []) == (found := stated([machine("a"), machine("b"), *ruled(gang("job", pods), rule)]))[:2]
    assert (held, pods) == (found[2]["pods"], found[2]["wanted"])


def test_ports_in_use_leave_capacity_for_one_pod_on_each_node():
    """Amounts do not show them: where cpu is short as well, the capacity is that of the cause."""
    ports = [{"containerPort": 80, "hostPort": 80}]
    objects = [machine("a", cpu="3"), machine("b", cpu="1"), *gang("job", 3, cpu="2")]
    for each in objects[3:]:
        each["spec"]["containers"][0]["ports"] = ports
    text, (shown,), domain = stated(objects)
    assert "Only 4 cpu are free; 6 are needed" == text
    assert ("InsufficientResource", "4", "6", 1) == (
        domain["causes"][0]["reason"],
        domain["causes"][0]["free"],
        domain["causes"][0]["needed"],
        domain["pods"],
    )
    assert [("capacity for 1 of 3 pods", "4 free")] == [(row.text, row.note[:6]) for row in shown.rows]


def test_domains_that_the_cause_only_counts_have_no_more_capacity_than_it_states():
    """Ports in use leave room for one pod on each node: also in the racks that are not described."""
    objects = [machine(f"r{rack}-{cpu}", cpu=cpu, labels={RACK: f"r{rack}"}) for rack in range(6) for cpu in ("5", "1")]
    objects += gang("job", 4, cpu="2", key=RACK)
    for each in objects[13:]:
        each["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    text, (shown,), domain = stated(objects)
    assert "Only 6 cpu are free in rack r0; 8 are needed, and no rack can hold more pods" == text
    assert 1 == domain["pods"]
    assert ["capacity for 1 of 4 pods"] * 6 == [row.text for row in shown.rows]


def test_all_pods_that_are_left_over_are_drawn():
    running = [member(f"runs-{number}", "job", on="a", cpu="3") for number in range(2)]
    objects = [machine("a", cpu="8"), machine("b", cpu="8", cordoned=True), *running, *gang("job", 2, cpu="3")]
    text, (shown,), domain = stated(objects)

    assert ("2", "6", 2) == (domain["causes"][0]["free"], domain["causes"][0]["needed"], domain["wanted"])
    assert "Only 2 cpu are free on nodes that its pods can use; 6 are needed" == text
    assert "2 pods of 3 cpu = 6" == shown.needs[0].text
    assert [("capacity for 0 of 2 pods", "2 free; 8 more on 1 node, cordoned")] == [(row.text, row.note) for row in shown.rows]


def test_what_siblings_took_is_not_free():
    """g0 takes 3 of 8 cpu; g1, with 6 pods of 3 cpu, does not fit alone either."""
    text, shown, _ = stated([machine("n", cpu="8"), *tree((1, ""), (6, ""), key="")], "t")
    assert "Only 5 cpu are free; 18 are needed for g1" == text
    assert [("g1 needs", "6 pods of 3 cpu = 18", "capacity for 1 of 6 pods", "5 free")] == [
        (each.needs[0].title, each.needs[0].text, each.rows[0].text, each.rows[0].note) for each in shown
    ]


def test_a_whole_tree_has_no_figure_where_its_zone_has_enough():
    """Both racks together have capacity for all pods, but no rack for those of one group."""
    _, shown, _ = stated([*racks(2, 2, cpu="3"), *tree((3, RACK), (1, RACK))], "t")
    assert [("g0 needs", ["capacity for 2 of 3 pods"] * 2)] == [(each.needs[0].title, [row.text for row in each.rows]) for each in shown]


def test_pods_that_differ_need_the_amount_of_the_cause():
    objects = [machine("n", cpu="4"), *gang("job", 1, minimum=2, cpu="3"), member("job-z", "job", cpu="5")]
    _, (shown,), domain = stated(objects)
    short = domain["causes"][0]
    assert short["resource"] in shown.caption
    assert not shown.rows[0].enough


def drawn_of(decides, shown):
    """Return the figure about the group of the cause that decides, and its need."""
    name = decides.path[-1].name
    return next(((figure, need) for figure in shown if figure.fails for need in figure.needs if name in need.names), None)


def test_no_figure_states_another_amount_or_number_of_pods_than_the_deciding_cause():
    """Random clusters, with rules between pods, devices, volumes, ports, taints and trees."""
    seen = collections.Counter()
    for seed in range(400):
        case = paged.case(refused_cluster(seed), placing=OPTIONS[seed % len(OPTIONS)])
        roots = frozenset(decision.root for decision in case.unplaced)
        for attempt in attempts(case.snapshot, case.answer, case.options, roots):
            decides = next((cause for cause, _ in failing_groups(attempt.decision.causes)), None)
            if not isinstance(decides, PodsDoNotFit | PodsLeftOver):
                continue
            best = decides.domains[0] if isinstance(decides, PodsDoNotFit) else decides.domain
            found = drawn_of(decides, figures(attempt, Topology(case.snapshot.nodes), case.profile))
            seen["without a figure"] += found is None
            if found is not None:
                seen[same_as_cause(*found, best, seed)] += 1
    assert min(seen[kind] for kind in (InsufficientResource, RequestTooLarge, FragmentedResource, "without a figure")) > 10


def same_as_cause(figure, need, best, seed):
    """Compare a figure with the best domain of a cause; return the type of its decisive cause."""
    decisive, rows = next(iter(best.decisive), None), [row.amounts for row in figure.rows]
    assert best.wanted == need.pods, seed
    if all(row.capacity is not None for row in rows):
        assert best.pods == max(row.capacity for row in rows), seed
    if isinstance(decisive, InsufficientResource | RequestTooLarge | FragmentedResource | NoneFree):
        assert decisive.resource == figure.resource, seed
    if isinstance(decisive, InsufficientResource):
        assert decisive.needed == need.amount, seed
        assert decisive.free in {row.free for row in rows}, seed
    for row in figure.rows:
        parts = [(each.fit, each.over, each.closed) for each in row.segments]
        assert all(amount >= 0 for part in parts for amount in part), seed
        assert row.amounts.free + row.amounts.closed == sum(map(sum, parts)), seed
    return type(decisive)


def test_a_figure_of_unequal_pods_has_what_is_free_not_what_equal_pods_would_take():
    members = [member(f"job-{number}", "job", cpu=cpu) for number, cpu in enumerate(("2500m", "2500m", "2", "500m"))]
    text, (shown,), _ = stated([*(machine(name, labels={RACK: "r1"}) for name in ("a", "b")), group("job", 4, key=RACK), *members])

    assert text.startswith("No rack has capacity for more than 2 of its 4 pods: 3 cpu more are free")
    assert ["8 free"] == [row.text for row in shown.rows]
