"""What the sidecar tells of itself in figures."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis.fragmentation import Fragment
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.placement.counters import Counters
from scheduler_core.sidecar.process.metrics import SECONDS, SidecarMetrics
from scheduler_core.sidecar.queue.states import STATES, Active, Backoff, Binding, Gated, Preempting, PreemptionProposed, Unschedulable

ROOT = Name("PodGroup", "default", "g")
TREE, LONE = Name("CompositePodGroup", "default", "top"), Name("Pod", "default", "p")

ATTEMPTS = [0.001 * 2**step for step in range(15)]
OF_A_ROOT = ("result", "profile")
KUBERNETES = {
    "schedule_attempts_total": (OF_A_ROOT, (), "Number of attempts to schedule pods, by the result"),
    "scheduling_attempt_duration_seconds": (
        OF_A_ROOT,
        ATTEMPTS,
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    ),
    "scheduling_algorithm_duration_seconds": ((), ATTEMPTS, "Scheduling algorithm latency in seconds"),
    "podgroup_schedule_attempts_total": (OF_A_ROOT, (), "Number of attempts to schedule pod group, by the result"),
    "podgroup_scheduling_attempt_duration_seconds": (OF_A_ROOT, ATTEMPTS, "Pod group scheduling attempt latency in seconds"),
    "podgroup_scheduling_algorithm_duration_seconds": ((), ATTEMPTS, "Pod group scheduling algorithm latency in seconds"),
    "queued_entities": (("queue", "type"), (), "Number of queued scheduling entities ('pod' or 'podgroup'"),
    "generated_placements_total": (("profile",), (), "Number of candidate placements generated when scheduling pod groups"),
    "placement_evaluations_total": (OF_A_ROOT, (), "Number of candidate placements evaluated when scheduling pod groups, by result"),
    "placement_evaluation_duration_seconds": (
        OF_A_ROOT,
        ATTEMPTS,
        "Latency in seconds of evaluating a single candidate placement when scheduling pod groups, by result",
    ),
    "preemption_attempts_total": ((), (), "Total preemption attempts in the cluster till now"),
    "preemption_victims": (
        (),
        [2**step for step in range(7)],
        "Number of selected preemption victims for preemption initiated by a single pod",
    ),
    "workload_preemption_attempts_total": (
        ("result",),
        (),
        "Total preemption attempts initiated by workload (including pod groups) in the cluster till now",
    ),
    "workload_preemption_victims": (
        (),
        [2**step for step in range(11)],
        "Number of pod preemption victims caused by workload preemption",
    ),
}
"""Labels, buckets and how the help begins, from pkg/scheduler/metrics/metrics.go of Kubernetes 1.37.1, without ``scheduler_``."""
VALUES = {
    "schedule_attempts_total": {"result": {"scheduled", "unschedulable", "error"}},
    "podgroup_schedule_attempts_total": {"result": {"scheduled", "unschedulable", "waiting_on_preemption", "error"}},
    "placement_evaluations_total": {"result": {"feasible", "infeasible"}},
    "workload_preemption_attempts_total": {"result": {"Success", "Unschedulable"}},
    "queued_entities": {"queue": {"active", "backoff", "unschedulable", "gated"}, "type": {"pod", "podgroup"}},
}
"""Values of labels, from profile_metrics.go and metric_recorder.go beside it; of a preemption, codes of framework.Status."""
OURS = {
    *(f"build_{name}" for name in ("objects", "waiting_pods", "longest_wait_seconds", "pods_total")),
    "placement_total",
    "placement_deviations_total",
    "under_way_entities",
    "writes_total",
    "watch_events_total",
    "cached_objects",
    "invalid_trees",
    "leader",
    "leading_replica",
    "term_wait_seconds",
    "largest_gang",
}


def figures(telemetry):
    lines = telemetry.text().decode().splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#") and "_created" not in line
    }


def told(telemetry, name):
    """The figures of that name that are not 0."""
    return {key: value for key, value in figures(telemetry).items() if key.partition("{")[0] == name and value}


def decided(status, **more):
    return Decision(ROOT, status, **more)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param(Status.SUCCESS, "scheduled", id="placed"),
        pytest.param(Status.UNSCHEDULABLE, "unschedulable", id="no room"),
        pytest.param(Status.UNRESOLVABLE, "unschedulable", id="no room whoever leaves"),
        pytest.param(Status.INVALID, "error", id="a broken rule"),
        pytest.param(Status.ERROR, "error", id="an error"),
    ],
)
def test_attempts_are_counted_by_kube_schedulers_results(status, want):
    telemetry = SidecarMetrics("mine")
    telemetry.attempted(decided(status), 0.003)
    labels = f'profile="mine",result="{want}"'

    assert {f"muster_podgroup_schedule_attempts_total{{{labels}}}": 1.0} == told(telemetry, "muster_podgroup_schedule_attempts_total")
    seconds = "muster_podgroup_scheduling_attempt_duration_seconds"
    assert {f"{seconds}_sum{{{labels}}}": 0.003} == told(telemetry, f"{seconds}_sum")


@pytest.mark.parametrize(
    ("decision", "planned", "want"),
    [
        pytest.param(decided(Status.UNSCHEDULABLE, victims=("a/b",), nominations={"a/c": "n"}), True, "waiting_on_preemption", id="a plan"),
        pytest.param(
            decided(Status.UNSCHEDULABLE, victims=("a/b",), nominations={"a/c": "n"}), False, "unschedulable", id="a plan that is not kept"
        ),
        pytest.param(decided(Status.UNSCHEDULABLE, nominations={"a/c": "n"}), False, "waiting_on_preemption", id="victims on their way"),
        pytest.param(
            decided(Status.SUCCESS, nominations={"a/c": "n"}), False, "scheduled", id="placed, and a further pod is promised room"
        ),
    ],
)
def test_who_waits_for_victims_is_counted_as_kube_scheduler_counts_it(decision, planned, want):
    telemetry = SidecarMetrics("mine")
    telemetry.attempted(decision, 0.1, planned=planned)
    name = "muster_podgroup_schedule_attempts_total"

    assert {f'{name}{{profile="mine",result="{want}"}}': 1.0} == told(telemetry, name)


@pytest.mark.parametrize("root", [pytest.param(ROOT, id="a group"), pytest.param(LONE, id="a pod")])
def test_what_is_held_back_was_not_tried(root):
    telemetry = SidecarMetrics("mine")
    telemetry.attempted(Decision(root, Status.WAIT, pending={"a/b": ()}), 0.1)

    assert {} == {**told(telemetry, "muster_podgroup_schedule_attempts_total"), **told(telemetry, "muster_schedule_attempts_total")}


PLACED = {"assignments": {"a/b": "n", "a/c": "n"}}
LEFT = {"pending": {"a/d": ()}}


@pytest.mark.parametrize(
    ("decision", "planned", "pods", "groups"),
    [
        pytest.param(Decision(LONE, Status.SUCCESS), False, {"scheduled": 1.0}, {}, id="a pod"),
        pytest.param(Decision(LONE, Status.UNSCHEDULABLE), False, {"unschedulable": 1.0}, {}, id="a pod without room"),
        pytest.param(Decision(LONE, Status.UNSCHEDULABLE), True, {"unschedulable": 1.0}, {}, id="a pod for which others leave"),
        pytest.param(Decision(LONE, Status.ERROR), False, {"error": 1.0}, {}, id="a pod with an error"),
        pytest.param(decided(Status.SUCCESS, **PLACED), False, {"scheduled": 2.0}, {"scheduled": 1.0}, id="a group"),
        pytest.param(
            decided(Status.SUCCESS, **PLACED, **LEFT),
            False,
            {"scheduled": 2.0, "unschedulable": 1.0},
            {"scheduled": 1.0},
            id="a group, less one pod",
        ),
        pytest.param(
            decided(Status.UNSCHEDULABLE, **LEFT),
            True,
            {"unschedulable": 1.0},
            {"waiting_on_preemption": 1.0},
            id="others leave for a group",
        ),
        pytest.param(Decision(TREE, Status.INVALID, **LEFT), False, {"error": 1.0}, {"error": 1.0}, id="a tree that breaks a rule"),
    ],
)
def test_pods_and_groups_are_counted_apart(decision, planned, pods, groups):
    telemetry = SidecarMetrics("mine")
    telemetry.attempted(decision, 0.5, planned=planned)

    for kind, want in (("", pods), ("podgroup_", groups)):
        counts, seconds = f"muster_{kind}schedule_attempts_total", f"muster_{kind}scheduling_attempt_duration_seconds"
        labels = {result: f'{{profile="mine",result="{result}"}}' for result in want}
        assert {f"{counts}{labels[result]}": count for result, count in want.items()} == told(telemetry, counts)
        assert {f"{seconds}_count{labels[result]}": count for result, count in want.items()} == told(telemetry, f"{seconds}_count")
        assert pytest.approx(0.5 if want else 0.0) == sum(told(telemetry, f"{seconds}_sum").values())


def test_the_time_of_a_cycle_is_shared_out_among_what_was_decided_in_it():
    telemetry = SidecarMetrics()
    telemetry.decided([Decision(LONE, Status.SUCCESS), decided(Status.SUCCESS), Decision(TREE, Status.ERROR)], 6.0)
    telemetry.decided([], 1.0)
    name = "scheduling_algorithm_duration_seconds"
    found = figures(telemetry)

    assert (1.0, 2.0) == tuple(found[f"muster_{name}_{what}"] for what in ("count", "sum"))
    assert (2.0, 4.0) == tuple(found[f"muster_podgroup_{name}_{what}"] for what in ("count", "sum"))


@pytest.mark.parametrize(
    ("seconds", "bucket"), [pytest.param(0.004, "0.004", id="at its bound"), pytest.param(0.0041, "0.008", id="above")]
)
def test_durations_are_reported_in_kube_schedulers_buckets(seconds, bucket):
    telemetry = SidecarMetrics()
    telemetry.algorithm_seconds.observe(seconds)
    found = figures(telemetry)
    name = "muster_podgroup_scheduling_algorithm_duration_seconds_bucket"
    first = next(bound for bound in SECONDS if found[f'{name}{{le="{bound}"}}'])

    assert bucket == str(first)


@pytest.mark.parametrize(
    ("root", "of_its_kind", "another"),
    [
        pytest.param(LONE, "preemption", "workload_preemption", id="a pod"),
        pytest.param(ROOT, "workload_preemption", "preemption", id="a group"),
        pytest.param(TREE, "workload_preemption", "preemption", id="a tree"),
    ],
)
def test_who_leaves_for_a_pod_and_who_for_a_group_is_counted_apart(root, of_its_kind, another):
    telemetry = SidecarMetrics()
    telemetry.attempted(Decision(root, Status.UNSCHEDULABLE, victims=("a/b", "a/c")), 0.1)
    name = f"muster_{of_its_kind}_victims"
    assert {} == told(telemetry, f"{name}_count"), "not before it is asked to"
    for victims in (2, 5, 0):
        telemetry.preempted(root, victims)

    assert {f"{name}_sum": 7.0, f"{name}_count": 2.0} == {**told(telemetry, f"{name}_sum"), **told(telemetry, f"{name}_count")}
    assert 3.0 == sum(told(telemetry, f"muster_{of_its_kind}_attempts_total").values())
    assert {} == {**told(telemetry, f"muster_{another}_attempts_total"), **told(telemetry, f"muster_{another}_victims_count")}


def test_tries_of_groups_to_make_others_leave_are_counted_by_what_came_of_them():
    telemetry = SidecarMetrics()
    for victims in (2, 5, 0):
        telemetry.preempted(ROOT, victims)
    name = "muster_workload_preemption_attempts_total"

    assert {f'{name}{{result="Success"}}': 2.0, f'{name}{{result="Unschedulable"}}': 1.0} == told(telemetry, name)


def test_placements_are_counted_as_far_as_they_were_not_counted_before():
    telemetry, looked = SidecarMetrics("mine"), Counters()
    looked.add(10, 4)
    telemetry.placements_evaluated(looked, 1.0)
    looked.add(2, 2)
    telemetry.placements_evaluated(looked, 1.0)
    telemetry.placements_evaluated(looked, 1.0)

    assert {"muster_placement_total": 12.0} == told(telemetry, "muster_placement_total")
    assert {'muster_generated_placements_total{profile="mine"}': 12.0} == told(telemetry, "muster_generated_placements_total")
    for name in ("muster_placement_evaluations_total", "muster_placement_evaluation_duration_seconds_count"):
        want = {f'{name}{{profile="mine",result="{result}"}}': 6.0 for result in ("feasible", "infeasible")}
        assert want == told(telemetry, name)


@pytest.mark.parametrize(
    ("seconds", "buckets"),
    [
        pytest.param(0.0, (10.0, 10.0), id="none"),
        pytest.param(0.04, (0.0, 10.0), id="at a bound"),
        pytest.param(0.04001, (0.0, 0.0), id="above"),
        pytest.param(1000.0, (0.0, 0.0), id="above all"),
    ],
)
def test_the_time_of_a_cycle_is_divided_among_its_placements(seconds, buckets):
    telemetry, looked = SidecarMetrics("mine"), Counters()
    looked.add(10, 10)
    telemetry.placements_evaluated(looked, seconds)
    name, of = "muster_placement_evaluation_duration_seconds", 'profile="mine",result="feasible"'
    found = figures(telemetry)

    assert pytest.approx(seconds) == found[f"{name}_sum{{{of}}}"]
    assert buckets == tuple(found[f'{name}_bucket{{le="{bound}",{of}}}'] for bound in (0.002, 0.004))
    assert 10.0 == found[f"{name}_count{{{of}}}"]


def test_a_cycle_without_attempts_reports_nothing():
    telemetry = SidecarMetrics()
    telemetry.placements_evaluated(Counters(), 1.0)

    assert {} == {**told(telemetry, "muster_placement_total"), **told(telemetry, "muster_placement_evaluations_total")}


def gang(key, largest, cpu=1000):
    return Fragment(key, (Amount("cpu", cpu),), "default/a", largest, "r1", largest)


def test_the_largest_gangs_are_those_of_now():
    telemetry = SidecarMetrics()
    telemetry.fragmentation([gang("rack", 3), gang("zone", 5)])
    telemetry.fragmentation([gang("rack", 4), gang("rack", 0, 8000)])

    want = {'muster_largest_gang{level="rack",shape="1 cpu"}': 4.0, 'muster_largest_gang{level="rack",shape="8 cpu"}': 0.0}
    assert want == {key: value for key, value in figures(telemetry).items() if key.startswith("muster_largest_gang")}


def queues(telemetry, name):
    """The figures of that name that are not 0, by what each is told of."""
    families = text_string_to_metric_families(telemetry.text().decode())
    samples = [each for family in families for each in family.samples if each.name == name and each.value]
    return {(each.labels.get("queue") or each.labels["work"], each.labels["type"]): each.value for each in samples}


@pytest.mark.parametrize(
    ("state", "queue", "work"),
    [
        pytest.param(Active, "active", "", id="its turn"),
        pytest.param(Backoff, "backoff", "", id="left alone"),
        pytest.param(Unschedulable, "unschedulable", "", id="tried in vain"),
        pytest.param(Gated, "gated", "", id="held back"),
        pytest.param(PreemptionProposed, "unschedulable", "preempting", id="evictions tried dry"),
        pytest.param(Preempting, "unschedulable", "preempting", id="victims on their way"),
        pytest.param(Binding, "", "binding", id="binds on their way"),
    ],
)
@pytest.mark.parametrize(("kind", "type_"), [("Pod", "pod"), ("PodGroup", "podgroup"), ("CompositePodGroup", "podgroup")])
def test_roots_are_counted_by_the_queue_of_kube_scheduler(state, queue, work, kind, type_):
    telemetry = SidecarMetrics()
    telemetry.waiting({(each, of): 7 for each in STATES for of in ("Pod", "PodGroup", "CompositePodGroup")})
    telemetry.waiting({(state, kind): 3})

    assert ({(queue, type_): 3.0} if queue else {}) == queues(telemetry, "muster_queued_entities")
    assert ({(work, type_): 3.0} if work else {}) == queues(telemetry, "muster_under_way_entities")


def test_roots_of_one_queue_are_added_up():
    telemetry = SidecarMetrics()
    telemetry.waiting({(Unschedulable, "PodGroup"): 1, (Preempting, "PodGroup"): 2, (Unschedulable, "CompositePodGroup"): 4})

    assert {("unschedulable", "podgroup"): 7.0} == queues(telemetry, "muster_queued_entities")


def exercised():
    """Figures after everything has happened once."""
    telemetry, looked = SidecarMetrics("mine"), Counters()
    looked.add(2, 1)
    telemetry.placements_evaluated(looked, 1.0)
    for root in (ROOT, TREE, LONE):
        for status in Status:
            decision = Decision(root, status, assignments={"a/b": "n"}, pending={"a/c": ()})
            telemetry.attempted(decision, 1.0)
            telemetry.attempted(decision, 1.0, planned=True)
            telemetry.decided([decision], 1.0)
        telemetry.preempted(root, 1)
        telemetry.preempted(root, 0)
    telemetry.waiting({(state, root.kind): 1 for state in STATES for root in (ROOT, TREE, LONE)})
    return telemetry


@pytest.mark.parametrize(("places", "name"), [(True, "mine"), (False, "")])
def test_a_leader_has_its_name_and_that_of_the_scheduler_if_it_places(places, name):
    telemetry = SidecarMetrics("mine", "pod-a", places=places)
    labels = f'{{identity="pod-a",scheduler_name="{name}"}}'

    assert {} == told(telemetry, "muster_leading_replica")
    telemetry.leads(leading=True)
    assert {f"muster_leading_replica{labels}": 1.0, "muster_leader": 1.0} == {
        **told(telemetry, "muster_leading_replica"),
        **told(telemetry, "muster_leader"),
    }


def test_every_figure_is_kube_schedulers_or_one_of_ours():
    assert {f"muster_{name}" for name in {*KUBERNETES, *OURS}} == {each.name for each in SidecarMetrics().described()}


@pytest.mark.parametrize("name", KUBERNETES)
def test_metrics_of_kube_scheduler_have_its_labels_buckets_and_help(name):
    labels, buckets, about = KUBERNETES[name]
    (described,) = [each for each in SidecarMetrics().described() if each.name == f"muster_{name}"]
    samples = [each for family in exercised().registry.collect() for each in family.samples]
    mine = [each for each in samples if each.name in {f"muster_{name}", f"muster_{name}_bucket"}]

    assert (labels, about) == (described.labels, described.about[: len(about)])
    assert {*labels, *(("le",) if buckets else ())} == {label for each in mine for label in each.labels}
    assert {*map(float, buckets), *((float("inf"),) if buckets else ())} == {
        float(each.labels["le"]) for each in mine if "le" in each.labels
    }
    assert {"mine"} >= {each.labels["profile"] for each in mine if "profile" in each.labels}


@pytest.mark.parametrize("name", VALUES)
def test_metrics_of_kube_scheduler_have_its_values_of_labels(name):
    samples = [each for family in exercised().registry.collect() for each in family.samples if each.name == f"muster_{name}"]

    assert VALUES[name] == {label: {each.labels[label] for each in samples} for label in VALUES[name]}


def test_each_metric_is_described_by_its_name_and_labels():
    telemetry = SidecarMetrics()
    described = telemetry.described()
    families = {line.split(" ")[2] for line in telemetry.text().decode().splitlines() if line.startswith("# HELP muster_")}

    assert [each.name for each in described] == sorted({each.name for each in described})
    assert {each for each in families if not each.endswith("_created")} == {each.name for each in described}
    assert all(each.about.endswith(".") for each in described)
    assert {"muster_writes_total": ("kind", "outcome")}.items() <= {each.name: each.labels for each in described}.items()


def test_two_processes_worth_of_figures_are_apart():
    one, other = SidecarMetrics(), SidecarMetrics()
    one.leader.set(1)

    assert (1.0, 0.0) == (figures(one)["muster_leader"], figures(other)["muster_leader"])
