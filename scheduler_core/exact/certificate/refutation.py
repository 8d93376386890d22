"""Search for a proof that a root has no placement, in the terms of ``certificate``.

A state is refuted by an earlier proof, by a ``room`` claim, or by a case distinction over one of its groups.  Each proof refutes only the
groups that it needs.  If the proof of one case does not use its decision, it refutes the whole state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi.base_structs import Record, replaced
from scheduler_core.exact.certificate.facts import Facts, largest_sum
from scheduler_core.exact.step_budget import StepBudget

LARGEST = 20_000
"""Number of claims in a proof: one or two megabytes."""
LARGEST_NEED = 200_000
"""Largest need that a ``room`` claim compares."""
_COMPARED_STATES = 200
"""Number of refuted states that are compared, the latest first."""
_MOST_WAYS = 5_000
"""Number of quorums of one group."""
_STATE_STEPS = 10
"""Steps for a state, in addition to one for each of its groups."""
_DEEPEST = 100
"""Number of nested case distinctions."""
Proof = dict[str, Any]
State = dict[int, int]
"""Node set of each group, both by number."""


class TooLongError(Exception):
    """The proof would be too long."""


class UnprovenError(Exception):
    """No proof in the terms of a certificate exists."""


class _Claim(Record, frozen=True):
    """Claim that some groups need more than is free.

    Attributes:
        node_set: number of the node set.
        number: number of the measure.
        key: topology key, if each group gets one domain of it; empty if pods fill nodes.
        size: divisor of needs and capacities, as in a certificate.

    """

    node_set: int
    number: int
    key: str = ""
    size: int = 1


class Refutation:
    """Search for one proof."""

    def __init__(self, facts: Facts, budget: StepBudget) -> None:
        self._facts = facts
        self._budget = budget
        self._length = self._depth = 0
        self._proved: list[State] = []
        self._used: set[int] = set()

    def proof(self) -> Proof:
        """Return a proof that the root has no placement.

        Raises:
            TooLongError: the proof would be longer than ``LARGEST``.
            UnprovenError: no proof exists.
            StepsSpentError: the budget is spent.

        """
        if self._facts.groups[0].missing <= 0:
            raise UnprovenError
        proof, _ = self._refute({0: 0})
        _delete_unused_numbers(proof, self._used)
        return proof

    def _refute(self, state: State) -> tuple[Proof, State]:
        """Return a proof for *state*, and the part of *state* that it refutes."""
        self._budget.step(_STATE_STEPS + len(state))
        self._length += 1
        if self._length > LARGEST or self._depth > _DEEPEST:
            raise TooLongError
        if (number := self._known(state)) is not None:
            self._used.add(number)
            return {"rule": "known", "number": number}, {group: state[group] for group in self._proved[number]}
        claim = self._room_claim(state) or self._room_claim_by_domain(state)
        proof, part = claim or self._case_distinction(state)
        if "number" not in proof:
            proof["number"] = len(self._proved)
            self._proved.append(part)
        return proof, part

    def _known(self, state: State) -> int | None:
        inside = self._facts.node_sets.inside
        for number in range(len(self._proved) - 1, max(-1, len(self._proved) - _COMPARED_STATES), -1):
            refuted = self._proved[number]
            if refuted.keys() <= state.keys() and all(inside(state[group], node_set) for group, node_set in refuted.items()):
                return number
        return None

    def _room_claim(self, state: State) -> tuple[Proof, State] | None:
        """Return a ``room`` claim without a key: pods need more than the nodes of some set hold."""
        facts = self._facts
        for node_set in sorted(set(state.values())):
            inside = [group for group, own in state.items() if facts.node_sets.inside(own, node_set)]
            shapes = facts.shapes(inside)
            for number, free in enumerate(facts.free_in(node_set, shapes)):
                needed = sum(facts.least(group)[number] for group in inside)
                # Subset sums can be less than the sum of the free amounts, if there are several shapes.
                if needed > free or (len(shapes) > 1 and needed):
                    claim = _Claim(node_set, number)
                    if self._holds(claim, state, inside):
                        return self._claim_for_fewest(claim, state, inside)
        return None

    def _room_claim_by_domain(self, state: State) -> tuple[Proof, State] | None:
        """Return a ``room`` claim with a key: groups need more than the domains of some set hold."""
        facts = self._facts
        for node_set, key in sorted({(node_set, facts.groups[group].key) for group, node_set in state.items() if facts.groups[group].key}):
            if set(facts.node_sets.domains_of(node_set, key).values()) == {node_set}:
                continue
            inside = [group for group, own in state.items() if facts.node_sets.inside(own, node_set)]
            for number in range(len(facts.measures)):
                needs = {facts.least(group)[number] for group in self._counted(_Claim(node_set, number, key), state, inside)}
                for size in sorted({1, *needs} - {0}):
                    claim = _Claim(node_set, number, key, size)
                    if self._holds(claim, state, inside):
                        return self._claim_for_fewest(claim, state, inside)
        return None

    def _claim_for_fewest(self, claim: _Claim, state: State, inside: list[int]) -> tuple[Proof, State]:
        """Return the proof by *claim* for as few groups of *inside* as possible (deletion filter)."""
        facts, counted = self._facts, self._counted(claim, state, inside)
        for group in sorted(inside, key=lambda group: (group in counted, facts.least(group)[claim.number], group)):
            fewer = [each for each in inside if each != group]
            if self._holds(claim, state, fewer):
                inside = fewer
        part = {group: state[group] for group in inside}
        exact = replaced(claim, node_set=facts.node_sets.union(part.values()))
        needed, free = self._compared(exact, part, part)
        rule = {"rule": "room", "key": claim.key, "size": claim.size, "measure": facts.written(facts.measures[claim.number])}
        return {**self._only(part), **rule, "needed": needed, "free": free}, part

    def _holds(self, claim: _Claim, state: State, inside: Iterable[int]) -> bool:
        needed, free = self._compared(claim, state, inside)
        return free < needed <= LARGEST_NEED

    def _counted(self, claim: _Claim, state: State, inside: Iterable[int]) -> list[int]:
        """Return the groups of *inside* whose needs *claim* counts."""
        groups = self._facts.groups
        return [each for each in inside if not claim.key or (state[each] == claim.node_set and groups[each].key == claim.key)]

    def _compared(self, claim: _Claim, state: State, inside: Iterable[int]) -> tuple[int, int]:
        """Return the need of the groups, and how much of it can be filled."""
        facts, inside = self._facts, [*inside]
        counted = self._counted(claim, state, inside)
        needs = [facts.least(group)[claim.number] // claim.size for group in counted]
        needed, free, subset_sums = sum(needs), 0, 1
        if needed > LARGEST_NEED:
            return needed, needed
        if not claim.key:
            return needed, facts.packed(claim.node_set, inside, claim.number, needed=needed)
        for need in needs:
            subset_sums |= subset_sums << need
        others = [group for group in inside if group not in counted]
        for domain in facts.node_sets.domains_of(claim.node_set, claim.key).values():
            available = facts.free_in(domain, facts.shapes(inside))[claim.number]
            available -= sum(facts.least(group)[claim.number] for group in others if facts.node_sets.inside(state[group], domain))
            free += largest_sum(subset_sums, min(needed, max(0, available // claim.size)))
        return needed, free

    def _case_distinction(self, state: State) -> tuple[Proof, State]:
        """Return the case distinction over the group with the fewest ways."""
        if not (choices := list(self._groups_with_ways(state))):
            raise UnprovenError
        group, ways = min(choices, key=lambda each: (len(each[1]), each[0]))
        rest = {each: node_set for each, node_set in state.items() if each != group}
        proofs: Proof = {}
        part: State = {group: state[group]}
        self._depth += 1
        for way, decision in ways.items():
            proof, refuted = self._refute({**rest, **decision})
            if not decision.keys() & refuted.keys():
                # The proof does not use the decision about this group.
                self._depth -= 1
                return proof, refuted
            proofs[way] = proof
            part |= {each: state[each] for each in refuted if each in rest}
        self._depth -= 1
        return {**self._only(part), "rule": "ways", "group": self._facts.groups[group].name, "each": proofs}, part

    def _groups_with_ways(self, state: State) -> Iterator[tuple[int, Mapping[str, State]]]:
        """Yield each group that has ways to choose from, with the state of each way."""
        facts = self._facts
        for group, node_set in sorted(state.items()):
            each, domains = facts.groups[group], facts.domains(group, node_set)
            if set(domains.values()) != {node_set}:
                yield group, {value: {group: domain} for value, domain in domains.items()}
            elif not each.leaf or sum(count for _, count in each.waiting) < each.missing:
                by_name = sorted(each.children, key=lambda child: facts.groups[child].name)
                quorums = itertools.islice(itertools.combinations(by_name, each.missing), _MOST_WAYS + 1)
                ways = {" ".join(facts.groups[child].name for child in quorum): dict.fromkeys(quorum, node_set) for quorum in quorums}
                if len(ways) > _MOST_WAYS:
                    raise TooLongError
                yield group, ways

    def _only(self, part: State) -> Proof:
        return {"only": [self._facts.groups[group].name for group in sorted(part)]}


def _delete_unused_numbers(proof: Proof, used: set[int]) -> None:
    """Delete the numbers that no proof refers to."""
    stack = [proof]
    while stack:
        each = stack.pop()
        if each["rule"] != "known" and each["number"] not in used:
            del each["number"]
        stack += each.get("each", {}).values()
