from __future__ import annotations

import contextlib
import json
import socket
from types import SimpleNamespace

import pytest

from apiserver.api import CONNECT_SECONDS, MERGE_PATCH, TOKEN_SECONDS, Api, ReplyError
from apiserver.connection import Connection
from apiserver.credentials import TokenFile
from apiserver.discovery import minor_version, path_of, served
from tests.apiserver.fake import serving


def always(code, content, **headers):
    return lambda *_: (code, headers, content)


def test_a_request_bears_the_credentials_and_its_kind_of_body():
    with serving(always(200, {"done": True})) as (server, api):
        got = api.send("PATCH", "/api/v1/pods/a", b"{}", content_type=MERGE_PATCH, query=[("dryRun", "All")])

    assert {"done": True} == json.loads(got)
    method, path, headers, body = server.requests[0]
    assert ("PATCH", "/api/v1/pods/a?dryRun=All", b"{}") == (method, path, body)
    assert ("Bearer token-of-ours", MERGE_PATCH) == (headers["Authorization"], headers["Content-Type"])


def test_warnings_are_read_from_the_header():
    header = r'299 - "spec.x: is old", 299 kube-apiserver "say \"no\" to a\\b", 199 - "of a cache"'
    with serving(always(201, {}, Warning=header)) as (_, api):
        assert api.send_heeding_warnings("POST", "/api/v1/pods", b"{}") == ("spec.x: is old", 'say "no" to a\\b')
    with serving(always(201, {})) as (_, api):
        assert api.send_heeding_warnings("POST", "/api/v1/pods", b"{}") == ()


@pytest.mark.parametrize(
    ("method", "query", "want"),
    [
        pytest.param("POST", [], "?fieldManager=x+y", id="created"),
        pytest.param("PUT", [], "?fieldManager=x+y", id="replaced"),
        pytest.param("PATCH", [("dryRun", "All")], "?dryRun=All&fieldManager=x+y", id="patched"),
        pytest.param("DELETE", [], "", id="deleted"),
        pytest.param("GET", [("limit", "5")], "?limit=5", id="read"),
    ],
)
def test_what_is_written_names_its_field_manager(method, query, want):
    with serving(always(200, {})) as (server, _):
        api = Api(Connection(f"http://127.0.0.1:{server.server_address[1]}"), "x y")
        api.send(method, "/api/v1/pods", None, query=query)

    assert (method, f"/api/v1/pods{want}") == server.requests[0][:2]


@pytest.mark.parametrize(
    ("header", "want"),
    [
        pytest.param({"Retry-After": "3"}, 3.0, id="in seconds"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None, id="a date"),
        pytest.param({}, None, id="none"),
    ],
)
def test_an_error_has_code_reason_and_the_wait_that_is_requested(header, want):
    refusal = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "later"}
    with serving(lambda *_: (429, header, refusal)) as (_, api), pytest.raises(ReplyError) as raised:
        api.send("POST", "/x", b"{}")

    assert (429, "TooManyRequests", want) == (raised.value.code, raised.value.reason, raised.value.retry_after)
    assert "HTTP 429: later" == str(raised.value)


@pytest.mark.parametrize(
    "content", [pytest.param(b"<html>", id="no JSON"), pytest.param(b"\xff\xfe", id="no text"), pytest.param(b"", id="nothing")]
)
def test_an_error_that_says_nothing_readable_is_an_error_all_the_same(content):
    with serving(always(502, content)) as (_, api), pytest.raises(ReplyError) as raised:
        api.read("/x")

    assert "HTTP 502: no reason given" == str(raised.value)


def test_a_redirect_is_not_followed():
    with serving(lambda *_: (302, {"Location": "http://127.0.0.1:1/"}, b"")) as (_, api), pytest.raises(ReplyError) as raised:
        api.read("/x")

    assert 302 == raised.value.code


def test_connections_are_used_again_after_answers_and_errors():
    codes = iter([200, 404, 200, 500, 200])
    ports = []
    with serving(lambda *_: (next(codes), {}, {})) as (server, api):
        original = server.finish_request
        server.finish_request = lambda request, address: (ports.append(address[1]), original(request, address))[1]
        for _ in range(5):
            with contextlib.suppress(ReplyError):
                api.read("/x")

    assert 1 == len(set(ports))


def test_an_address_may_have_a_path():
    with serving(always(200, {})) as (server, _):
        Api(Connection(f"http://127.0.0.1:{server.server_address[1]}/clusters/one")).read("/api/v1/pods", [("limit", "5")])

    assert "/clusters/one/api/v1/pods?limit=5" == server.requests[0][1]


