"""Dry runs of the creation of groups: the API server calls all webhooks and stores nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from apiserver.api import ReplyError
from kubeapi.problem import Problem
from muster.commands.doctor.live_objects import LiveObjects
from muster.doctor.entries import entries
from muster.doctor.manifests import text_at
from muster.doctor.probes import probe_objects
from muster.doctor.world import ApiServer, DryRun, Probe, World
from muster.render.file_notes import RefusedRequest, RequestRefused

SECONDS = 40.0
"""Longest wait for one answer: the API server ends a request after 34 s."""
CONFLICT, FORBIDDEN, NOT_FOUND, TOO_MANY, UNAUTHORIZED = 409, 403, 404, 429, 401
_NO_RIGHT = "cannot create resource"


def probed(objects: LiveObjects, world: World, namespace: str) -> World:
    """Return the installation with the namespace and the answers to dry runs in it; without a webhook of Muster, none are made.

    A missing permission or namespace is a problem.  Raises as ``Api.open``, if there is no answer.
    """
    objects.keep_one(f"/api/v1/namespaces/{namespace}")
    answers = tuple(_dry_runs(objects, world.api_server or ApiServer(), namespace)) if any(True for _ in entries(world)) else ()
    return dataclasses.replace(world, items=objects.items, unread=frozenset(objects.unread), probe=Probe(namespace, answers))


def _dry_runs(objects: LiveObjects, server: ApiServer, namespace: str) -> Iterator[DryRun]:
    for content, path, rule in probe_objects(server, namespace):
        subject = f"{text_at(content, 'kind')} {namespace}/{text_at(content, 'metadata', 'name')}"
        try:
            body = json.dumps(content).encode()
            warnings = objects.api.send_heeding_warnings("POST", path, body, query=[("dryRun", "All")], seconds=SECONDS)
        except ReplyError as error:
            if error.code == CONFLICT:
                # An object with this name exists, which is found out after admission.
                yield DryRun(subject, rule)
            elif error.code in (NOT_FOUND, TOO_MANY, UNAUTHORIZED) or (error.code == FORBIDDEN and _NO_RIGHT in error.message):
                objects.problems.append(Problem(RequestRefused(RefusedRequest.DRY_RUN, str(error)), place=subject))
            else:
                yield DryRun(subject, rule, error.code, error.message)
        else:
            yield DryRun(subject, rule, warnings=warnings)
