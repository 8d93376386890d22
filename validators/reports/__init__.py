"""Reports: the linter's findings as text for a person, or in the format of a tool.

Each module has ``render(report)``, pure: a Report in, text out, which ends with a line end.
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
}
"""The formats and the modules that write them; a module is imported when it is asked for."""


def renderer(name: str) -> Callable[[Report], str]:
    """What renders the format *name*, which must be one of ``MODULES``."""
    found: Callable[[Report], str] = importlib.import_module(f"{__name__}.{MODULES[name]}").render
    return found
