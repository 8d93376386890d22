"""A short round of each campaign of mutations; planted faults are noticed."""

from __future__ import annotations

import json
import random
import time

import pytest
from click.testing import CliRunner

from muster.cli import main
from tests.reliability import documents, editors, expressions, fuzzing, live, load, reviews, reviews_tls, watch
from tests.reliability.mutations import Mutator

OTHER_UID = """
from webhooks.admission import review
encode = review.encode
review.encode = lambda request, verdict: encode(request, verdict).replace(b'"uid":"', b'"uid":"x', 1)
"""
EXAMPLES = {
    "lint": 200,
    "compile": 60,
    "migrate": 100,
    "fit": 15,
    "simulate": 60,
    "tree": 100,
    "snapshot": 100,
    "why": 15,
    "snapshot-live": 30,
}
COMMANDS = {each.name: each for each in (*documents.CAMPAIGNS, *live.CAMPAIGNS)}
FAULTS = {
    "lint": "validators.lint.engine.report_on",
    "compile": "muster.commands.compile.command._write",
    "migrate": "validators.migrate.twins.settle",
    "fit": "muster.commands.fit.command._judged",
    "simulate": "muster.commands.simulate.simulation.run",
    "tree": "validators.lint.engine.report_on",
    "snapshot": "muster.commands.snapshot.snapshot_document.keep_simulated_fields",
    "snapshot-live": "muster.commands.snapshot.live_cluster.list_cluster",
    "why": "muster.commands.why.command._simulated",
}


def test_mutated_reviews():
    assert () == reviews.run(1, 600).failures
    assert () == reviews.run(2, 600).failures


def test_a_5xx_is_a_failure(monkeypatch):
    monkeypatch.setattr("webhooks.server.routes._bad_request", lambda reason: 1 / 0)
    assert "answer 500" in reviews.run(1, 200).failures[0]


def test_mutated_reviews_over_tls():
    assert () == reviews_tls.run(1, 120).failures
    assert any("uid 'x" in each for each in reviews_tls.run(1, 60, before=OTHER_UID).failures)


@pytest.mark.parametrize("name", COMMANDS)
def test_mutated_documents(name):
    assert () == COMMANDS[name].run(1, EXAMPLES[name]).failures


@pytest.mark.parametrize("name", COMMANDS)
def test_a_traceback_is_a_failure_and_names_the_document(name, monkeypatch):
    monkeypatch.setattr(FAULTS[name], lambda *_, **__: 1 / 0)
    assert "ZeroDivisionError" in COMMANDS[name].run(1, 10).failures[0]


def test_mutated_messages_of_an_editor():
    assert () == editors.run(1, 1).failures


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        pytest.param("field_help.hover = lambda *_: 1 / 0", "ZeroDivisionError", id="an internal error"),
        pytest.param("server.MusterServer.publish = lambda *_: 1 / 0", "ZeroDivisionError", id="a traceback in a notification"),
    ],
)
def test_a_fault_of_the_language_server_is_a_failure(fault, failure):
    assert failure in editors.run(1, 1, f"from muster.commands.lsp import field_help, server; {fault}").failures[0]


def test_streams_that_lie():
    assert () == watch.run(1, 25).failures


def test_a_store_that_misses_a_deletion_is_a_failure():
    class Forgetful(watch.StoreSink):
        def change(self, event, content, version):
            super().change("BOOKMARK" if event == "DELETED" else event, content, version)

    assert "instead of" in watch.run(1, 25, Forgetful).failures[0]


def test_mutated_expressions_and_selectors():
    assert () == expressions.run(1, 150).failures


def test_an_error_that_is_not_documented_is_a_failure(monkeypatch):
    monkeypatch.setattr(expressions, "holds", lambda *_, **__: 1 / 0)
    assert "ZeroDivisionError" in expressions.run(1, 20).failures[0]


@pytest.mark.parametrize(
    "endless",
    [pytest.param(lambda: time.sleep(60), id="waits"), pytest.param(lambda: [each for each in iter(int, 1) if each], id="computes")],
)
def test_a_round_ends_although_an_example_does_not(endless):
    done = fuzzing.attempt([int, endless, int], lambda each: each(), 0.05)
    assert (3, 1) == (done.tried, len(done.failures))
    assert "not ended within 0.05 s" in done.failures[0]


