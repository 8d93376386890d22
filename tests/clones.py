"""A clean clone of this repository, as a user has it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


def clean_clone(folder: Path) -> str:
    """Clone the repository into *folder*, and return its commit; what is not committed here is one more commit there."""
    git(ROOT, "clone", "--quiet", str(ROOT), str(folder))
    if changes := git(ROOT, "diff", "--binary", "HEAD"):
        git(folder, "apply", "--whitespace=nowarn", changes=changes)
    for name in git(ROOT, "ls-files", "--others", "--exclude-standard", "-z").split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    if git(folder, "status", "--porcelain"):
        commit_all(folder)
    return git(folder, "rev-parse", "HEAD").strip()


def commit_all(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, *AUTHOR, "commit", "--quiet", "--message", "one")


def git(folder: Path, *arguments: str, changes: str | None = None) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environ, input=changes, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
