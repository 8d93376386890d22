"""Compiled objects as a YAML stream; explanations are comments above each Workload."""

from __future__ import annotations

from collections.abc import Iterator

from muster.commands.compile import report
from muster.commands.compile.compilation import Run
from muster.render import yaml_text


def render(run: Run, *, explain: bool) -> str:
    """Return the stream; empty if nothing was created."""
    return "---\n".join(_documents(run, explain=explain))


def _documents(run: Run, *, explain: bool) -> Iterator[str]:
    for result in run.results:
        comment = ""
        if explain and result.compiled.explained:
            comment = "".join(f"# {line}\n" for line in report.explained(result))
        for content in result.compiled.objects:
            yield comment + yaml_text.dump(content)
            comment = ""
