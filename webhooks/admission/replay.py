"""Answers to recorded AdmissionReviews, offline, by the code that the server runs.

A record is an AdmissionReview, or ``{"review": …, "path": …, "objects": […], "gates": {…}}`` where all but ``review``
are optional.  The answer to anything else is ``{"error": …}``; the following records are processed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kubeapi import decode
from validators import pipeline, rule_options
from validators.gates import Gates
from validators.object_lookup import KnownObjects, Lookup
from validators.rules.base import Settings
from webhooks.admission import review, verdict
from webhooks.admission.review import AdmissionRequest, BadReview, Verdict
from webhooks.admission_options import Finalizers
from webhooks.enforcement import DENY_ALL, Enforcement, EnforcementPolicy, with_modes

PATHS = with_modes("/validate", "/mutate", "/admit")


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Defaults for values that a record does not set."""

    settings: Settings
    lookup: Lookup
    path: str = "/validate"
    finalizers: Finalizers = Finalizers.AUTO
    policy: EnforcementPolicy = DENY_ALL


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """One line of output; ``bad`` if the record is invalid."""

    text: bytes
    bad: bool = False


def unreadable(reason: str) -> Answer:
    """Return the answer to a record that is not readable."""
    return Answer(decode.encode({"error": reason}), bad=True)


def answer(record: bytes, options: Options, place: str = "") -> Answer:
    """Return the answer to one record; errors name its *place*."""
    try:
        request, merged = _decode(record, options)
        return Answer(review.encode(request, _verdict(request, merged)))
    except BadReview as error:
        return unreadable(f"{place}: {error}" if place else str(error))


def _verdict(request: AdmissionRequest, options: Options) -> Verdict:
    path, _, mode = options.path[1:].partition("/")
    policy = options.policy.with_namespace(Enforcement(mode)) if mode else options.policy
    if path == "mutate":
        return verdict.mutate(request, options.lookup, options.settings, options.finalizers, policy)
    if path == "admit":
        return verdict.admit(request, options.lookup, options.settings, options.finalizers, policy)
    return verdict.validate(request, options.lookup, options.settings, policy)


def _decode(record: bytes, options: Options) -> tuple[AdmissionRequest, Options]:
    try:
        content = decode.parse(record)  # as the server reads it: other parsers accept more
    except (decode.NotJson, RecursionError) as error:
        raise BadReview(f"not JSON: {error}") from None
    if not isinstance(content, Mapping):
        raise BadReview("must be an AdmissionReview, or an object that holds one under 'review'")
    if "review" not in content:
        return review.decode(record), options
    path = content.get("path", options.path)
    path = options.path if path is None else path
    if path not in PATHS:
        raise BadReview(f"path must be one of {', '.join(PATHS)}, is {path!r}")
    settings = dataclasses.replace(options.settings, gates=_gates(content.get("gates"), options.settings))
    return review.decode(decode.encode(content["review"])), dataclasses.replace(
        options, path=path, settings=settings, lookup=_lookup(content.get("objects"), options.lookup)
    )


def _gates(given: Any, settings: Settings) -> Gates:
    try:
        return settings.gates if given is None else settings.gates.switched(rule_options.decode_gate_switches(given), settings.minor)
    except ValueError as error:
        raise BadReview(f"gates: {error}") from None


def _lookup(given: Any, lookup: Lookup) -> Lookup:
    if given is None:
        return lookup
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise BadReview("objects must be a list of cluster objects")
    objects = (pipeline.decode_for_lookup(each) for each in given)
    return KnownObjects([each for each in objects if each is not None], complete=True)
