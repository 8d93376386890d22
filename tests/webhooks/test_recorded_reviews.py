"""AdmissionReviews recorded from a kube-apiserver: each gets a valid answer, ``upstream`` refuses none that it accepted."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from validators.object_lookup import NOTHING, KnownObjects
from validators.rules.base import Profile, Settings
from webhooks.admission import replay

RECORDS = (Path(__file__).parent.parent / "cases" / "reviews.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("lookup", [NOTHING, KnownObjects((), complete=True)], ids=["nothing known", "an empty cluster"])
def test_every_record_is_answered(profile: Profile, lookup: object) -> None:
    for record in RECORDS:
        given = json.loads(record)["review"]["request"]
        answer = replay.answer(record, replay.Options(Settings(profile=profile), lookup))
        response = json.loads(answer.text)["response"]

        assert not answer.bad
        assert given["uid"] == response["uid"]
        assert isinstance(response["allowed"], bool)
        assert response["allowed"] or response["status"]["code"] in {403, 422}


def test_upstream_refuses_nothing_that_the_api_server_accepted() -> None:
    """A validating webhook is called only after the API server's own validation has passed."""
    options = replay.Options(Settings(profile=Profile.UPSTREAM), NOTHING)
    refused = [
        answer.text
        for answer in (replay.answer(each, options) for each in RECORDS if json.loads(each)["path"] == "/validate")
        if b'"allowed":false' in answer.text
    ]

    assert refused == []


def test_nothing_is_left_to_patch_where_the_server_has_its_own_plugins() -> None:
    """Defaults, priority and finalizer were set before the mutating webhook was called."""
    options = replay.Options(Settings(), NOTHING)
    patched = []
    for record in RECORDS:
        response = json.loads(replay.answer(record, options).text)["response"]
        if response.get("patch"):
            request = json.loads(record)["review"]["request"]
            patched.append((request["kind"]["kind"], request["operation"], base64.b64decode(response["patch"])))

    assert patched == []


def test_answers_do_not_change_with_the_records_around_them() -> None:
    options = replay.Options(Settings(), NOTHING)
    forward = [replay.answer(each, options).text for each in RECORDS]
    backward = [replay.answer(each, options).text for each in reversed(RECORDS)]

    assert forward == backward[::-1]
