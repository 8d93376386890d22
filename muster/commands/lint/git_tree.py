"""Files of a revision of git, read with the binary ``git``: nothing is checked out, and no program of the repository is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from validators.lint import tool_files
from validators.lint.files import SUFFIXES
from validators.lint.limits import LARGEST_FILE

_SECONDS = 60
_MOST_BYTES = 500_000_000
"""Limit for the size of all manifests of a revision."""
_CHUNK_BYTES = 32_000_000
_LONGEST_NAME = 250
_REVISION = re.compile(r"[^-\x00-\x20\x7f][^\x00-\x20\x7f]*")
_CLEARED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""Variables that a hook of another repository may have set."""
_FILES = frozenset({"100644", "100755"})


class GitError(Exception):
    """The revision cannot be read; the message says why."""


class GitTree:
    """Manifests of one revision of the repository around *folder*.

    Raises:
        GitError: there is no git, no repository, or no such revision.

    """

    def __init__(self, folder: str, revision: str) -> None:
        if len(revision) > _LONGEST_NAME or not _REVISION.fullmatch(revision):
            raise GitError(f"{revision!r} must be a directory, or a branch, tag or commit of git")
        self._folder = folder
        self._revision = revision
        self.top = os.fsdecode(self._run("rev-parse", "--show-toplevel", problem=f"{folder} is not in a repository of git")).rstrip("\n")
        problem = f"{revision!r} is neither a directory nor a revision of the repository {self.top}"
        if self._run("rev-parse", "--is-shallow-repository", problem=problem).strip() == b"true":
            problem += ", which is a shallow clone: fetch the revision, for example with `git fetch --unshallow`"
        named = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", problem=problem)
        self._commit = named.decode().strip()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the manifests with their paths, relative to the root of the repository; no links, hidden files and vendor folders.

        Raises:
            GitError: there are too many manifests, or git failed.

        """
        entries = list(self._entries())
        if sum(size for _, _, size in entries) > _MOST_BYTES:
            raise GitError(
                f"{self._revision!r}: its manifests must have at most {_MOST_BYTES:,} bytes; give a directory with the old files"
            )
        batch: list[tuple[str, str, int]] = []
        for entry in entries:
            batch.append(entry)
            if sum(size for _, _, size in batch) > _CHUNK_BYTES:
                yield from self._contents(batch)
                batch = []
        yield from self._contents(batch)

    def _entries(self) -> Iterator[tuple[str, str, int]]:
        """Yield path, object name and size of each manifest."""
        listed = self._run("ls-tree", "-r", "-z", "--long", "--full-tree", self._commit, problem=f"{self._revision!r} cannot be listed")
        for line in listed.split(b"\0"):
            head, _, raw = line.partition(b"\t")
            fields, path = head.decode().split(), os.fsdecode(raw)
            if len(fields) == 4 and fields[0] in _FILES and path.lower().endswith(SUFFIXES) and not _is_left_out(path):
                if (size := int(fields[3])) <= LARGEST_FILE:
                    yield path, fields[2], size

    def _contents(self, entries: Sequence[tuple[str, str, int]]) -> Iterator[tuple[str, bytes]]:
        if not entries:
            return
        names = "".join(f"{name}\n" for _, name, _ in entries).encode()
        output = self._run("cat-file", "--batch", given=names, problem=f"{self._revision!r} cannot be read")
        at = 0
        for path, _, size in entries:
            at = output.index(b"\n", at) + 1
            yield path, output[at : at + size]
            at += size + 1

    def _run(self, *arguments: str, problem: str, given: bytes = b"") -> bytes:
        git = shutil.which("git")
        if git is None:
            raise GitError("git is not in PATH; install it, or give a directory with the old files")
        environment = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        # No prompt, no network, no lock; ls-tree and cat-file run neither hooks nor filters.
        environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
        command = [git, "--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-C", self._folder, *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - git with a fixed command; the revision is checked, and follows --end-of-options
                command, input=given, env=environment, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} did not end within {_SECONDS} s") from None
        except OSError as error:
            raise GitError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from None
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise GitError(f"{problem}: {reason}" if reason else problem)
        return done.stdout


def _is_left_out(path: str) -> bool:
    *folders, name = path.split("/")
    return name.startswith(".") or any(each.startswith(".") or each in tool_files.VENDOR_FOLDERS for each in folders)
