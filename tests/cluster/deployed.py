"""A cluster's stand-in for kubelet and kube-proxy: a Deployment of Muster as a process, and the endpoints of its Service.

kube-apiserver finds the process by the Service, with the flag of ``ROUTING``: name and certificate are those of the manifests.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import Options
from tests.cluster.process import Process, free_port
from tests.cluster.programs import Programs
from tests.cluster.resources import Manifest

ROUTING = "--enable-aggregator-routing=true"
"""kube-apiserver connects to the endpoints of a Service, not to its cluster IP."""
FIRST_BY_SLICES = 33
"""First minor version of Kubernetes whose kube-apiserver finds the process by EndpointSlices; before, by Endpoints."""
POLL_SECONDS = 0.2


def node_address() -> str:
    """Return an address of this machine that an EndpointSlice can have; empty if there is only the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        try:
            found.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        address = str(found.getsockname()[0])
    return "" if address.startswith(("127.", "169.254.")) else address


def reachable_address() -> str:
    """Return ``node_address``; skip the test without one."""
    if not (address := node_address()):
        pytest.skip("this machine has no address but the loopback")
    return address


@contextlib.contextmanager
def routed_plane(programs: Programs) -> Iterator[ControlPlane]:
    """Yield a control plane with ``ROUTING``; skip the test if it could not reach a replica."""
    reachable_address()
    with ControlPlane(Options(apiserver_flags=(ROUTING,)), programs) as started:
        yield started


class Deployed:
    """Thread that starts one replica of a Deployment once it and its ServiceAccount exist, and lists it once it is ready.

    It is started anew once its arguments or volumes change.  As a pod has an address of its own, the replica has ports of its own: tests
    run beside each other.
    """

    def __init__(self, plane: ControlPlane, name: str, namespace: str, folder: Path) -> None:
        self._plane, self._name, self._namespace, self._address = plane, name, namespace, node_address()
        self._folder, self._ports = folder, dict[int, int]()
        self.process = Process(name, folder / f"{name}.log")
        self.deployment: Manifest | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._plane.companions.append(self.process)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.process.stop()
        self._plane.companions.remove(self.process)

    def _run(self) -> None:
        listed = False
        while not self._ended.wait(POLL_SECONDS):
            if self.deployment is None:
                self._start()
            elif self._is_outdated():
                self.process.stop()
                self.deployment = None
            elif self._ready() is not listed:
                listed = not listed
                self._list(ready=listed)

    def _start(self) -> None:
        found = self._plane.api.get("Deployment", self._name, self._namespace) if self._exists("Deployment") else None
        if found is None or not self._exists("ServiceAccount"):
            return
        (container,) = found["spec"]["template"]["spec"]["containers"]
        arguments = self._mounted(found["spec"]["template"]["spec"], container)
        for port in (each["containerPort"] for each in container["ports"]):
            own = self._ports.setdefault(port, free_port())
            arguments = [f"{each.removesuffix(f':{port}')}:{own}" if each.endswith(f":{port}") else each for each in arguments]
        account = self._plane.service_account(found["spec"]["template"]["spec"]["serviceAccountName"], self._namespace)
        environ = {**os.environ, **{each["name"]: each["value"] for each in container["env"]}}
        self.process.start([sys.executable, "-m", "muster", *arguments, f"--kubeconfig={account}"], environ)
        self.deployment = found

    def _is_outdated(self) -> bool:
        try:
            return _started_with(self._plane.api.get("Deployment", self._name, self._namespace)) != _started_with(self.deployment)
        except ApiError:
            return False

    def _mounted(self, spec: Manifest, container: Manifest) -> list[str]:
        """Write the Secrets and ConfigMaps that are mounted; return the arguments with the paths of their files."""
        sources = {each["name"]: ("Secret", each["secret"]["secretName"]) for each in spec["volumes"] if "secret" in each}
        sources |= {each["name"]: ("ConfigMap", each["configMap"]["name"]) for each in spec["volumes"] if "configMap" in each}
        mounted = {each["mountPath"]: sources[each["name"]] for each in container["volumeMounts"] if each["name"] in sources}
        arguments = list(container["args"])
        for path, (kind, name) in mounted.items():
            files = self._folder / name
            files.mkdir(exist_ok=True)
            for key, value in self._plane.api.get(kind, name, self._namespace)["data"].items():
                (files / key).write_bytes(base64.b64decode(value) if kind == "Secret" else value.encode())
            arguments = [each.replace(f"={path}/", f"={files}/") for each in arguments]
        return arguments

    def _exists(self, kind: str) -> bool:
        try:
            return self._plane.api.exists(kind, self._name, self._namespace)
        except ApiError:
            return False

    def _ready(self) -> bool:
        assert self.deployment is not None
        (container,) = self.deployment["spec"]["template"]["spec"]["containers"]
        ports = {each["name"]: self._ports[each["containerPort"]] for each in container["ports"]}
        connection = http.client.HTTPConnection(self._address, ports["probes"], timeout=3)
        try:
            connection.request("GET", container["readinessProbe"]["httpGet"]["path"])
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _list(self, *, ready: bool) -> None:
        """Write the EndpointSlice of the Service, as the endpointslice controller does."""
        service = self._plane.api.get("Service", self._name, self._namespace)
        (container,) = self.deployment["spec"]["template"]["spec"]["containers"]  # type: ignore[index]
        ports = {each["name"]: self._ports[each["containerPort"]] for each in container["ports"]}
        manifest = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "labels": {"kubernetes.io/service-name": self._name},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self._address], "conditions": {"ready": ready}}],
            "ports": [
                {"name": each.get("name", ""), "port": ports[each["targetPort"]], "protocol": "TCP"} for each in service["spec"]["ports"]
            ],
        }
        self._write(manifest)
        if self._plane.programs.minor() < FIRST_BY_SLICES:
            subset = {"addresses" if ready else "notReadyAddresses": [{"ip": self._address}], "ports": manifest["ports"]}
            metadata = {"name": self._name, "namespace": self._namespace}
            self._write({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]})
        self._report(ready=ready)

    def _write(self, manifest: Manifest) -> None:
        if self._plane.api.exists(manifest["kind"], self._name, self._namespace):
            self._plane.api.delete(manifest["kind"], self._name, self._namespace)
        self._plane.api.create(manifest)

    def _report(self, *, ready: bool) -> None:
        """Write the status of the Deployment, as the deployment controller does, as if all replicas were like this one."""
        found = self._plane.api.get("Deployment", self._name, self._namespace)
        count = found["spec"]["replicas"] if ready else 0
        numbers = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
        status = {"observedGeneration": found["metadata"]["generation"], **numbers}
        self._plane.api.patch("Deployment", self._name, self._namespace, body={"status": status}, subresource="status", how="merge")


def _started_with(deployment: Manifest | None) -> tuple[object, object]:
    """Return the arguments and volumes of the pods of a Deployment."""
    assert deployment is not None
    spec = deployment["spec"]["template"]["spec"]
    return spec["containers"][0]["args"], spec["volumes"]
