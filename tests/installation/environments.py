"""Fresh virtual environments with the wheel, and commands run in them."""

from __future__ import annotations

import dataclasses
import email
import functools
import importlib
import os
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
NAME = "muster-scheduling"
PACKAGES = ("kubeapi", "validators", "apiserver", "webhooks", "certs", "workloadbuilder", "expansion", "scheduler_core", "muster")
FILES = ("pyproject.toml", "README.md", "LICENSE", "muster_scheduling.py")
WAIT_SECONDS = 60


def build_wheel(directory: Path) -> Path:
    """Build the wheel from a copy of the sources, so that the checkout stays clean and no stale file is packed."""
    sources = directory / "sources"
    sources.mkdir()
    for name in PACKAGES:
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, sources / name)
    # One process; pip would start one for each step of the build backend.
    run(sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_wheel({str(directory)!r})", folder=sources)
    (wheel,) = directory.glob("*.whl")
    return wheel


def pip(python: str | Path, *arguments: str) -> None:
    """Run the pip of these tests with *python*, as ``pip --python`` does in a second process."""
    (folder,) = importlib.import_module("pip").__path__
    run(str(python), str(Path(folder, "__pip-runner__.py")), *arguments, "--quiet", "--disable-pip-version-check")


def run(*command: str, folder: Path | None = None) -> None:
    """Run a command, which must succeed."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@dataclasses.dataclass(frozen=True)
class Environment:
    """Virtual environment."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    @property
    def site(self) -> Path:
        (result,) = self.directory.glob("lib/python3.*/site-packages")
        return result

    def muster(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command to its end."""
        return subprocess.run(
            [self.directory / "bin" / "muster", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.directory,
            env=os.environ | environ,
            timeout=WAIT_SECONDS,
        )

    def start_and_stop(self, *arguments: str) -> tuple[int, str]:
        """Run a command until it reports that it listens, stop it with SIGTERM; return its exit status and output."""
        command = [self.directory / "bin" / "muster", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.directory) as process:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if '"listening"' in line:
                    process.send_signal(signal.SIGTERM)
            return process.wait(WAIT_SECONDS), "".join(lines)

    def install(self, wheel: Path, *, copied: bool) -> None:
        """Install *wheel* without its dependencies: the files that pip has made of it are linked, or *copied* if tests change them.

        Linked modules are compiled once for all environments.
        """
        unpacked = _installed(wheel)
        if copied:
            shutil.copytree(unpacked.site, self.site, dirs_exist_ok=True)
        else:
            for each in unpacked.site.iterdir():
                (self.site / each.name).symlink_to(each)
        script = self.directory / "bin" / "muster"
        shutil.copy(unpacked.directory / "bin" / "muster", script)
        script.write_text(script.read_text(encoding="utf-8").replace(str(unpacked.python), str(self.python)), encoding="utf-8")


def create(directory: Path) -> Environment:
    """Create an empty environment."""
    venv.create(directory, with_pip=False, symlinks=True)
    return Environment(directory)


@functools.cache
def _installed(wheel: Path) -> Environment:
    """Create an environment with nothing but the wheel, once: pip takes seconds."""
    created = create(wheel.parent / "installed")
    pip(created.python, "install", "--no-deps", "--no-index", "--no-compile", str(wheel))
    return created


def with_extra(directory: Path, wheel: Path, extra: str, *, copied: bool = False) -> Environment:
    """Create an environment as ``pip install 'muster-scheduling[extra]'`` does; libraries are linked from that of the tests."""
    created = create(directory)
    for name in sorted(installed_with(wheel, extra)):
        link(metadata.distribution(name), created.site)
    created.install(wheel, copied=copied)
    return created


def installed_with(wheel: Path, extra: str) -> set[str]:
    """Return the distributions that pip would install with the wheel."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = [each for each in file.namelist() if each.endswith(".dist-info/METADATA")]
        ours = email.message_from_bytes(file.read(name)).get_all("Requires-Dist", [])
    seen: set[tuple[str, str]] = set()
    waiting = [(NAME, extra)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        requirements = ours if name == NAME else metadata.requires(name) or []
        waiting += _required(requirements, extra)
    return {name for name, _ in seen} - {NAME}


def _required(requirements: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    for each in map(Requirement, requirements):
        if each.marker is None or each.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(each.name), expected) for expected in ("", *each.extras))


def link(distribution: metadata.Distribution, site: Path) -> None:
    for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        link = site / name
        if not link.exists():
            link.symlink_to(Path(distribution.locate_file(name)))


def foreign_wheel(directory: Path, name: str, files: dict[str, str]) -> Path:
    """Build a wheel of another distribution *name* with these files."""
    info = f"{name}-1.0.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*files, f"{info}/RECORD"])
    wheel = directory / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel
