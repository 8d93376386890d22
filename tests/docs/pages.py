"""The pages of the site, and what a page has the reader do: files to write, commands to type, Python to try.

A fenced block of a page is

* a file, if it has a title: ```` ```yaml title="train.yaml" ````; in a copy of the sources, with ``title="FILE: PLACE"`` lines at the
  end of a class, a table or a tuple of a file;
* a session, if it is ``console``: lines that begin with ``$`` are run, the lines below them are their output, where ``…`` alone
  stands for lines that are left out, and at the end of a line for its rest;
* an interactive session of Python, if it is ``pycon``;
* commands for a cluster or a build host, if it is ``sh``: not run, but what they call of Muster is parsed.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import muster_scheduling
from tests import forked

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
WITH_EXAMPLES = (README, DOCS / "index.md")
"""Pages whose commands read files of a checkout."""
ELLIPSIS = "…"
CHECKOUT = (*muster_scheduling.PACKAGES, "muster_scheduling.py", "deploy", "tests", "pyproject.toml")
"""What a page that changes the sources needs of them."""
RECIPES = ("adapter.md", "check.md", "format.md", "rule.md")
"""Pages that have the reader change the sources, and run commands there."""
SECONDS = 60
_PLAIN = re.compile(r"muster( +[\w./:=,-]+)+")
"""A command that means the same without a shell."""
_FENCE = re.compile(r"^```(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block, and where its text stands in the page."""

    language: str
    title: str
    text: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Call:
    """A command of a session, and the output that the page shows."""

    command: str
    output: str


def changes_the_sources(path: Path) -> bool:
    """Return whether a page has the reader write a file into a checkout."""
    return path.parent.name == "contributing" and path.name in RECIPES


def pages() -> list[Path]:
    """Return the pages of the site."""
    return sorted(DOCS.rglob("*.md"))


def with_commands() -> list[Path]:
    """Return the pages whose commands are run."""
    return [README, *pages()]


def session(path: Path, directory: Path) -> Session:
    """Return the session of a page in *directory*: in a copy of the sources, of the examples, or in an empty directory."""
    if path.resolve() in WITH_EXAMPLES:
        shutil.copytree(ROOT / "examples", directory / "examples")
    return Session(directory, checkout=changes_the_sources(path))


def blocks(text: str) -> list[Block]:
    return [Block(each["language"], each["title"] or "", each["text"], *each.span("text")) for each in _FENCE.finditer(text)]


def calls(session: str) -> Iterator[Call]:
    """Yield the commands of a session; one that ends with a backslash goes on in the next line, which begins with ``>``."""
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = [lines.pop(0)]
        while command[-1].endswith("\\"):
            command.append(lines.pop(0).removeprefix("> "))
        yield Call("\n".join(command), "\n".join(lines).rstrip())


def written(session: str, outputs: list[str]) -> str:
    """Return the session with other outputs."""
    found = [*calls(session)]
    parts = []
    for call, output in zip(found, outputs, strict=True):
        first, *more = call.command.split("\n")
        parts.append("\n".join([f"$ {first}", *(f"> {each}" for each in more), *([output] if output else [])]))
    return "\n".join(parts) + "\n"


def followed(text: str, place: str, block: str) -> str:
    """Return *text* with *block* at the end of the class, table or tuple *place*, or without one after the imports."""
    if not place:
        last = [*re.finditer(r"^(?:from|import) .*\n", text, re.MULTILINE)][-1]
        return text[: last.end()] + block + text[last.end() :]
    start = re.search(rf"^{re.escape(place)}\b.*\n", text, re.MULTILINE)
    assert start is not None, f"there is no {place}"
    lines = re.compile(r"(?: {4}.*\n|\n(?= {4}))*").match(text, start.end())
    assert lines is not None
    body = lines[0]
    # Fields precede methods.
    methods = re.search(r"^\n {4}(?:@|def )", body, re.MULTILINE) if place.startswith("class ") else None
    end = start.end() + (methods.start() if methods is not None else len(body))
    return text[:end] + block + text[end:]


class Session:
    """A directory in which the files of a page are written and its commands are run, one after the other.

    With *checkout* it is a copy of the sources, and the commands are those of the copy.  What pip installs is installed for the
    session alone.
    """

    def __init__(self, directory: Path, *, checkout: bool = False) -> None:
        self.directory = directory
        self._status = 0
        if checkout:
            for name in CHECKOUT:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, directory / name)
        # A process that is forked has the modules of the project itself.
        self._forks = not checkout
        programs = directory / ".bin"
        installed = self._installed = directory / ".installed"
        programs.mkdir()
        install = f"install --no-deps --no-index --no-build-isolation --disable-pip-version-check --target {installed}"
        for name, line in {
            "muster": f'exec {sys.executable} -m muster "$@"',
            "python": f'exec {sys.executable} "$@"',
            "pip": f'shift; exec {sys.executable} -m pip {install} "$@"',
        }.items():
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "KUBE", "PYTEST"))}
        sources = directory if checkout else ROOT
        self._environ = kept | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(directory),
            "PYTHONPATH": f"{sources}{os.pathsep}{installed}",
        }

    def write(self, block: Block) -> None:
        name, _, place = block.title.partition(": ")
        if place and self._forks:
            return
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(followed(path.read_text(encoding="utf-8"), place, block.text) if place else block.text, encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a command, whose ``$?`` is the exit status of the last; what it writes, as a terminal shows it."""
        if _PLAIN.fullmatch(command) and self._forks and not self._installed.exists():
            with tempfile.TemporaryFile() as written:
                ended = forked.run(command.split()[1:], self.directory, self._environ, output=written, errors=written)
                written.seek(0)
                self._status = ended.returncode
                return written.read().decode().rstrip()
        ran = subprocess.run(
            ["bash", "-c", f"(exit {self._status})\n{command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            cwd=self.directory,
            env=self._environ,
            timeout=SECONDS,
            check=False,
        )
        self._status = ran.returncode
        return ran.stdout.rstrip()


def matches(shown: str, said: str) -> bool:
    """Return whether *said* is what the page shows, with whatever it leaves out."""
    pattern = []
    for line in shown.splitlines():
        if line.strip() == ELLIPSIS:
            pattern.append(r"(?:.*\n)*")
        elif line.endswith(ELLIPSIS):
            pattern.append(f"{re.escape(line.removesuffix(ELLIPSIS))}.*\n")
        else:
            pattern.append(f"{re.escape(line)}\n")
    return re.fullmatch("".join(pattern), f"{said}\n" if said else "") is not None
