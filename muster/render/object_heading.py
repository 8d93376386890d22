"""Heading of a page: which of the objects that a person wrote fit, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeapi.base_structs import replaced
from muster.render.answer import ALL_PLACED, Answer, Heading
from muster.render.object_results import MARKS, PLACED, Kind, ObjectResult, object_results
from muster.render.tree_rows import Kinship
from muster.render.verdict_words import VerdictWords, have_no_node
from scheduler_core.model.names import Name
from scheduler_core.wording.nouns import listed
from scheduler_core.wording.titles import short_title
from validators.reports.counts import counted
from validators.reports.escape import printable

REASONS, NAMED = 3, 4
"""Limits of objects whose reasons are stated, and of further ones that are named."""
_PAIR = 2
_COLUMNS = 90
"""Width of a list of nodes."""


def answer_heading(answer: Answer, kinship: Kinship) -> Heading:
    """Return the heading about all objects of *answer*, which is one cycle."""
    results = object_results(answer, answer.origins, one_cycle=True)
    if not results:
        head = "Nothing could be decided" if answer.problems else "There are no pending pods"
        return Heading(MARKS[Kind.FITS if answer.exit_status == ALL_PLACED else Kind.DOES_NOT_FIT], head)
    made = object_heading(results, VerdictWords(answer, answer.origins, kinship, shown=short_title, of_person=True))
    incomplete = results[0].kind is Kind.FITS and answer.exit_status != ALL_PLACED
    return replaced(made, sign=MARKS[Kind.NOTHING]) if incomplete else made


def object_heading(
    results: Sequence[ObjectResult], words: VerdictWords, stated: Mapping[Name, str] | None = None, evicted: Sequence[str] = ()
) -> Heading:
    """Return the heading about *results*, of which there is at least one, the worst first.

    *stated* has what the answer of *words* does not have about objects; *evicted* are victims that it does not have.
    """
    victims = words.victims()
    after = f" after evicting {counted(len(victims or evicted), 'pod')}" if victims or evicted else ""
    first = results[0]
    details = [*_failing(results, words, stated or {})] if first.kind not in PLACED else [_placed(results, words, stated or {}, evicted)]
    head = _of_one(first, after) if len(results) == 1 else _of_all(results, after)
    stop = "." if len(results) > 1 and first.kind not in PLACED else ":"
    return Heading(MARKS[first.kind], printable(head), tuple(map(printable, filter(None, details))), stop)


def _of_one(result: ObjectResult, after: str) -> str:
    ends = {Kind.FITS: "fits", Kind.AFTER_EVICTION: f"fits{after}", Kind.UNDECIDED: "is undecided"}
    return f"{short_title(result.name)} {ends.get(result.kind, 'does not fit')}"


def _of_all(results: Sequence[ObjectResult], after: str) -> str:
    noun, number = _noun(results), sum(each.kind in PLACED for each in results)
    evicting = sum(each.kind is Kind.AFTER_EVICTION for each in results)
    if number == len(results):
        return f"{f'Both {noun}s' if number == _PAIR else f'All {counted(number, noun)}'} fit{after if evicting else ''}"
    return f"{number:,} of {counted(len(results), noun)} fit{f', {evicting:,} only{after}' if evicting else ''}"


def _noun(results: Sequence[ObjectResult]) -> str:
    """Return the noun for all objects: ``job``, ``JobSet``; ``object`` if they are of several kinds."""
    kinds = {each.name.kind for each in results}
    kind = next(iter(kinds)) if len(kinds) == 1 else "object"
    return kind if any(letter.isupper() for letter in kind[1:]) else kind.lower()


def _failing(results: Sequence[ObjectResult], words: VerdictWords, stated: Mapping[Name, str]) -> Iterator[str]:
    """Yield a sentence for each of the first objects that do not fit, and one for all others."""
    failing = [each for each in results if each.kind not in PLACED]
    for each in failing[:REASONS]:
        reason = words.reason_of(each, words.capacity) or stated.get(each.name, "")
        left = f" ({have_no_node(each)})" if each.assigned and each.pending and not each.refused else ""
        if len(results) == 1:
            yield f"{reason}{left}"
        else:
            does = "is undecided" if each.kind is Kind.UNDECIDED else "does not"
            yield f"{_short(each.name, results)} {does}{f': {reason}{left}' if reason else ''}"
    if rest := failing[REASONS:]:
        names = listed([_short(each.name, results) for each in rest], NAMED)
        yield f"{names} {'does not' if len(rest) == 1 else 'do not'} either"


def _short(name: Name, results: Sequence[ObjectResult]) -> str:
    """Return the name of one of several objects, with its kind or namespace if these are not those of all."""
    if len({each.name.kind for each in results}) > 1:
        return short_title(name)
    return name.name if len({each.name.namespace for each in results}) == 1 else f"{name.namespace}/{name.name}"


def _placed(results: Sequence[ObjectResult], words: VerdictWords, stated: Mapping[Name, str], evicted: Sequence[str]) -> str:
    """Return which pods are evicted; or else where the pods are, or what is *stated* about the only object."""
    if results[0].kind is Kind.AFTER_EVICTION:
        return words.evicted() or f"during the update, {listed(evicted, NAMED)}"
    assigned = {pod: node for each in results for pod, node in each.assigned.items()}
    if len(results) > 1:
        return f"{counted(len(assigned), 'pod')} on {counted(len(set(assigned.values())), 'node')}"
    if results[0].name in stated:
        return stated[results[0].name]
    return words.places(results[0].decisions, assigned, _COLUMNS) if assigned else ""
