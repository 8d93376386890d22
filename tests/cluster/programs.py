"""Binaries of etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl, which are built once.

``python -m tests.cluster.programs`` prints the folder that holds them, after building them if there are none; it needs
no installed package.  KUBEBUILDER_ASSETS names a folder that is used without a build.
"""

from __future__ import annotations

import dataclasses
import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = "KUBEBUILDER_ASSETS"
CACHE = "MUSTER_CLUSTER_CACHE"
REQUIRED = "MUSTER_REQUIRE_CLUSTER"
MODULE = Path(__file__).parent / "assets"
SOURCES = ("go.mod", "go.sum", "main.go")
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NEEDED = ("etcd", "kube-apiserver", "kubectl")
OLDEST = (1, 37)
"""The first version of Kubernetes that serves all three kinds."""
ONE_PROGRAM = "control-plane"


class MissingError(Exception):
    """There is no control plane to be started here; the message is one line that says what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Programs:
    """A folder of programs."""

    folder: Path

    def path(self, name: str) -> Path:
        """The program *name*.  Raises MissingError where the folder has none, as some that others build."""
        result = self.folder / name
        if not os.access(result, os.X_OK):
            raise MissingError(f"{self.folder} must have {name}; `make cluster-assets`, with {FOLDER} unset, builds all that is needed")
        return result


def find() -> Programs:
    """Return the programs of KUBEBUILDER_ASSETS, or those built before.

    Raises:
        MissingError: there are none, or kube-apiserver is too old.
    """
    given = os.environ.get(FOLDER)
    if given:
        programs = Programs(Path(given).absolute())
        for name in NEEDED:
            programs.path(name)
        _demand_version(programs.path("kube-apiserver"))
        return programs
    if cached().is_dir():
        return Programs(cached())
    raise MissingError(f"`make cluster-assets` builds one (it needs Go), or {FOLDER} names a folder of one")


@functools.cache
def _demand_version(apiserver: Path) -> None:
    messages = subprocess.run([apiserver, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    version = re.search(r"v(\d+)\.(\d+)\.", messages)
    if not version or (int(version[1]), int(version[2])) < OLDEST:
        expected = ".".join(map(str, OLDEST))
        raise MissingError(f"kube-apiserver of {FOLDER} must be {expected} or newer, and says {messages.strip()!r}")


def kubernetes_version() -> str:
    """The version of Kubernetes that the module is built of, as ``v1.37.1``."""
    result = re.search(r"^\s*k8s\.io/kubernetes (v\S+)$", (MODULE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if not result:
        raise MissingError(f"{MODULE / 'go.mod'} must require k8s.io/kubernetes")
    return result[1]


def cached() -> Path:
    """Return the folder of a build of the current module; it need not exist."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(os.environ.get(CACHE) or Path(home) / "muster" / "cluster-assets").absolute()
    content = hashlib.sha256(b"".join((MODULE / name).read_bytes() for name in SOURCES)).hexdigest()
    return base / f"{kubernetes_version()}-{content[:12]}"


def build() -> Path:
    """Build the programs into the cache unless they exist; return the folder.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    target = cached()
    if target.is_dir():
        return target
    go = shutil.which("go")
    if go is None:
        raise MissingError(f"go must be installed to build the control plane of the tests, or {FOLDER} must name a folder of one")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.with_suffix(".lock")):
        if not target.is_dir():
            _build(go, target)
    return target


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two builds at once would take twice as long each."""
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _build(go: str, target: Path) -> None:
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    base = "k8s.io/component-base/version"
    flags = f"-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor}"
    print(f"building etcd, kubectl and Kubernetes {version} into {target}: some minutes, once", file=sys.stderr)
    # Whole or not at all: the folder gets its name when everything is in it.
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as scratch:
        created = Path(scratch) / "programs"
        created.mkdir()
        command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(created / ONE_PROGRAM), "."]
        done = subprocess.run(command, cwd=MODULE, env={**os.environ, "CGO_ENABLED": "0"}, stdout=sys.stderr, check=False)
        if done.returncode:
            raise MissingError(f"go build in {MODULE} failed with exit status {done.returncode}")
        for name in NAMES:
            (created / name).symlink_to(ONE_PROGRAM)
        created.rename(target)


def main() -> int:
    """Print the folder of the programs, built if need be; 2 where there can be none."""
    try:
        print(find().folder if os.environ.get(FOLDER) else build())
    except MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
