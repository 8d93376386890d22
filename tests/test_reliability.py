"""Campaigns add up over runs, and report what did not hold."""

from __future__ import annotations

import dataclasses
import os

import pytest

from tests.cluster import programs
from tests.cluster.programs import MissingError
from tests.reliability import __main__ as runner
from tests.reliability import equality, explained_differences, page, tally
from tests.reliability.campaign import Campaign, Round


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return a function that runs campaigns for a moment, one round of each, and returns status, output and errors."""
    monkeypatch.setattr(tally, "FILE", tmp_path / "tally.json")
    monkeypatch.setattr(tally, "PUBLISHED", tmp_path / "published.json")
    (tmp_path / "published.json").write_text("{}")

    def started(*campaigns, options=()):
        clock = iter([0.0, *(0.5 for _ in range(2 * len(campaigns))), *[61.0] * 9])
        monkeypatch.setattr(runner, "CAMPAIGNS", {each.name: each for each in campaigns})
        monkeypatch.setattr(runner.time, "monotonic", lambda: next(clock))
        status = runner.main(["--minutes", "1", *options])
        return (status, *capsys.readouterr())

    return started


def campaign(result, name="fuzz"):
    return Campaign(name, "mutated reviews", "an answer", 1000, result)


def test_counts_and_seeds_go_on_where_the_last_run_ended(run):
    seeds = []

    def one_round(seed):
        seeds.append(seed)
        return Round(10)

    assert 0 == run(campaign(one_round))[0]
    status, output, _ = run(campaign(one_round), options=("--resume",))

    assert (0, [1, 2]) == (status, seeds)
    assert "| mutated reviews | an answer | 20 of 1,000 | 0 | no failure |" in output
    assert "| 10 of 1,000 |" in run(campaign(one_round))[1], "without the option it begins anew"


def test_a_campaign_that_has_reached_its_goal_lets_others_go_on(run):
    seeds = {"fuzz": [], "other": []}
    campaigns = [campaign(lambda seed: (seeds["fuzz"].append(seed), Round(1000))[1])]
    campaigns.append(campaign(lambda seed: (seeds["other"].append(seed), Round(1000 if seed == 3 else 10))[1], "other"))

    for _ in range(3):
        run(*campaigns, options=("--resume",))

    assert {"fuzz": [1, 2], "other": [1, 2, 3, 4]} == seeds


def test_a_campaign_of_long_rounds_runs_only_if_it_is_named(run):
    campaigns = [campaign(lambda _: Round(1)), dataclasses.replace(campaign(lambda _: Round(1), "hour"), attack="an hour", only_named=True)]

    assert "an hour" not in run(*campaigns)[1]
    named = run(*campaigns, options=("hour",))[1]
    assert "an hour" in named
    assert "mutated reviews" not in named


def test_what_does_not_hold_is_an_error_with_its_seed(run):
    status, _, errors = run(campaign(lambda _: Round(3, ("a traceback",))))

    assert 1 == status
    assert "error: fuzz, seed 1: a traceback" in errors


def test_a_campaign_that_cannot_run_is_no_success(run):
    def missing(_):
        raise MissingError("no kube-apiserver")

    status, output, errors = run(campaign(missing), campaign(lambda _: Round(1), "other"))

    assert 1 == status
    assert "not run: fuzz: no kube-apiserver" in errors
    assert 3 == len(output.splitlines())


def test_a_file_that_is_not_a_tally_is_one_line(run, tmp_path):
    (tmp_path / "tally.json").write_text("[]")

    with pytest.raises(SystemExit):
        run(campaign(lambda _: Round(1)), options=("--resume",))


def test_figures_are_shown_as_the_median_of_the_rounds(run):
    ratios = iter([0.5, 0.75, 0.8])
    campaigns = [campaign(lambda _: Round(1, figures={"ratio": next(ratios)}))]
    assert "| no failure; ratio 0.5 |" in run(*campaigns)[1]
    run(*campaigns, options=("--resume",))

    assert "| no failure; ratio 0.75 (0.5 to 0.8) |" in run(*campaigns, options=("--resume",))[1]


def test_the_page_quotes_the_table_and_nothing_runs(run, tmp_path, monkeypatch):
    run(campaign(lambda _: Round(7, ("a traceback",))))
    text = page.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(page, "FILE", tmp_path / "page.md")
    monkeypatch.setattr(page, "find", lambda: programs.Programs(tmp_path))
    (tmp_path / "kube-apiserver").write_text("#!/bin/sh\necho Kubernetes v1.37.1\n")
    (tmp_path / "kube-apiserver").chmod(0o755)
    page.FILE.write_text(text)

    assert 0 == run(campaign(None), campaign(None, "other"), options=("--page",))[0]

    written = page.FILE.read_text()
    assert (
        "| mutated reviews | an answer | 7 of 1,000 | 0 | 1 failure |\n| mutated reviews | an answer | 0 of 1,000 | 0 | not run |\n"
        in written
    )
    assert f"{os.cpu_count()} cores of " in written
    assert "Kubernetes 1.37.1.\n\n| attack" in written
    before, after = text.split(page.BEGIN)[0], text.split(page.END)[1]
    assert written.startswith(before)
    assert written.endswith(after)
    tally.FILE.unlink()
    assert "| 14 of 1,000 | 0 | 1 failure |" in run(campaign(lambda _: Round(7)), options=("--resume",))[1], "another machine goes on"


def test_the_table_names_every_campaign():
    names = runner.CAMPAIGNS
    lines = tally.table(names, {name: tally.Entry() for name in names})

    assert len(names) + 2 == len(lines)


def test_a_verdict_that_differs_is_a_difference_with_its_path_and_both_reasons():
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}
    question = equality.Question(manifest)
    one = equality.Verdict(frozenset({("spec.template.spec.containers[0].image", "FieldValueRequired")}))

    assert [] == [*equality.differences(question, one, one)]
    assert [("Pod", "create", "spec.containers.image", "Required", "accepts")] == [*equality.differences(question, one, equality.Verdict())]
    assert not explained_differences.explains(("Pod", "create", "spec.containers.image", "Required", "accepts"))
