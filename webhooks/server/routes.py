"""The webhook server's routes: where request, lookup, rules, answer and telemetry are joined.

Edge: flask.  A call that is wrong is told so by HTTP, which leaves the outcome to the webhook's failurePolicy; an
object that is wrong is refused in the review.  Nothing in a request leads to a 5xx: one that appears is a fault of
this program, is logged with its traceback, and leaves the outcome to failurePolicy as well.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import flask
from werkzeug import exceptions

from validators.lookup import NOTHING, Lookup
from validators.model.decode import decode
from validators.model.objects import KINDS
from validators.versions import served
from webhooks import log
from webhooks.admission import review
from webhooks.admission import verdict as admit
from webhooks.server.metrics import CONTENT_TYPE, Outcome, Telemetry
from webhooks.settings import Settings

VALIDATE, MUTATE = "/validate", "/mutate"
HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
PLAIN = "muster.plain"
"""Key in the WSGI environment of a request that came without TLS: only probes are answered there."""
JSON = "application/json"

Judge = Callable[[review.AdmissionRequest, Lookup], review.Verdict]


def create_app(settings: Settings, lookup: Lookup, telemetry: Telemetry, unready: Callable[[], Sequence[str]]) -> flask.Flask:
    """The application.  *unready* gives the reasons why no reviews should be sent here now; none if all is well."""
    app = flask.Flask("webhooks", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes
    _log_to_journal(app.logger)
    judging, finalizers = settings.judging, admit.Finalizers(settings.finalizers)
    judges: dict[str, Judge] = {
        VALIDATE: lambda request, known: admit.validate(request, known, judging),
        MUTATE: lambda request, known: admit.mutate(request, known, judging, finalizers),
    }

    def answer() -> flask.Response:
        # Each look through flask's proxy costs as much as many a rule: once is enough.
        asked: flask.Request = flask.request._get_current_object()  # type: ignore[attr-defined]  # noqa: SLF001 - werkzeug's public way
        path = asked.environ["PATH_INFO"]
        return _review(asked, path, judges[path], lookup, telemetry)

    app.add_url_rule(VALIDATE, "validate", answer, methods=["POST"])
    app.add_url_rule(MUTATE, "mutate", answer, methods=["POST"])
    app.add_url_rule(HEALTH, "healthz", lambda: {"status": "ok"})
    app.add_url_rule(READY, "readyz", lambda: _readiness(unready()))
    app.add_url_rule(METRICS, "metrics", lambda: flask.Response(telemetry.render(), content_type=CONTENT_TYPE))
    app.register_error_handler(exceptions.HTTPException, lambda error: _tell(error, telemetry))
    return app


def warm_up(settings: Settings) -> None:
    """Make all that is made on first use: decoders, schemas, rules.

    To be called before there are threads: two that have msgspec look at a type for the first time, both at once, crash
    the process.  Called before the fork, it is also done once for all workers.
    """
    judging, finalizers = settings.judging, admit.Finalizers(settings.finalizers)
    for kind in KINDS:
        decode(kind, b"{}")
        decode(kind, {})
        for row in served.versions_of(kind):
            for operation, old in (("CREATE", None), ("UPDATE", b"{}")):
                request = review.AdmissionRequest("", row.group, row.version, kind, operation, new=b"{}", old=old)
                with contextlib.suppress(review.BadReview):
                    review.encode(request, admit.validate(request, NOTHING, judging))
                    review.encode(request, admit.mutate(request, NOTHING, judging, finalizers))


def _review(asked: flask.Request, path: str, judge: Judge, lookup: Lookup, telemetry: Telemetry) -> flask.Response:
    started = time.perf_counter()
    _demand_tls_and_json(asked.environ)
    telemetry.began()
    try:
        request = review.decode(asked.get_data(cache=False))
        verdict = judge(request, lookup)
        content = review.encode(request, verdict)
    except review.BadReview as error:
        # The call is wrong, not the user's object: HTTP tells the API server that.
        _bad_request(str(error))
    except (RecursionError, MemoryError):
        _bad_request("the body nests too deeply or is too large to be judged")
    finally:
        telemetry.ended()
    seconds = time.perf_counter() - started
    telemetry.review(path, request, Outcome(verdict.allowed, verdict.code, verdict.rules, len(verdict.warnings), seconds))
    return flask.Response(content, content_type=JSON)


def _demand_tls_and_json(environ: Mapping[str, Any]) -> None:
    if environ.get(PLAIN):
        raise exceptions.NotFound("only /healthz, /readyz and /metrics are here; webhooks are called over TLS")
    content_type = environ.get("CONTENT_TYPE", "")
    if content_type != JSON and content_type.partition(";")[0].strip().lower() != JSON:
        _bad_request(f"the Content-Type must be {JSON}, not {content_type or 'absent'}")
    coding = environ.get("HTTP_CONTENT_ENCODING", "identity")
    if coding.lower() != "identity":
        _bad_request(f"the body must not be compressed; its Content-Encoding is {coding}")


def _bad_request(reason: str) -> NoReturn:
    raise exceptions.BadRequest(reason)


def _readiness(reasons: Sequence[str]) -> tuple[dict[str, object], int]:
    if reasons:
        return {"status": "not ready", "reasons": list(reasons)}, 503
    return {"status": "ready"}, 200


def _tell(error: exceptions.HTTPException, telemetry: Telemetry) -> flask.Response:
    """Any HTTP error as JSON, counted and logged.  Flask has logged an internal error already."""
    code, reason = error.code or 500, error.description or error.name
    path = flask.request.path if flask.request.path in (VALIDATE, MUTATE) else "other"
    if code >= 500:
        telemetry.fault()
        telemetry.refused(path, code)
        reason = "internal error; the log tells more"
    else:
        telemetry.refused(path, code, reason)
    response = flask.jsonify(error=reason)
    response.status_code = code
    if isinstance(error, exceptions.MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _log_to_journal(logger: logging.Logger) -> None:
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(log.JsonFormatter())
    logger.handlers[:] = [stream]
    logger.propagate = False
