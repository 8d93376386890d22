"""The page as a whole: one file, well formed, the same each time, safe whatever the names are, small however large the cluster."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import itertools
import json
import random
import re

import pytest
from click.testing import CliRunner

from benchmarks import clusters
from muster import cli
from muster.html import page
from muster.render.answer import Answer
from scheduler_core.cluster.load import load
from tests.muster import paged
from tests.muster.paged import RACK, ZONE, gang, group, machine, member, racks
from tests.muster.simulated import stated

LARGEST = 5_000_000
HOSTILE = """"><script>alert('x')</script><b title='&quot;' onclick=alert(1)>&amp;</style>{{7*7}}"""

PAGES = {
    "placed": (paged.placed_tree(), {}),
    "not placed": (paged.many_gpus(), {}),
    "evicting": (paged.evicting(), {}),
    "evicted": (paged.evicting(), {"evict": True}),
    "proved": (paged.many_gpus(), {"strategy": "complete"}),
    "no node": (gang("lost", 2), {}),
    "nothing": ([], {}),
    "nothing waits": (racks(1), {}),
    "pods alone": ([*racks(1), *(member(f"p{number}", cpu="9" if number % 2 else "100m") for number in range(60))], {}),
    "a parent that is not there": ([*racks(1), *gang("lost", 1, parent="nobody")], {}),
    "a group that is not there": ([*racks(1), member("lost", "nobody")], {}),
    "problems": ([*racks(1), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}], {}),
    "cells": ([*clusters.nodes(300), *clusters.gangs(3, 4), *gang("wide", 700, key=clusters.RACK)], {}),
}


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES)
def text(request):
    objects, options = request.param
    return paged.rendered(objects, **options)


@pytest.fixture(scope="module")
def document(text):
    return paged.read(text)


def test_has_one_heading_on_top_and_skips_no_level(document):
    levels = [int(each.tag[1]) for each in document.walk() if re.fullmatch("h[1-6]", each.tag)]
    assert (1, 1) == (levels[0], levels.count(1))
    assert [] == [(before, after) for before, after in itertools.pairwise(levels) if after > before + 1]


def test_links_lead_to_something_on_the_page(document):
    names = [each.attributes["id"] for each in document.walk() if "id" in each.attributes]
    assert sorted(set(names)) == sorted(names)
    links = [each.attributes["href"] for each in document.all("a")]
    assert [] == [link for link in links if not link.startswith("#") or link[1:] not in names]
    labels = [each.attributes["aria-labelledby"] for each in document.walk() if "aria-labelledby" in each.attributes]
    assert [] == [label for label in labels if label not in names]


def test_needs_nothing_from_elsewhere(document):
    attributes = {name for each in document.walk() for name in each.attributes}
    assert set() == attributes & {"src", "srcset", "action", "style", "background", "data"}
    assert set() == {name for name in attributes if name.startswith("on")}
    assert [] == document.all("link") + document.all("iframe") + document.all("img") + document.all("object")
    assert "://" not in "".join(each.text for each in document.all("style") + document.all("script")).replace(
        "http://www.w3.org/2000/svg", ""
    )


def test_policy_lets_run_and_look_only_what_is_in_it(document):
    (policy,) = [
        each.attributes["content"] for each in document.all("meta") if each.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (style,) = document.all("style")
    scripts = [digest(each) for each in document.all("script")]

    assert ("'none'", digest(style), "'none'", "'none'") == (
        rules["default-src"],
        rules["style-src"],
        rules["base-uri"],
        rules["form-action"],
    )
    assert [rules["script-src"]] == scripts
    # Before the policy stands nothing that it would have to hold for.
    assert [each.tag for each in document.all("head")[0].children if isinstance(each, paged.Element)][:2] == ["meta", "meta"]


def digest(element):
    content = "".join(element.children)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def test_says_its_language_and_how_it_is_encoded(document):
    assert "en" == document.all("html")[0].attributes["lang"]
    assert "utf-8" == document.all("meta")[0].attributes["charset"]
    assert document.all("title")[0].text


def test_tables_say_what_their_cells_are_about(document):
    heads = document.all("th")
    assert [] == [each.text for each in heads if each.attributes.get("scope") not in {"col", "row"}]
    assert [] == [table.text[:40] for table in document.all("table") if not table.all("thead")]


def test_pictures_are_for_the_eye_alone(document):
    assert [] == [each for each in document.all("svg") if each.attributes.get("aria-hidden") != "true"]


def test_paths_are_numbers(document):
    assert [] == [each.attributes["d"] for each in document.all("path") if not re.fullmatch(r"[MmLlHhVvAaZz0-9. -]+", each.attributes["d"])]


def test_order_of_the_objects_does_not_matter():
    objects = [*paged.many_gpus(), *paged.placed_tree()[4:], *gang("late", 3, cpu="9")]
    shuffled = random.Random(3).sample(objects, len(objects))
    assert paged.rendered(objects) == paged.rendered(shuffled)


def hostile():
    """Everything that may hold any text holds one that means harm."""
    there = [
        machine("n1", gpus=4, taint="maintenance", labels={RACK: HOSTILE, ZONE: "z'\"<"}),
        machine("n2", labels={RACK: "r2", ZONE: HOSTILE}),
    ]
    there[0]["spec"]["taints"][0]["value"] = HOSTILE
    there[1]["metadata"]["name"] = HOSTILE
    waiting = [
        *gang("job", 3, gpus=4, key=RACK),
        group(HOSTILE, 2, key=RACK),
        *(member(f"{HOSTILE}{number}", HOSTILE) for number in range(2)),
    ]
    running = member("run", on=HOSTILE)
    running["spec"]["containers"][0]["resources"]["requests"]["x.io/<script>"] = "1"
    return [
        *there,
        *waiting,
        running,
        member("bad", cpu=HOSTILE),
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"bare{HOSTILE}"}},
    ]


