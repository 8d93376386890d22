"""Controllers of other projects on a control plane, with their webhooks: they create pods of JobSets, LeaderWorkerSets and other kinds.

Each is its own program, built by ``go_tools`` from the module of its project; nothing stands in for any of them.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from tests.cluster import go_tools
from tests.cluster.api import NOT_FOUND, ApiError
from tests.cluster.control_plane import MASTERS, READY_SECONDS, ControlPlane
from tests.cluster.process import Process, free_port
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until

_WEBHOOKS = "manifests.yaml"
_RATE = {"qps": 500, "burst": 1000}
FAST = tuple(f"--kube-api-{key}={value}" for key, value in _RATE.items())
"""Flags of controllers of Kubernetes, and of others that have the same."""
JOBS = ("job-controller",)

FIRST_WITH_NAMESPACES = 34
NAMESPACE_RULE = re.compile(r"rule: self\.templates\.all\(t, !has\(t\.metadata\.namespace\).*?== 0\)", re.DOTALL)
"""A rule of JobSet's definition that older versions of Kubernetes cannot compile: they refuse the whole definition."""


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """What a program is started with: its files are in *folder*, and it serves webhooks and its health at these ports."""

    folder: Path
    kubeconfig: Path
    port: int
    health: int

    @property
    def certificates(self) -> Path:
        """Return where a webhook server of controller-runtime looks for its certificate, as *folder* is that for temporary files."""
        return self.folder / "k8s-webhook-server" / "serving-certs"

    def by_configuration(self, version: str, certificates: str, further: Manifest | None = None, **webhook: object) -> list[str]:
        """Return flags with a configuration file with *further* fields; *certificates* is that which turns off certificates of its own."""
        content = {
            "apiVersion": version,
            "kind": "Configuration",
            "leaderElection": {"leaderElect": False},
            certificates: {"enable": False},
            "webhook": {"host": "127.0.0.1", "port": self.port, **webhook},
            "metrics": {"bindAddress": "0"},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health}"},
            "clientConnection": _RATE,
            **(further or {}),
        }
        file = self.folder / "configuration.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        return [f"--config={file}", f"--kubeconfig={self.kubeconfig}"]


@dataclasses.dataclass(frozen=True, slots=True)
class Controller:
    """A program: its *flags*, the line of its log with which it is *ready*, and controllers of Kubernetes that it *needs*."""

    flags: Callable[[Start], list[str]]
    ready: str = "Serving webhook server"
    needs: tuple[str, ...] = JOBS


CONTROLLERS = {
    "jobset": Controller(lambda start: start.by_configuration("config.jobset.x-k8s.io/v1alpha1", "internalCertManagement")),
    "kuberay": Controller(
        lambda start: [
            f"--kubeconfig={start.kubeconfig}",
            "--enable-leader-election=false",
            "--metrics-addr=0",
            f"--health-probe-bind-address=127.0.0.1:{start.health}",
            *(f"--{key}={value}" for key, value in _RATE.items()),
        ],
        ready="Starting workers",
    ),
    "kueue_manager": Controller(
        lambda start: start.by_configuration(
            "config.kueue.x-k8s.io/v1beta2",
            "internalCertManagement",
            {"integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod"]}},
            certDir=str(start.certificates),
        ),
    ),
    "lws": Controller(
        lambda start: start.by_configuration("config.lws.x-k8s.io/v1alpha1", "internalCertManagement", certDir=str(start.certificates)),
        # The workers of a leader that is deleted are garbage.
        needs=("statefulset-controller", "garbage-collector-controller"),
    ),
    "mpi": Controller(
        lambda start: [f"--kubeConfig={start.kubeconfig}", *FAST],
        ready="Started workers",
    ),
    "training": Controller(
        lambda start: [f"--kubeconfig={start.kubeconfig}", f"--health-probe-bind-address=127.0.0.1:{start.health}", *FAST],
        ready="Starting workers",
        needs=(),
    ),
    "trainer": Controller(lambda start: start.by_configuration("config.trainer.kubeflow.org/v1alpha1", "certManagement")),
}
"""By name; Trainer and Kueue need the controller of JobSets beside them."""


