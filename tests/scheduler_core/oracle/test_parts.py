"""The oracle's filters and scores, with values computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.scheduler_core.oracle import amounts, fit, score
from tests.scheduler_core.oracle.model import Node, Pod, read


def pod(name: str = "p", cpu: str = "", memory: str = "", **spec: Any) -> dict[str, Any]:
    return builders.pod(name, "", cpu, memory, **spec)


def node(name: str = "n", cpu: str = "4", memory: str = "", pods: str = "9", **fields: Any) -> dict[str, Any]:
    return builders.node(name, cpu, memory, pods=pods, **fields)


def one(made: dict[str, Any]) -> Any:
    cluster = read([made])
    (only,) = [*cluster.nodes.values(), *cluster.pods.values()]
    return only


@pytest.mark.parametrize(
    ("text", "want"),
    [("1", 1000), ("500m", 500), ("0.1", 100), (2, 2000), ("1e1", 10_000), ("1E-3", 1), ("100u", 1), ("1k", 1_000_000), (".5", 500)],
)
def test_processors_are_millicores_rounded_up(text, want):
    assert {"cpu": want} == amounts.whole({"cpu": amounts.quantity(text)})


@pytest.mark.parametrize(("text", "want"), [("1Ki", 1024), ("1k", 1000), ("1500m", 2), ("1.5Gi", 1610612736), ("2E", 2 * 10**18)])
def test_the_rest_is_whole_units_rounded_up(text, want):
    assert {"memory": want} == amounts.whole({"memory": amounts.quantity(text)})


def container(cpu: str, **fields: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **fields}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"containers": [container("1"), container("2")]}, 3000, id="containers add up"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3"), container("2")]}, 3000, id="the largest init container"
        ),
        pytest.param({"containers": [container("2")], "initContainers": [container("1")]}, 2000, id="an init container that is smaller"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("1", restartPolicy="Always")]}, 2000, id="a sidecar stays"
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("1", restartPolicy="Always"), container("2")]},
            3000,
            id="an init container beside the sidecar before it",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("2"), container("1", restartPolicy="Always")]},
            2000,
            id="an init container before the sidecar",
        ),
        pytest.param({"containers": [container("1")], "overhead": {"cpu": "100m"}}, 1100, id="overhead"),
        pytest.param({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000, id="a limit is a request"),
        pytest.param({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}}, 4000, id="requests of the whole pod"),
    ],
)
def test_a_pod_requests(spec, want):
    assert want == amounts.requests(spec)["cpu"]


def test_scores_count_a_container_that_says_nothing():
    spec = {"containers": [{}, container("0")], "overhead": {"cpu": "50m"}}

    assert {"cpu": 150, "memory": 2 * 200 * 1024 * 1024} == amounts.scored(spec)


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        pytest.param({"key": "k", "value": "v"}, True, id="equal, any effect"),
        pytest.param({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True, id="exists"),
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "k"}, False, id="another value"),
        pytest.param({"key": "j", "operator": "Exists"}, False, id="another key"),
        pytest.param({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False, id="another effect"),
    ],
)
def test_a_toleration_covers_a_taint(toleration, want):
    assert want == fit.covers(toleration, TAINT)


@pytest.mark.parametrize(
    ("created", "there", "want"),
    [
        pytest.param(node(), pod(cpu="4"), [], id="room to the last"),
        pytest.param(node(), pod(cpu="4001m"), ["insufficient cpu"], id="a little too large"),
        pytest.param(node(), pod(memory="1"), ["insufficient memory"], id="a resource that the node does not have"),
        pytest.param(node(pods="0"), pod(), ["too many pods"], id="no pod allowed"),
        pytest.param(node(taints=[TAINT]), pod(), ["a taint is not tolerated"], id="a taint"),
        pytest.param(node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), pod(), [], id="a soft taint"),
        pytest.param(node(unschedulable=True), pod(), ["the node is unschedulable"], id="cordoned"),
        pytest.param(
            node(unschedulable=True),
            pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
            [],
            id="cordoned and tolerated",
        ),
        pytest.param(node(labels={"a": "b"}), pod(nodeSelector={"a": "c"}), ["the node does not match"], id="a selector"),
    ],
)
def test_a_pod_fits_or_not(created, there, want):
    assert want == fit.misfits(one(there), one(created), [])


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        pytest.param({"operator": "In", "values": ["4", "5"]}, True, id="in"),
        pytest.param({"operator": "NotIn", "values": ["5"]}, False, id="not in"),
        pytest.param({"operator": "Gt", "values": ["4"]}, True, id="greater"),
        pytest.param({"operator": "Gt", "values": ["5"]}, False, id="not greater than itself"),
        pytest.param({"operator": "Lt", "values": ["x"]}, False, id="no number"),
        pytest.param({"operator": "Exists"}, True, id="there"),
        pytest.param({"key": "absent", "operator": "NotIn", "values": ["5"]}, True, id="absent is not in"),
        pytest.param({"key": "absent", "operator": "DoesNotExist"}, True, id="absent"),
        pytest.param({"key": "absent", "operator": "In", "values": ["5"]}, False, id="absent is in nothing"),
    ],
)
def test_an_expression_matches(expression, want):
    assert want == fit.matches({"key": "size", **expression}, {"size": "5"})


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([], False, id="no term"),
        pytest.param([{}], False, id="an empty term"),
        pytest.param([{}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}], True, id="one of several"),
        pytest.param(
            [
                {
                    "matchExpressions": [{"key": "a", "operator": "Exists"}],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                }
            ],
            False,
            id="all of a term",
        ),
    ],
)
def test_required_affinity(terms, want):
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}

    assert want == fit.node_affinity_matches(one(pod(affinity=affinity)), one(node()))


@pytest.mark.parametrize(
    ("mine", "theirs", "want"),
    [
        (("TCP", "0.0.0.0", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.2", 80), ("TCP", "10.0.0.1", 80), False),
        (("TCP", "10.0.0.1", 80), ("UDP", "10.0.0.1", 80), False),
        (("TCP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 81), False),
    ],
)
def test_host_ports_clash(mine, theirs, want):
    assert want == fit.clash(mine, theirs)


MEBIBYTES_1000 = "1000Mi"


def test_least_allocated_is_the_mean_of_what_is_left():
    there = one(node(cpu="1", memory=MEBIBYTES_1000))

    # CPU: (1000 - 100 - 250) * 100 / 1000 = 65; memory: (1000 - 200 - 500) * 100 / 1000 = 30; (65 + 30) / 2 = 47.
    assert 47 == score.least_allocated(one(pod(cpu="250m", memory="500Mi")), there, [one(pod("q"))])


@pytest.mark.parametrize(
    ("cpu", "memory", "want"),
    [
        # Without the pod: fractions 0 and 0.5, deviation 0.25, B = 75.
        pytest.param("500m", "", 50 + (50 + 100 - 75) // 2, id="evens out"),
        pytest.param("", "500Mi", 50 + (50 + 50 - 75) // 2, id="the other way"),
        pytest.param("3", "", 50 + (50 + 75 - 75) // 2, id="beyond the node counts as full"),
        pytest.param("", "", 0, id="asks for nothing"),
    ],
)
def test_balance_is_what_the_pod_changes(cpu, memory, want):
    there = one(node(cpu="1", memory=MEBIBYTES_1000))

    assert want == score.balanced(one(pod(cpu=cpu, memory=memory)), there, [one(pod("q", memory="500Mi"))])


def soft(count: int) -> list[dict[str, str]]:
    return [{"key": f"k{number}", "effect": "PreferNoSchedule"} for number in range(count)]


def test_taints_and_preferences_are_weighed_against_the_worst_and_the_best():
    preference = [{"weight": 30, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]
    preference += [{"weight": 60, "preference": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}}]
    asking = one(pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preference}}))
    created = [node("n0", labels={"a": ""}), node("n1", taints=soft(1), labels={"b": ""}), node("n2", taints=soft(3))]
    feasible: dict[str, tuple[Node, list[Pod]]] = {each["metadata"]["name"]: (one(each), []) for each in created}
    least = (4000 - 100) * 100 // 4000

    assert {
        "n0": least + 3 * 100 + 2 * 50,
        "n1": least + 3 * (100 - 33) + 2 * 100,
        "n2": least,
    } == score.node_scores(asking, feasible)


def test_division_rounds_towards_zero():
    assert (3, -3, -3, 3) == (score.divide(7, 2), score.divide(-7, 2), score.divide(7, -2), score.divide(-7, -2))


def test_a_placement_is_better_the_tighter_it_is_and_the_more_pods_it_holds():
    free_capacity = [one(node("a", cpu="1", memory="400Mi")), one(node("b", cpu="1", memory="400Mi"))]
    three = [one(pod(str(number), cpu="500m")) for number in range(3)]

    # CPU 1500 of 2000, memory 600 of 800 MiB: 75 both; four in all elsewhere: 3 of 4 is 75.
    assert {"x": 75 + 75, "y": 100 + 100} == score.placement_scores({"x": (free_capacity, three, 3), "y": (free_capacity[:1], three, 4)})
