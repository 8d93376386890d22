"""Formats of the linter's report, for people and for tools.

Each module has a pure function ``render(report)``, which returns text with a line end at its end.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from validators.lint.finding import Report

MODULES = {
    "text": "text",
    "json": "json_report",
    "sarif": "sarif",
    "junit": "junit",
    "github": "github",
    "markdown": "markdown",
    "gitlab": "gitlab",
}
"""The formats and their modules, which are imported on demand."""


def renderer(name: str) -> Callable[[Report], str]:
    """Return the ``render`` of the format *name*, one of ``MODULES``."""
    render: Callable[[Report], str] = importlib.import_module(f"{__name__}.{MODULES[name]}").render
    return render
