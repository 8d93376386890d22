"""Discovery documents: which version of a kind is used."""

from __future__ import annotations

import pytest

from apiserver.api import ReplyError
from apiserver.discovery import minor_version, path_of, served
from tests.apiserver.fake import serving


def always(code, content):
    return lambda *_: (code, {}, content)


def test_the_core_group_has_a_path_of_its_own():
    with serving(always(200, {"resources": [{"name": "pods"}, {"name": "pods/binding"}]})) as (server, api):
        assert "/api/v1/pods" == path_of(api, "pods", ("v1",))
        assert {"pods", "pods/binding"} == served(api, "v1")
    assert {"/api/v1"} == {path for _, path, _, _ in server.requests}


def test_the_versions_behind_the_first_that_has_it_are_not_requested():
    with serving(always(200, {"resources": [{"name": "podgroups"}]})) as (server, api):
        assert "/apis/g/v1/podgroups" == path_of(api, "podgroups", ("g/v1", "g/v1beta1"))
    assert 1 == len(server.requests)


@pytest.mark.parametrize("code", [401, 403, 429, 500, 503])
def test_a_server_that_does_not_answer_does_not_count_as_one_without_the_kind(code):
    with serving(always(code, {"message": "not now"})) as (_, api), pytest.raises(ReplyError) as raised:
        path_of(api, "podgroups", ("g/v1", "g/v1beta1"))

    assert code == raised.value.code


@pytest.mark.parametrize("code", [pytest.param(200, id="it tells its version"), pytest.param(403, id="it does not tell us")])
def test_a_kind_is_nowhere_if_there_is_a_server_that_has_it_nowhere(code):
    with serving(lambda _, path, __: (code, {}, {"minor": "37"}) if path == "/version" else (404, {}, {})) as (_, api):
        assert "" == path_of(api, "podgroups", ("g/v1",))


def test_a_proxy_without_a_server_answers_nothing():
    with serving(always(404, b"default backend - 404")) as (_, api), pytest.raises(ReplyError) as raised:
        path_of(api, "podgroups", ("g/v1",))

    assert 404 == raised.value.code


@pytest.mark.parametrize("content", [pytest.param({"resources": None}, id="null"), pytest.param({}, id="nothing said")])
def test_a_version_may_have_no_resources(content):
    with serving(always(200, content)) as (_, api):
        assert frozenset() == served(api, "g/v1")


@pytest.mark.parametrize("content", [pytest.param(b"<html>", id="no JSON"), pytest.param({"resources": 7}, id="no list")])
def test_an_answer_that_is_no_list_of_resources_is_an_error(content):
    with serving(always(200, content)) as (_, api), pytest.raises(ValueError, match=r"JSON|Expected"):
        served(api, "g/v1")


@pytest.mark.parametrize(
    ("minor", "want"), [pytest.param("37", 37, id="plain"), pytest.param("37+", 37, id="a vendor's"), pytest.param("", 0, id="not told")]
)
def test_the_minor_version_is_a_number(minor, want):
    with serving(always(200, {"major": "1", "minor": minor, "gitVersion": "v1.37.1"})) as (_, api):
        assert want == minor_version(api)
