"""Mutated AdmissionReviews, asked of the WSGI application in this process."""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jsonpatch

from kubeapi import decode
from tests.reliability import corpus
from tests.reliability.campaign import Campaign, Round
from tests.reliability.fuzzing import DoesNotHoldError, Memory, attempt
from tests.reliability.mutations import Mutator
from validators.model.objects import KINDS, decode_kind
from validators.object_lookup import NOTHING, KnownObjects, Lookup
from webhooks.server.application import environment
from webhooks.server.metrics import Telemetry
from webhooks.server.routes import REVIEWS, create_app, warm_up
from webhooks.settings import Settings

EXAMPLES = 10_000
SECONDS = 2.0
"""Below the deadline of the server, 2.5 s."""
WRONG_PATHS = ("//validate", "/validate/", "/mutate//deny", "/", "/%00", "/validate/other", "/join/warn", "/healthz")
WSGI = Callable[..., Any]


class Question(NamedTuple):
    """One request."""

    path: str
    body: bytes
    content_type: bytes = b"application/json"


class Reply(NamedTuple):
    """One answer."""

    code: int
    content: bytes


def questions(seed: int, count: int) -> Iterator[Question]:
    """Yield mutated reviews: three quarters have another structure, half of all other bytes, one in 50 another path."""
    mutator = Mutator(seed, corpus.objects())
    chance, given = mutator.random, corpus.reviews()
    for _ in range(count):
        review = chance.choice(given)
        kind = chance.random()
        body = encoded(_mutated(review, mutator) if kind < 0.75 else review)
        if kind > 0.5:
            body = mutator.data(body)
        path = chance.choice(REVIEWS if chance.random() < 0.98 else WRONG_PATHS)
        yield Question(path, body, b"application/json" if chance.random() < 0.99 else mutator.data(b"application/json; charset=utf-8"))


def _mutated(review: dict[str, Any], mutator: Mutator) -> Any:
    """Mutate the objects most often, otherwise the whole review."""
    if mutator.random.random() < 0.3:
        return mutator.value(review)
    request = review["request"]
    changed = {key: mutator.value(request[key]) for key in ("object", "oldObject") if request.get(key) and mutator.random.random() < 0.7}
    return {**review, "request": {**request, **changed}}


def encoded(value: Any) -> bytes:
    """Return JSON, in half of all cases as UTF-8 instead of escapes, if there is such text."""
    with contextlib.suppress(UnicodeEncodeError):
        return json.dumps(value, ensure_ascii=len(str(value)) % 2 == 0).encode()
    return json.dumps(value).encode()


def verify(question: Question, reply: Reply) -> None:
    """Compare an answer with what must hold.  Raises DoesNotHoldError."""
    if reply.code >= 500:
        raise DoesNotHoldError(f"answer {reply.code}")
    answer = json.loads(reply.content)
    if reply.code != 200:
        if not isinstance(answer.get("error"), str):
            raise DoesNotHoldError(f"answer {reply.code} without a reason")
        return
    if question.path == "/healthz":
        return
    try:
        # Text that is not UTF-8 is accepted where nothing reads it; the API server replaces it too.
        request = json.loads(question.body.decode(errors="replace"))["request"]
    except ValueError as error:
        raise DoesNotHoldError(f"a body that is not JSON was accepted: {error}") from None
    response = answer["response"]
    if (answer["kind"], response["uid"]) != ("AdmissionReview", request["uid"]):
        raise DoesNotHoldError(f"uid {response['uid']!r} instead of {request['uid']!r}")
    if not isinstance(response["allowed"], bool) or ("status" in response) == response["allowed"]:
        raise DoesNotHoldError("neither allowed nor refused with a status")
    if "patch" in response:
        _verify_patch(request["object"], response)


def _verify_patch(before: Any, response: dict[str, Any]) -> None:
    try:
        patch = json.loads(base64.b64decode(response["patch"], validate=True))
        # A copy of a deep object would need more levels than Python has.
        after = jsonpatch.apply_patch(before, patch, in_place=True)
        json.loads(json.dumps(after, allow_nan=False))
    except (binascii.Error, ValueError, jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise DoesNotHoldError(f"the patch is not valid: {type(error).__name__}: {error}") from None
    if not isinstance(after, dict) or response["patchType"] != "JSONPatch" or not response["allowed"]:
        raise DoesNotHoldError("the patch does not lead to an object, or is of a refusal")


@functools.cache
def application(*, with_objects: bool) -> WSGI:
    """Return the application; its lookup knows the objects of the corpus, or nothing."""
    settings = Settings.from_environ({})
    warm_up(settings)
    lookup = _known() if with_objects else NOTHING
    return create_app(settings, lookup, Telemetry(lambda *_: None), list)


def _known() -> Lookup:
    found = []
    for each in corpus.objects():
        if each["kind"] in KINDS and "scheduling.k8s.io" in each["apiVersion"]:
            with contextlib.suppress(decode.NotJson, ValueError):
                found.append(decode_kind(each["kind"], each))
    return KnownObjects(found, complete=True)


def ask(app: WSGI, question: Question) -> Reply:
    """Return the answer of a WSGI application, called as the server calls it."""
    scope = {
        "method": "POST",
        "raw_path": question.path.encode(),
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "https",
        "headers": [(b"content-type", question.content_type)],
    }
    codes: list[int] = []
    pieces = app(environment(scope, question.body), lambda status, _headers, _error=None: codes.append(int(status[:3])))
    return Reply(codes[-1], b"".join(pieces))


_MEMORY = Memory()


def run(seed: int, count: int = EXAMPLES) -> Round:
    """Ask *count* questions, in every second round of an application that knows objects."""
    app = application(with_objects=seed % 2 == 0)
    return attempt(questions(seed, count), lambda each: verify(each, ask(app, each)), SECONDS, _MEMORY)


CAMPAIGN = Campaign(
    "reviews",
    "mutated AdmissionReviews in process",
    "no 5xx, no traceback, the same uid, a patch that applies, an answer within the deadline, memory does not grow",
    1_000_000,
    run,
)
