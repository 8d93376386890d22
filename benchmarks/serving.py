"""Webhook server, and variants for comparison that neither decode nor validate.

``python -m benchmarks.serving judging|gunicorn|constant|unjudged|patching|allowing``, with MUSTER_* variables.  All are the same server; with
``gunicorn``, gunicorn's own worker serves HTTP.  ``constant`` is a minimal Flask application that reads the body and answers.
``patching`` is the same, and answers with a constant patch of a pod; ``allowing`` allows everything.  With MUSTER_CLUSTER, ``judging`` watches a cluster.
``unjudged`` is Muster's own application with its request checks, metrics and log line, but a constant verdict.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading

import flask

from validators.object_lookup import NOTHING
from webhooks.admission import review, verdict
from webhooks.lookup import watched
from webhooks.lookup.source import Fixed
from webhooks.server import process
from webhooks.settings import Settings

REQUEST = review.AdmissionRequest(
    "0f9e7a52-6b1c-4d4e-9b53-6a3d0c1f2e11",
    "scheduling.k8s.io",
    "v1alpha3",
    "Workload",
    "CREATE",
    resource="workloads",
    name="training",
    namespace="research",
)
VERDICT = review.Verdict(allowed=True)
ANSWER = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",'
    b'"response":{"uid":"0f9e7a52-6b1c-4d4e-9b53-6a3d0c1f2e11","allowed":true}}'
)
PATCH = base64.b64encode(
    json.dumps(
        [
            {"op": "add", "path": "/metadata/labels/scheduling.muster.dev~1pod-group", "value": "constant"},
            {"op": "add", "path": "/spec/schedulingGates", "value": [{"name": "muster.dev/placement"}]},
        ]
    ).encode()
).decode()


def constant(*_: object) -> flask.Flask:
    """Return a minimal application that reads the body and ignores it."""
    app = flask.Flask("constant", static_folder=None)
    app.add_url_rule("/validate", "validate", _answer, methods=["POST"])
    return app


def _answer() -> flask.Response:
    flask.request.get_data(cache=False)
    return flask.Response(ANSWER, content_type="application/json")


def patching(*_: object) -> flask.Flask:
    """Return a minimal application that gives each pod a label and a gate; it reads only the uid, which the API server compares."""
    app = flask.Flask("patching", static_folder=None)
    app.add_url_rule("/join", "join", _patch, methods=["POST"])
    return app


def allowing(*_: object) -> flask.Flask:
    """Return a minimal application that allows everything; it reads only the uid, which the API server compares."""
    app = flask.Flask("allowing", static_folder=None)
    for path in ("/mutate", "/validate"):
        app.add_url_rule(path, path, _allow, methods=["POST"])
    return app


def _patch() -> flask.Response:
    return _allow(patchType="JSONPatch", patch=PATCH)


def _allow(**more: str) -> flask.Response:
    uid = flask.request.get_data(cache=False).partition(b'"uid":"')[2].partition(b'"')[0].decode()
    response = {"uid": uid, "allowed": True, **more}
    return flask.Response(
        json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}), content_type="application/json"
    )


def _same_request(body: bytes) -> review.AdmissionRequest:
    del body
    return REQUEST


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    # The functions to leave out are replaced before the server starts as usual.
    if sys.argv[1] == "unjudged":
        review.decode = _same_request
        review.encode = lambda *_: ANSWER
        verdict.validate = lambda *_: VERDICT
    if os.environ.get("BENCH_STUCK"):
        judge = verdict.validate
        verdict.validate = lambda request, *rest: threading.Event().wait() if request.name else judge(request, *rest)
    library = "gunicorn" if sys.argv[1] == "gunicorn" else "uvicorn"
    settings = Settings.from_environ({**os.environ, "MUSTER_SERVER": library})
    source = watched.connect(settings) if settings.cluster else Fixed(NOTHING)
    process.serve(settings, source, {"constant": constant, "patching": patching, "allowing": allowing}.get(sys.argv[1]))


if __name__ == "__main__":
    main()
