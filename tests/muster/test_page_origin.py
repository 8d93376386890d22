"""The head of a page: command line, source, date, version; the paths of a machine are not shown."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands import page_origin
from tests.muster import paged

EPOCH = 1767323045


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    work = tmp_path / "home" / "work"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(EPOCH))
    return work


def saved(path, objects, changed=EPOCH + 60):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    os.utime(path, (changed, changed))
    return str(path)


def origin(*arguments, stdin=None):
    """Return the parts of the origin of a page, by name."""
    answer = CliRunner().invoke(cli.main, [*arguments, "--format", "html"], input=stdin)
    assert answer.stdout, answer.stderr
    (meta,) = paged.read(answer.stdout).all("dl", "meta")
    return dict(zip([each.text for each in meta.all("dt")], [each.text for each in meta.all("dd")], strict=True))


def test_paths_are_relative_and_quoted_for_a_shell(folder):
    below = saved(folder / "in put" / "a.json", paged.racks(1))
    of_home = saved(folder.parent / "other cluster.json", [paged.member("p")])
    found = origin("simulate", below, f"--objects={of_home}")

    assert "muster simulate 'in put/a.json' --objects=~/'other cluster.json' --format html" == found["Command"]
    assert "in put/a.json of 2026-01-02 03:04 UTC, ~/other cluster.json of 2026-01-02 03:04 UTC" == found["Source"]


def test_files_have_their_time_and_a_directory_that_of_its_newest_file(folder):
    saved(folder / "old.json", paged.racks(1), changed=EPOCH - 86400)
    saved(folder / "d" / "new.json", [paged.member("p")], changed=EPOCH - 3600)
    saved(folder / "d" / "older.json", [paged.member("q")], changed=EPOCH - 7200)

    assert "old.json of 2026-01-01 03:04 UTC, d of 2026-01-02 02:04 UTC" == origin("simulate", "old.json", "d")["Source"]
    assert "2026-01-02 03:04 UTC" == origin("simulate", "old.json", "d")["Date"]


def test_without_the_variable_the_date_is_now(folder, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    saved(folder / "a.json", paged.racks(1), changed=EPOCH + 86400)
    found = origin("simulate", "a.json")
    assert "a.json of 2026-01-03 03:04 UTC" == found["Source"]
    assert found["Date"] > "2026-01-03"


@pytest.mark.parametrize("value", ["yesterday", "-1", "9" * 13])
def test_another_value_of_the_variable_is_refused(folder, monkeypatch, value):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    saved(folder / "a.json", paged.racks(1))
    answer = CliRunner().invoke(cli.main, ["simulate", "a.json", "--format", "html"])
    assert 2 == answer.exit_code
    assert f"SOURCE_DATE_EPOCH: {value!r} must be a number of seconds since 1970" in answer.stderr


def test_standard_input_and_many_files(folder):
    names = [saved(folder / f"{number}.json", [paged.member(f"p{number}")]) for number in range(6)]
    found = origin("fit", "-", *names, stdin=json.dumps(paged.machine("n")))
    assert found["Source"].startswith("standard input, 0.json of ")
    assert found["Source"].endswith(", 3 more")
    assert found["Command"].startswith("muster fit - 0.json ")


def test_a_live_cluster_has_its_context():
    with cli.main.make_context("muster", ["--help"], resilient_parsing=True) as context:
        context.meta["muster.arguments"] = ["fit", "a.yaml", "--cluster"]
        found = page_origin.page_origin(["nowhere.yaml"], "prod")
    assert ("nowhere.yaml", "live cluster, context prod") == found.sources
    assert "muster fit a.yaml --cluster" == found.line


def test_the_page_of_fit_names_fit_and_has_its_roots_first(folder):
    saved(folder / "cluster.json", [*paged.racks(2), *paged.gang("ahead", 2, cpu="90"), *paged.gang("small", 1, cpu="1m")])
    mine = paged.gang("mine", 2)
    for each in mine:
        each["metadata"]["uid"] = each["metadata"]["name"]
    saved(folder / "mine.json", mine)
    answer = CliRunner().invoke(cli.main, ["fit", "mine.json", "--objects", "cluster.json", "--format", "html"])
    document = paged.read(answer.stdout)

    assert (0, "muster fit") == (answer.exit_code, document.all("p", "brand")[0].text)
    assert ["default/mine", "default/ahead", "default/small"] == [
        each.all("bdi")[0].text for each in document.all("ol", "roots")[0].all("li")
    ]
    titles = [each.text for each in document.all("h2")]
    assert ["At PATH", "Others, not placed", "The cluster", "Others, placed"] == titles
    assert titles == [each.text for each in document.all("ul", "sections")[0].all("a")]