def test_growth_from_round_to_round_is_a_failure():
    memory, kept, reports = fuzzing.Memory(), [], []
    for _ in range(4):
        memory.began()
        kept.append(bytearray(b"x" * 8_000_000))
        reports.append([*memory.ended(12_000_000)])
    assert [0, 0, 0, 1] == [len(each) for each in reports]


def test_mutations_are_repeated_by_their_seed_and_leave_the_given_value():
    given = {"spec": {"a": [1, "x", {"b": None}], "minCount": 3}}
    assert repr(Mutator(5, [given]).value(given)) == repr(Mutator(5, [given]).value(given))
    assert {"spec": {"a": [1, "x", {"b": None}], "minCount": 3}} == given
    assert 90 < len({repr(Mutator(seed, [given]).value(given)) for seed in range(200)})
    assert 90 < len({Mutator(seed).data(random.Random(1).randbytes(50)) for seed in range(200)})


POD = {"spec": {"schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "m", "image": "x"}]}}
LEADER_WORKER_SET = {"replicas": 2**63, "leaderWorkerTemplate": {"size": 4, "workerTemplate": POD}}
JOB = {"name": "a", "replicas": 2**63, "template": {"spec": {"parallelism": 2**63, "template": POD}}}
TRAINING_RUNTIME = {"podGroupPolicy": {"coscheduling": {}, "volcano": {}}, "template": {"spec": {"replicatedJobs": [JOB]}}}


@pytest.mark.parametrize(
    ("version", "kind", "spec", "field", "number"),
    [
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", LEADER_WORKER_SET, "replicas", 2**63),
        ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", TRAINING_RUNTIME, "template.spec.replicatedJobs[0].replicas", 2**63),
    ],
)
def test_numbers_that_no_controller_can_have_are_findings_of_lint(tmp_path, version, kind, spec, field, number):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}), encoding="utf-8")
    result = CliRunner().invoke(main, ["lint", "--no-config", str(path)])
    assert (1, None) == (result.exit_code, None if isinstance(result.exception, SystemExit) else result.exception)
    assert f"schema-limit: spec.{field}: Invalid value: {number}: must be at most" in result.output


REFUSED_IN_TIME = [(200, 0.1)] * 10 + [(429, 0.5)] * (load.FLOOD - 10)


@pytest.mark.parametrize(
    ("answers", "recovered", "told"),
    [
        pytest.param(REFUSED_IN_TIME, 0.1, "", id="holds"),
        pytest.param(REFUSED_IN_TIME, 1.1, "a pod is created 1.1 s after", id="recovers late"),
        pytest.param(REFUSED_IN_TIME[1:], 0.1, "159 of 160 large bodies are answered", id="no answer"),
        pytest.param([(500, 0.1), *REFUSED_IN_TIME[1:]], 0.1, "500: 1", id="error"),
        pytest.param([(0, 0.1), *REFUSED_IN_TIME[1:]], 0.1, "0: 1", id="closed"),
        pytest.param([(200, 0.1)] * load.FLOOD, 0.1, "no large body is refused", id="no flood"),
        pytest.param([*REFUSED_IN_TIME[1:], (503, 5.1)], 0.1, "refused after 5.1 s", id="refuses late"),
    ],
)
def test_a_flood_that_is_answered_otherwise_is_noticed(answers, recovered, told):
    found = list(load.troubles(answers, recovered))
    assert (1, True) == (len(found), told in found[0]) if told else found == []


@pytest.mark.parametrize("after", [load.WebhookFailures(1, 0), load.WebhookFailures(0, 1)], ids=["failed open", "failed"])
def test_a_call_of_a_webhook_that_failed_is_noticed(after):
    assert not list(load.unanswered(load.WebhookFailures(0, 0), load.WebhookFailures(0, 0)))
    assert list(load.unanswered(load.WebhookFailures(0, 0), after))
