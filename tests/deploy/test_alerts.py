"""The alerts of the PrometheusRule fire and resolve: by promtool for all of them, and by a real Prometheus that reads a real server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request

import pytest
import yaml

from tests.cluster.process import Process, free_port
from tests.cluster.waiting import until
from tests.deploy import rendered

RULES = yaml.safe_load((rendered.DEPLOY / "components/prometheus/alerts.yaml").read_text(encoding="utf-8"))["spec"]
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
DAY = 24 * 3600
BUCKET = 'muster_review_duration_seconds_bucket{path="/validate",le='
FIRING = {
    "MusterWebhookDown": ({"muster_reviews_in_flight": "_x9 0x30"}, 5, {}),
    "MusterCertificateExpires": (
        {'muster_certificate_not_after_seconds{kind="leaf"}': f"{13 * DAY}x9 {400 * DAY}x30"},
        8,
        {"kind": "leaf"},
    ),
    "MusterCertificateRejected": ({'muster_certificate_reloads_total{outcome="kept-old"}': "0 0 1x50"}, 5, {"outcome": "kept-old"}),
    "MusterCertificateNotRenewed": ({'muster_certificate_failures_total{reason="request"}': "0 0+12x12 144x40"}, 14, {"reason": "request"}),
    "MusterCertificateWithoutLeader": ({"muster_certificate_leader": "0x9 1x30"}, 7, {}),
    "MusterCertificateContested": ({'muster_certificate_rotation_steps_total{step="trust"}': "0 0+6x10 60x90"}, 12, {}),
    "MusterClockSkew": ({"muster_certificate_clock_offset_seconds": "-300x15 1x30"}, 12, {}),
    "MusterReviewsSlow": (
        {BUCKET + '"1.0"}': "0x20 0+60x60", BUCKET + '"2.5"}': "0+60x20 1200+60x60", BUCKET + '"+Inf"}': "0+60x80"},
        15,
        {},
    ),
    "MusterWebhookFault": ({"muster_faults_total": "0 0 1x50"}, 5, {}),
    "MusterSidecarWithoutLeader": ({"muster_leader": "0x9 1x30"}, 5, {}),
    "MusterSidecarTwoLeaders": ({'muster_leader{pod="a"}': "1x40", 'muster_leader{pod="b"}': "1x9 0x31"}, 5, {}),
}
RESOLVED = {"MusterCertificateContested": 80}
"""Of each alert: series with a value a minute, a minute at which it fires, and its labels.  It is resolved in minute 35 at the latest,
or in that of RESOLVED."""


def program(name):
    if (found := shutil.which(name)) is None:
        pytest.skip(f"{name} is not installed")
    return found


def series(samples):
    return [{"series": name, "values": values} for name, values in samples.items()]


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_and_resolves(alert, tmp_path):
    samples, minute, labels = FIRING[alert]
    rule = ALERTS[alert]
    fires = {"exp_labels": {**labels, "severity": rule["labels"]["severity"]}, "exp_annotations": annotations(rule, labels)}
    silent = [] if alert.startswith("MusterWebhookDown") else [0]
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [rule]}]}), encoding="utf-8")
    (tmp_path / "test.yaml").write_text(
        yaml.safe_dump(
            {
                "rule_files": ["alerts.yaml"],
                "evaluation_interval": "1m",
                "tests": [
                    {
                        "interval": "1m",
                        "input_series": series(samples),
                        "alert_rule_test": [
                            {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": [fires]},
                            *({"eval_time": f"{at}m", "alertname": alert, "exp_alerts": []} for at in (*silent, RESOLVED.get(alert, 35))),
                        ],
                    }
                ],
            }
        ),
        encoding="utf-8",
    )
    done = subprocess.run([program("promtool"), "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout + done.stderr


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


def test_a_prometheus_sees_the_server_go_and_its_certificate_expire(tmp_path):
    """Without waiting times, so that it takes seconds: the alerts of a server that is not there, and then of one with a short certificate."""
    prometheus, port, probes = program("prometheus"), free_port(), free_port()
    rules = [{**ALERTS[name], "for": "0s"} for name in ("MusterWebhookDown", "MusterCertificateExpires")]
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}), encoding="utf-8")
    scraped = {"job_name": "muster-webhook", "static_configs": [{"targets": [f"127.0.0.1:{probes}"]}]}
    intervals = {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"}
    configuration = {"global": intervals, "rule_files": ["alerts.yaml"], "scrape_configs": [scraped]}
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    storage = f"--storage.tsdb.path={tmp_path / 'data'}"
    watcher, server = Process("prometheus", tmp_path / "prometheus.log"), Process("muster-serve", tmp_path / "server.log")

    def firing():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=10) as answer:
            return {each["labels"]["alertname"] for each in json.load(answer)["data"]["alerts"] if each["state"] == "firing"}

    def issue(days):
        arguments = ("--out", str(tmp_path / "certs"), "--name", "localhost", "--days", str(days), "--force")
        subprocess.run(muster("certs", "issue", *arguments), check=True, capture_output=True)

    try:
        watcher.start([prometheus, f"--config.file={tmp_path / 'prometheus.yaml'}", storage, f"--web.listen-address=127.0.0.1:{port}"])
        until(lambda: answers(firing) == {"MusterWebhookDown"})
        issue(5)
        key_pair = (f"--tls-cert={tmp_path / 'certs/tls.crt'}", f"--tls-key={tmp_path / 'certs/tls.key'}")
        where = (f"--bind=127.0.0.1:{free_port()}", f"--probe-bind=127.0.0.1:{probes}", "--workers=1")
        server.start(muster("serve", *where, *key_pair))
        until(lambda: firing() == {"MusterCertificateExpires"})
        issue(90)
        until(lambda: firing() == set())
        server.stop()
        until(lambda: firing() == {"MusterWebhookDown"})
    finally:
        server.stop()
        watcher.stop()


def answers(ask):
    """Return the answer, or nothing while the server does not listen yet."""
    try:
        return ask()
    except OSError:
        return set()
