"""Wording of the reasons of filters, of failures of plugins, of errors about devices, and of what to do about them."""

from __future__ import annotations

from typing import assert_never

from kubeapi.device_shares import Share
from scheduler_core.causes.filter_reasons import (
    DeviceAdvice,
    DeviceError,
    FilterReason,
    RelationsUnmet,
    SearchUnfinished,
    UnmodelledField,
)
from scheduler_core.causes.plugin_failures import (
    AttemptEnded,
    FilterFailed,
    PlacementMethod,
    PlacementPluginRaised,
    PluginFailure,
    WrongResult,
)
from scheduler_core.model.options import without_indices

ADVICE = {
    DeviceAdvice.TEST_ATTRIBUTE: "test in the selector whether the device has the attribute, with has(), or read it with .? and orValue()",
    DeviceAdvice.CORRECT_EXPRESSION: "correct the expression",
    DeviceAdvice.FEWER_DEVICES: "request fewer devices in the claim",
    DeviceAdvice.PUBLISH_POOL: (
        "let the driver publish all slices of the pool, each device once, or request a number of devices instead of all"
    ),
    DeviceAdvice.DROP_CONSTRAINT: "request a number of devices instead of all, or drop the constraint",
}
_RESULTS = {
    PlacementMethod.GENERATE: "placements by name",
    PlacementMethod.SCORE: "a number",
    PlacementMethod.CHECK: "a reason in words",
}
"""Results that the methods of placement plugins must return."""


def filter_words(reason: FilterReason) -> str:
    """Return why a filter refuses nodes."""
    match reason:
        case str():
            return reason
        case UnmodelledField():
            return _unmodelled_words(reason)
        case DeviceError():
            return f"{reason.error} ({ADVICE[reason.advice]})"
        case SearchUnfinished(tried=None):
            return "the pod requests too many devices to search for; request fewer"
        case SearchUnfinished():
            return f"timed out trying to allocate devices: {reason.tried} were tried; request fewer devices in one claim"
        case RelationsUnmet():
            return "node(s) didn't satisfy the pod's relations to other pods"
    assert_never(reason)


def _unmodelled_words(reason: UnmodelledField) -> str:
    if reason.share is not None:
        return share_words(reason.share)
    ignored = without_indices(reason.fields[0])
    return f"{' and '.join(reason.fields)} can exclude nodes and is not modelled (muster simulate --ignore {ignored} places it anyway)"


def share_words(share: Share) -> str:
    """Return how a pod requests a share of a device."""
    requests = f"the {'annotation' if share.annotation else 'resource'} {share.key} requests a share of a device of {share.scheduler}"
    return f"{requests}, which is not modelled"


def failure_words(failure: PluginFailure) -> str:
    """Return how a plugin failed."""
    match failure:
        case FilterFailed():
            return f'running "{failure.plugin}" filter plugin: {filter_words(failure.error)}'
        case PlacementPluginRaised():
            where = f" ({failure.file}:{failure.line})" if failure.file else ""
            return f"{_call(failure)} failed: {failure.error}{where}"
        case WrongResult():
            return f"{_call(failure)} failed: TypeError: it returned {failure.returned}, not {_RESULTS[failure.method]}"
    assert_never(failure)


def _call(failure: PlacementPluginRaised | WrongResult) -> str:
    return f"placement plugin {failure.plugin}.{failure.method.value}"


def attempt_ended_words(cause: AttemptEnded) -> str:
    """Return what an error about devices means for all pods, and how to avoid it."""
    where = ", also if other nodes or devices can be used; strategy complete uses these" if cause.others_usable else ""
    advice = f"; to avoid the error, {ADVICE[cause.advice]}" if cause.advice is not None else ""
    return f"kube-scheduler ends the attempt for all pods with this error{where}{advice}"
