"""Fragmentation in the report and in the JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from muster import cli
from muster.render.answer_text import fragmentation_lines
from muster.render.root_text import Page, Paint
from muster.render.tree_rows import Kinship
from scheduler_core.causes.node_count import Amount
from scheduler_core.diagnosis.fragmentation import Fragment
from tests.muster.simulated import node, pod


def muster(*arguments, stdin):
    return CliRunner().invoke(cli.main, ["simulate", "-", *arguments], input=stdin)


@pytest.fixture
def cluster():
    nodes = [node(f"n{number}", cpu="4", rack=f"r{number}") for number in range(3)]
    return "\n".join(map(json.dumps, [*nodes, pod("x", cpu="3", on="n0"), pod("p", cpu="2")]))


def test_fragmentation_is_reported_on_request(cluster):
    told = json.loads(muster("--format", "json", "--fragmentation", stdin=cluster).stdout)
    assert [{"key": "rack", "shape": "2 cpu", "pod": "default/p", "largest": 2, "domain": "r1", "total": 4}] == told["fragmentation"]
    assert "fragmentation" not in json.loads(muster("--format", "json", stdin=cluster).stdout)


def test_fragmentation_is_reported_as_text(cluster):
    lines = muster("--fragmentation", stdin=cluster).stdout.splitlines()
    place = lines.index("The largest gang that fits in one domain, before anything is placed:")
    assert ["  pods like default/p (2 cpu): 4 in total, one by one", "    rack  2 pods in r1", ""] == lines[place + 1 : place + 4]
    assert "largest gang" not in muster(stdin=cluster).stdout


PAGE = Page(Kinship(), Paint(colour=False))


def test_levels_are_nested():
    fragments = [
        Fragment("zone", (Amount("cpu", 1000),), "a/p", 1, "z", 3),
        Fragment("long/rack", (Amount("cpu", 1000),), "a/p", 0, "", 3),
        Fragment("zone", (Amount("cpu", 2000),), "a/q", 0, "", 0),
    ]
    want = [
        "The largest gang that fits in one domain, before anything is placed:",
        "  pods like a/p (1 cpu): 3 in total, one by one",
        "    zone       1 pod in z",
        "    long/rack  0 pods",
        "  pods like a/q (2 cpu): 0 in total, one by one",
        "    zone       0 pods",
        "",
    ]
    assert want == [*fragmentation_lines(fragments, PAGE)]


def test_without_fragments_there_is_no_section():
    assert [] == [*fragmentation_lines((), PAGE)]
