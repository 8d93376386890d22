"""What the sidecar tells of itself in figures."""

from __future__ import annotations

import pytest

from scheduler_core.decision import Decision, Name, Status
from scheduler_core.fragmentation import Fragment
from scheduler_core.placement.looked import Looked
from scheduler_core.sidecar.telemetry import SECONDS, Telemetry

ROOT = Name("PodGroup", "default", "g")


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
        pytest.param(Status.WAIT, "waiting", id="held back"),
        pytest.param(Status.INVALID, "error", id="a broken rule"),
        pytest.param(Status.ERROR, "error", id="an error"),
    ],
)
def test_attempts_are_counted_by_kube_schedulers_results(status, want):
    telemetry = Telemetry("mine")
    telemetry.attempted(decided(status), 0.003)
    labels = f'profile="mine",result="{want}"'

    assert {f"muster_podgroup_schedule_attempts_total{{{labels}}}": 1.0} == told(telemetry, "muster_podgroup_schedule_attempts_total")
    seconds = "muster_podgroup_scheduling_attempt_duration_seconds"
    assert {f"{seconds}_sum{{{labels}}}": 0.003} == told(telemetry, f"{seconds}_sum")


@pytest.mark.parametrize(
    ("seconds", "bucket"), [pytest.param(0.004, "0.004", id="at its bound"), pytest.param(0.0041, "0.008", id="above")]
)
def test_durations_are_told_in_kube_schedulers_buckets(seconds, bucket):
    telemetry = Telemetry()
    telemetry.algorithm_seconds.observe(seconds)
    found = figures(telemetry)
    name = "muster_podgroup_scheduling_algorithm_duration_seconds_bucket"
    first = next(bound for bound in SECONDS if found[f'{name}{{le="{bound}"}}'])

    assert bucket == str(first)


def test_who_is_to_leave_is_not_counted_before_it_is_asked_to():
    telemetry = Telemetry()
    telemetry.attempted(decided(Status.UNSCHEDULABLE, victims=("a/b", "a/c")), 0.1)
    assert {} == told(telemetry, "muster_preemption_victims_count")
    telemetry.preempted(2)
    telemetry.preempted(5)

    assert {"muster_preemption_victims_sum": 7.0} == told(telemetry, "muster_preemption_victims_sum")
    assert {"muster_preemption_attempts_total": 2.0} == told(telemetry, "muster_preemption_attempts_total")


def test_placements_are_counted_as_far_as_they_were_not_counted_before():
    telemetry, looked = Telemetry(), Looked()
    looked.add(10, 4)
    telemetry.looked_at(looked, 1.0)
    looked.add(2, 2)
    telemetry.looked_at(looked, 1.0)
    telemetry.looked_at(looked, 1.0)

    assert {"muster_placement_total": 12.0} == told(telemetry, "muster_placement_total")
    want = {'muster_placement_evaluations_total{result="feasible"}': 6.0, 'muster_placement_evaluations_total{result="infeasible"}': 6.0}
    assert want == told(telemetry, "muster_placement_evaluations_total")


def test_the_time_of_a_cycle_is_shared_out_among_the_placements_looked_at_in_it():
    telemetry, looked = Telemetry(), Looked()
    looked.add(10, 10)
    telemetry.looked_at(looked, 2.0)
    name = "muster_placement_evaluation_duration_seconds_sum"

    assert {f'{name}{{result="feasible"}}': 0.2} == told(telemetry, name)


def test_a_cycle_that_looked_at_nothing_tells_nothing():
    telemetry = Telemetry()
    telemetry.looked_at(Looked(), 1.0)

    assert {} == {**told(telemetry, "muster_placement_total"), **told(telemetry, "muster_placement_evaluations_total")}


def gang(key, largest, shape="1 cpu"):
    return Fragment(key, shape, "default/a", largest, "r1", largest)


def test_the_largest_gangs_are_those_of_now():
    telemetry = Telemetry()
    telemetry.fragmentation([gang("rack", 3), gang("zone", 5)])
    telemetry.fragmentation([gang("rack", 4), gang("rack", 0, "8 cpu")])

    want = {'muster_largest_gang{level="rack",shape="1 cpu"}': 4.0, 'muster_largest_gang{level="rack",shape="8 cpu"}': 0.0}
    assert want == {key: value for key, value in figures(telemetry).items() if key.startswith("muster_largest_gang")}


def test_waiting_roots_are_told_by_why_they_wait():
    telemetry = Telemetry()
    telemetry.waiting({"parked": 3, "active": 1})
    telemetry.waiting({"parked": 2, "active": 0})

    want = {'muster_pending_pod_groups{queue="active"}': 0.0, 'muster_pending_pod_groups{queue="parked"}': 2.0}
    assert want == {key: value for key, value in figures(telemetry).items() if key.startswith("muster_pending_pod_groups")}


@pytest.mark.parametrize(
    "name",
    [
        "muster_podgroup_schedule_attempts_total",
        "muster_podgroup_scheduling_attempt_duration_seconds",
        "muster_podgroup_scheduling_algorithm_duration_seconds",
        "muster_placement_total",
        "muster_placement_evaluations_total",
        "muster_placement_evaluation_duration_seconds",
    ],
)
def test_what_kubernetes_names_bears_its_name(name):
    assert name in {each.name for each in Telemetry().described()}


def test_each_figure_is_described_by_the_name_and_labels_under_which_it_is_told():
    telemetry = Telemetry()
    described = telemetry.described()
    families = {line.split(" ")[2] for line in telemetry.text().decode().splitlines() if line.startswith("# HELP muster_")}

    assert [each.name for each in described] == sorted({each.name for each in described})
    assert {each for each in families if not each.endswith("_created")} == {each.name for each in described}
    assert all(each.about.endswith(".") for each in described)
    assert {"muster_writes_total": ("kind", "outcome")}.items() <= {each.name: each.labels for each in described}.items()


def test_two_processes_worth_of_figures_are_apart():
    one, other = Telemetry(), Telemetry()
    one.leader.set(1)

    assert (1.0, 0.0) == (figures(one)["muster_leader"], figures(other)["muster_leader"])
