"""The alerts of the PrometheusRule fire and resolve: by promtool for all of them, and by a real Prometheus that reads a real server."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys

import pytest
import yaml

from certs import issue, pair, store
from tests.cluster.process import Process, free_port
from tests.cluster.waiting import until
from tests.deploy import rendered
from tests.deploy.watching import ALERTS, at_once, program, watching

DAY = 24 * 3600
BUCKET = 'muster_review_duration_seconds_bucket{path="/validate",le='
LEADING, SCHEDULER = 'muster_leading_replica{scheduler_name="muster",', {"scheduler_name": "muster"}
FIRING = {
    "MusterWebhookDown": ({"muster_reviews_in_flight": "_x9 0x30"}, 5, {}),
    "MusterCertificateExpires": (
        {
            'muster_certificate_not_after_seconds{kind="leaf"}': f"{13 * DAY}x9 {400 * DAY}x30",
            'muster_certificate_not_before_seconds{kind="leaf"}': f"{-352 * DAY}x40",
        },
        8,
        {"kind": "leaf"},
    ),
    "MusterCertificateRejected": ({'muster_certificate_reloads_total{outcome="kept-old"}': "0 0 1x50"}, 5, {"outcome": "kept-old"}),
    "MusterCertificateNotRenewed": ({'muster_certificate_failing{reason="request"}': "0x2 1x20 0x40"}, 18, {"reason": "request"}),
    "MusterCertificateWithoutLeader": ({"muster_certificate_leader": "0x9 1x30"}, 7, {}),
    "MusterCertificateContested": ({'muster_certificate_rotation_steps_total{step="trust"}': "0 0+6x10 60x90"}, 12, {}),
    "MusterClockSkew": ({"muster_certificate_clock_offset_seconds": "-300x15 1x30"}, 12, {}),
    "MusterReviewsSlow": (
        {BUCKET + '"1.0"}': "0x20 0+60x60", BUCKET + '"2.5"}': "0+60x20 1200+60x60", BUCKET + '"+Inf"}': "0+60x80"},
        15,
        {},
    ),
    "MusterWebhookFault": ({"muster_faults_total": "0 0 1x50"}, 5, {}),
    "MusterSidecarWithoutLeader": ({LEADING + 'identity="a"}': "0x9 1x30"}, 5, SCHEDULER),
    "MusterSidecarTwoLeaders": ({LEADING + 'identity="a"}': "1x40", LEADING + 'identity="b"}': "1x9 0x31"}, 5, SCHEDULER),
    "MusterSidecarOutOfDate": ({'muster_term_wait_seconds{kind="Pod"}': "0+60x9 _x30"}, 5, {"kind": "Pod"}),
    "MusterGroupsNotCreated": ({'muster_build_objects{kind="Job",result="refused"}': "1x20 0x30"}, 12, {"kind": "Job"}),
    "MusterPodsWithoutGroup": ({"muster_build_longest_wait_seconds": "0+60x25 0x30"}, 18, {}),
}
RESOLVED = {"MusterCertificateContested": 80}
"""Of each alert: series with a value a minute, a minute at which it fires, and its labels.  It is resolved in minute 35 at the latest,
or in that of RESOLVED."""


def series(samples):
    return [{"series": name, "values": values} for name, values in samples.items()]


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_and_resolves(alert, tmp_path):
    samples, minute, labels = FIRING[alert]
    rule = ALERTS[alert]
    fires = {"exp_labels": {**labels, "severity": rule["labels"]["severity"]}, "exp_annotations": annotations(rule, labels)}
    silent = [] if alert.startswith("MusterWebhookDown") else [0]
    tested = [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": [fires]}]
    tested += [{"eval_time": f"{at}m", "alertname": alert, "exp_alerts": []} for at in (*silent, RESOLVED.get(alert, 35))]
    judge(tmp_path, rule, samples, tested)


def judge(folder, rule, samples, tested):
    """Run promtool: the alerts of *rule* are those of *tested*, with *samples* of one minute each."""
    (folder / "alerts.yaml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [rule]}]}), encoding="utf-8")
    one = {"interval": "1m", "input_series": series(samples), "alert_rule_test": tested}
    test = {"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": [one]}
    (folder / "test.yaml").write_text(yaml.safe_dump(test), encoding="utf-8")
    done = subprocess.run([program("promtool"), "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout + done.stderr


def validity(begins, ends):
    """Return series of a certificate, valid between these days."""
    name = 'muster_certificate_not_{}_seconds{{kind="leaf"}}'
    return {name.format("before"): f"{begins * DAY}x40", name.format("after"): f"{ends * DAY}x40"}


@pytest.mark.parametrize(
    ("alert", "samples"),
    [
        pytest.param("MusterCertificateExpires", validity(-352, 15), id="a year, more than 14 days left"),
        pytest.param("MusterCertificateExpires", validity(-20, 10), id="30 days, about to be renewed"),
        pytest.param("MusterCertificateNotRenewed", {'muster_certificate_failing{reason="race"}': "1x40"}, id="lost races"),
        pytest.param("MusterCertificateNotRenewed", {'muster_certificate_failing{reason="request"}': "1x3 0x40"}, id="a few minutes"),
        pytest.param(
            "MusterSidecarTwoLeaders",
            {LEADING + 'identity="a"}': "1x40", LEADING.replace('="muster"', '="other"') + 'identity="b"}': "1x40"},
            id="two sidecars, each for a scheduler name of its own",
        ),
        pytest.param(
            "MusterSidecarTwoLeaders",
            {LEADING + 'identity="a",job="pods"}': "1x40", LEADING + 'identity="a",job="muster"}': "1x40"},
            id="one replica, read by two jobs",
        ),
        pytest.param(
            "MusterSidecarTwoLeaders",
            {LEADING.replace('muster"', '"') + f'identity="{each}"}}': "1x40" for each in "ab"},
            id="two sidecars that place no pods",
        ),
        pytest.param(
            "MusterGroupsNotCreated", {'muster_build_objects{kind="Job",result="invalid"}': "1x40"}, id="an object to be corrected"
        ),
        pytest.param("MusterPodsWithoutGroup", {"muster_build_longest_wait_seconds": "0+60x14 0x26"}, id="a pod that has joined in time"),
        pytest.param(
            "MusterSidecarWithoutLeader", {LEADING + 'identity="a"}': "1x40", LEADING + 'identity="b"}': "0x40"}, id="one of two leads"
        ),
    ],
)
def test_what_is_well_fires_nothing(alert, samples, tmp_path):
    judge(tmp_path, ALERTS[alert], samples, [{"eval_time": f"{at}m", "alertname": alert, "exp_alerts": []} for at in (5, 16, 35)])


@pytest.mark.parametrize(
    ("alert", "samples", "labels"),
    [
        pytest.param("MusterCertificateExpires", validity(-26, 4), {"kind": "leaf"}, id="30 days, not renewed in time"),
        pytest.param("MusterCertificateExpires", validity(-1, 0), {"kind": "leaf"}, id="a day, expired"),
        pytest.param("MusterSidecarWithoutLeader", {}, {}, id="no sidecar"),
        pytest.param(
            "MusterSidecarWithoutLeader",
            {LEADING + 'identity="a"}': "1x40", LEADING.replace('="muster"', '="other"') + 'identity="b"}': "0x40"},
            {"scheduler_name": "other"},
            id="only that of another scheduler name leads",
        ),
    ],
)
def test_it_also_fires(alert, samples, labels, tmp_path):
    rule = ALERTS[alert]
    fires = {"exp_labels": {**labels, "severity": rule["labels"]["severity"]}, "exp_annotations": annotations(rule, labels)}
    judge(tmp_path, rule, samples, [{"eval_time": "20m", "alertname": alert, "exp_alerts": [fires]}])


def annotations(rule, labels):
    """Return the annotations with their templates filled in."""
    return {key: re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], text) for key, text in rule["annotations"].items()}


def test_every_metric_of_an_alert_exists():
    metrics = (rendered.DEPLOY.parent / "docs/reference/metrics.md").read_text(encoding="utf-8")
    named = {name.removesuffix("_bucket") for samples, _, _ in FIRING.values() for name in (each.partition("{")[0] for each in samples)}

    assert ALERTS.keys() == FIRING.keys()
    assert set() == {name for name in named if f"`{name}`" not in metrics}
    for alert, (samples, _, _) in FIRING.items():
        assert any(each.partition("{")[0] in ALERTS[alert]["expr"] for each in samples)


def muster(*arguments):
    return [sys.executable, "-m", "muster", *arguments]


def test_a_prometheus_sees_a_server_and_its_certificate(tmp_path):
    """The alerts of a server that is not there, then of one with a short certificate, and of one with a broken file."""
    probes = free_port()
    server = Process("muster-serve", tmp_path / "server.log")
    rules = at_once("MusterWebhookDown", "MusterCertificateExpires", "MusterCertificateRejected")
    certificate = tmp_path / "certs/tls.crt"

    with watching(tmp_path, rules, f"127.0.0.1:{probes}") as firing:
        try:
            until(lambda: firing() == {"MusterWebhookDown"})
            write_pair(tmp_path / "certs", days_ago=85)
            where = (f"--bind=127.0.0.1:{free_port()}", f"--probe-bind=127.0.0.1:{probes}", "--workers=1")
            server.start(muster("serve", *where, f"--tls-cert={certificate}", f"--tls-key={tmp_path / 'certs/tls.key'}"))
            until(lambda: firing() == {"MusterCertificateExpires"})
            write_pair(tmp_path / "certs", days_ago=0)
            until(lambda: firing() == set())
            certificate.write_text("-----BEGIN CERTIFICATE-----\n")
            until(lambda: firing() == {"MusterCertificateRejected"})
            server.stop()
            until(lambda: "MusterWebhookDown" in firing())
        finally:
            server.stop()


def write_pair(folder, days_ago):
    """Write a key pair that was issued some days ago and is valid for 90 days."""
    then = dt.datetime.now(dt.UTC) - dt.timedelta(days=days_ago)
    store.write(folder, issue.leaf(issue.authority(then), pair.names_of(("localhost",)), then, 90))
