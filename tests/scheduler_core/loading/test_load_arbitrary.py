"""Loading damaged and arbitrary objects and texts."""

from __future__ import annotations

import copy
import json
import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from tests.sampling import sampled
from tests.scheduler_core.builders import contents
from tests.scheduler_core.loading.manifests import REFERENCED_WORKLOAD, budget, group, node, pod, priority_class, problem_lines


def canonical(snapshot):
    """Return everything in a snapshot as values that can be compared."""
    shapes = {each.shape.serial: msgspec.to_builtins(each.shape) for each in snapshot.pods}
    pods = [msgspec.to_builtins(each) for each in snapshot.pods]
    return (
        shapes,
        pods,
        contents(snapshot.nodes),
        snapshot.groups,
        snapshot.priorities,
        snapshot.desired,
        snapshot.budgets,
        snapshot.problems,
    )


VALID = [
    node("n1", labels={"rack": "r1"}, taints=[{"key": "a", "effect": "NoSchedule"}]),
    node("n2", labels={"rack": "R1"}),
    pod("p1", nodeName="n1", overhead={"cpu": "1"}, nodeSelector={"a": "b"}),
    pod("p2", tolerations=[{"key": "a", "operator": "Exists"}], status={"nominatedNodeName": "n2"}),
    pod("p3", schedulingGroup={"podGroupName": "g"}, priorityClassName="high", volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
    pod("p4", workloadRef={"name": "train", "podGroup": "workers"}, status={"containerStatuses": [{"name": "main", "resources": {}}]}),
    pod("p5", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}}),
    group("g", schedulingConstraints={"topology": [{"key": "rack"}]}, parentCompositePodGroupName="c"),
    group("c", "CompositePodGroup"),
    group("old", version="v1alpha2", disruptionMode="Pod"),
    priority_class("high", 10, globalDefault=True),
    budget(spec={"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, status={"disruptionsAllowed": 1}),
    REFERENCED_WORKLOAD,
    {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p6"}, "spec": {"hostNetwork": True}}]},
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.sampled_from(["1", "-1", "In", "n1", "p1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(["name", "spec", "key"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(value, way=()):
    """Yield every path in a JSON value."""
    yield way
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*way, step))


def changed(content, way, value):
    content = copy.deepcopy(content)
    if not way:
        return value
    inner = content
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    return content


@st.composite
def damaged(draw):
    content = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(0, 2))):
        content = changed(content, draw(st.sampled_from([*places(content)])), draw(JSON))
    return content


@settings(max_examples=sampled(200), deadline=None)
@given(st.lists(damaged(), max_size=6), st.randoms(use_true_random=False))
def test_whatever_comes_is_read_and_its_order_changes_nothing(objects, shuffle):
    texts = [json.dumps(each).encode() for each in objects]
    again = [*texts]
    shuffle.shuffle(again)

    assert canonical(load(texts)) == canonical(load(again))


@settings(max_examples=sampled(100), deadline=None)
@given(st.lists(st.binary(max_size=40) | JSON.map(lambda each: json.dumps(each).encode()), max_size=4))
def test_any_text_is_read_or_reported(texts):
    assert 0 == len(load(texts).pods)


def test_the_valid_ones_are_sound():
    snapshot = load(VALID)

    assert ["default/p1", "default/p2", "default/p3", "default/p4", "default/p5", "default/p6"] == [each.key for each in snapshot.pods]
    assert ['Node n2: the label rack is "R1" here and "r1" on node n1: they are two domains'] == problem_lines(snapshot)


def test_parsed_objects_and_texts_give_the_same_result():
    shuffled = random.Random(1).sample(VALID, len(VALID))

    assert canonical(load(VALID)) == canonical(load([json.dumps(each).encode() for each in shuffled]))
