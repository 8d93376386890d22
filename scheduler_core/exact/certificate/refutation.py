"""A proof that a root has no placement, sought in the terms of a certificate; ``certificate`` tells what these are.

A state is refuted by what was refuted before, by counting, or else in every way that one of its groups has.  What a refutation needs is
kept apart from what it does not: only so much of a state is refuted, and a branch ends with a way that it did not need to go.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduler_core.exact.certificate.facts import Facts, reached
from scheduler_core.exact.step_budget import StepBudget

LARGEST = 20_000
"""Parts of a proof: a megabyte or two."""
REACHED = 200_000
"""Numbers that are compared."""
_FAR = 200
"""States refuted before that are looked at, the last ones first."""
_WAYS = 5_000
"""Ways of one group."""
_EACH = 10
"""Steps that a state counts as, beside one for each of its groups."""
_DEEP = 100
"""States one inside the other."""
Proof = dict[str, Any]
State = dict[int, int]
"""The place of each group, both by number."""


class TooLongError(Exception):
    """A proof would be too long."""


class UnprovenError(Exception):
    """There is a placement, for all that a certificate may say."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Claim:
    """That some groups need more than is free.

    Attributes:
        place: within which.
        number: of the measure.
        key: each of them takes one domain of it; empty: it is counted what pods fill nodes with.
        size: as in a certificate.

    """

    place: int
    number: int
    key: str = ""
    size: int = 1


