"""Names of objects and of domains in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kubeapi.nodes import Taint
from scheduler_core.model.names import Domain, Name
from scheduler_core.wording.nouns import SHOWN, level, listed, preposition

Shown = Callable[[Name], str]
"""Function that turns the name of an object into text."""


def titled(name: Name) -> str:
    """Return the kind, namespace and name of an object: ``PodGroup default/a``."""
    return f"{name.kind} {name.namespace}/{name.name}"


def short_title(name: Name) -> str:
    """Return the kind and name of an object, with its namespace if that is not the default one."""
    return f"{name.kind} {name.name}" if name.namespace in {"default", ""} else titled(name)


def label(name: Name) -> str:
    """Return the name of an object of any kind: ``Kind name`` or ``Kind namespace/name``; only the kind of one without a name."""
    return f"{name.kind} {'/'.join(each for each in (name.namespace, name.name) if each)}".rstrip()


def titles(names: Iterable[Name], shown: Shown, most: int = SHOWN) -> str:
    """Return a list of objects, of which *most* are named."""
    return listed([shown(name) for name in names], most)


def domain_text(domain: Domain) -> str:
    """Return the name of a domain: ``rack r1``, ``rack-1`` (whose value begins with the noun), ``the cluster``."""
    if domain.value and not domain.key:
        return domain.value
    if not domain.value:
        return f"the {level(domain.key)} without a name" if domain.key else "the cluster"
    noun = level(domain.key)
    return domain.value if has_noun(domain.value, noun) else f"{noun} {domain.value}"


def has_noun(value: str, noun: str) -> bool:
    """Return whether the *value* of a domain begins with its *noun* as a word: ``rack-1`` and ``rack1`` do, ``rackless`` does not."""
    rest = value.removeprefix(noun)
    return not noun or (value.startswith(noun) and bool(rest) and not rest[0].isalpha())


def domain_place(domain: Domain) -> str:
    """Return a domain as a place: ``in rack r1``, ``on node n1``, ``in the cluster``."""
    return f"{preposition(domain.key)} {domain_text(domain)}"


def taint_text(taint: Taint) -> str:
    """Return a taint as kubectl writes it: ``key=value:effect``."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


def expression_text(key: str, operator: str, values: Sequence[str]) -> str:
    """Return an expression of a selector as kubectl writes it: ``app=web``, ``tier in (a, b)``, ``!app``; bounds as ``cores > 8``.

    An operator that does not exist is shown as it is: ``app Like (web)``.
    """
    listing = ", ".join(values[:SHOWN]) + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
    match operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "Gt" | "Lt":
            return f"{key} {'>' if operator == 'Gt' else '<'} {listing}"
        case "In" | "NotIn" if len(values) == 1:
            return f"{key}{'=' if operator == 'In' else '!='}{listing}"
        case "In" | "NotIn":
            return f"{key} {operator.lower()} ({listing})"
    return f"{key} {operator} ({listing})"
