"""``--helm`` and ``--kustomize``: charts and kustomizations, rendered by the binaries without a network."""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

import click

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath
from kubeapi.meta import replaced
from validators.lint.limits import LARGEST_FILE

if TYPE_CHECKING:
    from validators.lint.comments import Comment
    from validators.lint.discovery import Discovered
    from validators.lint.documents import FilePart, Manifest

_SECONDS = 60
_LONGEST_ERROR = 500
_MOST_ERRORS = 100_000
"""Limit for the error output of a program that is read, in bytes."""
_LIBRARY = re.compile(rb"^type:[ \t]*[\"']?library\b", re.MULTILINE)
_SOURCE = re.compile(r"^# Source: ([^\r\n]+)$", re.MULTILINE)
_LOG = re.compile(r"^(?:Error: |E\d{4} [^\]]*\] \"command failed\" err=)")
_NOWHERE = "http://127.0.0.1:9"
"""Address without a listener: remote resources are not fetched."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class RenderError(Exception):
    """A chart or kustomization cannot be rendered; the message says why."""


class Tools(Record, frozen=True):
    """Commands that render a chart and a kustomization; the folder follows.  None: they are not rendered."""

    helm: tuple[str, ...] | None = None
    kustomize: tuple[str, ...] | None = None


class Rendered(Record, frozen=True):
    """Manifests of the chart or kustomization in *folder*."""

    folder: str
    manifests: Sequence[Manifest]


def tools(*, helm: bool, kustomize: bool, values: Sequence[str] = ()) -> Tools:
    """Return the commands of the wanted tools; *values* are files with values for charts.

    Raises:
        click.UsageError: a binary is not in PATH, or there is no such file.

    """
    if values and not helm:
        raise click.UsageError("--helm-values needs --helm")
    for each in values:
        if not os.path.isfile(each):  # noqa: PTH113 - names are kept as given
            raise click.UsageError(f"--helm-values: {each!r} must be a file that exists")
    arguments = [f"--values={os.path.abspath(each)}" for each in values]  # noqa: PTH100 - as above
    return Tools(
        (*_command(("helm", "template"), option="--helm"), *arguments) if helm else None,
        _command(("kustomize", "build"), ("kubectl", "kustomize"), option="--kustomize") if kustomize else None,
    )


def _command(*candidates: tuple[str, ...], option: str) -> tuple[str, ...]:
    import shutil  # as below

    for program, *arguments in candidates:
        if path := shutil.which(program):
            return (os.path.abspath(path), *arguments)  # noqa: PTH100 - links stay as written
    raise click.UsageError(f"{option}: {' or '.join(each[0] for each in candidates)} must be in PATH; install it, or omit the option")


def without_rendered(inputs: Discovered, wanted: Tools) -> Discovered:
    """Return *inputs* without the resources of kustomizations and without the counts of files, if they are rendered."""
    from validators.lint import files, tool_files

    skipped = dict(inputs.skipped)
    if wanted.helm:
        skipped.pop(tool_files.HELM, None)
    if not wanted.kustomize:
        return replaced(inputs, skipped=skipped)
    skipped.pop(tool_files.KUSTOMIZE, None)
    named = {files.identity(each) for each in inputs.paths}
    chosen = tuple(each for each in inputs.files if (same := files.identity(each)) in named or same not in inputs.resources)
    return replaced(inputs, files=chosen, skipped=skipped)


def render(inputs: Discovered, wanted: Tools) -> Iterator[Rendered]:
    """Yield the manifests of each chart and of each kustomization; one that cannot be rendered is an unreadable file."""
    from validators.lint import files, tool_files

    for chart in inputs.charts if wanted.helm else ():
        file = os.path.join(chart, tool_files.CHART)  # noqa: PTH118 - names are kept as given
        if not _is_library(file):
            yield Rendered(chart, _rendered(wanted.helm or (), chart, files.display_name(file)))
    for folder in inputs.kustomizations if wanted.kustomize else ():
        yield Rendered(folder, _rendered(wanted.kustomize or (), folder, files.display_name(folder)))


def _is_library(file: str) -> bool:
    from validators.lint import file_content

    try:
        return _LIBRARY.search(file_content.read_regular(file, LARGEST_FILE)) is not None
    except OSError:
        return False


def _rendered(command: Sequence[str], folder: str, name: str) -> list[Manifest]:
    from validators.lint import files
    from validators.lint.documents import Manifest, Unreadable

    def path_of(template: str) -> str:
        # The first part is the name of the chart.
        return files.display_name(os.path.join(folder, *template.split("/")[1:]))  # noqa: PTH118 - as above

    try:
        return _split(_output([*command, os.path.abspath(folder)]), name, path_of)  # noqa: PTH100 - as above
    except RenderError as error:
        return [Manifest(name, (Unreadable(name, 1, 1, f"cannot be rendered: {error}"),))]


def _split(output: bytes, whole: str, path_of: Callable[[str], str]) -> list[Manifest]:
    """Return the documents in *output* as one file for each template, with positions in the output; *path_of* returns the path of a template.

    Helm writes the template of each document as a comment; the document is named after it.  Text that is not below such a comment belongs to
    the file *whole*.
    """
    from validators.lint import documents
    from validators.lint.documents import Document, Manifest
    from validators.lint.places import Lines

    parsed, text = documents.parse(whole, output), output.decode("utf-8", "replace")
    lines = Lines(text)
    sources = [(lines.position(match.start())[0], match[1]) for match in _SOURCE.finditer(text)]
    starts = [line for line, _ in sources]

    def file_at(line: int) -> str:
        number = bisect.bisect_right(starts, line)
        return f"{path_of(sources[number - 1][1]) if number else whole} (rendered)"

    parts: dict[str, list[FilePart]] = {}
    for part in parsed.parts:
        file = file_at(part.span(FieldPath()).line if isinstance(part, Document) else part.line)
        parts.setdefault(file, []).append(replaced(part, file=file))
    comments: dict[str, list[Comment]] = {}
    for comment in parsed.comments:
        comments.setdefault(file_at(comment.line), []).append(comment)
    return [Manifest(file, tuple(listed), tuple(comments.get(file, ()))) for file, listed in parts.items()]


def _output(command: Sequence[str]) -> bytes:
    """Return the output of a program, which ends within a time and size limit and finds no network, cluster or other program.

    Raises:
        RenderError: the program failed.

    """
    import subprocess  # imported on demand: start-up must be fast
    import threading

    environment = os.environ | dict.fromkeys(_PROXIES, _NOWHERE) | {"NO_PROXY": "", "no_proxy": "", "KUBECONFIG": os.devnull}
    environment |= {"PATH": "", "GIT_ALLOW_PROTOCOL": "none"}
    program = os.path.basename(command[0])  # noqa: PTH119 - as above
    try:
        process = subprocess.Popen(  # noqa: S603 - helm, kustomize or kubectl of PATH, and a folder as an absolute path
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise RenderError(f"{program} cannot be run: {(error.strerror or str(error)).lower()}") from None
    errors = bytearray()
    ended = threading.Event()

    def stop() -> None:
        ended.set()
        process.kill()

    with process:
        timer = threading.Timer(_SECONDS, stop)
        reader = threading.Thread(target=_keep_begin, args=(process.stderr, errors))
        timer.start()
        reader.start()
        output = process.stdout.read(LARGEST_FILE + 1) if process.stdout else b""
        if len(output) > LARGEST_FILE:
            process.kill()
        status = process.wait()
        timer.cancel()
        reader.join()
    if ended.is_set():
        raise RenderError(f"{program} did not end within {_SECONDS} s")
    if len(output) > LARGEST_FILE:
        raise RenderError(f"the output must be at most {LARGEST_FILE:,} bytes")
    if status:
        raise RenderError(f"{program}: {_reason(bytes(errors)) or f'exit status {status}'}")
    return output


def _keep_begin(stream: IO[bytes], kept: bytearray) -> None:
    """Read *stream* to its end, and add its first bytes to *kept*."""
    while part := stream.read1(_MOST_ERRORS):  # type: ignore[attr-defined]
        kept += part[: _MOST_ERRORS - len(kept)]


def _reason(errors: bytes) -> str:
    """Return the error of a program as one line, without warnings and the prefix of the log."""
    lines = [line for line in errors.decode("utf-8", "replace").splitlines() if not line.startswith("#")]
    return _LOG.sub("", " ".join(" ".join(lines).split()), count=1)[:_LONGEST_ERROR]
