"""Binaries of etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl, and the judge of device selectors, built once.

``python -m tests.cluster.programs`` prints the folder that holds them, after building what is missing; it needs no installed package.
KUBEBUILDER_ASSETS names a folder that is used without a build; the judge, which no such folder has, is built if Go is installed.
KUBERNETES names other versions of Kubernetes to build, as ``1.38.0-beta.0 1.30.14``: those that have a folder ``assets/kubernetes-VERSION``.
The first of them is selected: tests run on it.
"""

from __future__ import annotations

import dataclasses
import fcntl
import functools
import hashlib
import itertools
import json
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
KUBERNETES = "KUBERNETES"
MODULE = Path(__file__).parent / "assets"
SOURCES = ("go.mod", "go.sum", "main.go")
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NEEDED = ("etcd", "kube-apiserver", "kubectl")
ONE_PROGRAM = "control-plane"
MOVED = {
    "apiextensions-api": ("apiextensions-apiserver@v0.37.1", ("pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1", "pkg/client"))
}
"""Modules of Kubernetes 1.38 that no proxy serves before the release, with the module that had their packages before."""


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

    def minor(self) -> int:
        """Return the minor version of kube-apiserver, as 37.  Raises MissingError."""
        return int(self.version().split(".")[1])

    def version(self) -> str:
        """Return the version of kube-apiserver, as 1.37.1.  Raises MissingError."""
        told = _version_of(self.path("kube-apiserver"))
        if not (version := re.search(r"v(1\.\d+\.\S+)", told)):
            raise MissingError(f"kube-apiserver of {self.folder} must say a version v1.x.y, and says {told.strip()!r}")
        return version[1]


def find() -> Programs:
    """Return the programs of KUBEBUILDER_ASSETS, or those of the selected version, built before.

    Raises:
        MissingError: there are none, or KUBEBUILDER_ASSETS names a folder of something else.
    """
    given = os.environ.get(FOLDER)
    if given:
        programs = Programs(Path(given).absolute())
        for name in NEEDED:
            programs.path(name)
        programs.minor()
        return programs
    if cached().is_dir():
        return Programs(cached())
    raise MissingError(f"`make cluster-assets` builds one (it needs Go), or {FOLDER} names a folder of one")


def of(version: str) -> Programs:
    """Return the programs of *version*, as ``1.30`` or ``1.30.14``: those of ``find`` if they are of that version, else those built before.

    Raises:
        MissingError: they were not built.
        ValueError: no version of ``versions`` has this name.
    """
    known = [each.removeprefix("v") for each in versions()]
    name = next((each for each in known if f"{each}.".startswith(f"{version}.")), "")
    if not name:
        raise ValueError(f"{version!r} must be one of {', '.join(known)}, or the beginning of one")
    if os.environ.get(FOLDER) and version == f"1.{(given := find()).minor()}":
        return given
    if (folder := cached(f"v{name}")).is_dir():
        return Programs(folder)
    raise MissingError(f"`make cluster-assets {KUBERNETES}={name}` builds the one of Kubernetes {version}")


@functools.cache
def _version_of(program: Path) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout


def versions() -> dict[str, Path]:
    """Return the folders of ``go.mod`` and ``go.sum`` by version of Kubernetes, as ``v1.37.1``; the first is the default."""
    others = sorted(path.name.removeprefix("kubernetes-") for path in MODULE.glob("kubernetes-*"))
    return {_required_version(MODULE): MODULE} | {f"v{version}": MODULE / f"kubernetes-{version}" for version in others}


def selected_versions() -> list[str]:
    """Return the versions of Kubernetes that are built, as ``v1.37.1``: those of KUBERNETES, else the default.  Raises MissingError."""
    known = [*versions()]
    wanted = [f"v{each.removeprefix('v')}" for each in os.environ.get(KUBERNETES, "").split()]
    for each in wanted:
        if each not in known:
            names = ", ".join(name.removeprefix("v") for name in known)
            raise MissingError(f"{KUBERNETES} must be one or more of {names}, not {each.removeprefix('v')!r}")
    return wanted or known[:1]


