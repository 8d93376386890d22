"""Wording of device selectors: ``memory >= 80Gi``, ``no rdma``, ``model starting with GPU-``."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence

from scheduler_core.model.device_comparisons import ComparedPart, Comparison, DeviceComparison, LiteralKind, OtherSelector, SelectorPart

_VALUES = 3
"""Maximum number of values of a list."""
_PLAIN = re.compile(r"(?=.*[^\W_])[\w./+-]*[\w+-]")
"""Texts that are one word; others could be taken for several words, a sign or the end of a sentence."""
_OF_OTHER_TYPE = re.compile(r"[+-]?\.?\d+(\.\d*)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?|\d+(\.\d+){2}([+-].*)?|true|false|null")
"""Texts that could be taken for a number, a quantity, a version or a boolean."""
_WORDS = frozenset(
    {
        "and",
        "or",
        "not",
        "no",
        "in",
        "with",
        "present",
        "more",
        "starting",
        "ending",
        "matching",
        "containing",
        "attribute",
        "capacity",
        "for",
    }
)
"""Words of phrases, and of the clauses around them."""
_VERBS = {
    Comparison.MATCHES: "matching",
    Comparison.STARTS_WITH: "starting with",
    Comparison.ENDS_WITH: "ending with",
    Comparison.CONTAINS: "containing",
}


def selector_phrases(parts: Sequence[SelectorPart]) -> list[str] | None:
    """Return *parts* as phrases, with domains if they are of several or if a name has several meanings; None if one is not a comparison."""
    compared = [each for each in parts if not isinstance(each, OtherSelector)]
    if len(compared) < len(parts):
        return None
    several = len({each.domain_name for each in compared if each.part is not ComparedPart.FIELD}) > 1
    domains, kinds = defaultdict[str, set[str]](set), defaultdict[str, set[ComparedPart]](set)
    for each in compared:
        domains[each.name].add(each.domain_name)
        kinds[each.name].add(each.part)
    return [_phrase(each, _name(each, kinds[each.name], with_domain=several or len(domains[each.name]) > 1)) for each in compared]


def _name(compared: DeviceComparison, kinds: set[ComparedPart], *, with_domain: bool) -> str:
    """Return the name of the compared part; *kinds* are those of all parts with this name."""
    if compared.part is ComparedPart.FIELD:
        return compared.name
    name = _quoted(f"{compared.domain_name}/{compared.name}" if with_domain else compared.name)
    return f"{compared.part} {name}" if kinds >= {ComparedPart.ATTRIBUTE, ComparedPart.CAPACITY} else name


def _phrase(compared: DeviceComparison, name: str) -> str:
    values = [_quoted(each.text, each.type) for each in compared.literals]
    no = "not " if compared.negated else ""
    match compared.comparison:
        case Comparison.TRUE:
            return f"no {name}" if compared.negated else name
        case Comparison.PRESENT:
            return f"{name} {no}present"
        case Comparison.IN:
            more = f" and {len(values) - _VALUES} more" if len(values) > _VALUES else ""
            return f"{name} {no}in [{', '.join(values[:_VALUES])}{more}]"
    return f"{name} {no}{_VERBS.get(compared.comparison, compared.comparison)} {values[0]}"


def _quoted(text: str, kind: LiteralKind = LiteralKind.TEXT) -> str:
    """Return *text*, in double quotes and escaped unless it is a plain word that cannot be taken for something else."""
    other = kind is LiteralKind.TEXT and (text in _WORDS or _OF_OTHER_TYPE.fullmatch(text))
    if not other and text.isprintable() and _PLAIN.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
