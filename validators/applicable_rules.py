"""Which rules are asked about an object: those that speak of such a request, and of something that occurs in the object."""

from __future__ import annotations

import functools

from validators import rules
from validators.rules.base import Operation, Profile, Rule, Settings, Severity, no_check
from validators.versions.form import Form


@functools.lru_cache(maxsize=1024)
def rules_for_object(kind: str, form: Form, operation: Operation, subresource: str, settings: Settings, traits: int) -> tuple[Rule, ...]:
    """The rules to ask, in order of id.  *traits* are those of the object: see validators.model.traits."""
    return tuple(rule for rule in rules_for_request(kind, form, operation, subresource, settings) if rule.where & traits)


@functools.lru_cache(maxsize=256)
def rules_for_request(kind: str, form: Form, operation: Operation, subresource: str, settings: Settings) -> tuple[Rule, ...]:
    """The rules that speak of such a request, in order of id.

    Requests for the status are judged by the rules about it alone.  Files have both.
    """
    chosen = []
    for rule in rules.discover().values():
        if rule.check is no_check or kind not in rule.kinds or (rule.forms and form not in rule.forms):
            continue
        if dict(settings.severities).get(rule.id) is Severity.OFF:
            continue
        if settings.profile is Profile.UPSTREAM and rule.profile is Profile.KEP:
            continue
        if settings.linting:
            wanted = rule.status or operation in rule.on
        else:
            wanted = operation in rule.on and rule.status is (subresource == "status")
        if wanted:
            chosen.append(rule)
    return tuple(chosen)
