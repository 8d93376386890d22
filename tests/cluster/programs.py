"""Binaries of etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl, and the judge of device selectors, built once.

``python -m tests.cluster.programs`` prints the folder that holds them, after building what is missing; it needs no installed package.
KUBEBUILDER_ASSETS names a folder that is used without a build; the judge, which no such folder has, is built if Go is installed.
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
from collections.abc import Callable
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


def find_judge() -> Path:
    """Return the judge of device selectors, built before.

    Raises:
        MissingError: there is none.
    """
    if (judge := _judge()).exists():
        return judge
    raise MissingError("`make cluster-assets` builds the judge of device selectors (it needs Go)")


def build() -> Path:
    """Build the programs into the cache unless they exist; return the folder.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    target = cached()
    if not target.is_dir():
        build_once(target, _build_programs)
    return target


def build_judge() -> Path:
    """Build the judge of device selectors into the cache unless it exists; return its path.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    target = _judge()
    if not target.exists():
        build_once(target, lambda created: go_build("./selectors", created))
    return target


def _judge() -> Path:
    content = b"".join(path.read_bytes() for path in (MODULE / "go.mod", MODULE / "go.sum", MODULE / "selectors" / "main.go"))
    return cached().parent / f"selectors-{hashlib.sha256(content).hexdigest()[:12]}"


def build_once(target: Path, build_at: Callable[[Path], None]) -> None:
    """Build *target* whole or not at all: it gets its name when everything is in it.  Two builds at once would take twice as long each."""
    if shutil.which("go") is None:
        raise MissingError(f"go must be installed to build the control plane of the tests, or {FOLDER} must name a folder of one")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as scratch:
                build_at(Path(scratch) / "created")
                (Path(scratch) / "created").rename(target)


def _build_programs(folder: Path) -> None:
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    base = "k8s.io/component-base/version"
    print(f"building etcd, kubectl and Kubernetes {version}: some minutes, once", file=sys.stderr)
    folder.mkdir()
    flags = f"-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor}"
    go_build(".", folder / ONE_PROGRAM, "-ldflags", flags)
    for name in NAMES:
        (folder / name).symlink_to(ONE_PROGRAM)


def go_build(package: str, output: Path, *flags: str, module: Path | None = None) -> None:
    """Build *package* of the module in the folder *module*, by default that of the control plane.  Raises MissingError."""
    folder = module or MODULE
    command = ["go", "build", "-trimpath", "-buildvcs=false", *flags, "-o", str(output), package]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "CGO_ENABLED": "0"}, stdout=sys.stderr, check=False)
    if done.returncode:
        raise MissingError(f"go build in {folder} failed with exit status {done.returncode}")


def main() -> int:
    """Print the folder of the programs, built if need be; 2 where there can be none."""
    try:
        folder = find().folder if os.environ.get(FOLDER) else build()
        if shutil.which("go"):
            build_judge()
        print(folder)
    except MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