class Refutation:
    """One search for a proof."""

    def __init__(self, facts: Facts, budget: StepBudget) -> None:
        self._facts = facts
        self._budget = budget
        self._length = self._depth = 0
        self._proved: list[State] = []
        self._used: set[int] = set()

    def proof(self) -> Proof:
        """Of the root anywhere.

        Raises:
            TooLongError: it would be longer than ``LARGEST``.
            UnprovenError: there is none.
            StepsSpentError: the budget is spent.

        """
        if self._facts.groups[0].missing <= 0:
            raise UnprovenError
        found, _ = self._refute({0: 0})
        _without_numbers(found, self._used)
        return found

    def _refute(self, state: State) -> tuple[Proof, State]:
        """A proof for *state*, and the part of it that is refuted."""
        self._budget.step(_EACH + len(state))
        self._length += 1
        if self._length > LARGEST or self._depth > _DEEP:
            raise TooLongError
        if (number := self._known(state)) is not None:
            self._used.add(number)
            return {"rule": "known", "number": number}, {group: state[group] for group in self._proved[number]}
        found = self._counted(state) or self._crowded(state)
        proof, part = found or self._by_ways(state)
        if "number" not in proof:
            proof["number"] = len(self._proved)
            self._proved.append(part)
        return proof, part

    def _known(self, state: State) -> int | None:
        inside = self._facts.places.inside
        for number in range(len(self._proved) - 1, max(-1, len(self._proved) - _FAR), -1):
            before = self._proved[number]
            if before.keys() <= state.keys() and all(inside(state[group], wide) for group, wide in before.items()):
                return number
        return None

    def _counted(self, state: State) -> tuple[Proof, State] | None:
        """More is needed in some place than pods can fill there."""
        facts = self._facts
        for place in sorted(set(state.values())):
            inside = [group for group, where in state.items() if facts.places.inside(where, place)]
            shapes = facts.shapes(inside)
            for number, free in enumerate(facts.room(place, shapes)):
                needed = sum(facts.least(group)[number] for group in inside)
                # Where pods of several shapes come together, some of what is free is of use to none of them.
                if needed > free or (len(shapes) > 1 and needed):
                    claim = _Claim(place, number)
                    if self._holds(claim, state, inside):
                        return self._fewer(claim, state, inside)
        return None

    def _crowded(self, state: State) -> tuple[Proof, State] | None:
        """Groups that take one domain of a key each need more than can be had in all of these."""
        facts = self._facts
        for place, key in sorted({(place, facts.groups[group].key) for group, place in state.items() if facts.groups[group].key}):
            if set(facts.places.divided(place, key).values()) == {place}:
                continue
            inside = [group for group, where in state.items() if facts.places.inside(where, place)]
            for number in range(len(facts.measures)):
                needs = {facts.least(group)[number] for group in self._asking(_Claim(place, number, key), state, inside)}
                for size in sorted({1, *needs} - {0}):
                    claim = _Claim(place, number, key, size)
                    if self._holds(claim, state, inside):
                        return self._fewer(claim, state, inside)
        return None

    def _fewer(self, claim: _Claim, state: State, inside: list[int]) -> tuple[Proof, State]:
        """What *claim* says of *inside*, said of as few of these as it holds of as well."""
        facts, asking = self._facts, self._asking(claim, state, inside)
        for group in sorted(inside, key=lambda group: (group in asking, facts.least(group)[claim.number], group)):
            fewer = [each for each in inside if each != group]
            if self._holds(claim, state, fewer):
                inside = fewer
        part = {group: state[group] for group in inside}
        exact = dataclasses.replace(claim, place=facts.places.union(part.values()))
        needed, free = self._compared(exact, part, part)
        told = {"rule": "room", "key": claim.key, "size": claim.size, "measure": facts.written(facts.measures[claim.number])}
        return {**self._only(part), **told, "needed": needed, "free": free}, part

    def _holds(self, claim: _Claim, state: State, inside: Iterable[int]) -> bool:
        needed, free = self._compared(claim, state, inside)
        return free < needed <= REACHED

    def _asking(self, claim: _Claim, state: State, inside: Iterable[int]) -> list[int]:
        """The groups of *inside* whose needs are compared with what is free."""
        groups = self._facts.groups
        return [each for each in inside if not claim.key or (state[each] == claim.place and groups[each].key == claim.key)]

    def _compared(self, claim: _Claim, state: State, inside: Iterable[int]) -> tuple[int, int]:
        """What is needed, and what of it there is room for."""
        facts, inside = self._facts, [*inside]
        asking = self._asking(claim, state, inside)
        needs = [facts.least(group)[claim.number] // claim.size for group in asking]
        needed, free, sums = sum(needs), 0, 1
        if needed > REACHED:
            return needed, needed
        if not claim.key:
            return needed, facts.packed(claim.place, inside, claim.number, needed=needed)
        for need in needs:
            sums |= sums << need
        others = [group for group in inside if group not in asking]
        for domain in facts.places.divided(claim.place, claim.key).values():
            left = facts.room(domain, facts.shapes(inside))[claim.number]
            left -= sum(facts.least(group)[claim.number] for group in others if facts.places.inside(state[group], domain))
            free += reached(sums, min(needed, max(0, left // claim.size)))
        return needed, free

    def _by_ways(self, state: State) -> tuple[Proof, State]:
        """Every way of the group that has the fewest."""
        if not (choices := list(self._open(state))):
            raise UnprovenError
        group, ways = min(choices, key=lambda each: (len(each[1]), each[0]))
        rest = {each: place for each, place in state.items() if each != group}
        proofs: Proof = {}
        part: State = {group: state[group]}
        self._depth += 1
        for way, more in ways.items():
            proof, found = self._refute({**rest, **more})
            if not more.keys() & found.keys():
                # What is refuted has nothing to do with this group.
                self._depth -= 1
                return proof, found
            proofs[way] = proof
            part |= {each: state[each] for each in found if each in rest}
        self._depth -= 1
        return {**self._only(part), "rule": "ways", "group": self._facts.groups[group].name, "each": proofs}, part

    def _open(self, state: State) -> Iterator[tuple[int, Mapping[str, State]]]:
        """The ways of each group that has some to choose from."""
        facts = self._facts
        for group, place in sorted(state.items()):
            each, domains = facts.groups[group], facts.domains(group, place)
            if set(domains.values()) != {place}:
                yield group, {value: {group: where} for value, where in domains.items()}
            elif not each.leaf or sum(count for _, count in each.waiting) < each.missing:
                by_name = sorted(each.children, key=lambda child: facts.groups[child].name)
                quorums = itertools.islice(itertools.combinations(by_name, each.missing), _WAYS + 1)
                ways = {" ".join(facts.groups[child].name for child in quorum): dict.fromkeys(quorum, place) for quorum in quorums}
                if len(ways) > _WAYS:
                    raise TooLongError
                yield group, ways

    def _only(self, part: State) -> Proof:
        return {"only": [self._facts.groups[group].name for group in sorted(part)]}


def _without_numbers(proof: Proof, used: set[int]) -> None:
    """Numbers that are never referred to are left out."""
    stack = [proof]
    while stack:
        each = stack.pop()
        if each["rule"] != "known" and each["number"] not in used:
            del each["number"]
        stack += each.get("each", {}).values()
