"""The answer of a simulation as one self-contained HTML file; the same answer gives the same bytes.

First the verdict, then an index of the roots, the result of every root with reasons and figures, and the cluster with the resources
used on each node.  The page can be read without a script, on paper, and by a screen reader; a small script searches the index and
shows single nodes of the heat map.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2

from muster.html import page_content
from muster.html.update_steps import DrawnUpdate
from muster.render.answer import Answer
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.wording.phrases import shape_words
from validators.reports.escape import printable

_TEMPLATES = Path(__file__).parent / "templates"


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """Template of a page, with its style and script."""

    template: jinja2.Template
    style: str
    script: str


def render(
    answer: Answer,
    snapshot: ClusterSnapshot,
    options: CycleOptions | None = None,
    origin: page_content.Origin | None = None,
    updates: Sequence[DrawnUpdate] = (),
) -> str:
    """Return the page; *options* are those of the cycle that *answer* came from, *origin* is shown at the top, *updates* below it."""
    return drawn(page_content.content(answer, snapshot, options or CycleOptions(), origin, updates), parts())


def drawn(content: page_content.Content, made_with: Parts) -> str:
    """Return *content* as HTML, with a Content-Security-Policy that forbids a browser to load anything else."""
    style = f"{made_with.style}{content.chart.heat.style}"
    policy = [
        "default-src 'none'",
        f"style-src {_digest(style)}",
        f"script-src {_digest(made_with.script)}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ]
    return made_with.template.render(page=content, style=style, script=made_with.script, policy="; ".join(policy))


@functools.cache
def parts() -> Parts:
    """Return the template, the stylesheet and the script, read once."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable_text,
    )
    environment.filters["in_words"] = shape_words
    read = [(_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")]
    return Parts(environment.get_template("page.html"), *read)


def _printable_text(value: object) -> object:
    """Return text from manifests without control and direction characters."""
    return printable(value) if type(value) is str else value


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
