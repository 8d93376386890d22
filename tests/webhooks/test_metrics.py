"""Counts, durations and the log line of a review."""

import pytest

from webhooks.admission.review import AdmissionRequest
from webhooks.server.metrics import BUCKETS, LONGEST, Outcome, Telemetry

REQUEST = AdmissionRequest("u", "g", "v", "PodGroup", "CREATE", "podgroups", "", "n", "ns", new=b'{"secret": "hush"}')
DENIED = Outcome(allowed=False, code=422, rules=("gang-minimum",), warnings=2, seconds=0.003)


@pytest.fixture
def lines():
    return []


@pytest.fixture
def telemetry(lines, monkeypatch):
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    return Telemetry(lambda level, event, fields: lines.append((level, event, fields)))


def figures(telemetry):
    lines = telemetry.render().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_a_review_is_counted_by_what_became_of_it(telemetry):
    telemetry.review("/validate", REQUEST, DENIED)
    result = figures(telemetry)

    labels = 'kind="PodGroup",operation="CREATE",outcome="denied",path="/validate"'
    assert 1.0 == result[f"muster_reviews_total{{{labels}}}"]
    assert 1.0 == result['muster_rule_hits_total{outcome="denied",rule="gang-minimum"}']
    assert 2.0 == result['muster_review_warnings_total{path="/validate"}']
    assert 0.0 == result['muster_review_duration_seconds_bucket{le="0.0025",path="/validate"}']
    assert 1.0 == result['muster_review_duration_seconds_bucket{le="0.005",path="/validate"}']


def test_durations_are_distinguished_up_to_ten_seconds():
    assert 10.0 == BUCKETS[-1]


def test_a_client_cannot_make_up_kinds(telemetry):
    for number in range(50):
        request = AdmissionRequest("u", "g", "v", f"Kind{number}", "CREATE")
        telemetry.review("/validate", request, DENIED)

    kinds = [name for name in figures(telemetry) if name.startswith("muster_reviews_total")]
    assert 1 == len(kinds)
    assert 'kind="other"' in kinds[0]


def test_the_line_has_request_and_response_and_never_the_object(telemetry, lines):
    telemetry.review("/validate", REQUEST, DENIED)
    ((level, event, fields),) = lines

    assert ("info", "review") == (level, event)
    assert {
        "uid": "u",
        "path": "/validate",
        "kind": "PodGroup",
        "namespace": "ns",
        "name": "n",
        "operation": "CREATE",
        "subresource": "",
        "dryRun": False,
        "allowed": False,
        "code": 422,
        "rules": ("gang-minimum",),
        "duration": 0.003,
    } == fields
    assert "hush" not in repr(lines)


def test_texts_of_a_request_are_cut(telemetry, lines):
    telemetry.review("/validate", AdmissionRequest("u" * 1000, "g", "v", "k" * 1000, "CREATE"), DENIED)

    assert (LONGEST, LONGEST) == (len(lines[0][2]["uid"]), len(lines[0][2]["kind"]))


def test_what_is_in_flight_goes_up_and_down(telemetry):
    telemetry.began()
    assert 1.0 == figures(telemetry)["muster_reviews_in_flight"]
    telemetry.ended()
    assert 0.0 == figures(telemetry)["muster_reviews_in_flight"]


def test_an_increase_is_seen_at_the_first_rejection(telemetry):
    """Prometheus computes an increase from a value before it."""
    assert {'outcome="taken"': 0.0, 'outcome="kept-old"': 0.0} == {
        key.partition("{")[2][:-1]: value for key, value in figures(telemetry).items() if key.startswith("muster_certificate_reloads_total")
    }


def test_validity_and_refusals_are_reported(telemetry):
    telemetry.certificate("leaf", 50.0, 100.0)
    telemetry.certificate("ca", 60.0, 200.0)
    telemetry.refused("/mutate", 413, "too large")
    telemetry.reloaded(taken=False)
    result = figures(telemetry)

    assert 100.0 == result['muster_certificate_not_after_seconds{kind="leaf"}']
    assert 200.0 == result['muster_certificate_not_after_seconds{kind="ca"}']
    assert 50.0 == result['muster_certificate_not_before_seconds{kind="leaf"}']
    assert 1.0 == result['muster_requests_refused_total{code="413",where="/mutate"}']
    assert 1.0 == result['muster_certificate_reloads_total{outcome="kept-old"}']


def test_figures_are_read_while_another_process_starts(telemetry, tmp_path, monkeypatch):
    """The process creates its files empty and sizes them later."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    (tmp_path / "counter_1.db").touch()

    assert b"" == telemetry.render()
