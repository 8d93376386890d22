"""Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import pod_spec, selectors
from validators.built_in.cron import is_time_zone, schedule_error
from validators.built_in.shared_checks import Content, duplicates, formatted, items, needed, not_negative, number, one_of, text
from validators.field import FieldError

_INDEXED = "Indexed"
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_LONGEST_CRONJOB = 52
"""Bytes of the name of a CronJob: its Jobs have 11 more."""
_LONGEST_MANAGER = 63
_MOST_RULES, _MOST_EXIT_CODES = 20, 255
"""Rules of a policy, or conditions of a rule, and exit codes of a rule."""
_MOST_PARALLEL = 100_000
_MOST_FAILED = 100_000
_MANY_COMPLETIONS, _MOST_PARALLEL_OF_MANY, _MOST_FAILED_OF_MANY = 100_000, 10_000, 10_000


def job(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of a Job."""
    spec, metadata = section(manifest, "spec"), section(manifest, "metadata")
    yield from job_spec(spec, FieldPath("spec"))
    if text(spec, "completionMode") == _INDEXED and number(spec, "completions") > 0 and text(metadata, "name"):
        hostname = f"{text(metadata, 'name')}-{number(spec, 'completions') - 1}"
        if content.label(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            yield field.invalid(FieldPath("metadata", "name"), text(metadata, "name"), detail)
    if metadata.get("uid"):
        return
    wrong = [*selectors.label_selector(section(spec, "selector"), FieldPath("spec", "selector"))]
    if wrong:
        yield from wrong
        return
    if spec.get("manualSelector") is not True:
        # The API server adds its labels to an empty selector.
        if not any(section(spec, "selector").values()):
            return
        yield field.invalid(FieldPath("spec", "selector"), "", "`selector` not auto-generated: remove it, or set manualSelector")
    elif spec.get("selector") is None:
        yield field.required(FieldPath("spec", "selector"), "must be given with manualSelector")
    if spec.get("selector") is None or not selectors.matches(section(spec, "selector"), section(spec, "template", "metadata", "labels")):
        yield field.invalid_struct(FieldPath("spec", "template", "metadata", "labels"), "`selector` does not match template `labels`")


def job_spec(spec: Content, at: FieldPath, *, defaults: bool = True) -> Iterator[FieldError]:
    """Yield the errors of the specification of a Job, also in other objects; in a CronJob it has no *defaults* for its counts."""
    yield from not_negative(spec, at, *_COUNTS)
    yield from one_of(spec, "completionMode", at, ("NonIndexed", _INDEXED))
    if spec.get("completionMode") == "":
        yield field.not_supported(at / "completionMode", "", ("NonIndexed", _INDEXED))
    yield from _indexed(spec, at, defaults=defaults) if text(spec, "completionMode") == _INDEXED else _not_indexed(spec, at)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield field.required(at / "backoffLimitPerIndex", "when maxFailedIndexes is specified")
    failure = spec.get("podFailurePolicy")
    replacement = ("Failed",) if failure is not None else ("Failed", "TerminatingOrFailed")
    yield from one_of(spec, "podReplacementPolicy", at, replacement, has_default=False)
    if (manager := spec.get("managedBy")) == "":
        yield field.required(at / "managedBy")
    elif manager is not None and not _is_domain_path(manager):
        yield field.invalid(at / "managedBy", manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    if len(text(spec, "managedBy").encode()) > _LONGEST_MANAGER:
        yield field.too_long(at / "managedBy", _LONGEST_MANAGER)
    yield from pod_spec.template(section(spec, "template"), at / "template")
    policy, path = text(section(spec, "template", "spec"), "restartPolicy"), at.join(("template", "spec", "restartPolicy"))
    if policy in {"", "Always"}:
        yield field.required(path, 'valid values: "OnFailure", "Never"')
    elif failure is not None and policy != "Never":
        yield field.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
    yield from _limited(section(failure), "rules", at / "podFailurePolicy")
    for rule, each in items(section(failure), "rules", at / "podFailurePolicy"):
        yield from _failure_rule(spec, each, rule)


def _limited(holder: Content, name: str, at: FieldPath, limit: int = _MOST_RULES) -> Iterator[FieldError]:
    """Yield the error of a list with more than *limit* items."""
    listed = holder.get(name)
    if isinstance(listed, list) and len(listed) > limit:
        yield field.too_many(at / name, len(listed), limit)


def _is_domain_path(value: str) -> bool:
    domain, _, path = value.partition("/")
    return bool(domain and path) and not content.subdomain(domain)


def _indexed(spec: Content, at: FieldPath, *, defaults: bool) -> Iterator[FieldError]:
    parallelism = number(spec, "parallelism")
    # Without both, each is 1 by default.
    completions = number(spec, "completions", 1 if defaults and spec.get("parallelism") is None else 0)
    if spec.get("completions") is None and not completions:
        yield field.required(at / "completions", "when completion mode is Indexed")
    if parallelism > _MOST_PARALLEL:
        detail = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
        yield field.invalid(at / "parallelism", parallelism, detail)
    yield from _failed_indexes(spec, at, completions)
    if _is_huge(spec) and parallelism > _MOST_PARALLEL_OF_MANY:
        yield field.invalid(at / "parallelism", parallelism, f"must be less than or equal to {_MOST_PARALLEL_OF_MANY}")
    rules = items(section(spec, "successPolicy"), "rules", at / "successPolicy")
    if spec.get("successPolicy") is not None and not rules:
        yield field.required(at.join(("successPolicy", "rules")), "at least one rule must be specified")
    yield from _limited(section(spec, "successPolicy"), "rules", at / "successPolicy")
    for path, each in rules:
        if each.get("succeededCount") is None and each.get("succeededIndexes") is None:
            yield field.required(path, "at least one of succeededCount or succeededIndexes must be specified")
        yield from _success_rule(each, path, completions)


def _failed_indexes(spec: Content, at: FieldPath, completions: int) -> Iterator[FieldError]:
    """Yield the errors of maxFailedIndexes, which a Job of many indexes that limits their failures must have."""
    is_huge = _is_huge(spec)
    failed, most = number(spec, "maxFailedIndexes"), _MOST_FAILED_OF_MANY if is_huge else _MOST_FAILED
    if (completions or spec.get("completions") is not None) and failed > max(completions, 0):
        yield field.invalid(at / "maxFailedIndexes", failed, "must be less than or equal to completions")
    elif failed > most:
        yield field.invalid(at / "maxFailedIndexes", failed, f"must be less than or equal to {most}")
    if is_huge and spec.get("maxFailedIndexes") is None:
        yield field.required(at / "maxFailedIndexes", f"must be specified when completions is above {_MANY_COMPLETIONS}")


def _is_huge(spec: Content) -> bool:
    return number(spec, "completions") > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None


def _success_rule(rule: Content, at: FieldPath, completions: int) -> Iterator[FieldError]:
    count, listed = number(rule, "succeededCount"), completions
    if (indexes := rule.get("succeededIndexes")) is not None:
        try:
            ends = [[int(end) for end in each.split("-")] for each in indexes.split(",")] if indexes else []
        except ValueError:
            ends = [[1, 0]]
        if any(len(each) > 2 or not 0 <= each[0] <= each[-1] < completions for each in ends):
            yield field.invalid(at / "succeededIndexes", indexes, "must be indexes below completions, such as 0,2-4")
            ends = []
        listed = sum(each[-1] - each[0] + 1 for each in ends)
    if count < 0:
        yield field.invalid(at / "succeededCount", count, "must be greater than or equal to 0")
    elif count > min(listed, completions):
        yield field.invalid(
            at / "succeededCount", count, f"must be less than or equal to {min(listed, completions)} (the number of indexes)"
        )


def _not_indexed(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(name) is not None and spec.get("completionMode") in (None, "NonIndexed"):
            yield field.invalid(at / name, spec[name], "requires indexed completion mode")
    if spec.get("successPolicy") is not None:
        yield field.invalid_struct(at / "successPolicy", "requires indexed completion mode")


def _failure_rule(spec: Content, rule: Content, at: FieldPath) -> Iterator[FieldError]:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    if text(rule, "action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield field.invalid(at / "action", "FailIndex", "requires the backoffLimitPerIndex to be set")
    yield from needed(rule, at, "action", detail=f"valid values: {', '.join(_ACTIONS)}")
    yield from one_of(rule, "action", at, _ACTIONS)
    if (codes is None) == (not conditions):
        number_of = (
            "both OnExitCodes and OnPodConditions is not supported" if conditions else "one of OnExitCodes and OnPodConditions is required"
        )
        yield field.invalid_struct(at, f"specifying {number_of}")
    yield from _limited(rule, "onPodConditions", at)
    for path, each in items(rule, "onPodConditions", at):
        yield from formatted(text(each, "type"), path / "type", content.label_key(text(each, "type")))
        yield from one_of(each, "status", path, ("False", "True", "Unknown"))
    if codes is not None:
        yield from _exit_codes(spec, section(codes), at / "onExitCodes")


def _exit_codes(spec: Content, codes: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from _limited(codes, "values", at, _MOST_EXIT_CODES)
    values = [each or 0 for each in codes.get("values") or ()]
    yield from needed(codes, at, "operator", detail=f"valid values: {', '.join(_OPERATORS)}")
    yield from one_of(codes, "operator", at, _OPERATORS)
    if not values:
        yield field.invalid(at / "values", values, "at least one value is required")
    if values != sorted(values):
        yield field.invalid(at / "values", values, "must be ordered")
    yield from duplicates((at.join(("values", index)), each) for index, each in enumerate(values))
    if text(codes, "operator") == "In" and 0 in values:
        yield field.invalid(at.join(("values", values.index(0))), 0, "must not be 0 for the In operator")
    pod = section(spec, "template", "spec")
    known = {each.get("name") for kind in ("containers", "initContainers") for _, each in items(pod, kind, at)}
    if (name := codes.get("containerName")) is not None and name not in known:
        yield field.invalid(at / "containerName", name, "must be one of the container or initContainer names in the pod template")


def cron_job(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of a CronJob."""
    spec, at = section(manifest, "spec"), FieldPath("spec")
    if len(text(section(manifest, "metadata"), "name").encode()) > _LONGEST_CRONJOB:
        name = text(section(manifest, "metadata"), "name")
        yield field.invalid(FieldPath("metadata", "name"), name, f"must be no more than {_LONGEST_CRONJOB} characters")
    yield from needed(spec, at, "schedule")
    if (schedule := text(spec, "schedule")) and (error := schedule_error(schedule)):
        yield field.invalid(at / "schedule", schedule, error)
    yield from not_negative(spec, at, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    yield from one_of(spec, "concurrencyPolicy", at, ("Allow", "Forbid", "Replace"))
    if (zone := spec.get("timeZone")) is not None and not is_time_zone(zone):
        yield field.invalid(at / "timeZone", zone, "unknown time zone: must be a name such as Europe/Berlin or Etc/UTC")
    if "TZ" in schedule:
        yield field.invalid(at / "schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    job, path = section(spec, "jobTemplate", "spec"), at.join(("jobTemplate", "spec"))
    if job.get("selector") is not None:
        yield field.invalid_struct(path / "selector", "`selector` will be auto-generated")
    if job.get("manualSelector") is True:
        yield field.not_supported(path / "manualSelector", "true", ("nil", "false"))
    yield from job_spec(job, path, defaults=False)
