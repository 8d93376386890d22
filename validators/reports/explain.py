"""Rules told to a person or a tool: what each claims, why, where it comes from, and examples."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from validators.rules.base import About, Example, Operation, Rule
from validators.versions import releases

_INDEX = re.compile(r"\[\d+\]")
_KIND = re.compile(r"^kind: *[\"']?(\w+)", re.MULTILINE)
_WIDTH = 100

_INTRODUCTION = """\
# Rules

What Muster holds against Workloads, PodGroups, CompositePodGroups, and the Pods, Jobs and priority classes around them.
This page is written by `muster explain --format markdown`, from the rules themselves; `muster explain RULE` tells one.

Profile `upstream` has what the API server itself refuses; `kep`, the default, has all of these. A severity is that of
files; `--rule ID=error|warning|off` sets another.

"""


def listing(rules: Iterable[Rule]) -> str:
    """One line a rule: id, severity, profile, claim."""
    chosen = list(rules)
    width = max((len(each.id) for each in chosen), default=0)
    return "".join(f"{each.id:<{width}}  {each.severity:<7}  {each.profile:<8}  {each.claim}\n" for each in chosen)


def text(rules: Iterable[Rule]) -> str:
    """Each rule in full."""
    return "\n".join("\n".join(_paragraphs(each)) + "\n" for each in rules)


def as_json(rules: Iterable[Rule]) -> str:
    """A JSON document: ``version`` and the ``rules``."""
    return json.dumps({"version": 1, "rules": [_as_json(each) for each in rules]}, ensure_ascii=False, indent=2) + "\n"


def markdown(rules: Sequence[Rule], *, introduction: str = "") -> str:
    """The rules as a page, with a table of contents where there are several."""
    told = introduction
    if len(rules) > 1:
        rows = (
            f"| [{each.id}](#{each.id}) | {each.severity} | {each.profile} | {each.claim.replace('|', chr(92) + '|')} |\n" for each in rules
        )
        told += f"| rule | severity | profile | claim |\n|---|---|---|---|\n{''.join(rows)}\n"
    return told + "\n".join(_section(each) for each in rules)


def documentation(rules: Sequence[Rule]) -> str:
    """The page about all rules: ``validators/rules/README.md``."""
    return markdown(rules, introduction=_INTRODUCTION)


def about_field(rules: Iterable[Rule], wanted: str) -> list[Rule]:
    """The rules that tell of a field, or of what is below it.

    *wanted* is a path without indices, as in ``spec.disruptionMode``, or the end of one; a kind may stand before it.
    A rule counts where one of its bad examples is told at such a field.
    """
    kind, _, rest = wanted.partition(".")
    wanted = _INDEX.sub("", wanted)
    found = [each for each in rules if any(_speaks_of(place, wanted) for place, _ in places(each))]
    if found or not rest:
        return found
    rest = _INDEX.sub("", rest)
    return [each for each in rules if any(_speaks_of(place, rest) and of.lower() == kind.lower() for place, of in places(each))]


def places(rule: Rule) -> Iterator[tuple[str, str]]:
    """The field paths, without indices, at which bad examples are told, and the kinds that these are of."""
    for example in rule.bad:
        kind = _KIND.search(example.yaml)
        for place in example.at:
            yield _INDEX.sub("", place), kind[1] if kind else ""


def _speaks_of(place: str, wanted: str) -> bool:
    return f".{wanted}." in f".{place}."


def _paragraphs(rule: Rule) -> Iterator[str]:
    yield f"{rule.id}  ({rule.severity}, profile {rule.profile})"
    yield ""
    yield textwrap.fill(rule.claim, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield textwrap.fill(f"Why: {rule.why}", _WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield textwrap.fill(f"Source: {rule.source}", _WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield textwrap.fill(f"About: {_kinds(rule)}", _WIDTH, initial_indent="  ", subsequent_indent="  ")
    for example in rule.bad[:1]:
        yield f"\n  Bad{_told_at(example)}{_circumstances(example)}:\n"
        yield from _manifests(example)
    for example in rule.good[:1]:
        yield f"\n  Good{_circumstances(example)}:\n"
        yield from _manifests(example)


def _manifests(example: Example) -> Iterator[str]:
    if example.old:
        yield "    # before"
        yield textwrap.indent(example.old.rstrip(), "    ")
        yield "    # after"
    yield textwrap.indent(example.yaml.rstrip(), "    ")


def _section(rule: Rule) -> str:
    lines = [f"## {rule.id}", "", rule.claim, "", rule.why, ""]
    lines += [f"Severity {rule.severity}, profile {rule.profile}. About: {_kinds(rule)}. Source: {rule.source}.", ""]
    for word, examples in (("Bad", rule.bad), ("Good", rule.good)):
        for example in examples[:1]:
            lines += [f"{word}{_told_at(example)}{_circumstances(example)}:", "", "```yaml"]
            if example.old:
                lines += ["# before", example.old.rstrip(), "# after"]
            lines += [example.yaml.rstrip(), "```", ""]
    return "\n".join(lines)


def _told_at(example: Example) -> str:
    places_told = ", ".join(place or "the file" for place in example.at)
    return f", told at {places_told}" if example.at else ""


def _circumstances(example: Example) -> str:
    """What is not as usual: the version, gates that are off."""
    told = [f"Kubernetes {example.kubernetes}"] if example.kubernetes != releases.name(releases.TODAY) else []
    if example.gates_off:
        told.append(f"off: {', '.join(example.gates_off)}")
    return f" ({'; '.join(told)})" if told else ""


def _kinds(rule: Rule) -> str:
    if rule.about is About.FILE:
        return "files"
    change = ", when it is changed" if rule.on == {Operation.UPDATE} else ""
    return f"{', '.join(sorted(rule.kinds))}{change}"


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
