"""Steps of a Containerfile, run in a scratch root instead of a container: namespaces of mounts, and chroot.

The base image is the interpreter of the tests and the system's own /usr, read-only.  Linux and util-linux are needed, and root, to run
programs as the user of the image.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from dockerfile_parse import DockerfileParser

SYSTEM = ("usr", "bin", "sbin", "lib", "lib64", "etc", "dev", "proc")
PYTHON = sys.base_prefix.lstrip("/")
"""The interpreter of the tests, which in a scratch root is at its own path."""
PROGRAMS = f"/{PYTHON}/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass
class Image:
    """The root directory of a stage, and what its instructions declare."""

    root: Path
    environ: dict[str, str] = dataclasses.field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = dataclasses.field(default_factory=list)
    command: list[str] = dataclasses.field(default_factory=list)
    ports: list[int] = dataclasses.field(default_factory=list)

    def run(self, command: list[str], *, read_only: bool = False, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command in this root: as root while it is built, or *read_only* as its user, with an empty /tmp."""
        process = self.start(command, read_only=read_only, **environ)
        output, errors = process.communicate(timeout=900)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def start(self, command: list[str], *, read_only: bool = False, **environ: str) -> subprocess.Popen[str]:
        """Start a command as ``run`` does."""
        return subprocess.Popen(
            ["unshare", "--mount", "sh", "-euc", self._script(command, read_only=read_only)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": PROGRAMS, "HOME": "/tmp", **self.environ, **environ},
        )

    def _script(self, command: list[str], *, read_only: bool) -> str:
        root, mounts = shlex.quote(str(self.root)), []
        sources = {name: f"/{name}" for name in SYSTEM if Path("/", name).exists()} | {PYTHON: f"/{PYTHON}"}
        for name, source in sources.items():
            mounts.append(f"mkdir -p {root}/{name}; mount --rbind {shlex.quote(source)} {root}/{name}")
        user, _, group = self.user.partition(":")
        switch = f"setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs"
        if read_only:
            mounts = [f"mount --bind {root} {root}", *mounts, f"mkdir -p {root}/tmp; mount -t tmpfs -o mode=1777 tmpfs {root}/tmp"]
            mounts.append(f"mount -o remount,ro,bind {root}")
        inner = f"cd {shlex.quote(self.folder)}; exec {switch if read_only else ''} {shlex.join(command)}"
        return "; ".join((*mounts, f"exec chroot {root} sh -euc {shlex.quote(inner)}"))

    def size(self) -> int:
        """Return the bytes of the files that the instructions made."""
        made = (path for each in self.root.iterdir() if each.name not in SYSTEM for path in each.rglob("*"))
        return sum(path.lstat().st_size for path in made if path.is_file() and not path.is_symlink())


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile with their values, without comments."""
    # The parser writes what it is given to the file that it is given.
    parser = DockerfileParser(fileobj=io.BytesIO(path.read_bytes()))
    return [(each["instruction"], each["value"]) for each in parser.structure if each["instruction"] != "COMMENT"]


def build(path: Path, context: Path, folder: Path, **environ: str) -> Image:
    """Run the instructions of a Containerfile, and return the last stage; *environ* is added to that of RUN."""
    stages: dict[str, Image] = {}
    image = Image(folder)
    for instruction, value in instructions(path):
        if instruction == "FROM":
            _, _, name = value.partition(" AS ")
            image = stages[name or "last"] = Image(folder / (name or "last"))
            image.root.mkdir(parents=True)
        elif instruction == "ARG":
            # The base of a stage; a scratch root has another one.
            continue
        elif instruction == "RUN":
            done = image.run(["sh", "-euc", value], **environ)
            assert done.returncode == 0, f"RUN {value}: {done.stdout}{done.stderr}"
        elif instruction == "COPY":
            _copy(shlex.split(value), stages, context, image)
        else:
            _declare(image, instruction, value)
    return image


def _copy(arguments: list[str], stages: dict[str, Image], context: Path, image: Image) -> None:
    source = context
    if arguments[0].startswith("--from="):
        source = stages[arguments.pop(0).removeprefix("--from=")].root
    *paths, last = arguments
    target = image.root / image.folder.lstrip("/") / last.lstrip("/") if not last.startswith("/") else image.root / last.lstrip("/")
    for each in paths:
        path = source / each.lstrip("/")
        if path.is_dir():
            shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, target)


def _declare(image: Image, instruction: str, value: str) -> None:
    match instruction:
        case "WORKDIR":
            image.folder = value
            (image.root / value.lstrip("/")).mkdir(parents=True, exist_ok=True)
        case "ENV":
            for each in shlex.split(value):
                name, _, text = each.partition("=")
                image.environ[name] = text.replace("$PATH", PROGRAMS)
        case "USER":
            image.user = value
        case "EXPOSE":
            image.ports = [int(each) for each in value.split()]
        case "ENTRYPOINT":
            image.entrypoint = json.loads(value)
        case "CMD":
            image.command = json.loads(value)
        case _:
            raise AssertionError(f"{instruction} is not known here")


def available() -> bool:
    """Return whether steps can be run here."""
    programs = all(shutil.which(each) for each in ("unshare", "setpriv", "chroot", "mount"))
    return (
        programs and os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0
    )
