"""Formats of the linter's report, for people and for tools.

Each module has a pure function ``render(report)``, which returns text with a line end at its end.

cluster_report  report on the objects of a cluster: findings by namespace and by the topmost owner of the object
counts          counts with their nouns, and the summary in words, the same in every report format
custom_resources  CustomResourceDefinitions of the kinds: schemas without references, names and columns
escape          escaping of text from manifests: untrusted text must not control a terminal, a table or a parser
explain         documentation of rules for people and tools: claim, reason, source and examples
field_docs      documentation of fields: description, default, limits, and whether a field can change; and JSON Schemas for editors
fingerprint     fingerprints of findings that stay when lines move, for code scanning services
github          report as workflow commands of GitHub Actions
gitlab          report as GitLab code quality: a list of issues, with fingerprints that stay when lines move
json_report     report as JSON, version 1, for scripts and CI
junit           report as JUnit XML: a test suite for each file, a test case for each object in it, and a failure for each error
markdown        report as a Markdown table for a comment on a pull request
sarif           report as SARIF 2.1.0, the format of code scanning services
text            report as text: findings by file, each with its line, and a summary
tree_report     hierarchy of Workloads, groups and pods in manifests, as text or JSON, with the findings at their objects and templates
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
    "gitlab": "gitlab",
    "markdown": "markdown",
}
"""The formats and their modules, which are imported on demand."""


def renderer(name: str) -> Callable[[Report], str]:
    """Return the ``render`` of the format *name*, one of ``MODULES``."""
    render: Callable[[Report], str] = importlib.import_module(f"{__name__}.{MODULES[name]}").render
    return render
