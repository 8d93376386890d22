"""Objects of any kind on a live cluster: those that have given owners, and writes that are tried again after a conflict."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from apiserver.api import MERGE_PATCH, Api, ReplyError
from apiserver.discovery import base_path
from kubeapi import decode
from kubeapi.decode import section
from kubeapi.groups import TREE_KINDS
from kubeapi.versions import served_versions
from kubeapi.versions.served_versions import WORKLOAD_GROUPS, Resource
from muster.commands.snapshot.live_cluster import PAGE, list_pages, list_resources
from validators.migrate.stored_objects import Content, name_of, references_of

CONFLICT, GONE = 409, 404
_NO_LIST = (GONE, 405)
_PAUSES = (0.01, 0.05, 0.25, 1.0)
"""Times before a write is tried again, in seconds."""
_COLLECTED = frozenset({"list", "watch", "delete"})
"""Verbs of the resources whose owners the garbage collector watches."""
_NOT_COLLECTED = frozenset({("", "events"), ("events.k8s.io", "events")})
"""Resources that the garbage collector ignores, by API group."""
_METADATA = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_Result = TypeVar("_Result")


class ClusterObjects:
    """Objects of a live cluster.  The methods raise ReplyError and the exceptions of TRANSPORT.

    Attributes:
        unread: the resources that could not be listed, each with the reason.

    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._plurals: dict[tuple[str, str], str] = {}
        """The resource of each apiVersion and kind that discovery has listed."""
        self.unread: list[str] = []

    def listed(self, resource: Resource) -> Iterator[tuple[str, list[Content]]]:
        """Yield the pages of a resource: its apiVersion and the objects; none if the cluster does not serve it."""
        for text in list_resources(self._api, [resource], needed=(resource.kind,)).lists:
            content = decode.parse(text)
            head = {"apiVersion": content["apiVersion"], "kind": resource.kind}
            yield content["apiVersion"], [{**head, **each} for each in content["items"] or ()]

    def owned(self, uids: Collection[object]) -> Iterator[Content]:
        """Yield head and metadata of the objects of all kinds, other than pods, groups and Workloads, that have an owner in *uids*."""
        for api_version, name, kind in self._resources():
            self._plurals[api_version, kind] = name
            try:
                for page in list_pages(self._api, f"{base_path(api_version)}/{name}", [("limit", str(PAGE))], _METADATA):
                    for each in decode.parse(page).get("items") or ():
                        if is_owned(each, uids):
                            yield {**each, "apiVersion": api_version, "kind": kind}
            except ReplyError as error:
                if error.code not in _NO_LIST:
                    self.unread.append(f"{name} of {api_version} cannot be listed: {error}")

    def _resources(self) -> Iterator[tuple[str, str, str]]:
        """Yield apiVersion, name and kind of the namespaced resources that can have owners; of each API group, in its best version."""
        groups = [[each["preferredVersion"], *each["versions"]] for each in self._read("/apis").get("groups") or ()]
        for versions in ([{"groupVersion": "v1"}], *groups):
            seen = set()
            for api_version in dict.fromkeys(str(each["groupVersion"]) for each in versions):
                group = api_version.rpartition("/")[0]
                try:
                    resources = self._read(base_path(api_version)).get("resources") or ()
                except ReplyError as error:
                    self.unread.append(f"the resources of {api_version} cannot be read: {error}")
                    continue
                for each in resources:
                    name, kind = str(each["name"]), str(each["kind"])
                    if name in seen or not each.get("namespaced") or not set(each.get("verbs") or ()) >= _COLLECTED:
                        continue
                    seen.add(name)
                    is_read = (group in WORKLOAD_GROUPS and kind in TREE_KINDS) or (group, name) == ("", "pods")
                    if not is_read and (group, name) not in _NOT_COLLECTED:
                        yield api_version, name, kind

    def _read(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = decode.parse(self._api.read(path))
        return answer

    def retried(self, content: Content, write: Callable[[Content], _Result]) -> _Result:
        """Return the result of *write* for an object; after a conflict, *write* is called with the object as it is then."""
        for pause in _PAUSES:
            try:
                return write(content)
            except ReplyError as error:
                if error.code != CONFLICT:
                    raise
            time.sleep(pause)
            content = self.get(content)
        return write(content)

    def get(self, content: Content) -> Content:
        """Return an object as it is now."""
        return self._read(self._path(content))

    def create(self, content: Content, *, dry_run: bool) -> Content:
        """Create an object and return it; in a *dry_run*, the API server stores nothing."""
        query = [("dryRun", "All")] if dry_run else []
        created: Content = decode.parse(self._api.send("POST", self._collection(content), decode.ENCODER.encode(content), query=query))
        return created

    def patch(self, content: Content, body: Mapping[str, Any], subresource: str = "") -> Content:
        """Merge *body* into an object that is still as *content*, and return it; any change since is a conflict."""
        version = {"resourceVersion": section(content, "metadata").get("resourceVersion")}
        merged = {**body, "metadata": {**section(body, "metadata"), **version}}
        answer = self._api.send("PATCH", self._path(content) + subresource, decode.ENCODER.encode(merged), content_type=MERGE_PATCH)
        patched: Content = decode.parse(answer)
        return patched

    def delete(self, content: Content) -> None:
        """Delete an object that is still as *content*, and keep what it owns."""
        unchanged = {name: section(content, "metadata").get(name) for name in ("uid", "resourceVersion")}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan", "preconditions": unchanged}
        self._api.send("DELETE", self._path(content), decode.ENCODER.encode(body))

    def _collection(self, content: Content) -> str:
        kind, namespace, _ = name_of(content)
        plural = self._plurals.get((str(content["apiVersion"]), kind)) or served_versions.resource(kind).resource
        return f"{base_path(str(content['apiVersion']))}/namespaces/{namespace}/{plural}"

    def _path(self, content: Content) -> str:
        return f"{self._collection(content)}/{name_of(content)[2]}"


def is_owned(content: Content, uids: Collection[object]) -> bool:
    """Return whether an object has an owner in *uids*."""
    return any(reference.get("uid") in uids for reference in references_of(content))
