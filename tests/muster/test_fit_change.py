"""The smallest change with which everything at PATH fits: verified by applying its steps, and the next smaller one does not work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from muster import cli
from muster.commands.fit.change_for_all import clause, with_change
from muster.render.answer import Answer
from scheduler_core.causes.changes import EvictedUnits
from scheduler_core.model.decision import Remedy
from scheduler_core.model.names import Name
from scheduler_core.whatif.remedies.smallest_change import SmallestChange
from tests.muster.simulated import gang, node, pod, single_left
from tests.muster.test_simulate_controllers import RUN_ONCE, TEMPLATE, deployment, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", rack="a"), node("n2", rack="b")]
"""Each node has room for two of the pods."""
LOW = {"priority": -10}
CORDONED = {"spec": {"unschedulable": True}}


def fit(mine: list[Json], cluster: list[Json], *options: str) -> Json:
    for name, objects in (("mine.json", mine), ("cluster.json", cluster)):
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - in the folder of the test
            file.write("\n".join(map(json.dumps, objects)))
    found = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--format", "json", *options])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return json.loads(found.stdout)


def change(mine: list[Json], cluster: list[Json], *options: str) -> str:
    answer = fit(mine, cluster, *options)
    return answer["change"]["change"] if "change" in answer else ""


def with_pod(made: Json, **spec: Any) -> Json:
    """Return a controller's object whose pods have further fields."""
    template = made["spec"]["template"]
    return {**made, "spec": {**made["spec"], "template": {**template, "spec": {**template["spec"], **spec}}}}


