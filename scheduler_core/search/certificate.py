"""Writes down what refutes every placement of a root, so that it can be checked without the search.

A proof is about a state: groups that are open, each within a placement, and pods that are wanted, each within a placement.  It is
one of these, as JSON:

- ``{"rule": "sum", "within", "measure", "needed", "free"}``: what is wanted and open within a placement measures more than its nodes
  hold;
- ``{"rule": "crowded", "within", "key", "measure", "size", "needed", "free"}``: open groups within a placement that take one domain
  of a key each and need at least ``size``: all that they need is more than what is left in the domains that have so much;
- ``{"rule": "packing", "within"}``: the pods wanted around a placement cannot be packed, by every way to fill its nodes;
- ``{"rule": "place", "group", "domains"}``: an open group, refuted in each of its domains: ``{"rule": "like", "value"}`` refers to
  another domain that has the same room; ``{"rule": "pods", "each"}`` refutes every choice of a leaf's pods, ``{"rule": "quorum",
  "impossible", "each"}`` every quorum of children but those with an impossible one;
- ``{"rule": "again", "number"}``: the state is one that was refuted before, by the proof of that number.

A measure is a resource by name, or a pod that stands for all of its shape, of which a node holds so many.  A placement is the list of
the labels that all its nodes have.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from scheduler_core.nodes import Ints
from scheduler_core.placement.signature import Form
from scheduler_core.placement.site import Site
from scheduler_core.pods import PodShape
from scheduler_core.search.agenda import Agenda
from scheduler_core.search.budget import Budget
from scheduler_core.search.needs import lacking, leaves, satisfied, selections
from scheduler_core.search.tree import TreeSearch
from scheduler_core.topology import Placement

LARGEST = 20_000
"""Nodes of a proof: about a megabyte."""
Proof = dict[str, Any]


class TooLongError(Exception):
    """A proof would be too long."""


class ProvedError(Exception):
    """There is a placement after all."""


def certificate(site: Site, form: Form, steps: int) -> Proof:
    """The proof that *form* has no placement on *site* as it stands.

    Raises:
        TooLongError: it would be longer than ``LARGEST``.
        ProvedError: there is a placement.
        SpentError: *steps* do not suffice to find it.

    """
    return _Writer(site, form, Budget(steps)).proof()


@dataclasses.dataclass(frozen=True, slots=True)
class _Measure:
    name: str
    row: int
    shape: PodShape | None


class _Writer(TreeSearch):
    """The search once more, recording why each state has nothing."""

    def __init__(self, site: Site, form: Form, budget: Budget) -> None:
        super().__init__(site, form, budget)
        self._length = 0
        self._labels: dict[int, list[list[str]]] = {site.topology.root.serial: []}
        self._refuted_states: dict[object, int] = {}
        pods = {pod.shape.serial: pod for leaf in leaves(form) for pod in reversed(leaf.entity.waiting)}
        self._pod = {serial: pod.key for serial, pod in pods.items()}
        names = [site.nodes.resources[row] for row in self.capacity.rows]
        self._measures = [_Measure(name, row, None) for row, name in enumerate(names)]
        self._measures += [_Measure(self._pod[serial], -1, pods[serial].shape) for serial in sorted(pods)]

    def proof(self) -> Proof:
        """The proof for the root."""
        return self._refute(self._before(self._form, self._site.topology.root, None))

    def _refute(self, agenda: Agenda | None) -> Proof:
        if agenda is None:
            raise ProvedError
        self._longer()
        state = (agenda.number, tuple(form.entity.name for form, _ in agenda.tasks()), self._wanted_now())
        if (number := self._refuted_states.get(state)) is not None:
            return {"rule": "again", "number": number}
        found = self._at_once(agenda) or self._placed(agenda)
        number = self._refuted_states[state] = len(self._refuted_states)
        return {**found, "number": number}

    def _placed(self, agenda: Agenda) -> Proof:
        form, placement = agenda.form, agenda.placement
        domains: Proof = {}
        looks: dict[int, str] = {}
        choices = self._domains(form, placement)
        for domain in choices:
            self._budget.step()
            own = [[form.entity.key, domain.value]] if form.entity.key else []
            self._labels[domain.serial] = self._labels[placement.serial] + own
            look = self._likeness.look(domain, placement) if len(choices) > 1 else None
            if look in looks:
                self._longer()
                domains[domain.value] = {"rule": "like", "value": looks[look]}
                continue
            domains[domain.value if own else ""] = self._of_leaf(agenda, domain) if form.leaf else self._of_children(agenda, domain)
            if look is not None:
                looks[look] = domain.value
        return {"rule": "place", "group": form.entity.name.name, "domains": domains}

    def _of_leaf(self, agenda: Agenda, domain: Placement) -> Proof:
        each = []
        for counts in selections(agenda.form):
            self._wishes.add(domain, counts)
            pods = {self._pod[shape.serial]: count for shape, count in counts}
            each.append({"pods": pods, "then": self._after(agenda.rest, domain)})
            self._wishes.add(domain, counts, -1)
        return {"rule": "pods", "each": each}

    def _after(self, rest: Agenda | None, domain: Placement) -> Proof:
        self._longer()
        if self.capacity.fits(self._wishes.around(domain)):
            return self._refute(rest)
        return self._over(rest) or {"rule": "packing", "within": self._labels[domain.serial]}

    def _of_children(self, agenda: Agenda, domain: Placement) -> Proof:
        form = agenda.form
        missing = form.entity.minimum - sum(satisfied(child) for child in form.children)
        impossible: Proof = {}
        able = []
        for child in form.children:
            if not satisfied(child):
                if self._possible(child, domain):
                    able.append(child)
                else:
                    impossible[child.entity.name.name] = self._refute(self._before(child, domain, None))
        able.sort(key=lambda child: (lacking(child), child.number))
        seen: set[tuple[int, ...]] = set()
        each = []
        for quorum in itertools.combinations(able, missing):
            numbers = tuple(child.number for child in quorum)
            if numbers in seen:
                continue
            seen.add(numbers)
            rest = agenda.rest
            for child in sorted(quorum, key=lambda child: self._urgency(child, domain), reverse=True):
                rest = self._before(child, domain, rest)
            each.append({"children": [child.entity.name.name for child in quorum], "then": self._refute(rest)})
        return {"rule": "quorum", "impossible": impossible, "each": each}

    def _at_once(self, agenda: Agenda) -> Proof | None:
        return self._over(agenda) or self._crowding(agenda)

    def _over(self, agenda: Agenda | None) -> Proof | None:
        """A placement within which too much is wanted."""
        open_ = list(agenda.tasks()) if agenda else []
        for placement in {each.serial: each for each in (*self._wishes.placements(), *(place for _, place in open_))}.values():
            for measure in self._measures:
                needed = sum(self._wished(each, measure) for each in self._wishes.placements() if self._wishes.inside(each, placement))
                needed += sum(self._need(form, measure) for form, place in open_ if self._wishes.inside(place, placement))
                free = int(self._room(measure)[placement.nodes].sum())
                if needed > free:
                    within = self._labels[placement.serial]
                    return {"rule": "sum", "within": within, "measure": measure.name, "needed": needed, "free": free}
        return None

    def _crowding(self, agenda: Agenda) -> Proof | None:
        keyed: dict[tuple[int, str], tuple[Placement, list[Form]]] = {}
        for form, placement in agenda.tasks():
            if form.entity.key:
                keyed.setdefault((placement.serial, form.entity.key), (placement, []))[1].append(form)
        for (_, key), (placement, forms) in keyed.items():
            for measure in self._measures:
                if (found := self._crowded_by(forms, placement, key, measure)) is not None:
                    return {"rule": "crowded", "within": self._labels[placement.serial], "key": key, "measure": measure.name, **found}
        return None

    def _crowded_by(self, forms: list[Form], placement: Placement, key: str, measure: _Measure) -> Proof | None:
        rooms = [self._left_in(domain, measure) for domain in self._site.topology.divide(placement, key).domains]
        needs = [self._need(form, measure) for form in forms]
        for size in sorted(set(needs) - {0}):
            large, able = [need for need in needs if need >= size], [room for room in rooms if room >= size]
            if sum(large) > sum(able):
                return {"size": size, "needed": sum(large), "free": sum(able)}
            if len(large) > (most := sum(room // size for room in able)):
                return {"size": size, "groups": len(large), "most": most}
        return None

    def _left_in(self, domain: Placement, measure: _Measure) -> int:
        taken = sum(self._wished(each, measure) for each in self._wishes.placements() if self._wishes.inside(each, domain))
        return int(self._room(measure)[domain.nodes].sum()) - taken

    def _room(self, measure: _Measure) -> Ints:
        return self.capacity.free[measure.row] if measure.shape is None else self.capacity.everywhere(measure.shape)

    def _weight(self, shape: PodShape, measure: _Measure) -> int:
        return int(self.capacity.amounts(shape)[measure.row]) if measure.shape is None else int(shape is measure.shape)

    def _wished(self, placement: Placement, measure: _Measure) -> int:
        return sum(self._weight(shape, measure) * count for shape, count in self._wishes.of(placement))

    def _need(self, form: Form, measure: _Measure) -> int:
        """What *form* measures at least."""
        if satisfied(form):
            return 0
        if form.leaf:
            parts = [self._weight(run.shape, measure) for run in form.runs for _ in range(run.count)]
            return sum(sorted(parts)[: lacking(form)])
        missing = form.entity.minimum - sum(satisfied(child) for child in form.children)
        return sum(sorted(self._need(child, measure) for child in form.children if not satisfied(child))[:missing])

    def _wanted_now(self) -> frozenset[tuple[int, tuple[tuple[int, int], ...]]]:
        return frozenset((each.serial, self._wishes.key(each)) for each in self._wishes.placements())

    def _longer(self) -> None:
        self._length += 1
        if self._length > LARGEST:
            raise TooLongError
