"""The webhook server as it is, and the two floors it is measured against, which parse nothing and judge nothing.

``python -m benchmarks.serving judging|constant|unjudged``, with MUSTER_* variables.  All are the same server.  ``constant``
is the smallest Flask application that takes a body and answers; ``unjudged`` is ours, with its checks of the request, its
metrics and its log line, and a constant verdict.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import flask

from validators.lookup import NOTHING
from webhooks import admit, review, server
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


class Constant(server.Server):
    """Our server; its application takes the body and looks at nothing."""

    def load(self) -> Callable[..., Any]:
        """See webhooks.server.Server."""
        super().load()
        app = flask.Flask("constant", static_folder=None)
        app.add_url_rule("/validate", "validate", _answer, methods=["POST"])
        return app


def _answer() -> flask.Response:
    flask.request.get_data(cache=False)
    return flask.Response(ANSWER, content_type="application/json")


def _same_request(body: bytes) -> review.AdmissionRequest:
    del body
    return REQUEST


def main() -> None:
    """Serve until told to stop."""
    # What is to be left out is put away before the server starts in its own way.
    if sys.argv[1] == "constant":
        server.Server = Constant  # type: ignore[misc]
    if sys.argv[1] == "unjudged":
        review.decode = _same_request
        review.encode = lambda *_: ANSWER
        admit.validate = lambda *_: VERDICT
    server.serve(Settings.from_environ(os.environ), server.Fixed(NOTHING))


if __name__ == "__main__":
    main()