APART = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "rack"}
SPREAD = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}
HARD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APART["labelSelector"]}
TAINTED = [{**each, "spec": {"taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]}} for each in NODES]
OLD = {"key": "old", "effect": "NoExecute"}
TAINTED_TWICE = [{**each, "spec": {"taints": [*each["spec"]["taints"], OLD]}} for each in TAINTED]
CASES = {
    "a Deployment, and nodes with two taints": (
        [deployment(2)],
        TAINTED_TWICE,
        "taints gpu=a:NoSchedule and old:NoExecute tolerated by the pods of Deployment default/web",
    ),
    "a Deployment, and cordoned nodes with two taints": (
        [deployment(2)],
        [{**each, "spec": {**each["spec"], "unschedulable": True}} for each in TAINTED_TWICE],
        "taints gpu=a:NoSchedule and old:NoExecute tolerated by the pods of Deployment default/web, and node n1 uncordoned",
    ),
    "a Job without a gang": ([job(7)], NODES, "2 more nodes like n1"),
    "a Deployment": ([deployment(5)], NODES, "1 more node like n1"),
    "two objects": ([deployment(3), job(4)], NODES, "2 more nodes like n1"),
    "pods that would need evictions": ([job(5)], [*NODES, pod("low", cpu="4", on="n2", **LOW)], "2 more nodes like n1"),
    "pods ahead in the queue": ([deployment(4)], [*NODES, pod("ahead", cpu="4", priority=10)], "1 more node like n1"),
    "spread over racks, one of which is full": (
        [with_pod(deployment(4), topologySpreadConstraints=[{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **APART}])],
        [*NODES, pod("r", cpu="2", on="n2", priority=10)],
        "1 more node like n2",
    ),
    "spread over racks, all of which are full": (
        [with_pod(deployment(10), topologySpreadConstraints=[{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **APART}])],
        [*NODES, pod("r", cpu="2", on="n2", priority=10)],
        "4 more nodes: 2 in rack a like n1 and 2 in rack b like n2",
    ),
    "spread over racks in zones": (
        [with_pod(deployment(8), topologySpreadConstraints=[{**HARD, "topologyKey": "zone"}, {**HARD, "topologyKey": "rack"}])],
        [node(f"n{number}", rack="abcd"[number], zone="xxyy"[number], cpu="2") for number in range(4)],
        (
            "4 more nodes: 1 in zone x and rack a like n0, 1 in zone x and rack b like n1, 1 in zone y and rack c like n2"
            " and 1 in zone y and rack d like n3"
        ),
    ),
    "a rule that running pods exclude": (
        [with_pod(deployment(1), affinity=SPREAD)],
        [*NODES, *({**each, "metadata": {**each["metadata"], "labels": {"app": "x"}}} for each in (pod("r", on="n1"), pod("s", on="n2")))],
        "pod anti-affinity of the pods of Deployment default/web dropped",
    ),
    "one pod that a rule of its template excludes": (
        [with_pod(deployment(3), affinity=SPREAD)],
        [*NODES, node("n3", rack="a")],
        "pod anti-affinity of the pods of Deployment default/web dropped",
    ),
    "cordoned nodes": (
        [deployment(3), job(4)],
        [*NODES, *({**node(f"c{number}"), **CORDONED} for number in range(4))],
        "2 nodes uncordoned: c0 and c1",
    ),
    "cordoned nodes of a spread": (
        [with_pod(deployment(22), topologySpreadConstraints=[{**HARD, "topologyKey": "rack"}])],
        [*NODES, *({**node(f"c{number:02}", rack="ab"[number // 10]), **CORDONED} for number in range(20))],
        "10 nodes uncordoned: c00, c01, c02, c03, c04, c10, c11, c12 and 2 more",
    ),
    "a cordoned node, and a tainted one": (
        [job(4)],
        [*TAINTED[:1], {**node("n2"), **CORDONED}],
        "taint gpu=a:NoSchedule tolerated by the pods of Job default/train, and node n2 uncordoned",
    ),
    "a node that is cordoned and tainted": (
        [job(2)],
        [{**TAINTED[0], "spec": {**TAINTED[0]["spec"], **CORDONED["spec"]}}],
        "taint gpu=a:NoSchedule tolerated by the pods of Job default/train, and node n1 uncordoned",
    ),
    "cordoned nodes that are too few": ([job(7)], [*NODES, {**node("c0", cpu="2"), **CORDONED}], "2 more nodes like n1"),
    "a selector that no node matches": (
        [with_pod(deployment(3), nodeSelector={"disk": "ssd"})],
        NODES,
        "node selector of the pods of Deployment default/web dropped",
    ),
    "a taint": ([deployment(3)], TAINTED, "taint gpu=a:NoSchedule tolerated by the pods of Deployment default/web"),
    "pods that keep apart": (
        [with_pod(deployment(3), affinity=SPREAD)],
        NODES,
        "pod anti-affinity of the pods of Deployment default/web dropped",
    ),
    "a selector that no node matches, and few nodes": (
        [with_pod(deployment(5), nodeSelector={"disk": "ssd"})],
        NODES,
        "node selector of the pods of Deployment default/web dropped, and 1 more node like n1",
    ),
    "a taint, and few nodes": (
        [deployment(5)],
        TAINTED,
        "taint gpu=a:NoSchedule tolerated by the pods of Deployment default/web, and 1 more node like n1",
    ),
    "larger than any node": (
        [with_pod(deployment(2), containers=[{"name": "m", "image": "i", "resources": {"requests": {"cpu": "9"}}}])],
        NODES,
        "2 more nodes like n1, but with 9 cpu",
    ),
}


@pytest.mark.parametrize(("mine", "cluster", "want"), CASES.values(), ids=CASES)
def test_the_change_is_in_the_first_line_and_works(mine, cluster, want):
    answer = fit(mine, cluster)
    assert "does-not-fit" == answer["verdict"]
    assert answer["message"].endswith(f"; the smallest change that helps: {want}")
    steps = [each["apply"] for each in answer["change"]["steps"]]
    pods = [each for each in steps if each["kind"] == "Pod"]
    # A relaxation is one of all pods of the template, so it is applied to the template.
    changed = [with_pod(each, **relaxed(pods[0]["spec"])) if pods else each for each in mine]
    nodes = {each["metadata"]["name"]: each for each in steps if each["kind"] == "Node"}
    kept = [each for each in cluster if each["kind"] != "Node" or each["metadata"]["name"] not in nodes]
    assert "fits" == fit(changed, [*kept, *nodes.values()])["verdict"]


def relaxed(spec: Json) -> Json:
    return {name: spec.get(name) for name in ("nodeSelector", "affinity", "tolerations")}


def test_fewer_nodes_do_not_help():
    one = {**NODES[0], "metadata": {**NODES[0]["metadata"], "name": "n3"}}
    assert "does-not-fit" == fit([job(7)], [*NODES, one])["verdict"]


def test_a_thousand_nodes_of_an_existing_kind_are_better_than_larger_ones():
    apart = with_pod(deployment(2008), nodeSelector={"disk": "ssd"})
    assert "node selector of the pods of Deployment default/web dropped, and 1002 more nodes like n1" == change([apart], NODES)


def test_pods_that_are_confined_with_their_group_get_nodes_in_its_domain():
    confined = {**job(3)["spec"], "scheduling": {"schedulingConstraints": {"topology": [{"key": "rack"}]}}}
    assert "1 more node in rack a like n1" == change([{**job(3), "spec": confined}], NODES)


def test_a_remedy_of_the_root_is_the_change_if_all_pods_fit_with_it():
    answer = fit([job(5)], NODES, "--gang")
    remedies = [each for decision in answer["decisions"] for each in decision["remedies"]]
    assert answer["change"] in remedies
    assert answer["message"].endswith("; the smallest change that helps: 1 more node like n1")


def test_running_pods_make_way_for_several_pods_of_an_object():
    small = [pod(f"small-{name}", on=name) for name in ("n1", "n2", "n3", "n4")]
    answer = fit([deployment(6)], [node(name) for name in ("n1", "n2", "n3", "n4")] + small)
    assert answer["message"].endswith("2 running pods moved: default/small-n1 from n1 to n2 and default/small-n3 from n3 to n4")

    pinned = [pod(f"pinned-{name}", cpu="3", on=name) for name in ("n1", "n2")]
    answer = fit([deployment(4)], [*NODES, *pinned])
    assert answer["message"].endswith(
        "the smallest change that helps: Pod default/pinned-n1 and Pod default/pinned-n2 evicted (2 running pods)"
    )


def test_a_remedy_with_which_only_some_pods_fit_is_not_the_change():
    """Of a Job without a gang, a remedy places at least one pod."""
    full = [pod(f"high-{name}", cpu="4", on=name, priority=10) for name in ("n1", "n2")]
    answer = fit([job(4)], [*NODES, *full])
    remedies = {each["change"] for decision in answer["decisions"] for each in decision["remedies"]}
    assert "1 more node like n1" in remedies
    assert answer["message"].endswith("; the smallest change that helps: 2 more nodes like n1")


def test_the_minimum_of_a_created_group_is_no_change_that_a_user_can_make():
    for mine in (job(5), with_pod(job(5), nodeSelector={"disk": "ssd"})):
        answer = fit([mine], NODES, "--gang")
        assert any("minCount" in each["change"] for decision in answer["decisions"] for each in decision["remedies"])
        assert ("does-not-fit", False) == (answer["verdict"], "minCount" in answer["message"])


def test_the_node_of_a_pod_of_a_daemon_set_is_nobodys_to_change():
    daemon = manifest("DaemonSet", selector={"matchLabels": {"app": "x"}}, template=TEMPLATE)
    answer = fit([daemon], [*NODES, node("n0", cpu="1")])
    assert ("does-not-fit", False) == (answer["verdict"], "change" in answer)


CREATED = "train-job-root"
"""Group that is created for the Job."""


@pytest.mark.parametrize("name", [f"{CREATED}-two", f"{CREATED}.old", f"a-{CREATED}", CREATED[:-1], "train"])
def test_a_group_to_evict_keeps_its_name_whatever_a_created_group_is_called(name):
    basic = {**gang(name, 1), "spec": {"schedulingPolicy": {"basic": {}}}}
    mine, cluster = [job(2, completionMode="Indexed")], [node("n1"), basic, pod("old", cpu="3", on="n1", group=name)]
    answer = fit(mine, cluster)
    text = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json"]).stdout
    evicted = f"PodGroup default/{name} evicted (1 running pod)"

    assert [{"kind": "PodGroup", "namespace": "default", "name": CREATED}] == [each["root"] for each in answer["decisions"]]
    assert answer["message"].endswith(f"; the smallest change that helps: {evicted}")
    assert evicted == answer["change"]["change"]
    assert f"  the smallest change that helps: PodGroup {name} evicted (1 running pod)\n" in text


NAMES = st.builds(Name, st.sampled_from(["PodGroup", "Pod"]), st.sampled_from(["a", "a-b", "b"]), st.text("ab-", min_size=1, max_size=4))


@given(evicted=st.lists(NAMES, min_size=1, max_size=4, unique=True), created=st.sets(NAMES))
def test_only_the_groups_that_were_created_for_an_object_are_shown_as_it(evicted, created):
    origins = {name: Name("Job", name.namespace, f"x{number}") for number, name in enumerate(sorted(created, key=str))}
    found = clause(SmallestChange(Remedy(EvictedUnits(9, tuple(evicted)), ()), proven=True), origins, {})

    shown = [origins[each] if each in created and each.kind != "Pod" else each for each in evicted]
    want = [f"{each.kind} {each.namespace}/{each.name}" for each in shown]
    named = found.removeprefix("; the smallest change that helps: ").removesuffix(" evicted (9 running pods)")
    assert want == [each for part in named.split(" and ") for each in part.split(", ")]


@pytest.mark.parametrize("options", [("--remedies", "0"), ("--strategy", "greedy")], ids=["no remedies", "greedy"])
def test_without_remedies_no_change_is_searched(options):
    assert "" == change([deployment(5)], NODES, *options)


def test_no_change_is_named_if_none_helps():
    gone = manifest("StatefulSet", name="db", replicas=2, serviceName="db", selector={"matchLabels": {"app": "x"}}, template=TEMPLATE)
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "gone", "accessModes": ["ReadWriteOnce"]}}
    gone["spec"]["volumeClaimTemplates"] = [{**claim, "spec": {**claim["spec"], "resources": {"requests": {"storage": "1Gi"}}}}]
    answer = fit([gone], NODES)
    assert ("does-not-fit", False) == (answer["verdict"], "the smallest change" in answer["message"])


def test_the_order_of_the_input_does_not_change_the_change():
    mine, cluster = [deployment(3), job(4)], [*NODES, node("n0", cpu="2", rack="a")]
    assert change(mine, cluster) == change(mine[::-1], cluster[::-1])


@pytest.mark.parametrize(("tries", "want"), [(2, "; a change"), (3, "; the smallest change")])
def test_a_change_is_the_smallest_only_if_smaller_ones_were_tried(tries, want, monkeypatch):
    """The sum of free capacity allows fewer nodes: 3 cpu that two nodes have left hold no pod of 2 cpu."""
    monkeypatch.setattr("scheduler_core.whatif.remedies.smallest_change.MOST_TRIES", tries)
    large = with_pod(deployment(4), containers=[{"name": "c", "image": "r.example/c", "resources": {"requests": {"cpu": "3"}}}])
    answer = fit([{**large, "metadata": {"name": "large"}}, deployment(4)], NODES)
    assert f"{want} that helps: 4 more nodes like n1, not 3 as by the sum of requests" in answer["message"]


def test_changes_that_leave_too_little_capacity_take_no_try(monkeypatch):
    monkeypatch.setattr("scheduler_core.whatif.remedies.smallest_change.MOST_TRIES", 1)
    many = manifest("Job", "batch/v1", "train", parallelism=40, completions=40, template=RUN_ONCE)
    assert fit([many], NODES)["message"].endswith("; the smallest change that helps: 18 more nodes like n1")
    apart = with_pod(deployment(40), topologySpreadConstraints=[{**HARD, "topologyKey": "rack"}])
    want = "; the smallest change that helps: 18 more nodes: 9 in rack a like n1 and 9 in rack b like n2"
    assert fit([apart], NODES)["message"].endswith(want)


def test_few_tries_find_the_number_of_nodes_for_pods_of_two_sizes(monkeypatch):
    """The pods that are missing in one try give the next number, and another kind of node is tried with fewer nodes only."""
    monkeypatch.setattr("scheduler_core.whatif.remedies.smallest_change.MOST_TRIES", 4)
    large = with_pod(deployment(40), containers=[{"name": "c", "image": "r.example/c", "resources": {"requests": {"cpu": "3"}}}])
    cluster = [node("n1", rack="a"), node("n2", rack="b", pods="109")]
    answer = fit([{**large, "metadata": {"name": "large"}}, deployment(40)], cluster)
    more = "58 more nodes like n1, not 48 as by the sum of requests: what pods leave of a node is too small for those of another size"
    assert answer["message"].endswith(f"; the smallest change that helps: {more}")


def test_few_tries_find_the_only_domain_of_a_spread_where_nodes_help(monkeypatch):
    monkeypatch.setattr("scheduler_core.whatif.remedies.smallest_change.MOST_TRIES", 2)
    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **APART}
    many = with_pod(deployment(90), topologySpreadConstraints=[spread])
    racks = [node(f"{rack}{number}", cpu="4", rack=rack) for rack in "abc" for number in range(15)]
    full = [pod(f"r{number}", cpu="4", on=f"c{number}", priority=10) for number in range(15)]
    answer = fit([many], [*racks, *full])
    assert "; the smallest change that helps: 15 more nodes in rack c like c0" in answer["message"]


@pytest.mark.parametrize(
    ("minimum", "cluster", "others"),
    [
        pytest.param(3, [node("n1", rack="a", cpu="2")], ["minCount of PodGroup default/g lowered from 3 to 1"], id="a gang"),
        pytest.param(1, [node("n1", rack="a", cpu="2")], [], id="pods above the minimum"),
    ],
)
def test_the_change_of_the_verdict_is_among_what_helps_the_only_root_that_fails(minimum, cluster, others):
    mine = [gang("g", minimum), *(pod(f"g-{number}", "2", group="g") for number in range(3))]
    answer = fit(mine, [*cluster, pod("other", cpu="9")])

    found = [each["change"] for each in answer["decisions"][-1]["remedies"]]
    assert answer["change"]["change"] == "2 more nodes like n1"
    assert [*others, "2 more nodes like n1"] == found


def test_the_change_of_the_verdict_is_no_remedy_of_one_of_several_roots():
    several = Answer.from_decisions([single_left("a"), single_left("b")])
    one = Answer.from_decisions([single_left("a")])
    remedy = Remedy(EvictedUnits(1, (Name("Pod", "default", "low"),)), ())

    assert several is with_change(several, several, remedy)
    assert [(remedy,), ()] == [each.remedies for each in with_change(several, one, remedy).decisions]