def _required_version(module: Path) -> str:
    result = re.search(r"^\s*k8s\.io/kubernetes (v\S+)$", (module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if not result:
        raise MissingError(f"{module / 'go.mod'} must require k8s.io/kubernetes")
    return result[1]


def cached(version: str = "") -> Path:
    """Return the folder of a build of the current modules, of *version*, a key of ``versions``, or the selected one; it need not exist."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(os.environ.get(CACHE) or Path(home) / "muster" / "cluster-assets").absolute()
    version = version or selected_versions()[0]
    content = hashlib.sha256(b"".join(path.read_bytes() for path in _sources(versions()[version]))).hexdigest()
    return base / f"{version}-{content[:12]}"


def _sources(module: Path) -> list[Path]:
    return [(MODULE if name == "main.go" else module) / name for name in SOURCES]


def find_judge() -> Path:
    """Return the judge of device selectors, built before.

    Raises:
        MissingError: there is none.
    """
    if (judge := _judge()).exists():
        return judge
    raise MissingError("`make cluster-assets` builds the judge of device selectors (it needs Go)")


def build(version: str = "") -> Path:
    """Build the programs of *version*, by default of the selected one, into the cache unless they exist; return the folder.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    version = version or selected_versions()[0]
    target = cached(version)
    if not target.is_dir():
        build_once(target, functools.partial(_build_programs, version))
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


def _build_programs(version: str, folder: Path) -> None:
    major, minor, _ = version.removeprefix("v").split(".", 2)
    base = "k8s.io/component-base/version"
    print(f"building etcd, kubectl and Kubernetes {version}: some minutes, once", file=sys.stderr)
    folder.mkdir()
    flags = f"-s -w -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor}"
    module = folder.with_name("module")
    module.mkdir()
    for path in _sources(versions()[version]):
        shutil.copy(path, module)
    for name in re.findall(r"=> \./(\S+)$", (module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE):
        _write_stand_in(name, module / name)
    go_build(".", folder / ONE_PROGRAM, "-ldflags", flags, module=module)
    for name in NAMES:
        (folder / name).symlink_to(ONE_PROGRAM)


def _write_stand_in(name: str, folder: Path) -> None:
    """Write the module ``k8s.io/NAME``, which no proxy serves: with the packages that an older module had, else one that only tests need."""
    folder.mkdir()
    (folder / "go.mod").write_text(f"module k8s.io/{name}\n\ngo 1.27.0\n", encoding="utf-8")
    if name not in MOVED:
        return
    older, parts = MOVED[name]
    source = Path(json.loads(_go("mod", "download", "-json", f"k8s.io/{older}", cwd=MODULE))["Dir"])
    imports = re.compile(rf"k8s\.io/{older.partition('@')[0]}/pkg/(?=apis|client)")
    for path in itertools.chain.from_iterable((source / part).rglob("*.go") for part in parts):
        # Conversions stayed with the server, and its tests would need it.
        if path.name in ("conversion.go", "zz_generated.conversion.go") or path.name.endswith("_test.go"):
            continue
        target = folder / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = imports.sub(f"k8s.io/{name}/pkg/", path.read_text(encoding="utf-8"))
        if path.name == "marshal.go":
            text += "\nvar nullLiteral = []byte(`null`)\n"  # stood beside the conversions
        target.write_text(text.replace("structured-merge-diff/v6/", "structured-merge-diff/v7/"), encoding="utf-8")


def go_build(package: str, output: Path, *flags: str, module: Path | None = None) -> None:
    """Build *package* of the module in the folder *module*, by default that of the control plane.  Raises MissingError."""
    folder = module or MODULE
    _go("build", "-trimpath", "-buildvcs=false", *flags, "-o", str(output), package, cwd=folder)


def _go(*arguments: str, cwd: Path) -> str:
    """Run Go, of the version that the module names, and return its output.  Raises MissingError."""
    environ = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "auto"}
    done = subprocess.run(["go", *arguments], cwd=cwd, env=environ, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise MissingError(f"go {arguments[0]} in {cwd} failed with exit status {done.returncode}")
    return done.stdout


def main() -> int:
    """Print the folders of the programs, built if need be, that of the selected version first; 2 where there can be none."""
    try:
        folders = [find().folder] if os.environ.get(FOLDER) else [build(each) for each in selected_versions()]
        if shutil.which("go"):
            build_judge()
        print(*folders, sep="\n")
    except MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
