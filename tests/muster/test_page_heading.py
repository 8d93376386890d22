"""The first sentence of a page: it is about the objects that a person wrote, and made from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.paged import Element, read
from tests.muster.simulated import node, pod
from tests.muster.test_fit import fit, ranked, saved
from tests.muster.test_simulate_controllers import TEMPLATE, deployment, job, manifest

pytestmark = pytest.mark.usefixtures("folder")

NODES = [node("n1", cpu="4", rack="a"), node("n2", cpu="4", rack="b")]
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}


ONE = {"size": 1, "workerTemplate": TEMPLATE}


def gang(name: str, pods: int) -> dict[str, Any]:
    made: dict[str, Any] = ranked("Job", pods)
    return {**made, "metadata": {**made["metadata"], "name": name}}


def small(number: int, pods: int = 1) -> list[dict[str, Any]]:
    return [job(pods, f"small-{each}") for each in range(number)]


def said(page: Element) -> str:
    (heading,) = page.all("h1")
    return heading.text


FIT = {
    "one that fits": ([job(2)], "✓ Job train fits: 2 pods on n1, n2"),
    "one that does not": ([ranked("Job", 3)], "✗ Job train does not fit: no rack has capacity for more than 2 of its 3 pods"),
    "pods one by one": (
        [deployment(5)],
        "✗ Deployment web does not fit: no cpu is free; 2 are needed (1 of 5 pods has no node)",
    ),
    "all fit": (small(3), "✓ All 3 jobs fit: 3 pods on 2 nodes"),
    "one of several": (
        [*small(2), gang("big", 3)],
        "✗ 2 of 3 jobs fit. big does not: no rack has capacity for more than 2 of its 3 pods",
    ),
    "of several kinds": (
        [*small(1), deployment(1), gang("big", 3)],
        "✗ 2 of 3 objects fit. Job big does not: no rack has capacity for more than 2 of its 3 pods",
    ),
    "a kind of several words": (
        [manifest("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", name, replicas=1, leaderWorkerTemplate=ONE) for name in "ab"],
        "✓ Both LeaderWorkerSets fit: 2 pods on 2 nodes",
    ),
    "more than are explained": (
        [gang(f"big-{each}", 3) for each in range(5)],
        (
            "✗ 0 of 5 jobs fit. big-0 does not: no rack has capacity for more than 2 of its 3 pods."
            " big-1 does not: no rack has capacity for more than 2 of its 3 pods."
            " big-2 does not: no rack has capacity for more than 2 of its 3 pods. big-3 and big-4 do not either."
            " The smallest change with which all fit: 7 more nodes in rack a like n1"
        ),
    ),
    "in several namespaces": (
        [gang("big", 3), {**job(1), "metadata": {"name": "other", "namespace": "team"}}],
        "✗ 1 of 2 jobs fit. default/big does not: no rack has capacity for more than 2 of its 3 pods",
    ),
    "a part is not judged": (
        [job(1), manifest("Sandbox", "a.example/v1")],
        "○ Job train fits: 1 pod on n1. 1 object at PATH was skipped and not judged",
    ),
    "nothing": ([NODES[0]], "○ Nothing to judge: PATH has no object that creates pods"),
}


@pytest.mark.parametrize(("mine", "want"), FIT.values(), ids=FIT)
def test_fit(mine: list[dict[str, Any]], want: str) -> None:
    assert want == said(read(fit(mine, NODES, "--format", "html")[1])).rstrip(".")


def test_victims() -> None:
    cluster = [*NODES[:1], pod("low", cpu="4", on="n1", priority=-1)]
    text = fit([job(1)], cluster, "--format", "html")[1]
    assert "→ Job train fits after evicting 1 pod: Pod low" == said(read(text))
    text = fit([job(1, "a"), job(2, "b")], [*cluster, NODES[1]], "--format", "html")[1]
    assert "→ Both jobs fit after evicting 1 pod: Pod low" == said(read(text))


def simulated(*paths: str) -> str:
    return said(read(CliRunner().invoke(cli.main, ["simulate", *paths, "--format", "html"]).stdout))


def test_simulate_is_about_the_objects_too() -> None:
    mine, cluster = saved("mine.json", [*small(2), gang("big", 3)]), saved("cluster.json", [*NODES, gang("other", 4)])
    everything = "✗ 2 of 4 jobs fit. big does not: no rack has capacity for more than 2 of its 3 pods. other does not: "
    assert simulated(mine, cluster).startswith(everything)
    assert "✗ 2 of 3 jobs fit. big does not: no rack has capacity for more than 2 of its 3 pods" == simulated(mine, "--objects", cluster)


def test_groups_are_shown_with_the_object_that_they_are_for() -> None:
    page = read(fit([*small(1), gang("big", 3)], NODES, "--format", "html")[1])
    assert "✗ not placed PodGroup default/big-job-root of Job big 0 of 3 pods placed" == page.all("h3")[0].text
    assert "default/big-job-root, PodGroup of Job big, not placed" in page.all("ol", "roots")[0].text


def test_what_text_and_page_say_about_one_object_is_the_same_verdict() -> None:
    page, text = (fit([ranked("Job", 3)], NODES, *options)[1] for options in (("--format", "html"), ()))
    assert "Job train does not fit" in said(read(page))
    assert "does not fit: Job train" in text
    assert Path("mine.json").exists()
