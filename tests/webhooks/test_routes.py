"""Routes without sockets: responses, and requests that are refused because they are no review."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.webhooks.running import BODY, REVIEW
from validators.model import objects
from validators.object_lookup import NOTHING
from webhooks.admission import verdict
from webhooks.server.metrics import Telemetry
from webhooks.server.routes import PLAIN, create_app, warm_up
from webhooks.settings import Settings

JSON = "application/json"


@pytest.fixture
def reasons():
    return []


@pytest.fixture
def lines():
    return []


@pytest.fixture
def client(reasons, lines, monkeypatch):
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    telemetry = Telemetry(lambda level, event, fields: lines.append((level, event, fields)))
    return create_app(Settings.from_environ({}), NOTHING, telemetry, lambda: reasons).test_client()


@pytest.fixture
def closed():
    """A client of a server whose TLS port has no probes."""
    given = Settings.from_environ({"MUSTER_TLS_PROBES": "false", "MUSTER_PROBE_BIND": "127.0.0.1:0"})
    return create_app(given, NOTHING, Telemetry(lambda *_: None), list).test_client()


def review(**changes):
    return json.dumps({**REVIEW, "request": {**REVIEW["request"], **changes}})


@pytest.mark.parametrize("path", ["/validate", "/mutate"])
def test_a_review_is_answered_in_kind(client, path):
    answer = client.post(path, data=BODY, content_type=JSON)

    assert (200, JSON) == (answer.status_code, answer.content_type)
    assert ("admission.k8s.io/v1", "AdmissionReview") == (answer.json["apiVersion"], answer.json["kind"])
    assert ("u-1", True) == (answer.json["response"]["uid"], answer.json["response"]["allowed"])


def test_a_bad_object_is_refused_with_causes_and_logged(client, lines):
    broken = json.loads(BODY)["request"]["object"] | {"spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}}
    response = client.post("/validate", data=review(object=broken), content_type=JSON).json["response"]

    assert (False, 422) == (response["allowed"], response["status"]["code"])
    assert ["spec.schedulingPolicy.gang.minCount"] == [cause["field"] for cause in response["status"]["details"]["causes"]]
    assert (False, 422) == (lines[-1][2]["allowed"], lines[-1][2]["code"])


def test_an_unknown_kind_is_allowed_with_a_warning(client):
    kind = {"group": "example.com", "version": "v1", "kind": "Thing"}
    response = client.post("/validate", data=review(kind=kind), content_type=JSON).json["response"]

    assert response["allowed"]
    assert 1 == len(response["warnings"])


def test_a_content_type_with_parameters_is_json(client):
    assert 200 == client.post("/validate", data=BODY, content_type="application/json; charset=utf-8").status_code


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        pytest.param(b"", {}, "not JSON", id="nothing"),
        pytest.param(b"{", {}, "not JSON", id="half"),
        pytest.param(b"[]", {}, "not an AdmissionReview", id="a list"),
        pytest.param(b"{}", {}, "must be an AdmissionReview", id="empty"),
        pytest.param(b"\xff\xfe", {}, "not JSON", id="not UTF-8"),
        pytest.param(b"[" * 100_000, {}, "not JSON", id="only brackets"),
        pytest.param(b'{"request":' * 100_000, {}, "", id="deep"),
        pytest.param(BODY, {"Content-Type": "text/plain"}, "the Content-Type must be application/json", id="text"),
        pytest.param(BODY, {"Content-Encoding": "gzip"}, "must not be compressed", id="gzip"),
    ],
)
def test_what_is_no_review_is_400_with_a_reason(client, body, headers, reason):
    answer = client.post("/validate", data=body, headers={"Content-Type": JSON, **headers})

    assert 400 == answer.status_code
    assert ["error"] == list(answer.json)
    if reason != "not JSON" or len(body) < 10:
        assert reason in answer.json["error"]


def test_a_deep_object_is_no_5xx(client):
    for depth in (50, 99, 150, 1000, 100_000):
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        body = json.dumps({**REVIEW, "request": {**REVIEW["request"], "object": 0}}).encode()
        answer = client.post("/validate", data=body.replace(b'"object": 0', b'"object": ' + nested), content_type=JSON)
        assert answer.status_code in (200, 400), depth


def test_other_methods_and_paths(client):
    answer = client.get("/validate")
    assert (405, "OPTIONS, POST", ["error"]) == (answer.status_code, answer.headers["Allow"], list(answer.json))
    answer = client.get("/nowhere")
    assert (404, ["error"]) == (answer.status_code, list(answer.json))


def test_a_body_above_the_limit_is_413(client):
    answer = client.post("/validate", data=b" " * (7 * 1024 * 1024 + 1), content_type=JSON)

    assert (413, ["error"]) == (answer.status_code, list(answer.json))


def test_readiness_gives_its_reasons(client, reasons):
    assert (200, {"status": "ready"}) == (client.get("/readyz").status_code, client.get("/readyz").json)
    reasons.append("draining")

    assert (503, ["draining"]) == (client.get("/readyz").status_code, client.get("/readyz").json["reasons"])
    assert 200 == client.get("/healthz").status_code


def test_without_tls_there_are_probes_only(client):
    plain = {PLAIN: True}

    assert 404 == client.post("/validate", data=BODY, content_type=JSON, environ_overrides=plain).status_code
    for path in ("/healthz", "/readyz", "/metrics"):
        assert 200 == client.get(path, environ_overrides=plain).status_code


def test_probes_and_metrics_can_be_closed_on_the_tls_port(closed):
    assert 200 == closed.post("/validate", data=BODY, content_type=JSON).status_code
    for path in ("/healthz", "/readyz", "/metrics"):
        answer = closed.get(path)
        assert (404, True) == (answer.status_code, "this port serves only webhooks" in answer.json["error"])
        assert 200 == closed.get(path, environ_overrides={PLAIN: True}).status_code


def test_a_fault_of_ours_is_500_and_counted(client, monkeypatch, capfd):
    def broken(*_):
        raise KeyError("a bug")

    monkeypatch.setattr(verdict, "validate", broken)
    answer = client.post("/validate", data=BODY, content_type=JSON)

    assert (500, {"error": "internal error; see the log"}) == (answer.status_code, answer.json)
    assert b"muster_faults_total 1.0" in client.get("/metrics").data
    assert b"muster_reviews_in_flight 0.0" in client.get("/metrics").data


def test_too_deep_for_a_rule_is_400(client, monkeypatch):
    def deep(*_):
        raise RecursionError

    monkeypatch.setattr(verdict, "validate", deep)

    assert 400 == client.post("/validate", data=BODY, content_type=JSON).status_code


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "name", "spec", "schedulingPolicy", "gang", "minCount", "labels", "status", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KINDS = {
    "Workload": ("scheduling.k8s.io", "v1beta1"),
    "PodGroup": ("scheduling.k8s.io", "v1alpha3"),
    "CompositePodGroup": ("scheduling.k8s.io", "v1alpha3"),
    "Pod": ("", "v1"),
    "Job": ("batch", "v1"),
    "PriorityClass": ("scheduling.k8s.io", "v1"),
}


@given(
    kind=st.sampled_from(sorted(KINDS)),
    operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]),
    path=st.sampled_from(["/validate", "/mutate"]),
    new=st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind", "value"]), VALUES, max_size=4),
    old=st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind", "value"]), VALUES, max_size=4),
    sub=st.sampled_from(["", "status"]),
)
@hypothesis_settings(
    max_examples=sampled(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
def test_no_object_leads_to_a_5xx(client, kind, operation, path, new, old, sub):
    group, version = KINDS[kind]
    body = review(
        kind={"group": group, "version": version, "kind": kind},
        operation=operation,
        object=new,
        oldObject=old,
        subResource=sub,
    )
    answer = client.post(path, data=body, content_type=JSON)

    assert answer.status_code in (200, 400), answer.json
    if answer.status_code == 200:
        assert "u-1" == answer.json["response"]["uid"]


def test_decoders_exist_before_the_first_request():
    """A request need not wait for a decoder."""
    warm_up(Settings.from_environ({}))
    assert set(objects.KINDS.values()) <= set(objects.DECODERS)


@pytest.mark.parametrize("path", ["/validate", "/mutate"])
@pytest.mark.parametrize("requested", sorted(KINDS))
@pytest.mark.parametrize("given", ["Pod", "Workload", "Gang", 7, None])
def test_the_kind_is_that_of_the_request(client, path, requested, given):
    """The kind is the API server's, whatever the object contains."""
    group, version = KINDS[requested]
    for operation in ("CREATE", "UPDATE"):
        body = review(
            kind={"group": group, "version": version, "kind": requested},
            operation=operation,
            object={"kind": given},
            oldObject={"kind": given},
        )
        answer = client.post(path, data=body, content_type=JSON)

        assert answer.status_code == 200
