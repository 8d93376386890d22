"""Validation and mutation: the Verdict on a request.  Knows neither HTTP nor the API server's client."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from kubeapi import decode
from kubeapi.groups import PROTECTION_FINALIZERS
from kubeapi.versions import served_versions
from validators import document_head, pipeline
from validators.defaults import fill
from validators.field import FieldError
from validators.gates import COMPOSITE, GENERIC_WORKLOAD
from validators.model import objects
from validators.object_lookup import Lookup
from validators.pipeline import Violation
from validators.rules.base import Operation, Profile, Settings, Severity
from webhooks.admission import jsonpatch, priority, status
from webhooks.admission.join import joined
from webhooks.admission.review import AdmissionRequest, BadReview, Verdict
from webhooks.admission_options import Finalizers, Joining
from webhooks.enforcement import DENY_ALL, Enforcement, EnforcementPolicy

MAX_WARNINGS = 20
"""Limit for the warnings of an answer; the API server truncates them at 4 KiB in total."""


_OPERATIONS = {"CREATE": Operation.CREATE, "UPDATE": Operation.UPDATE}
"""Operations whose requests have an object."""
_COMPLETED = frozenset({"Pod", "PodGroup", "CompositePodGroup", "PriorityClass"})
"""Kinds that ``mutate`` can change.  Others are not parsed into JSON values, which takes much time and memory for large objects."""
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
def validate(request: AdmissionRequest, lookup: Lookup, settings: Settings, policy: EnforcementPolicy = DENY_ALL) -> Verdict:
    """Return the verdict of all rules on the object of *request*.

    Raises:
        BadReview: an object in the request cannot be read.
    """
    if not document_head.has_rules(request.group, request.kind):
        return _without_rules(request)
    if request.operation not in _OPERATIONS or request.new is None:
        return _ALLOWED
    violations = pipeline.validate(
        request.kind,
        request.new,
        request.old,
        _OPERATIONS[request.operation],
        api_version=request.api_version,
        subresource=request.subresource,
        settings=settings,
        lookup=lookup,
    )
    verdict = _verdict(request, violations, settings, policy)
    unknown = _unknown_version(request)
    return dataclasses.replace(verdict, warnings=(*unknown, *verdict.warnings)) if unknown else verdict


@_readable_or_bad
def mutate(
    request: AdmissionRequest, lookup: Lookup, settings: Settings, finalizers: Finalizers, policy: EnforcementPolicy = DENY_ALL
) -> Verdict:
    """Return the verdict with defaults, priority and finalizers as a patch; empty if nothing changes.

    Raises:
        BadReview: an object in the request cannot be read.
    """
    if not document_head.has_rules(request.group, request.kind):
        return _without_rules(request)
    if request.operation not in {"CREATE", "UPDATE"} or request.new is None or request.subresource:
        return Verdict(allowed=True)
    settings = settings.for_form(request.form)
    unknown = _unknown_version(request)
    if unknown or request.kind not in _COMPLETED:
        _readable(request, request.new)
        return Verdict(allowed=True, warnings=unknown)
    before = decode.parse(request.new)
    old = decode.parse(request.old) if request.old is not None else None
    if not _readable(request, before) or (old is not None and not _readable(request, old)):
        # Validation refuses objects with wrong types, so a patch is of no use.
        return Verdict(allowed=True)
    after = fill.apply(request.kind, before, settings.gates, settings.minor)
    refusal = _complete(request, after, old, lookup, settings)
    verdict = _ALLOWED if refusal is None else _on_priority(request, refusal, settings, policy)
    if not verdict.allowed:
        return verdict
    if request.operation == "CREATE":
        _add_finalizer(request, after, settings, finalizers)
    return dataclasses.replace(verdict, patch=tuple(jsonpatch.diff(before, after)))


@_readable_or_bad
def join(request: AdmissionRequest, lookup: Lookup, joining: Joining) -> Verdict:
    """Return the verdict on a pod with its group as a patch; it is always allowed.

    Raises:
        BadReview: the pod in the request cannot be read.
    """
    return joined(request, lookup, joining)


def admit(
    request: AdmissionRequest, lookup: Lookup, settings: Settings, finalizers: Finalizers, policy: EnforcementPolicy = DENY_ALL
) -> Verdict:
    """Mutate and then validate, as an API server does; return the second verdict with the patch of the first."""
    mutated = mutate(request, lookup, settings, finalizers, policy)
    if not mutated.allowed or request.new is None:
        return mutated
    patched = request.with_object(decode.encode(jsonpatch.apply(decode.parse(request.new), mutated.patch)))
    validated = validate(patched, lookup, settings, policy)
    return dataclasses.replace(
        validated,
        patch=mutated.patch if validated.allowed else (),
        warnings=tuple(dict.fromkeys((*mutated.warnings, *validated.warnings))),
        rules=tuple(sorted({*mutated.rules, *validated.rules})),
        unenforced=(*mutated.unenforced, *validated.unenforced),
        unenforced_rules=tuple(sorted({*mutated.unenforced_rules, *validated.unenforced_rules})),
    )


def _subject(request: AdmissionRequest) -> str:
    return f"{request.kind}.{request.group}" if request.group else request.kind


def _without_rules(request: AdmissionRequest) -> Verdict:
    warning = f"muster has no rules for {_subject(request)}: it is allowed unchecked; remove it from the webhook configuration"
    return Verdict(allowed=True, warnings=(warning,))


def _unknown_version(request: AdmissionRequest) -> tuple[str, ...]:
    """Return the warning about a version of a group that is not known; objects of such a version are validated, and not changed."""
    if served_versions.is_known(request.api_version):
        return ()
    versions = " or ".join(row.name for row in served_versions.current(request.kind, request.group))
    return (f"muster does not know version {request.version} of {_subject(request)}, and does not complete the object; use {versions}",)


def _readable(request: AdmissionRequest, content: decode.Source) -> bool:
    try:
        objects.decode_kind(request.kind, content)
    except decode.WrongShapeError:
        return False
    return request.form.is_current


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


def _add_finalizer(request: AdmissionRequest, after: dict[str, Any], settings: Settings, finalizers: Finalizers) -> None:
    gate = {"PodGroup": GENERIC_WORKLOAD, "CompositePodGroup": COMPOSITE}.get(request.kind)
    # No controller of Kubernetes removes the finalizers of custom resources.
    wanted = finalizers if request.form.custom else finalizers.resolved(settings.minor)
    adds = wanted is Finalizers.ALL or (wanted is Finalizers.PODGROUP and request.kind == "PodGroup" and not request.form.custom)
    if gate is None or not adds or not settings.gates.enabled(gate):
        return
    metadata, finalizer = dict(after.get("metadata") or {}), PROTECTION_FINALIZERS[request.kind]
    if finalizer not in (present := list(metadata.get("finalizers") or [])):
        after["metadata"] = {**metadata, "finalizers": [*present, finalizer]}


def _on_priority(request: AdmissionRequest, refusal: priority.Refusal, settings: Settings, policy: EnforcementPolicy) -> Verdict:
    """Return the verdict on a priority that the API server's Priority plugin refuses, without a patch."""
    text = status.with_rule(refusal.text, refusal.rule if settings.profile is Profile.KEP else "")
    rules = (refusal.rule,)
    severity = dict(settings.severities).get(refusal.rule, Severity.ERROR)
    if severity is Severity.OFF:
        return _ALLOWED
    if severity is Severity.WARNING:
        return Verdict(allowed=True, warnings=(text,), rules=rules)
    mode = policy.mode(refusal.rule)
    if mode is Enforcement.DENY:
        answer = status.forbidden(text, group=request.group, kind=request.kind, name=request.name)
        return Verdict(allowed=False, status=answer, rules=rules)
    warnings = (_would_refuse(text),) if mode is Enforcement.WARN else ()
    return Verdict(allowed=True, warnings=warnings, rules=rules, unenforced=(text,), unenforced_rules=rules)