def test_a_token_that_was_renewed_is_used_after_a_while(monkeypatch, tmp_path):
    now = [0.0]
    monkeypatch.setattr("apiserver.api.time", SimpleNamespace(monotonic=lambda: now[0]))
    with serving(always(200, {})) as (server, _):
        token = tmp_path / "token"
        token.write_text("old")
        api = Api(Connection(f"http://127.0.0.1:{server.server_address[1]}", credentials=TokenFile(str(token))))
        api.read("/x")
        token.write_text("new")
        for moment in (TOKEN_SECONDS - 0.1, TOKEN_SECONDS):
            now[0] = moment
            api.read("/x")

    assert ["Bearer old", "Bearer old", "Bearer new"] == [headers["Authorization"] for _, _, headers, _ in server.requests]


def test_credentials_that_cannot_be_read_now_are_no_answer_and_are_read_later(tmp_path):
    token = tmp_path / "token"
    token.write_text("")
    with serving(always(200, {})) as (server, _):
        api = Api(Connection(f"http://127.0.0.1:{server.server_address[1]}", credentials=TokenFile(str(token))))
        with pytest.raises(OSError, match="the file with the token is empty"):
            api.read("/x")
        token.write_text("new")
        api.read("/x")

    assert ["Bearer new"] == [headers["Authorization"] for _, _, headers, _ in server.requests]


RESOURCES = {
    "/apis/g/v1beta1": {"resources": [{"name": "podgroups"}]},
    "/apis/g/v1alpha3": {"resources": [{"name": "podgroups"}, {"name": "c"}]},
}


def discovery(_, path, __):
    if path == "/version":
        return 200, {}, {"major": "1", "minor": "37+"}
    return (200, {}, RESOURCES[path]) if path in RESOURCES else (404, {}, {})


@pytest.mark.parametrize(
    ("resource", "want"),
    [
        pytest.param("podgroups", "/apis/g/v1beta1/podgroups", id="in the preferred version"),
        pytest.param("c", "/apis/g/v1alpha3/c", id="in a later one"),
        pytest.param("d", "", id="nowhere"),
    ],
)
def test_a_resource_is_found_in_the_first_version_that_has_it(resource, want):
    with serving(discovery) as (_, api):
        assert want == path_of(api, resource, ("g/v1", "g/v1beta1", "g/v1alpha3"))


def test_a_version_that_is_not_served_has_no_resources():
    with serving(discovery) as (_, api):
        assert frozenset() == served(api, "g/v9")
        assert 37 == minor_version(api)


def test_nobody_there_is_no_answer():
    with serving(always(200, {})) as (_, api):
        host = api.host
    assert isinstance(api, Api)
    with pytest.raises(Exception, match=r"(?i)connection|refused") as raised:
        api.read("/x")
    assert not isinstance(raised.value, ReplyError)
    assert host.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("seconds", "want"),
    [pytest.param(0.5, 0.5, id="no longer than for the answer"), pytest.param(90.0, CONNECT_SECONDS, id="no longer than ever")],
)
def test_a_connection_is_waited_for(monkeypatch, seconds, want):
    original, waited = socket.create_connection, []
    monkeypatch.setattr(
        socket, "create_connection", lambda address, limit, **more: (waited.append(limit), original(address, limit, **more))[1]
    )
    with serving(always(200, {})) as (_, api):
        api.send("GET", "/x", None, seconds=seconds)

    assert [pytest.approx(want, abs=0.1)] == waited


def test_a_path_is_sent_in_visible_characters():
    with serving(always(200, {})) as (server, api):
        api.send("GET", "/a b/%2Fé", None, query=[("x", "y z")])

    assert "/a%20b/%2F%C3%A9?x=y+z" == server.requests[0][1]


def test_a_proxy_takes_what_is_sent():
    answers = iter([(201, {"Warning": '299 - "is old"'}, {"a": 1}), (409, {"Retry-After": "2"}, {"reason": "Conflict", "message": "no"})])
    with serving(lambda *_: next(answers)) as (proxy, _):
        api = Api(Connection("http://server.example", proxy=f"http://127.0.0.1:{proxy.server_address[1]}"), "ours")
        assert api.send_heeding_warnings("POST", "/x", b"{}") == ("is old",)
        with pytest.raises(ReplyError) as raised:
            api.send("PATCH", "/x", b"{}", content_type=MERGE_PATCH)

    assert ("Conflict", 2.0) == (raised.value.reason, raised.value.retry_after)
    assert ["http://server.example/x?fieldManager=ours"] * 2 == [path for _, path, _, _ in proxy.requests]
    assert [b"{}"] * 2 == [body for *_, body in proxy.requests]