@pytest.mark.parametrize("options", [{}, {"strategy": "complete"}], ids=["greedy", "complete"])
def test_names_mean_nothing_to_a_browser(options):
    text = paged.rendered(hostile(), **options)
    document = paged.read(text)

    assert "<script>alert" not in text
    assert [] == [each.attributes for each in document.walk() if "onclick" in each.attributes or (each.tag == "b" and each.attributes)]
    assert "49" not in {word for each in document.all("h1") for word in each.text.split()}
    # It is all there to be read.
    assert document.text.count("<script>alert('x')</script>") > 10


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("\u202edorp", "\\u202edorp", id="turned around"),
        pytest.param("a\x00b", "a\\x00b", id="a character that ends texts"),
        pytest.param("a\x1b[31mb", "a\\x1b[31mb", id="a terminal's escape"),
        pytest.param("a\ud800b", "a\\ud800b", id="half a character"),
    ],
)
def test_what_is_not_visible_is_reported(name, want):
    answer = Answer.from_decisions([], [(f"default/{name}", stated("no reason"))])
    text = page.render(answer, load([]))

    assert want in paged.read(text).text
    assert name not in text
    assert text.encode()


def test_five_thousand_nodes_are_a_small_page():
    running = clusters.running(10_000, 5000)
    objects = [
        *clusters.nodes(5000),
        *running,
        *clusters.gangs(400, 10),
        *clusters.trees(50, 2, 20),
        *gang("wide", 1000, key=clusters.RACK),
    ]
    text = paged.rendered(objects)
    document = paged.read(text)

    assert len(text.encode()) < LARGEST
    (cluster,) = [each for each in document.all("section") if each.attributes.get("id") == "cluster"]
    assert 5000 == sum(len(each.all("tr")) - 1 for each in cluster.all("table"))
    assert 50 == len(cluster.all("div", "tiles"))
    (heat,) = cluster.all("div", "heat")
    assert 5000 == len(heat.all("i"))


def test_many_roots_are_a_small_page():
    failing = [each for number in range(2000) for each in gang(f"g{number:04d}", 2, cpu="9")]
    text = paged.rendered([*racks(2), *failing, *(each for number in range(1000) for each in gang(f"h{number:04d}", 1, cpu="1m"))])
    assert len(text.encode()) < LARGEST
    assert "more result" in text


def test_command_writes_the_page_with_its_origin(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "cluster.json"
    file.write_text("\n".join(map(json.dumps, paged.many_gpus())), encoding="utf-8")
    answers = [CliRunner().invoke(cli.main, ["simulate", str(file), "--strategy", "greedy", "--format", "html"]) for _ in range(2)]

    assert (1, "") == (answers[0].exit_code, answers[0].stderr)
    assert answers[0].stdout == answers[1].stdout
    (meta,) = paged.read(answers[0].stdout).all("dl", "meta")
    names = [each.text for each in meta.all("dt")]
    values = [each.text for each in meta.all("dd")]
    assert ["Command", "Source", "Date", "Version"] == names
    assert [
        "muster simulate cluster.json --strategy greedy --format html",
        "cluster.json of 2026-01-02 03:04 UTC",
        "2026-01-02 03:04 UTC",
        f"muster {importlib.metadata.version('muster-scheduling')}",
    ] == values
    without = paged.rendered(paged.many_gpus())
    assert without == re.sub(r'<dl class="meta">.*?</dl>\n', "", answers[0].stdout, flags=re.DOTALL)


def test_questions_a_line_are_not_answered_by_pages():
    answer = CliRunner().invoke(cli.main, ["simulate", "-", "--batch", "--format", "html"])
    assert (2, True) == (answer.exit_code, "with --batch, the answers are JSON" in answer.stderr)
