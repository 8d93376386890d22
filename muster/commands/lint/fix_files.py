"""``muster lint --fix``: fixes of findings, written to the files or as a patch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import click

from muster.commands.lint import inputs
from muster.commands.migrate import output
from muster.commands.progress import Progress
from validators.lint import documents, fixes, lint_files
from validators.lint.documents import Manifest
from validators.lint.files import Source
from validators.lint.finding import Finding, Report
from validators.migrate.outcome import File
from validators.rules.base import Settings

_ROUNDS = 10
"""A fix can make another finding visible, which can have a fix too."""
_BOM = "\ufeff"


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """Changed files, the number of fixes, and the report of the files after the fixes."""

    files: tuple[File, ...]
    fixes: int
    report: Report

    @property
    def unsafe(self) -> int:
        """Return the number of findings left that have a fix which is not safe."""
        return sum(each.fix is not None and not each.fix.is_safe for each in self.report.findings)


def fix(sources: Sequence[Source], known: Sequence[Manifest], settings: Settings, *, unsafe: bool) -> Fixed:
    """Apply the fixes of the findings in *sources* until none is left; unsafe ones only if *unsafe*.  Nothing is written."""
    settings, progress = dataclasses.replace(settings, fixes=True), Progress("lint")
    contents = {each.name: each.content for each in sources}
    manifests = {each.name: each.manifest() for each in progress.over(sources, len(sources), "parsing")}
    count = 0
    report = lint_files.run(manifests.values(), known, settings=settings, watch=inputs.validating(progress))
    for _ in range(_ROUNDS):
        chosen = _fixable(report.findings, unsafe=unsafe)
        changed = {name: _applied(contents[name], listed) for name, listed in chosen.items()}
        if not changed:
            break
        count += sum(len(listed) for listed in chosen.values())
        contents |= changed
        manifests |= {name: documents.parse(name, content) for name, content in changed.items()}
        report = lint_files.run(manifests.values(), known, settings=settings, watch=inputs.validating(progress))
    progress.end()
    files = (File(each.name, each.path, each.content, contents[each.name]) for each in sources)
    return Fixed(tuple(each for each in files if each.changed), count, report)


def write(fixed: Fixed) -> None:
    """Write the changed files.

    Raises:
        click.ClickException: a file cannot be written.

    """
    try:
        output.replace(fixed.files)
    except output.WriteError as error:
        raise click.ClickException(str(error)) from None


def patch(fixed: Fixed) -> str:
    """Return the changes as a patch for ``patch -p1`` and ``git apply``."""
    return output.differences(fixed.files)


def _fixable(findings: Sequence[Finding], *, unsafe: bool) -> Mapping[str, list[Finding]]:
    chosen: dict[str, list[Finding]] = {}
    for each in findings:
        if each.fix is not None and (unsafe or each.fix.is_safe):
            chosen.setdefault(each.file, []).append(each)
    return chosen


def _applied(content: bytes, findings: Sequence[Finding]) -> bytes:
    text = content.decode("utf-8")
    mark = _BOM if text.startswith(_BOM) else ""
    fixed = fixes.apply(text.removeprefix(_BOM), (each.fix for each in findings if each.fix is not None))
    return f"{mark}{fixed}".encode()
