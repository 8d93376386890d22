"""Real control plane on loopback: etcd and kube-apiserver, and if requested kube-scheduler and kube-controller-manager.

It has its own certificates, RBAC and users.  It starts in seconds and ends with its tests.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cluster import flags
from tests.cluster.api import Api, ApiError
from tests.cluster.keys import Authority, write_token_key
from tests.cluster.options import Options
from tests.cluster.process import NotReadyError, Process, free_port
from tests.cluster.programs import Programs, find
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import await_rights
from tests.cluster.waiting import WAIT_SECONDS

READY_SECONDS = 120.0
KUBECTL_SECONDS = 120
# A busy server builds the schema of many kinds for longer than kubectl waits, 32 s.  Nothing was sent yet, and the server goes on
# building.  The client of Go says it in either way, as the deadline passes before or after the first byte of the answer.
SCHEMA_ATTEMPTS = 8
SCHEMA_LATE = re.compile(r"/openapi/.*(Client\.Timeout|context deadline exceeded)")
ATTEMPTS = 3
MASTERS = "system:masters"
RULES = list[dict[str, Any]]

LIVE: weakref.WeakSet[ControlPlane] = weakref.WeakSet()
"""Control planes that run in this process, for their logs."""


class ControlPlane:
    """etcd and kube-apiserver; a context manager.

    ``api`` is a client as system:masters, ``kubeconfig`` its file, ``url`` the server's address.
    """

    def __init__(self, options: Options | None = None, programs: Programs | None = None) -> None:
        self.options = options or Options()
        self.programs = programs or find()
        self.folder = Path(tempfile.mkdtemp(prefix="muster-cluster-"))
        self.authority = Authority()
        self.etcd, self.apiserver = self._process("etcd"), self._process("kube-apiserver")
        self.scheduler, self.controllers = self._process("kube-scheduler"), self._process("kube-controller-manager")
        self._ports: dict[str, int] = {}
        self.companions: list[Process] = []
        """Further programs: their logs are shown with those of the control plane, and they end with it at the latest."""
        self._keys()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def processes(self) -> tuple[Process, ...]:
        """Return all programs, dependent ones first."""
        return (*self.companions, self.controllers, self.scheduler, self.apiserver, self.etcd)

    def _process(self, name: str) -> Process:
        return Process(name, self.folder / f"{name}.log")

    def _keys(self) -> None:
        certificate, key = self.authority.serving()
        for name, content in (("ca.crt", self.authority.certificate), ("server.crt", certificate), ("server.key", key)):
            (self.folder / name).write_bytes(content)
        write_token_key(self.folder / "tokens.key", self.folder / "tokens.pub")
        self._admin_token = secrets.token_hex()
        (self.folder / "users.csv").write_text(f"{self._admin_token},admin,admin,{MASTERS}\n", encoding="utf-8")

    def start(self) -> None:
        """Start etcd and kube-apiserver and wait until they are ready.  Raises NotReadyError."""
        LIVE.add(self)
        self._start_etcd()
        for attempt in range(1, ATTEMPTS + 1):
            self.port = free_port()
            self.url = f"https://127.0.0.1:{self.port}"
            self.kubeconfig = self.write_kubeconfig("admin", groups=(MASTERS,))
            # The server verifies a client's certificate at each request, which is a seventh of its work, and looks up a token.
            self.api = Api(self.write_kubeconfig("admin", token=self._admin_token))
            try:
                self.start_apiserver()
                return
            except NotReadyError:
                if attempt == ATTEMPTS or "address already in use" not in self.apiserver.tail(200):
                    raise

    def _start_etcd(self) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            self.etcd_port, self._peers_port = free_port(), free_port()
            try:
                self.start_etcd()
                return
            except NotReadyError:
                if attempt == ATTEMPTS or "address already in use" not in self.etcd.tail(200):
                    raise
                shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def start_etcd(self) -> None:
        """Start etcd on its ports, with what it stored before, and wait until it is ready.  Raises NotReadyError."""
        command = flags.etcd(self.folder, self.etcd_port, self._peers_port)
        self.etcd.start([self.programs.path("etcd"), *command], self._environ())
        self.etcd.await_answer(self._etcd_healthy, READY_SECONDS)

    def _etcd_healthy(self) -> bool:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=2)) as connection:
            try:
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False

    def start_apiserver(self) -> None:
        """Start kube-apiserver on its port and wait until it is ready.  Raises NotReadyError."""
        command = flags.apiserver(self.folder, self.etcd_port, self.port)
        self.apiserver.start([self.programs.path("kube-apiserver"), *command, *self.options.flags(self.programs.minor())], self._environ())
        self.apiserver.await_answer(self.ready, READY_SECONDS)

    def ready(self) -> bool:
        """Return true if the API server reports that it is ready."""
        import urllib3

        try:
            self.api.send("GET", "/readyz")
        except (ApiError, OSError, urllib3.exceptions.HTTPError):
            return False
        return True

    def restart_apiserver(self, *, gently: bool = False) -> None:
        """Stop kube-apiserver and start it at the same address; with *gently* it first ends watches for some 10 s."""
        if gently:
            self.apiserver.stop()
        else:
            self.apiserver.kill()
        self.start_apiserver()

    def stop(self) -> None:
        """Stop all programs and remove their files."""
        for each in (*self.companions, self.controllers, self.scheduler):
            each.stop()
        # Nothing of these two is to be kept, and a gentle end of the API server takes seconds.
        for each in (self.apiserver, self.etcd):
            each.kill()
        LIVE.discard(self)
        if hasattr(self, "api"):
            self.api.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_scheduler(self, configuration: Manifest | None = None, flags: Sequence[str] = ()) -> None:
        """Start kube-scheduler; *configuration* is merged into a KubeSchedulerConfiguration (with default qps and burst)."""
        kubeconfig = self.write_kubeconfig("system:kube-scheduler")
        content = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **(configuration or {})}
        content["leaderElection"] = {"leaderElect": False}
        content["clientConnection"] = {**content.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
        file = self.folder / "scheduler.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        self._start_client(self.scheduler, kubeconfig, [f"--config={file}", *flags])

    def start_controllers(self, controllers: Sequence[str] = ("*",), flags: Sequence[str] = ()) -> None:
        """Start kube-controller-manager with the controllers named, as ``podgroup-protection-controller``."""
        kubeconfig = self.write_kubeconfig("system:kube-controller-manager")
        own = [
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.folder / 'tokens.key'}",
            f"--root-ca-file={self.folder / 'ca.crt'}",
            f"--controllers={','.join(controllers)}",
        ]
        self._start_client(self.controllers, kubeconfig, [*own, *flags])

    def _start_client(self, process: Process, kubeconfig: Path, given: Sequence[str]) -> None:
        port = free_port()
        serving = flags.client(self.folder, port, kubeconfig)
        process.start(
            [self.programs.path(process.name), *serving, *self.options.gate_flags(self.programs.minor()), *given], self._environ()
        )
        process.await_answer(lambda: self._healthy(port), READY_SECONDS)
        self._ports[process.name] = port

    def scheduler_ready(self) -> bool:
        """Return true if the running kube-scheduler has synced its caches."""
        return self._healthy(self._ports[self.scheduler.name], "/readyz")

    def scheduler_metrics(self) -> str:
        """Return the metrics of the running kube-scheduler, which must serve them to anybody; empty if it does not answer."""
        status, content = self._get(self._ports[self.scheduler.name], "/metrics")
        return content if status == 200 else ""

    def _healthy(self, port: int, path: str = "/healthz") -> bool:
        return self._get(port, path)[0] == 200

    def _get(self, port: int, path: str) -> tuple[int, str]:
        """Return status and body; the status is 0 without an answer."""
        import ssl

        context = ssl.create_default_context(cadata=self.authority.certificate.decode())
        with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=context)) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except (OSError, http.client.HTTPException):
                return 0, ""

    def compact(self) -> int:
        """Compact etcd's history up to now; return the revision.

        The API server's cache may still answer old watches; ``expire_history`` prevents that too.
        """
        revision = int(self._etcd("/v3/kv/range", {"key": base64.b64encode(b"\0").decode()})["header"]["revision"])
        self._etcd("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def expire_history(self) -> None:
        """Make every watch and list from an earlier version fail with 410: compaction, and an API server with an empty cache."""
        self.apiserver.kill()
        self.compact()
        self.start_apiserver()

    def set_full(self, *, full: bool) -> None:
        """Let etcd refuse all writes but deletions, as after its quota is exceeded, or no more."""
        action = "ACTIVATE" if full else "DEACTIVATE"
        self._etcd("/v3/maintenance/alarm", {"action": action, "memberID": "0", "alarm": "NOSPACE"})

    def put(self, key: str, value: bytes) -> None:
        """Write a value into etcd, past the validation of the API server."""
        self._etcd("/v3/kv/put", {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(value).decode()})

    def _etcd(self, path: str, body: Manifest) -> Manifest:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=WAIT_SECONDS)) as connection:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
        if response.status != 200:
            raise NotReadyError(f"etcd answers {response.status} to {path}: {content.decode(errors='replace')}")
        answer: Manifest = json.loads(content)
        return answer

    def write_kubeconfig(self, user: str, groups: tuple[str, ...] = (), *, token: str = "", url: str = "") -> Path:
        """Write a kubeconfig for *user* by certificate, or by *token*; *url* replaces the server's address, as for a proxy."""
        credentials = {"token": token} if token else flags.by_certificate(*self.authority.client(user, groups))
        content = flags.kubeconfig(user, credentials, url or self.url, self.authority.certificate)
        descriptor, name = tempfile.mkstemp(prefix=f"{user.replace(':', '-')}-", suffix=".kubeconfig", dir=self.folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(content, stream)
        return Path(name)

    def user(self, name: str, rules: RULES, *, namespace: str = "") -> Path:
        """Write a kubeconfig of a user with the *rules* of a Role, everywhere or only in *namespace*."""
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}
        self.grant(name, rules, subject, namespace=namespace)
        return self.write_kubeconfig(name)

    def service_account(self, name: str, namespace: str) -> Path:
        """Write a kubeconfig with a token of an existing ServiceAccount; its rights are those bound to it."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        url = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.api.send("POST", url, body).content["status"]["token"]
        return self.write_kubeconfig(name, token=token)

    def grant(self, name: str, rules: RULES, subject: Manifest, *, namespace: str = "") -> None:
        """Create or replace a role and its binding to *subject*, both called *name*, and wait until they are in effect."""
        kind, metadata = ("Role", {"name": name, "namespace": namespace}) if namespace else ("ClusterRole", {"name": name})
        version = "rbac.authorization.k8s.io/v1"
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        manifests: tuple[Manifest, ...] = (
            {"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules},
            {"apiVersion": version, "kind": f"{kind}Binding", "metadata": metadata, "roleRef": reference, "subjects": [subject]},
        )
        for manifest in manifests:
            self.api.delete(manifest["kind"], name, namespace)
            self.api.create(manifest)
        await_rights(self.api, subject, rules, namespace)

    def kubectl(
        self, *arguments: str, stdin: str | None = None, kubeconfig: Path | None = None, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator, or with another kubeconfig."""
        command = [str(self.programs.path("kubectl")), f"--kubeconfig={kubeconfig or self.kubeconfig}", *arguments]
        for _ in range(SCHEMA_ATTEMPTS):
            done = subprocess.run(
                command, input=stdin, capture_output=True, text=True, check=False, timeout=KUBECTL_SECONDS, env=self._environ()
            )
            if not SCHEMA_LATE.search(done.stderr):
                break
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def _environ(self) -> dict[str, str]:
        """Return an environment without the configuration of the user who runs the tests."""
        garbage = {name: os.environ[name] for name in ("GOGC", "GOMEMLIMIT") if name in os.environ}
        return {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "TMPDIR": tempfile.gettempdir(), **garbage}

    def logs(self) -> Iterator[tuple[str, str]]:
        """Return (name, last lines of its log) of each program that has a log."""
        for each in self.processes:
            if messages := each.tail():
                yield each.name, messages
