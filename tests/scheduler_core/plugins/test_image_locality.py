"""Images that nodes have: the score of ImageLocality, and every way of placing pods with it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.plugins.profile import Profile
from tests.sampling import sampled
from tests.scheduler_core.builders import decided, leaf, node, placed, pod, pods, shape, table
from tests.scheduler_core.loading.manifests import problem_lines
from tests.scheduler_core.oracle import compare
from tests.scheduler_core.oracle.strategies import clusters
from tests.scheduler_core.test_agreement import answer, answered

CASES = json.loads((Path(__file__).parents[2] / "cases" / "volumes.json").read_text(encoding="utf-8"))
OF_IMAGES = [case for case in CASES if case["plugin"] == "ImageLocality"]
MIB = 2**20
IMAGES = ("a:v1", "registry.example:5000/b", "c@sha256:0", "d")
RANDOM = settings(
    max_examples=sampled(100), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def having(each, *images, size=1000 * MIB):
    """Return the node *each* with *images*: names, or pairs of names and a size."""
    result = copy.deepcopy(each)
    result["status"]["images"] = [
        {"names": [image], "sizeBytes": size} if isinstance(image, str) else {"names": image[0], "sizeBytes": image[1]} for image in images
    ]
    return result


def running(*images, **more):
    """Return the spec fields of a pod with a container for each of *images*."""
    return {"containers": [{"name": f"c{number}", "image": image} for number, image in enumerate(images)], **more}


def scores_of(objects):
    """Return the score of each node for the pod ``p``."""
    snapshot = load(objects)
    (what,) = (each.shape for each in snapshot.pods if each.name == "p")
    bonus = Profile(snapshot.nodes).compile(what).bonus
    return None if bonus is None else bonus.tolist()


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize("case", OF_IMAGES, ids=lambda case: case["id"])
def test_pods_go_where_kube_scheduler_sends_them(case, strategy):
    (decision,) = answered(case, strategy)["decisions"]

    assert case["expect"]["status"] == decision["status"]
    assert case["expect"]["bound"].keys() == {name.rpartition("/")[2] for name in decision["assignments"]}
    for name, nodes in case["expect"]["bound"].items():
        assert decision["assignments"][f"default/{name}"] in nodes


@pytest.mark.parametrize(
    ("nodes", "spec", "want"),
    [
        pytest.param([having(node("a"), "x:1"), node("b")], running("x:1"), [48, 0], id="half of 1000 MiB"),
        pytest.param([having(node("a"), "x:1", size=46 * MIB), node("b")], running("x:1"), None, id="too small"),
        pytest.param([having(node("a"), "x:1", size=9000 * MIB), node("b")], running("x:1"), [100, 0], id="larger than the largest"),
        pytest.param([having(node("a"), "x:1", size=2**63 - 1), node("b")], running("x:1", "x:1"), [100, 0], id="the largest integer"),
        pytest.param([having(node("a"), "x:1", size=-(2**63)), node("b")], running("x:1", "x:1"), None, id="the smallest integer"),
        pytest.param([having(node("a"), "x:1"), node("b")], running("x:1", "y"), [24, 0], id="one of two images"),
        pytest.param([having(node("a"), "x:1"), node("b")], running("x:1", "x:1"), [49, 0], id="one image of two containers"),
        pytest.param([having(node("a"), "x:1"), having(node("b"), "x:1")], running("x:1"), None, id="all nodes have it"),
        pytest.param([having(node("a"), "x:latest"), node("b")], running("x"), [48, 0], id="latest is the default"),
        pytest.param([having(node("a"), "r:5000/x"), node("b")], running("r:5000/x"), None, id="a port is no tag"),
        pytest.param([having(node("a"), "r:5000/x:latest"), node("b")], running("r:5000/x"), [48, 0], id="a port and the default tag"),
        pytest.param([having(node("a"), "x@sha256:0"), node("b")], running("x@sha256:0"), [48, 0], id="a digest"),
        pytest.param([having(node("a"), (["y:2", "x:1"], 1000 * MIB)), node("b")], running("x:1"), [48, 0], id="another name"),
        pytest.param([having(node("a"), (["x:1"], 1000 * MIB)), having(node("b"), (["x:1"], 10)), node("c")], running("x:1"), [65, 65, 0], id="size of the first node"),
        pytest.param([having(node("a"), (["x:1"], 900 * MIB), (["x:1"], 1)), node("b")], running("x:1"), [43, 0], id="twice on one node"),
        pytest.param([having(node("a"), "i:1"), node("b")], running("x", initContainers=[{"image": "i:1"}]), [24, 0], id="init container"),
        pytest.param([having(node("a"), "v:1"), node("b")], running("x", volumes=[{"image": {"reference": "v:1"}}, {"emptyDir": {}}]), [24, 0], id="image volume"),
        pytest.param([having(node("a"), (None, 7), "x:1"), node("b")], running("x:1"), [48, 0], id="an image without names"),
        pytest.param([having(node("a"), "z:1"), node("b")], running("x:1"), None, id="another image"),
        pytest.param([node("a"), node("b")], running("x:1"), None, id="no images"),
        pytest.param([having(node("a"), "x:1"), node("b")], {"containers": []}, None, id="no containers"),
    ],
)  # fmt: skip
def test_score(nodes, spec, want):
    assert want == scores_of([*nodes, pod("p", **spec)])


def test_share_of_the_nodes_is_a_float_as_in_kube_scheduler():
    # 1 / 49 * 49 is less than 1 in float64; on the edge of 23 MiB and of one hundredth it decides.
    edge = (1000 - 23) * MIB // 100 + 23 * MIB + 1
    nodes = [having(node("n00"), "x:1", size=edge * 49), *(node(f"n{number:02}") for number in range(1, 49))]
    total = int(float(edge * 49) * (1 / 49))

    assert [100 * (total - 23 * MIB) // (977 * MIB), *[0] * 48] == scores_of([*nodes, pod("p", **running("x:1"))])


def test_pods_with_images_that_no_node_reports_share_a_shape():
    nodes = [having(node("a"), "x:1"), node("b")]
    wishes = {"p": "y:1", "q": "y:2", "r": "x:1", "s": "x:1", "t": "z"}
    shapes = {each.name: each.shape for each in load([*nodes, *(pod(name, **running(image)) for name, image in wishes.items())]).pods}

    assert shapes["p"] is shapes["q"] is shapes["t"]
    assert shapes["r"] is shapes["s"] is not shapes["p"]
    assert ((), ("x:1",)) == (shapes["p"].images, shapes["r"].images)


def test_score_leaves_the_fast_paths_open():
    nodes = table([{}] * 3)
    nodes.report_images([(), (("x:1", 1000 * MIB),), ()])
    profile = Profile(nodes).compile(shape(1000, images=("x:1",)))

    assert (True, [0, 31, 0]) == (profile.plain, np.asarray(profile.bonus).tolist())


def test_images_do_not_choose_the_rack():
    nodes = [node("a", rack="r1"), having(node("b", rack="r2"), "x:1")]

    assert {"g-0": "a"} == placed(decided([*nodes, leaf("g", 1, "rack"), *pods("g", 1, **running("x:1"))], strategy="greedy"))


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([having(node("n"), (["x"], 2**63))], "Node n: status.images[0].sizeBytes must be at most 9223372036854775807; the node is left out", id="too large"),
        pytest.param([having(node("n"), ("x", 1))], "Node n: status.images[0].names must be a list, not a string; the node is left out", id="names"),
        pytest.param([pod("p", volumes=[{"image": "x"}])], "Pod default/p: spec.volumes[0].image must be an object, not a string; the pod is left out", id="volume"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_problem(objects, want):
    assert [want] == problem_lines(load(objects))


@st.composite
def with_images(draw):
    """Draw a cluster of the oracle whose nodes have images."""
    objects = copy.deepcopy(draw(clusters()))
    sizes = st.sampled_from([0, 30 * MIB, 400 * MIB, 1000 * MIB, 3000 * MIB])
    images = st.lists(st.tuples(st.sampled_from([*IMAGES, "d:latest", "registry.example:5000/b:latest"]), sizes), max_size=4)
    for each in objects:
        if each["kind"] == "Node":
            unique = dict(draw(images))
            each["status"]["images"] = [{"names": [name], "sizeBytes": size} for name, size in unique.items()]
        elif each["kind"] == "Pod":
            for container in (*each["spec"]["containers"], *(each["spec"].get("initContainers") or [])):
                container["image"] = draw(st.sampled_from(IMAGES))
            if draw(st.integers(0, 7)) == 0:
                each["spec"]["volumes"] = [{"image": {"reference": draw(st.sampled_from(IMAGES))}}]
    return objects


@RANDOM
@given(with_images())
def test_greedy_decides_as_an_independent_reading_of_kube_scheduler(objects):
    assert [] == compare.compare(objects, answer(objects, strategy="greedy"))


def in_racks(*, each_rack):
    """Return ten racks of equal nodes; in each, all nodes but the first have the image."""
    return [
        having(node(f"r{rack}-{number}", "8", rack=f"r{rack}"), *(["x:1"] if number else []))
        for rack in range(10)
        for number in range(each_rack)
    ]


@pytest.mark.parametrize(
    ("members", "want"),
    [
        pytest.param([{"cpu": "1"}] * 3, {"r0-1", "r0-2", "r0-3"}, id="equal pods in all racks at once"),
        pytest.param([{"cpu": "1"}, {"cpu": "500m"}] * 4, {"r0-1", "r0-2", "r0-3"}, id="two shapes by turns"),
        pytest.param([{"cpu": "1"}, {"cpu": "1", "host_port": 80}], {"r0-1", "r0-2"}, id="one by one"),
    ],
)
def test_every_fast_path_prefers_nodes_with_the_image(members, want):
    gang = [pod(f"g-{number}", "g", **each) for number, each in enumerate(members)]
    for each in gang:
        each["spec"]["containers"][0]["image"] = "x:1"

    assert want == set(placed(decided([*in_racks(each_rack=4), leaf("g", len(gang), "rack"), *gang], strategy="greedy")).values())
