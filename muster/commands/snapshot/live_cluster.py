"""Objects of a live cluster, listed page by page."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.connect import ConnectError, find_connection
from apiserver.discovery import base_path, minor_version
from kubeapi import decode
from kubeapi.gather import ADMISSION_KINDS, KINDS
from kubeapi.problem import Problem
from kubeapi.versions import served_versions
from muster.render.file_notes import RefusedRequest, RequestRefused
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior, behavior_of

PAGE = 500
NEEDED = ("Node", "Pod")
"""Kinds that a simulation needs."""
FORBIDDEN, NOT_FOUND, GONE = 403, 404, 410


class ClusterError(Exception):
    """The cluster cannot be read; the message is for users."""


class ForbiddenError(ClusterError):
    """The permission to list a resource is missing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """Lists of the API server, the resources that could not be read, and the kinds of which all objects are in the lists.

    *minor* is the minor version of the server; 0 if it is not known.
    """

    lists: tuple[bytes, ...]
    problems: tuple[Problem, ...]
    kinds: frozenset[str] = frozenset()
    minor: int = 0

    @property
    def behavior(self) -> SchedulerBehavior | None:
        """Return the behavior of the kube-scheduler of this version; None if it is not known."""
        return behavior_of(self.minor) if self.minor else None


def connect(kubeconfig: str | None, context: str | None, *, instead: str) -> Api:
    """Return the client of a cluster.  An error names *instead* as another source of objects, unless it is empty.

    Raises:
        ClusterError: there is no usable kubeconfig.

    """
    try:
        return Api(find_connection(kubeconfig, context))
    except ConnectError as error:
        why = _of_file(str(error), kubeconfig or os.environ.get("KUBECONFIG"))
        raise ClusterError(
            f"there is no cluster to read: {why}; give {f'{instead}, ' if instead else ''}--kubeconfig or --context"
        ) from None


def list_cluster(
    kubeconfig: str | None, context: str | None, *, further: Iterable[served_versions.Resource] = (), instead: str = "a PATH"
) -> Read:
    """Return all lists that ``simulate`` reads, and *further* ones; kinds that the cluster does not serve are skipped.

    An error names *instead* as another source of objects, unless it is empty.

    Raises:
        ClusterError: there is no usable kubeconfig, no answer, or no permission to list nodes or pods.

    """
    resources = (*(each for kind in (*KINDS, *ADMISSION_KINDS) for each in served_versions.resources(kind)), *further)
    api = connect(kubeconfig, context, instead=instead)
    return dataclasses.replace(list_resources(api, resources), minor=_minor(api))


def _minor(api: Api) -> int:
    try:
        return minor_version(api)
    except (ValueError, ReplyError, *TRANSPORT):
        return 0


def list_resources(api: Api, resources: Iterable[served_versions.Resource], *, needed: Container[str] = NEEDED) -> Read:
    """Return all lists of *resources*, each of its API group only; those that the cluster does not serve are skipped.

    Raises:
        ClusterError: there is no answer.
        ForbiddenError: there is no permission to list a kind in *needed*.

    """
    cluster = _Cluster(api)
    lists: list[bytes] = []
    problems: list[Problem] = []
    refused: set[str] = set()
    listed: set[str] = set()
    try:
        for each in resources:
            try:
                lists += cluster.pages(each)
                listed.add(each.kind)
            except ReplyError as error:
                if each.kind in needed or error.code not in (FORBIDDEN, NOT_FOUND):
                    raise
                if error.code == FORBIDDEN:
                    refused.add(each.kind)
                    problems.append(Problem(RequestRefused(RefusedRequest.LIST, str(error)), place=_place(each)))
    except ReplyError as error:
        kind = ForbiddenError if error.code == FORBIDDEN else ClusterError
        raise kind(f"{api.host}: {each.resource} cannot be listed: {error}") from None
    except (ValueError, *TRANSPORT) as error:
        raise ClusterError(f"{api.host} cannot be read: {_reason(error)}") from None
    return Read(tuple(lists), tuple(problems), frozenset(listed - refused))


def list_pages(
    api: Api, path: str, query: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] = MappingProxyType({})
) -> Iterator[bytes]:
    """Yield the pages of a list, requested with further *headers*.  Raises ReplyError and the exceptions of TRANSPORT."""
    following = [*query]
    while True:
        page = api.read(path, following, headers)
        yield page
        metadata = decode.FIELDS.decode(page).get("metadata", b"{}")
        token = decode.section(decode.parse(metadata)).get("continue")
        if not token:
            return
        following = [*query, ("continue", str(token))]


class _Cluster:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._served: dict[str, dict[str, str]] = {}

    def pages(self, resource: served_versions.Resource) -> list[bytes]:
        """Return the pages of one resource in all namespaces; none if it is not served."""
        if not (path := self._path(resource)):
            return []
        try:
            return [*list_pages(self._api, path, [("limit", str(PAGE))])]
        except ReplyError as error:
            if error.code != GONE:
                raise
            # The continue token has expired: list again without pages.
            return [*list_pages(self._api, path)]

    def _path(self, resource: served_versions.Resource) -> str:
        """Return the path of the list of a resource; empty if its API group does not have it."""
        if not resource.group:
            return f"{base_path(resource.api_versions[0])}/{resource.resource}"
        if resource.group not in self._served:
            self._served[resource.group] = self._discovered(resource.group)
        return self._served[resource.group].get(resource.resource, "")

    def _discovered(self, group: str) -> dict[str, str]:
        """Return the list path of each resource of a group, in the best version that serves it."""
        paths: dict[str, str] = {}
        answer = self._answer(f"/apis/{group}")
        known = [decode.section(answer, "preferredVersion").get("version"), *_each(answer, "versions", "version")]
        # Of a group that is not in the table, any version will do.
        versions = [row.version for row in served_versions.versions_in(group)] or list(dict.fromkeys(map(str, filter(None, known))))
        for path in (base_path(served_versions.named(group, version)) for version in versions if version in known):
            for name in map(str, _each(self._answer(path), "resources", "name")):
                paths.setdefault(name, f"{path}/{name}")
        return paths

    def _answer(self, path: str) -> dict[str, Any]:
        try:
            answer = decode.parse(self._api.read(path))
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return {}
            raise
        if not isinstance(answer, dict):
            raise ClusterError(f"the answer to {path} is not a JSON object")
        return answer


def _each(content: Mapping[str, Any], items: str, field: str) -> list[Any]:
    """Return a field of each object in a list of *content*."""
    listed = content.get(items)
    return [decode.section(each).get(field) for each in (listed if isinstance(listed, list) else ())]


def _place(resource: served_versions.Resource) -> str:
    """Return a resource as messages name it: with its API group if other groups have its kind too."""
    is_only = not served_versions.serves(resource.group, resource.kind) or served_versions.groups_of(resource.kind)[0] == resource.group
    return resource.resource if is_only else f"{resource.resource}.{resource.group}"


def _of_file(why: str, kubeconfig: str | None) -> str:
    """Return *why* with the name of the kubeconfig, if that is not in it."""
    return f"{kubeconfig}: {why}" if kubeconfig and kubeconfig not in why else why


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
