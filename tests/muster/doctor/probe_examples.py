"""Answers of the API server to dry runs, and what the finding about them says."""

from __future__ import annotations

from collections.abc import Callable

from muster.doctor.call_failures import Failure
from muster.doctor.world import DryRun, Probe, World
from tests.muster.doctor import worlds
from tests.muster.doctor.foreign_examples import GROUPS, others, webhook
from tests.muster.doctor.worlds import in_webhooks, with_argument, world
from validators.rules.base import Severity

UNFIT, FIT = "PodGroup default/muster-doctor-probe", "Workload default/muster-doctor-probe"
RULE = "all-needs-gang"
DENIED = 'admission webhook "{}" denied the request: {}'
REFUSED = DENIED.format(
    "groups.muster.dev", f'PodGroup.scheduling.k8s.io "muster-doctor-probe" is invalid: spec.x: Invalid value [muster: {RULE}]'
)
CALL = 'Internal error occurred: failed calling webhook "{}": failed to call webhook: Post "https://muster-webhook.muster-system.svc:443/validate?timeout=3s": {}'
UNKNOWN_CA = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
OTHER = others(webhook(GROUPS))
OTHER_NAME = "pods.policy.example"


def probed(
    *changes: worlds.Change, unfit: tuple[int, str] | None = (422, REFUSED), fit: tuple[int, str] = (0, ""), warnings: tuple[str, ...] = ()
) -> World:
    """Return the installation with the answers to both dry runs: HTTP status and message; None if none was made."""
    answers = () if unfit is None else (DryRun(UNFIT, RULE, *unfit, warnings=warnings), DryRun(FIT, "", *fit))
    return world(*changes, probe=Probe("default", answers))


def failing(name: str, reason: str) -> dict[str, tuple[int, str]]:
    answer = 500, CALL.format(name, reason)
    return {"unfit": answer, "fit": answer}


ADMITTED = (0, "")
VALID: dict[str, list[Callable[[], World]]] = {
    "probe-failed": [
        world,
        probed,
        lambda: probed(unfit=ADMITTED, warnings=(f"would be refused: spec.x: Invalid value [muster: {RULE}]",)),
        lambda: probed(OTHER, unfit=(403, DENIED.format(OTHER_NAME, "not today"))),
        lambda: probed(unfit=(403, "exceeded quota: groups")),
        lambda: probed(unfit=None),
        lambda: probed(in_webhooks(lambda each: each.update(namespaceSelector={"matchLabels": {"a": "b"}})), unfit=ADMITTED),
        lambda: probed(with_argument(worlds.SERVER, "--enforcement=audit"), unfit=ADMITTED),
        lambda: probed(with_argument(worlds.SERVER, "--profile=upstream"), unfit=ADMITTED),
        lambda: probed(with_argument(worlds.SERVER, f"--rule={RULE}=off"), unfit=ADMITTED),
    ]
}
INVALID: dict[str, list[tuple[Callable[[], World], Severity, str]]] = {
    "probe-failed": [
        (
            lambda: probed(**failing("groups.muster.dev", UNKNOWN_CA)),
            Severity.ERROR,
            f"the API server cannot call groups.muster.dev: {Failure.TRUST.value} ({UNKNOWN_CA})",
        ),
        (lambda: probed(**failing("groups.muster.dev", "context deadline exceeded")), Severity.ERROR, Failure.TIMEOUT.value),
        (lambda: probed(**failing("groups.muster.dev", "EOF")), Severity.ERROR, Failure.CLOSED.value),
        (
            lambda: probed(with_argument(worlds.SERVER, "--client-ca=/client-ca/ca.crt"), **failing("groups.muster.dev", "EOF")),
            Severity.ERROR,
            Failure.CLIENT.value,
        ),
        (lambda: probed(OTHER, **failing(OTHER_NAME, 'service "policy" not found')), Severity.ERROR, Failure.NO_SERVICE.value),
        (
            lambda: probed(unfit=ADMITTED),
            Severity.ERROR,
            f"{UNFIT} is admitted, although Muster refuses it (rule {RULE}): its webhooks were not called",
        ),
        (
            lambda: probed(in_webhooks(lambda each: each.update(failurePolicy="Ignore")), unfit=ADMITTED),
            Severity.ERROR,
            "or could not be called, which failurePolicy Ignore hides",
        ),
        (
            lambda: probed(OTHER, fit=(400, f'admission webhook "{OTHER_NAME}" does not support dry run')),
            Severity.WARNING,
            f"{OTHER_NAME} allows no dry run, so the API server refuses that of {FIT}",
        ),
        (
            lambda: probed(OTHER, fit=(403, DENIED.format(OTHER_NAME, "not today"))),
            Severity.WARNING,
            f"{OTHER_NAME} refuses {FIT}, which is valid: not today",
        ),
        (lambda: probed(fit=(422, REFUSED)), Severity.WARNING, f"groups.muster.dev refuses {FIT}, which is valid: PodGroup.scheduling"),
        (
            lambda: probed(fit=(504, "Timeout: request did not complete within requested timeout - context deadline exceeded")),
            Severity.ERROR,
            f"the API server ends the dry run of {FIT} without the answers of all webhooks, and names none: Timeout",
        ),
    ]
}
