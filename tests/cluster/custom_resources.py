"""Clusters whose groups are custom resources of ``scheduling.muster.dev``: the same manifests and tests, in another API group."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import kinds_of, versions_in
from tests.cluster.api import TOO_MANY_REQUESTS, Answer, Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import NO_GATES, Options
from tests.cluster.programs import Programs
from tests.cluster.resources import Manifest
from tests.cluster.waiting import ASK_EVERY, WAIT_SECONDS, until

DEFINITIONS = Path(__file__).parents[2] / "deploy/custom-resources"
KINDS = kinds_of(CUSTOM)
VERSION = versions_in(CUSTOM)[0].name
INITIALIZING = "storage is (re)initializing"
WITHOUT_KINDS = Options(gates=NO_GATES, served=())
"""Options of a cluster without the built-in kinds."""


class CustomApi(Api):
    """Client that finds groups and Workloads in the custom group, writes them there, and names the group of a pod in its label."""

    def path(self, kind: str, name: str = "", namespace: str = "", subresource: str = "", *, version: str = "") -> str:
        """See Api."""
        return super().path(kind, name, namespace, subresource, version=VERSION if kind in KINDS else version)

    def send(self, *arguments: Any, **keywords: Any) -> Answer:
        """See Api; waits while the server, just started and ready, does not serve custom resources yet."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return super().send(*arguments, **keywords)
            except ApiError as error:
                if error.code != TOO_MANY_REQUESTS or INITIALIZING not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(ASK_EVERY)

    def create(self, manifest: Manifest, **query: object) -> Manifest:
        """See Api."""
        return super().create(custom(manifest), **query)

    def replace(self, manifest: Manifest, *, subresource: str = "", **query: object) -> Manifest:
        """See Api."""
        return super().replace(custom(manifest), subresource=subresource, **query)


def custom(manifest: Manifest) -> Manifest:
    """Return a group or Workload as a custom resource, and a pod with the label of its group; other objects as they are."""
    if manifest["kind"] in KINDS:
        return {**manifest, "apiVersion": VERSION}
    if manifest["kind"] != "Pod" or not (group := manifest["spec"].get("schedulingGroup")):
        return manifest
    metadata: dict[str, Any] = manifest["metadata"]
    labels = {**(metadata.get("labels") or {}), POD_GROUP_LABEL: group["podGroupName"]}
    spec = {key: value for key, value in manifest["spec"].items() if key != "schedulingGroup"}
    return {**manifest, "metadata": {**metadata, "labels": labels}, "spec": spec}


def install(api: Api) -> None:
    """Install the definitions and wait until they are served."""
    definitions = [yaml.safe_load(each.read_text(encoding="utf-8")) for each in sorted(DEFINITIONS.glob(f"*.{CUSTOM}.yaml"))]
    api.create_all(definitions)
    for kind in KINDS:
        until(lambda kind=kind: _is_served(api, kind))


def _is_served(api: Api, kind: str) -> bool:
    try:
        api.objects(kind, version=VERSION)
    except ApiError:
        return False
    return True


@contextlib.contextmanager
def custom_plane(programs: Programs, options: Options = WITHOUT_KINDS) -> Iterator[ControlPlane]:
    """Run a control plane that serves the custom resources; its ``api`` is a CustomApi."""
    with ControlPlane(options, programs) as plane:
        install(plane.api)
        plane.api.close()
        plane.api = CustomApi(plane.kubeconfig)
        yield plane