@contextlib.contextmanager
def running(plane: ControlPlane, *names: str, beside: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> Iterator[None]:
    """Run the controllers of these *names* on *plane*, and those of Kubernetes that they need, and that are *beside* them, with *flags*.

    Raises:
        MissingError: one of them was not built.
    """
    needs = dict.fromkeys((*(each for name in names for each in CONTROLLERS[name].needs), *beside))
    plane.start_controllers(tuple(needs), (*FAST, *flags))
    with contextlib.ExitStack() as stack:
        stack.callback(plane.controllers.stop)
        threads = stack.enter_context(ThreadPoolExecutor(len(names) or 1))
        list(threads.map(functools.partial(create_kinds, plane), names))
        started = dict(zip(names, threads.map(functools.partial(start, plane), names), strict=True))
        for process in started.values():
            stack.callback(process.stop)
        yield
        ended = [name for name, process in started.items() if not process.running]
        assert not ended, f"the controllers {ended} have ended"


def create_kinds(plane: ControlPlane, name: str) -> None:
    """Create the kinds of a controller on *plane*.

    Raises:
        MissingError: they were not copied.
    """
    published = go_tools.find_crds() / name
    crds = sorted(published.glob("*_*.yaml"))
    for each in crds:
        definition = each.read_text(encoding="utf-8")
        if plane.programs.minor() < FIRST_WITH_NAMESPACES:
            definition = NAMESPACE_RULE.sub('rule: "true"', definition)
        plane.kubectl("create", "--validate=false", "-f=-", stdin=definition, check=True)
    for each in crds:
        group, _, plural = each.stem.partition("_")
        until(functools.partial(_is_served, plane, group, plural))


def start(plane: ControlPlane, name: str) -> Process:
    """Start a controller whose kinds *plane* has, and register its webhooks; return the process, which ends with the plane.

    Raises:
        MissingError: it was not built.
    """
    program, published = go_tools.find(name), go_tools.find_crds() / name
    given = Start(plane.folder / name, plane.write_kubeconfig(name, groups=(MASTERS,)), free_port(), free_port())
    given.certificates.mkdir(parents=True)
    for file, content in zip(("tls.crt", "tls.key"), plane.authority.serving(), strict=True):
        (given.certificates / file).write_bytes(content)
    process = Process(name, plane.folder / f"{name}.log")
    plane.companions.append(process)
    process.start([program, *CONTROLLERS[name].flags(given)], {"TMPDIR": str(given.folder)})
    process.await_answer(lambda: CONTROLLERS[name].ready in process.tail(1000), READY_SECONDS)
    if (published / _WEBHOOKS).exists():
        for configuration in yaml.safe_load_all((published / _WEBHOOKS).read_text(encoding="utf-8")):
            plane.api.create(_by_url(configuration, name, f"https://127.0.0.1:{given.port}", plane.authority.certificate))
    return process


def _is_served(plane: ControlPlane, group: str, plural: str) -> bool:
    """Return whether discovery has a kind; the definition itself would be a large answer."""
    try:
        versions = plane.api.send("GET", f"/apis/{group}").content["versions"]
        served = [plane.api.send("GET", f"/apis/{each['groupVersion']}").content["resources"] for each in versions]
    except ApiError as error:
        if error.code != NOT_FOUND:
            raise
        return False
    return plural in {each["name"] for listed in served for each in listed}


def _by_url(configuration: Manifest, name: str, address: str, authority: bytes) -> Manifest:
    """Return a configuration of webhooks with the address of the program in place of its Service."""
    for each in configuration["webhooks"]:
        url = address + each["clientConfig"]["service"]["path"]
        each["clientConfig"] = {"url": url, "caBundle": base64.b64encode(authority).decode()}
    return {**configuration, "metadata": {"name": f"{name.replace('_', '-')}-{configuration['metadata']['name']}"}}
