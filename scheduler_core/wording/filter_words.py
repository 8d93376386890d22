"""Wording of the reasons of filters, of errors about devices, and of what to do about them."""

from __future__ import annotations

from typing import assert_never

from scheduler_core.causes.filter_reasons import DeviceAdvice, DeviceError, FilterReason, UnmodelledField
from scheduler_core.causes.groups import AttemptEnded
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


def filter_words(reason: FilterReason) -> str:
    """Return why a filter refuses nodes."""
    match reason:
        case str():
            return reason
        case UnmodelledField():
            ignored = without_indices(reason.fields[0])
            fields = " and ".join(reason.fields)
            return f"{fields} can exclude nodes and is not modelled (muster simulate --ignore {ignored} places it anyway)"
        case DeviceError():
            return f"{reason.error} ({ADVICE[reason.advice]})"
    assert_never(reason)


def attempt_ended_words(cause: AttemptEnded) -> str:
    """Return what an error about devices means for all pods, and how to avoid it."""
    where = ", also if other nodes or devices can be used; strategy complete uses these" if cause.others_usable else ""
    advice = f"; to avoid the error, {ADVICE[cause.advice]}" if cause.advice is not None else ""
    return f"kube-scheduler 1.37.1 ends the attempt for all pods with this error{where}{advice}"