def _verdict(request: AdmissionRequest, violations: Sequence[Violation], settings: Settings, policy: EnforcementPolicy) -> Verdict:
    if not violations:
        return _ALLOWED
    named = settings.profile is Profile.KEP
    errors = [(each, policy.mode(each.error.origin)) for each in violations if each.severity is Severity.ERROR]
    denied = [each for each, mode in errors if mode is Enforcement.DENY]
    spared = [each.error for each, mode in errors if mode is not Enforcement.DENY]
    warnings = [_would_refuse(_text(each.error, named=named)) for each, mode in errors if mode is Enforcement.WARN]
    warnings += [_text(each.error, named=named) for each in violations if each.severity is Severity.WARNING]
    return Verdict(
        allowed=not denied,
        status=_refusal(request, denied, named=named) if denied else None,
        warnings=_limited(warnings),
        rules=tuple(sorted({each.error.origin for each in violations})),
        unenforced=tuple(_text(error, named=named) for error in spared[: status.MAX_CAUSES]),
        unenforced_rules=tuple(sorted({error.origin for error in spared})),
    )


def _refusal(request: AdmissionRequest, errors: Sequence[Violation], *, named: bool) -> dict[str, Any]:
    # An admission plugin reports its errors only if validation has none.
    invalid = [each.error for each in errors if not each.by_plugin]
    if invalid:
        return status.from_errors(invalid, group=request.group, kind=request.kind, name=request.name, named=named)
    text = status.of_plugin([each.error for each in errors], named=named)
    return status.forbidden(text, group=request.group, kind=request.kind, name=request.name)


def _limited(warnings: Sequence[str]) -> tuple[str, ...]:
    if len(warnings) <= MAX_WARNINGS:
        return tuple(warnings)
    return (*warnings[:MAX_WARNINGS], f"and {len(warnings) - MAX_WARNINGS} more warnings")


def _would_refuse(text: str) -> str:
    return f"would be refused: {text}"


def _text(error: FieldError, *, named: bool) -> str:
    text = status.message(error, named=named)
    return f"{error.path}: {text}" if error.path.parts else text
