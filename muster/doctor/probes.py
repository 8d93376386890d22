"""Objects of the dry runs through the API server, and what an answer shows about the path to Muster's webhooks."""

from __future__ import annotations

import dataclasses
import enum

from kubeapi.versions import served_versions
from muster.doctor.call_failures import CalledWebhook, called_webhook
from muster.doctor.components import SERVE, components
from muster.doctor.entries import Entry, entries, place_of
from muster.doctor.manifests import Manifest
from muster.doctor.requests import Matched, Request
from muster.doctor.world import ApiServer, DryRun, World

NAME = "muster-doctor-probe"
_GANG_RULE, _PARENT_RULE = "all-needs-gang", "parent-acyclic"
_OWN_GANG_RULE = 38
"""First minor version whose API server refuses mode All without a gang itself."""


class Outcome(enum.StrEnum):
    """Meaning of an answer for the path to the webhooks."""

    REFUSED = "refused-by-muster"
    WARNED = "warned-by-muster"
    ADMITTED = "admitted"
    UNREACHABLE = "webhook-unreachable"
    NO_DRY_RUN = "dry-run-unsupported"
    REFUSED_BY_OTHER = "refused-by-other-webhook"
    REFUSED_BY_SERVER = "refused-by-api-server"


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeResult:
    """Meaning of an answer, and the webhook that it names."""

    outcome: Outcome
    webhook: CalledWebhook | None = None


def probe_objects(server: ApiServer, namespace: str) -> list[tuple[Manifest, str, str]]:
    """Return objects, the path at which each is created, and the rule of Muster that refuses it, or empty if none does.

    The first is one that this API server accepts and Muster refuses; none are returned if no such object is served.
    """
    objects: list[tuple[Manifest, str, str]] = []
    for kind, spec, rule in (_unfit(server.minor), ("Workload", _tree(flat=not _served(server, "CompositePodGroup")), "")):
        version = _served(server, kind)
        if not version:
            return []
        content = {"apiVersion": version, "kind": kind, "metadata": {"name": NAME, "namespace": namespace}, "spec": spec}
        objects.append((content, f"/apis/{version}/namespaces/{namespace}/{served_versions.resource(kind).resource}", rule))
    return objects


def _unfit(minor: int) -> tuple[str, Manifest, str]:
    """Return kind and spec of a group that Kubernetes 1.*minor* accepts, and the rule by which Muster refuses it."""
    if minor < _OWN_GANG_RULE:
        return "PodGroup", {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}, _GANG_RULE
    reference = {"workloadName": NAME, "templateName": "root"}
    spec = {"schedulingPolicy": {"basic": {}}, "parentCompositePodGroupName": NAME, "workloadRef": reference}
    return "CompositePodGroup", spec, _PARENT_RULE


def _tree(*, flat: bool) -> Manifest:
    """Return the spec of a valid Workload: a gang below another one, or alone if *flat*."""
    leaf = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
    if flat:
        return {"podGroupTemplates": [leaf]}
    root = {"name": "root", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [leaf]}
    return {"compositePodGroupTemplates": [root]}


def result_of(world: World, answer: DryRun) -> ProbeResult:
    """Return what an answer shows."""
    if not answer.code:
        warned = answer.rule and any(f"[muster: {answer.rule}]" in each for each in answer.warnings)
        return ProbeResult(Outcome.WARNED if warned else Outcome.ADMITTED)
    webhook = called_webhook(answer.message)
    if webhook is None:
        return ProbeResult(Outcome.REFUSED_BY_SERVER)
    if webhook.failure is not None:
        return ProbeResult(Outcome.UNREACHABLE, webhook)
    if not webhook.is_denial:
        return ProbeResult(Outcome.NO_DRY_RUN, webhook)
    ours = any(each.name == webhook.webhook for each in entries(world))
    return ProbeResult(Outcome.REFUSED if ours else Outcome.REFUSED_BY_OTHER, webhook)


def answers_of(world: World) -> tuple[tuple[DryRun, ProbeResult], ...] | None:
    """Return the dry runs with what they show; None if none were requested."""
    return None if world.probe is None else tuple((each, result_of(world, each)) for each in world.probe.dry_runs)


def reviewing(world: World, answer: DryRun) -> list[Entry]:
    """Return the webhooks of Muster that are called for the object of a dry run."""
    kind = answer.subject.partition(" ")[0]
    place = place_of(world, world.probe.namespace if world.probe else "")
    resource = served_versions.resource(kind).resource
    versions = tuple(row.version for row in served_versions.versions_of(kind))
    requests = [Request(group, resource, "CREATE", versions=versions) for group in served_versions.groups_of(kind)]
    return [each for each in entries(world) if any(each.matched(request, place) is not Matched.NO for request in requests)]


def why_silent(world: World, answer: DryRun) -> str:
    """Return why Muster can have admitted an object in silence that breaks a rule; empty if it must not."""
    reviewed = reviewing(world, answer)
    if not reviewed:
        return "no webhook of Muster is called for groups in this namespace: name another one with --probe-namespace"
    if all(each.path.endswith("/audit") for each in reviewed):
        return "the mode of the namespace is audit, which admits in silence: name another one with --probe-namespace"
    for server in components(world, SERVE):
        if {"audit", f"{answer.rule}=audit"} & {*server.option_list("--enforcement", "")}:
            return f"{server.item.label} has the mode audit, which admits in silence: see its log"
        if server.option("--profile") == "upstream":
            return f"{server.item.label} has --profile upstream, which refuses only what the API server refuses"
        if f"{answer.rule}=off" in server.option_list("--rule", "") or f"{answer.rule}=off" in server.variable("MUSTER_RULES"):
            return f"{server.item.label} has the rule {answer.rule} off"
    return ""


def _served(server: ApiServer, kind: str) -> str:
    """Return the API version in which the server has *kind* in its current form; empty if it does not."""
    resource = served_versions.resource(kind).resource
    rows = (row for row in served_versions.versions_of(kind) if row.form.is_current)
    return next((row.name for row in rows if f"{row.name}/{resource}" in (server.resources or ())), "")
