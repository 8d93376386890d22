"""Validation and mutation: the Verdict on a request.  Knows neither HTTP nor the API server's client."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from validators import pipeline
from validators.defaults import fill
from validators.field import FieldError
from validators.gates import COMPOSITE, GENERIC_WORKLOAD
from validators.lookup import Lookup
from validators.model import decode
from validators.pipeline import Violation
from validators.rules.base import Operation, Profile, Settings, Severity
from validators.versions import served
from validators.versions.form import HUB
from webhooks.admission import jsonpatch, priority, status
from webhooks.admission.review import AdmissionRequest, BadReview, Verdict
from webhooks.settings import Finalizers

PODGROUP_FINALIZER = "scheduling.k8s.io/podgroup-protection"
COMPOSITE_FINALIZER = "scheduling.k8s.io/compositepodgroup-protection"
MAX_WARNINGS = 20
"""Limit for the warnings of an answer; the API server truncates them at 4 KiB in total."""


_OPERATIONS = {"CREATE": Operation.CREATE, "UPDATE": Operation.UPDATE}
"""Operations whose requests have an object."""
_ALLOWED = Verdict(allowed=True)
P = ParamSpec("P")


def _readable_or_bad(answer: Callable[P, Verdict]) -> Callable[P, Verdict]:
    """Turn objects that are not JSON, or nested too deeply, into BadReview: the request is wrong, not the server."""

    @functools.wraps(answer)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Verdict:
        try:
            return answer(*args, **kwargs)
        except decode.NotJson as error:
            raise BadReview(f"an object in the request cannot be read: {error}") from None
        except RecursionError:
            raise BadReview("an object in the request cannot be read: it is nested too deeply") from None

    return guarded


@_readable_or_bad
def validate(request: AdmissionRequest, lookup: Lookup, settings: Settings) -> Verdict:
    """Return the verdict of all rules on the object of *request*.

    Raises:
        BadReview: an object in the request cannot be read.
    """
    if not pipeline.has_rules(request.group, request.kind):
        return _without_rules(request)
    if request.operation not in _OPERATIONS or request.new is None:
        return _ALLOWED
    violations = pipeline.validate(
        request.kind,
        request.new,
        request.old,
        _OPERATIONS[request.operation],
        api_version=served.named(request.group, request.version),
        subresource=request.subresource,
        settings=settings,
        lookup=lookup,
    )
    return _verdict(request, violations, settings)


@_readable_or_bad
def mutate(request: AdmissionRequest, lookup: Lookup, settings: Settings, finalizers: Finalizers) -> Verdict:
    """Return the verdict with defaults, priority and finalizers as a patch; empty if nothing changes.

    Raises:
        BadReview: an object in the request cannot be read.
    """
    if not pipeline.has_rules(request.group, request.kind):
        return _without_rules(request)
    if request.operation not in {"CREATE", "UPDATE"} or request.new is None or request.subresource:
        return Verdict(allowed=True)
    before = decode.parse(request.new)
    old = decode.parse(request.old) if request.old is not None else None
    if not _readable(request, before) or (old is not None and not _readable(request, old)):
        # Validation refuses objects with wrong types, so a patch is of no use.
        return Verdict(allowed=True)
    after = fill.apply(request.kind, before, settings.gates)
    refusal = _complete(request, after, old, lookup, settings)
    warnings: tuple[str, ...] = ()
    if refusal is not None:
        text = status.with_rule(refusal.text, refusal.rule if settings.profile is Profile.KEP else "")
        severity = _severity(refusal.rule, settings)
        if severity is Severity.ERROR:
            answer = status.forbidden(text, group=request.group, kind=request.kind, name=request.name)
            return Verdict(allowed=False, status=answer, rules=(refusal.rule,))
        warnings = (text,) if severity is Severity.WARNING else ()
    if request.operation == "CREATE":
        _add_finalizer(request.kind, after, settings, finalizers)
    rules = (refusal.rule,) if refusal is not None and warnings else ()
    return Verdict(allowed=True, warnings=warnings, rules=rules, patch=tuple(jsonpatch.diff(before, after)))


def admit(request: AdmissionRequest, lookup: Lookup, settings: Settings, finalizers: Finalizers) -> Verdict:
    """Mutate and then validate, as an API server does; return the second verdict with the patch of the first."""
    mutated = mutate(request, lookup, settings, finalizers)
    if not mutated.allowed or request.new is None:
        return mutated
    patched = request.with_object(decode.encode(jsonpatch.apply(decode.parse(request.new), mutated.patch)))
    validated = validate(patched, lookup, settings)
    return dataclasses.replace(
        validated,
        patch=mutated.patch if validated.allowed else (),
        warnings=(*mutated.warnings, *validated.warnings),
        rules=tuple(sorted({*mutated.rules, *validated.rules})),
    )


def _without_rules(request: AdmissionRequest) -> Verdict:
    subject = f"{request.kind}.{request.group}" if request.group else request.kind
    return Verdict(
        allowed=True, warnings=(f"muster has no rules for {subject}: it is allowed unchecked; remove it from the webhook configuration",)
    )


def _readable(request: AdmissionRequest, content: Any) -> bool:
    try:
        decode.decode(request.kind, content)
    except decode.WrongShapeError:
        return False
    return served.form_of(served.named(request.group, request.version)) is HUB


def _complete(
    request: AdmissionRequest, after: dict[str, Any], old: dict[str, Any] | None, lookup: Lookup, settings: Settings
) -> priority.Refusal | None:
    """Set priority and preemption policy as the Priority plugin does: on creation; on update keep those of a pod."""
    gate = {"Pod": "", "PodGroup": GENERIC_WORKLOAD, "CompositePodGroup": COMPOSITE}.get(request.kind)
    if gate is None or (gate and not settings.gates.enabled(gate)):
        return None
    spec = dict(after.get("spec") or {})
    if request.operation == "UPDATE":
        if request.kind == "Pod":
            stored = (old or {}).get("spec") or {}
            for name in ("priority", "preemptionPolicy"):
                if spec.get(name) is None and stored.get(name) is not None:
                    spec[name] = stored[name]
            after["spec"] = spec
        return None
    refusal = priority.resolve(request.kind, spec, lookup, settings.gates)
    if refusal is None and spec != (after.get("spec") or {}):
        after["spec"] = spec
    return refusal


def _add_finalizer(kind: str, after: dict[str, Any], settings: Settings, finalizers: Finalizers) -> None:
    protection = {
        "PodGroup": (PODGROUP_FINALIZER, GENERIC_WORKLOAD, {Finalizers.PODGROUP, Finalizers.ALL}),
        "CompositePodGroup": (COMPOSITE_FINALIZER, COMPOSITE, {Finalizers.ALL}),
    }.get(kind)
    if protection is None:
        return
    finalizer, gate, adding = protection
    metadata = dict(after.get("metadata") or {})
    present = list(metadata.get("finalizers") or [])
    if finalizers in adding and settings.gates.enabled(gate) and finalizer not in present:
        after["metadata"] = {**metadata, "finalizers": [*present, finalizer]}


def _severity(rule: str, settings: Settings) -> Severity:
    return dict(settings.severities).get(rule, Severity.ERROR)


def _verdict(request: AdmissionRequest, violations: Sequence[Violation], settings: Settings) -> Verdict:
    if not violations:
        return _ALLOWED
    named = settings.profile is Profile.KEP
    errors = [each for each in violations if each.severity is Severity.ERROR]
    warned = [each.error for each in violations if each.severity is Severity.WARNING]
    warnings = [_warning(error, named=named) for error in warned[:MAX_WARNINGS]]
    if len(warned) > MAX_WARNINGS:
        warnings.append(f"and {len(warned) - MAX_WARNINGS} more warnings")
    rules = tuple(sorted({each.error.origin for each in violations}))
    if not errors:
        return Verdict(allowed=True, warnings=tuple(warnings), rules=rules)
    # An admission plugin reports its errors only if validation has none.
    invalid = [each.error for each in errors if not each.by_plugin]
    if invalid:
        answer = status.from_errors(invalid, group=request.group, kind=request.kind, name=request.name, named=named)
    else:
        text = status.of_plugin([each.error for each in errors], named=named)
        answer = status.forbidden(text, group=request.group, kind=request.kind, name=request.name)
    return Verdict(allowed=False, status=answer, warnings=tuple(warnings), rules=rules)


def _warning(error: FieldError, *, named: bool) -> str:
    text = status.message(error, named=named)
    return f"{error.path}: {text}" if error.path.parts else text
