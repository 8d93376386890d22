"""Dry runs through the API server reach the webhooks of Muster: a group that it refuses is refused, and one that it admits is admitted."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.call_failures import CalledWebhook, Failure
from muster.doctor.components import SERVE, components
from muster.doctor.entries import Entry, entries, others, servers_of
from muster.doctor.finding import Check, Diagnosis, Result, Unseen, error, warning
from muster.doctor.foreign import show_command
from muster.doctor.leaves import trust_command
from muster.doctor.manifests import describe_pods, labels_at
from muster.doctor.probes import Outcome, ProbeResult, result_of, reviewing, why_silent
from muster.doctor.world import DryRun, World

_SERVER_ERROR = 500
_CERTIFICATE = frozenset({Failure.TRUST, Failure.EXPIRED, Failure.NAME, Failure.BUNDLE, Failure.CERTIFICATE})


def check(world: World) -> Iterator[Result]:
    """Yield a result for each dry run with another answer."""
    if world.probe is None:
        return
    if not any(True for _ in entries(world)):
        yield Unseen("there is no webhook configuration of Muster, so no dry run was made")
    elif not world.probe.dry_runs:
        yield Unseen("no dry run was answered: the API server serves no group that it admits and Muster refuses, or does not allow it")
    for answer in world.probe.dry_runs:
        yield from _results(world, answer, result_of(world, answer))


def _results(world: World, answer: DryRun, found: ProbeResult) -> Iterator[Result]:
    match found:
        case ProbeResult(Outcome.UNREACHABLE, CalledWebhook() as webhook):
            yield _unreachable(world, webhook)
        case ProbeResult(Outcome.NO_DRY_RUN, CalledWebhook() as webhook):
            entry = _entry(world, webhook)
            message = f"{webhook.webhook} allows no dry run, so the API server refuses that of {answer.subject}"
            yield warning(entry.item, entry.field("sideEffects"), message, show_command(entry))
        case ProbeResult(Outcome.REFUSED_BY_SERVER) if answer.code >= _SERVER_ERROR:
            entry = next(entries(world))
            message = (
                f"the API server ends the dry run of {answer.subject} without the answers of all webhooks, and names none: {answer.message}"
            )
            yield error(entry.item, "", message, _pods(world, entry))
        case ProbeResult(Outcome.REFUSED_BY_SERVER):
            yield Unseen(f"the API server itself refuses {answer.subject}: {answer.message}")
        case ProbeResult(Outcome.REFUSED_BY_OTHER, CalledWebhook() as webhook) if answer.rule:
            yield Unseen(f"{webhook.webhook}, which is not Muster's, refuses {answer.subject} first: {webhook.reason}")
        case ProbeResult(Outcome.REFUSED | Outcome.REFUSED_BY_OTHER, CalledWebhook() as webhook) if not answer.rule:
            entry = _entry(world, webhook)
            yield warning(
                entry.item, "", f"{webhook.webhook} refuses {answer.subject}, which is valid: {webhook.reason}", show_command(entry)
            )
        case ProbeResult(Outcome.ADMITTED) if answer.rule:
            yield _admitted(world, answer)


def _unreachable(world: World, webhook: CalledWebhook) -> Diagnosis:
    entry = _entry(world, webhook)
    failure = webhook.failure or Failure.OTHER
    if failure is Failure.CLOSED and _demands_client_certificate(world, entry):
        failure = Failure.CLIENT
    message = f"the API server cannot call {webhook.webhook}: {failure.value} ({webhook.reason})"
    if entry.item.label not in {each.item.label for each in entries(world)}:
        command = entry.set_command({"failurePolicy": "Ignore"})
    elif failure in _CERTIFICATE:
        command = trust_command(world, entry)
    else:
        command = _pods(world, entry)
    return error(entry.item, entry.field("clientConfig"), message, command)


def _demands_client_certificate(world: World, entry: Entry) -> bool:
    """Return whether a server of *entry* refuses clients without a certificate: it ends their handshake without a reason."""
    servers = {each.label for each in servers_of(world, entry)}
    return any(each.item.label in servers and each.option("--client-ca") for each in components(world, SERVE))


def _admitted(world: World, answer: DryRun) -> Result:
    if reason := why_silent(world, answer):
        return Unseen(f"the admission of {answer.subject} shows nothing: {reason}")
    called = reviewing(world, answer)
    message = f"{answer.subject} is admitted, although Muster refuses it (rule {answer.rule}): its webhooks were not called"
    if not any(each.fails for each in called):
        message += ", or could not be called, which failurePolicy Ignore hides"
    return error(called[0].item, "", message, _pods(world, called[0]))


def _entry(world: World, webhook: CalledWebhook) -> Entry:
    """Return the webhook with a name; the first of Muster's if it is gone since."""
    every = [*entries(world), *others(world)]
    return next((each for each in every if each.name == webhook.webhook), every[0])


def _pods(world: World, entry: Entry) -> str:
    servers = servers_of(world, entry)
    if not servers:
        return show_command(entry)
    return describe_pods(servers[0].namespace, labels_at(servers[0].content, "spec", "selector", "matchLabels"))


CHECK = Check(
    id="probe-failed",
    why="Groups are refused (Fail), or are not checked (Ignore).",
    examine=check,
)
