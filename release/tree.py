"""The sources of a release: a commit whose files all name one version."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

MOST_NAMED = 3
"""Changed files that a message names."""
MOST_SHOWN = 3000
"""Characters of the output of a program that failed."""
CHART = "deploy/chart/Chart.yaml"
_NAMED = {
    CHART: re.compile(r"^(?:version|appVersion): (?P<version>\S+)", re.MULTILINE),
    "muster/__init__.py": re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE),
    "CHANGELOG.md": re.compile(r"\A.*?^## (?P<version>\S+)", re.MULTILINE | re.DOTALL),
    "editors/vscode/package.json": re.compile(r'^  "version": "(?P<version>[^"]+)"', re.MULTILINE),
}
"""Files that name the version once in a way of their own."""
_IN_TEXT = re.compile(
    r"""(?: \bmuster(?:_scheduling)?[:-]        # an image, a file of a release
          | (?:@|\brev:[ ])v                     # an action, a hook
          | [ ]--version[ ]                     # a chart
          | \bthis[ ]is[ ]version[ ]
        ) (?P<version> \d+\.\d+\.\d+ ) (?! \w | \.\d )""",
    re.VERBOSE,
)
"""Where pages and manifests name the version of Muster; other projects' versions have fewer numbers, or other words before them."""
_TEXTS = ("README.md", "docs/**/*.md", "deploy/**/*.md", "deploy/**/*.yaml", "deploy/Containerfile")


class RefusalError(Exception):
    """Nothing can be released, for this reason."""


def version(root: Path) -> str:
    """Return the version that pyproject.toml has."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def problems(root: Path) -> list[str]:
    """Return why the tree cannot be released, one sentence each."""
    return [*_changes(root), *other_versions(root)]


def _changes(root: Path) -> Iterator[str]:
    if changed := [line[3:] for line in git(root, "status", "--porcelain", "--untracked-files=all").splitlines()]:
        named = ", ".join(changed[:MOST_NAMED]) + (f" and {len(changed) - MOST_NAMED} more" if changed[MOST_NAMED:] else "")
        yield f"the tree is not that of the commit: {named}: commit, stash or delete the changes"


def other_versions(root: Path) -> Iterator[str]:
    """Yield each place whose version is not that of pyproject.toml."""
    expected = version(root)
    for path in sorted({*(root / name for name in _NAMED), *(path for pattern in _TEXTS for path in root.glob(pattern))}):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for found in _NAMED.get(name, _IN_TEXT).finditer(text):
            if found["version"] != expected:
                line = text.count("\n", 0, found.start("version")) + 1
                yield f"{name}:{line} has version {found['version']}, pyproject.toml has {expected}: a release has one version"


def commit_time(root: Path) -> int:
    """Return the time of the commit, in seconds since 1970."""
    return int(git(root, "log", "-1", "--format=%ct"))


def export(root: Path, folder: Path) -> None:
    """Write the files of the commit into *folder*, which must not exist, with the time of the commit."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    git(root, "-c", "tar.umask=0022", "archive", "--output", str(archive), "HEAD")
    run("tar", "--extract", "--no-same-owner", "--file", str(archive), "--directory", str(folder))


def git(root: Path, *arguments: str) -> str:
    """Return what git prints.  Raises RefusalError if it fails, as in a folder that is no repository."""
    return run("git", *arguments, folder=root)


def run(*command: str, folder: Path | None = None, **environ: str) -> str:
    """Run a program, and return what it prints.

    Raises:
        RefusalError: it fails; the end of its output says why.

    """
    environment = os.environ | environ
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusalError(f"{Path(command[0]).name} failed: {(done.stdout + done.stderr)[-MOST_SHOWN:].strip()}")
    return done.stdout
