"""Selection of the rules that apply to an object: by the request, and by the traits of the object."""

from __future__ import annotations

import functools

from kubeapi.versions.conversion import Form
from validators import rules
from validators.rules.base import About, Operation, Rule, Settings, Severity, no_check


@functools.lru_cache(maxsize=1024)
def rules_for_object(kind: str, form: Form, operation: Operation, subresource: str, settings: Settings, traits: int) -> tuple[Rule, ...]:
    """Return the rules that apply to an object with *traits* (see validators.model.traits), in order of id."""
    return tuple(rule for rule in rules_for_request(kind, form, operation, subresource, settings) if rule.relevant_traits & traits)


@functools.lru_cache(maxsize=1024)
def rules_for_document(kind: str, form: Form, settings: Settings, traits: int, *, shape: bool) -> tuple[Rule, ...]:
    """Return the rules about the shape of a document, or the other rules, that apply to a document with *traits*."""
    rules = rules_for_object(kind, form, Operation.CREATE, "", settings, traits)
    return tuple(rule for rule in rules if (rule.about is About.SHAPE) is shape)


@functools.lru_cache(maxsize=256)
def rules_for_request(kind: str, form: Form, operation: Operation, subresource: str, settings: Settings) -> tuple[Rule, ...]:
    """Return the rules that apply to a request, in order of id.

    Only rules about the status apply to requests for the status.  All rules apply to files.
    """
    selected = []
    for rule in rules.discover().values():
        if rule.check is no_check or kind not in rule.kinds or (rule.forms and form not in rule.forms):
            continue
        if dict(settings.severities).get(rule.id) is Severity.OFF:
            continue
        if not rule.has(settings.profile, settings.minor):
            continue
        if settings.linting:
            applies = rule.status or operation in rule.on
        else:
            applies = operation in rule.on and rule.status is (subresource == "status") and rule.at_admission is not Severity.OFF
        if applies:
            selected.append(rule)
    return tuple(selected)
