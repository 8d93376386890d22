"""Documentation of rules for people and tools: claim, reason, source and examples."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from kubeapi.versions import kubernetes_releases
from validators.model import controllers
from validators.reports.escape import json_text
from validators.rules.base import About, Example, Operation, Rule

_INDEX = re.compile(r"\[\d+\]")
_KIND = re.compile(r"^kind: *[\"']?(\w+)", re.MULTILINE)
WIDTH = 100
"""Columns of text where there is no terminal."""

_INTRODUCTION = """\
# Rules

Rules for Workloads, PodGroups, CompositePodGroups, and the Pods, Jobs, JobSets and priority classes around them.
`muster explain --format markdown` writes this page from the rules; `muster explain RULE` shows one rule.

Profile `upstream` has the rules of the API server; `kep`, the default, has all rules. Severities are those in files;
`--rule ID=error|warning|off` sets another one.

"""


def listing(rules: Iterable[Rule], columns: int | None = None) -> str:
    """Return one line for each rule: id, severity, profile, claim; folded at *columns* if they are given."""
    listed = list(rules)
    width = max((len(each.id) for each in listed), default=0)
    lines = (f"{each.id:<{width}}  {each.severity:<7}  {each.profile:<8}  {_plain(each.claim)}" for each in listed)
    return "".join(f"{line if columns is None else _folded(line, columns, hang='    ')}\n" for line in lines)


def text(rules: Iterable[Rule], columns: int = WIDTH) -> str:
    """Return the full text of each rule, in lines of *columns*; manifests are not folded."""
    return "\n".join("\n".join(_paragraphs(each, columns)) + "\n" for each in rules)


def as_json(rules: Iterable[Rule]) -> str:
    """Return a JSON document with ``version`` and ``rules``."""
    return json_text({"version": 1, "rules": [_as_json(each) for each in rules]}, indent=2)


def markdown(rules: Sequence[Rule], *, introduction: str = "") -> str:
    """Return the rules as a Markdown page, with a table of contents if there are several."""
    page = introduction
    if len(rules) > 1:
        rows = (
            f"| [{each.id}](#{each.id}) | {each.severity} | {each.profile} | {each.claim.replace('|', chr(92) + '|')} |\n" for each in rules
        )
        page += f"| rule | severity | profile | claim |\n|---|---|---|---|\n{''.join(rows)}\n"
    return page + "\n".join(_section(each) for each in rules)


def documentation(rules: Sequence[Rule]) -> str:
    """Return the page of all rules: ``validators/rules/README.md``."""
    return markdown(rules, introduction=_INTRODUCTION)


def about_kind(rules: Iterable[Rule], kind: str) -> list[Rule]:
    """Return the rules about objects of *kind*, in any case of its letters."""
    return [each for each in rules if kind.lower() in {name.lower() for name in each.kinds}]


def about_field(rules: Iterable[Rule], wanted: str) -> list[Rule]:
    """Return the rules that report errors at a field or below it.

    *wanted* is a path without indices, as ``spec.disruptionMode``, or the end of one, optionally with a kind before it.  A
    rule matches if one of its bad examples has an error at such a field.
    """
    kind, _, rest = wanted.partition(".")
    wanted = _INDEX.sub("", wanted)
    matches = [each for each in rules if any(_contains(path, wanted) for path, _ in example_fields(each))]
    if matches or not rest:
        return matches
    rest = _INDEX.sub("", rest)
    return [each for each in rules if any(_contains(path, rest) and of.lower() == kind.lower() for path, of in example_fields(each))]


def example_fields(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the field paths of the errors in bad examples, without indices, each with the kind of its example."""
    for example in rule.bad:
        kind = _KIND.search(example.yaml)
        for path in example.at:
            yield _INDEX.sub("", path), kind[1] if kind else ""


def _contains(path: str, wanted: str) -> bool:
    return f".{wanted}." in f".{path}."


def _folded(line: str, columns: int, lead: str = "", hang: str = "") -> str:
    return textwrap.fill(line, columns, initial_indent=lead, subsequent_indent=lead + hang, break_long_words=False, break_on_hyphens=False)


def _paragraphs(rule: Rule, columns: int) -> Iterator[str]:
    yield f"{rule.id}  ({rule.severity}, profile {rule.profile})"
    yield ""
    yield _folded(_plain(rule.claim), columns, "  ")
    yield ""
    yield _folded(f"Why: {_plain(rule.why)}", columns, "  ")
    yield _folded(f"Source: {_plain(rule.source)}", columns, "  ")
    yield _folded(f"About: {_kinds(rule)}", columns, "  ")
    for each in rule.versions():
        yield _folded(_plain(each), columns, "  ")
    for example in rule.bad[:1]:
        yield f"\n{_folded(f'Bad{_reported_at(example)}{_circumstances(example)}:', columns, '  ')}\n"
        yield from _manifests(example)
    for example in rule.good[:1]:
        yield f"\n  Good{_circumstances(example)}:\n"
        yield from _manifests(example)


def _plain(markdown: str) -> str:
    """Return *markdown* without the backticks of code."""
    return markdown.replace("`", "")


def _manifests(example: Example) -> Iterator[str]:
    if example.old:
        yield "    # before"
        yield textwrap.indent(example.old.rstrip(), "    ")
        yield "    # after"
    yield textwrap.indent(example.yaml.rstrip(), "    ")


def _section(rule: Rule) -> str:
    lines = [f"## {rule.id}", "", rule.claim, "", rule.why, ""]
    lines += [f"Severity {rule.severity}, profile {rule.profile}. About: {_kinds(rule)}. Source: {rule.source}.", ""]
    if versions := rule.versions():
        lines += [" ".join(versions), ""]
    for word, examples in (("Bad", rule.bad), ("Good", rule.good)):
        for example in examples[:1]:
            lines += [f"{word}{_reported_at(example)}{_circumstances(example)}:", "", "```yaml"]
            if example.old:
                lines += ["# before", example.old.rstrip(), "# after"]
            lines += [example.yaml.rstrip(), "```", ""]
    return "\n".join(lines)


def _reported_at(example: Example) -> str:
    fields = ", ".join(path or "the file" for path in example.at)
    return f", reported at {fields}" if example.at else ""


def _circumstances(example: Example) -> str:
    """Return the settings of an example that are not the default: version, gates that are off."""
    settings = [f"Kubernetes {example.kubernetes}"] if example.kubernetes != kubernetes_releases.name(kubernetes_releases.TODAY) else []
    if example.gates_off:
        settings.append(f"off: {', '.join(example.gates_off)}")
    return f" ({'; '.join(settings)})" if settings else ""


def _kinds(rule: Rule) -> str:
    if rule.about is About.FILE:
        return "files"
    change = ", when it is changed" if rule.on == {Operation.UPDATE} else ""
    kinds = rule.kinds - controllers.KINDS
    return f"{', '.join(sorted(kinds))}{', other kinds with pod templates' if kinds != rule.kinds else ''}{change}"


def _as_json(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "severity": rule.severity.value,
        "profile": rule.profile.value,
        "about": rule.about.value,
        "kinds": sorted(rule.kinds),
        "on": sorted(each.value for each in rule.on),
        "claim": rule.claim,
        "why": rule.why,
        "source": rule.source,
        "versions": rule.versions(),
        "bad": [_example(each) for each in rule.bad],
        "good": [_example(each) for each in rule.good],
    }


def _example(example: Example) -> dict[str, object]:
    return {
        "yaml": example.yaml,
        "old": example.old or None,
        "at": list(example.at),
        "kubernetes": example.kubernetes,
        "gatesOff": list(example.gates_off),
    }
