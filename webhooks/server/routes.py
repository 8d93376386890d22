"""Flask application of the webhook server: admission reviews, probes, metrics and HTTP errors.

Edge: flask.  An invalid call gets an HTTP error, so the webhook's failurePolicy decides; an invalid object is refused in the
review.  No request may cause a 5xx: each one is a bug, is logged with its traceback, and leaves the decision to failurePolicy
as well.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

import flask
from werkzeug import exceptions

from kubeapi.versions import served_versions
from validators.model.objects import KINDS, decode_kind
from validators.object_lookup import NOTHING, Lookup
from webhooks import log
from webhooks.admission import review
from webhooks.admission import verdict as admit
from webhooks.enforcement import Enforcement, EnforcementPolicy, with_modes
from webhooks.server.metrics import CONTENT_TYPE, Outcome, Telemetry
from webhooks.settings import Settings

VALIDATE, MUTATE, JOIN = "/validate", "/mutate", "/join"
REVIEWS = (*with_modes(VALIDATE, MUTATE), JOIN)
"""Paths of reviews; /join refuses nothing, so it has no modes."""
HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
PLAIN = "muster.plain"
"""Key in the WSGI environment of a request without TLS, for which only probes are answered."""
JSON = "application/json"

Judge = Callable[[review.AdmissionRequest, Lookup], review.Verdict]


def create_app(settings: Settings, lookup: Lookup, telemetry: Telemetry, unready: Callable[[], Sequence[str]]) -> flask.Flask:
    """Return the application.  *unready* returns the reasons why this server is not ready for reviews; none if it is ready."""
    app = flask.Flask("webhooks", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes
    app.logger.handlers[:], app.logger.propagate = [log.Handler()], False
    judges = _judges(settings)

    def answers(path: str, judge: Judge) -> Callable[[], flask.Response]:
        def answer() -> flask.Response:
            # Each access through flask's proxy costs as much as some rules, so it is resolved once.
            http: flask.Request = flask.request._get_current_object()  # type: ignore[attr-defined]  # noqa: SLF001 - werkzeug's public way
            return _review(http, path, judge, lookup, telemetry)

        return answer

    for path, judge in judges.items():
        app.add_url_rule(path, path, answers(path, judge), methods=["POST"])
    probes: dict[str, Callable[[], flask.typing.ResponseReturnValue]] = {
        HEALTH: lambda: {"status": "ok"},
        READY: lambda: _readiness(unready()),
        METRICS: lambda: flask.Response(telemetry.render(), content_type=CONTENT_TYPE),
    }
    for path, probe in probes.items():
        app.add_url_rule(path, path, probe if settings.tls_probes else _only_plain(probe))
    app.before_request(functools.partial(_require_path, frozenset(judges) | frozenset(probes)))
    app.register_error_handler(exceptions.HTTPException, lambda error: _error_response(error, telemetry))
    return app


def _only_plain(probe: Callable[[], flask.typing.ResponseReturnValue]) -> Callable[[], flask.typing.ResponseReturnValue]:
    def answer() -> flask.typing.ResponseReturnValue:
        if not flask.request.environ.get(PLAIN):
            raise exceptions.NotFound("this port serves only webhooks; /healthz, /readyz and /metrics are at --probe-bind")
        return probe()

    return answer


def _require_path(paths: AbstractSet[str]) -> None:
    """Refuse every path that is not exactly one of *paths*: the router takes //validate for /validate, and redirects from others."""
    if flask.request.environ["PATH_INFO"] not in paths:
        raise exceptions.NotFound(f"there is nothing at this path; the paths are {', '.join(sorted(paths))}")


def _judges(settings: Settings) -> dict[str, Judge]:
    """Return the function for each path: /validate, /mutate, both for namespaces with a mode of enforcement of their own, and /join."""
    judging, finalizers, joining = settings.judging, settings.finalizers, settings.joining

    def validate(policy: EnforcementPolicy) -> Judge:
        return lambda request, known: admit.validate(request, known, judging, policy)

    def mutate(policy: EnforcementPolicy) -> Judge:
        return lambda request, known: admit.mutate(request, known, judging, finalizers, policy)

    judges = {VALIDATE: validate(settings.enforcement), MUTATE: mutate(settings.enforcement)}
    for mode in Enforcement:
        policy = settings.enforcement.with_namespace(mode)
        judges |= {f"{VALIDATE}/{mode}": validate(policy), f"{MUTATE}/{mode}": mutate(policy)}
    return judges | {JOIN: lambda request, known: admit.join(request, known, joining)}


def warm_up(settings: Settings) -> None:
    """Create everything that is created on first use: decoders, schemas, rules.

    Must be called before threads start: the process crashes if two threads have msgspec inspect a type for the first time
    at once.  Called before the fork, it runs once for all workers.
    """
    judging, finalizers = settings.judging, settings.finalizers
    for kind in KINDS:
        decode_kind(kind, b"{}")
        decode_kind(kind, {})
        for row in served_versions.versions_of(kind):
            for operation, old in (("CREATE", None), ("UPDATE", b"{}")):
                request = review.AdmissionRequest("", row.group, row.version, kind, operation, new=b"{}", old=old)
                with contextlib.suppress(review.BadReview):
                    review.encode(request, admit.validate(request, NOTHING, judging))
                    review.encode(request, admit.mutate(request, NOTHING, judging, finalizers))


def _review(http: flask.Request, path: str, judge: Judge, lookup: Lookup, telemetry: Telemetry) -> flask.Response:
    started = time.perf_counter()
    _require_tls_and_json(http.environ)
    telemetry.began()
    try:
        request = review.decode(http.get_data(cache=False))
        verdict = judge(request, lookup)
        content = review.encode(request, verdict)
    except review.BadReview as error:
        # The call is invalid, not the user's object, so the API server gets an HTTP error.
        _bad_request(str(error))
    except (RecursionError, MemoryError):
        _bad_request("the body is nested too deeply or too large")
    finally:
        telemetry.ended()
    seconds = time.perf_counter() - started
    outcome = Outcome(verdict.allowed, verdict.code, verdict.rules, len(verdict.warnings), seconds, verdict.unenforced_rules)
    telemetry.review(path, request, outcome)
    return flask.Response(content, content_type=JSON)


def _require_tls_and_json(environ: Mapping[str, Any]) -> None:
    if environ.get(PLAIN):
        raise exceptions.NotFound("this port serves only /healthz, /readyz and /metrics; webhooks must be called over TLS")
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


def _error_response(error: exceptions.HTTPException, telemetry: Telemetry) -> flask.Response:
    """Return an HTTP error as JSON; count it, and log it unless it is an internal error, which Flask has logged."""
    code, reason = error.code or 500, error.description or error.name
    path = flask.request.path if flask.request.path in REVIEWS else "other"
    if code >= 500:
        telemetry.fault()
        telemetry.refused(path, code)
        reason = "internal error; see the log"
    else:
        telemetry.refused(path, code, reason)
    response = flask.jsonify(error=reason)
    response.status_code = code
    if isinstance(error, exceptions.MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response
