"""Roots of a page: a card for each that is not placed, lines for placed ones, and victims by root."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence

from muster.html.failure_text import KINDS, Picture
from muster.html.root_index import LABELS, result_of
from muster.html.sentences import AWAITS, CountedSentence, bare_names, counted_sentence, mark, some
from muster.render.phrases import nodes, per_node
from muster.render.tree_rows import PARTLY, Kinship, TreeRow, rows
from scheduler_core.causes.cause import Cause
from scheduler_core.model.decision import Decision, GroupCondition, Step
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.status import Status
from scheduler_core.wording import decision_words
from scheduler_core.wording.changes import limit_text, remedy_text
from scheduler_core.wording.conditions import conditions
from scheduler_core.wording.constraints import constraint_text
from scheduler_core.wording.stated_causes import Statements, reasons_left, without_stated
from scheduler_core.wording.titles import domain_text
from validators.reports.counts import counted

LONGEST = 110
"""Width of a list of nodes, in columns."""
REASONS, ALONE = 6, 4
"""Limits of reasons of a group, and of single pods without a group."""
_COUNTED = (Status.UNSCHEDULABLE, Status.UNRESOLVABLE)

Locate = Callable[[Domain, Sequence[str]], int | None]
"""Function that returns the area of a domain on the map, given nodes in it; None if it is not drawn."""


@dataclasses.dataclass(frozen=True, slots=True)
class CardLine:
    """A group of a tree.

    Attributes:
        depth: 0 for the root.
        group: its kind, namespace and name.
        parent: the name of the group above it; empty for the root.
        mark: the sign of its status.
        word: its status.
        domain: its domain; empty without a constraint, or if not placed.
        area: the number of its area on the map; None if it is not drawn.
        count: number of placed pods, and of all.
        nodes: nodes of its own pods, shortened.
        promised: nominated nodes, shortened.
        when: when the pods get them.
        why: reasons for its pending pods, unless they are those of the root.

    """

    depth: int
    group: Name
    parent: str
    mark: str
    word: str
    domain: str
    area: int | None
    count: str
    nodes: str
    promised: str
    when: str
    why: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Remedy:
    """Remedy in words, its steps (with the lines of the object, if any), and the result."""

    change: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    then: str


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    """A root that is not placed, with all reasons."""

    root: Name
    mark: str
    word: str
    label: str
    """Result in words; *word* is the status of the framework."""
    count: str
    headline: str
    figures: tuple[Picture, ...]
    kinds: tuple[str, ...]
    sentences: tuple[CountedSentence, ...]
    conflict: tuple[str, ...]
    leaving: tuple[str, ...]
    plan: str
    then: str
    lines: tuple[CardLine, ...]
    remedies: tuple[Remedy, ...]
    remedies_note: str
    conditions: tuple[tuple[Name, GroupCondition], ...]
    reasons: tuple[tuple[str, str], ...]
    has_scheduler_messages: bool
    """True if the reasons and conditions are those of kube-scheduler."""
    search: str


def lines(decision: Decision, kinship: Kinship, locate: Locate) -> list[CardLine]:
    """Return a line for each group of the root, the root first."""
    statements = Statements(decision)
    return [_line(row, decision, statements, locate) for row in rows(decision, kinship)]


def _line(row: TreeRow, decision: Decision, statements: Statements, locate: Locate) -> CardLine:
    group_decision, domain = row.decision, row.decision.domain
    count = "" if group_decision.group.kind == "Pod" and row.total <= 1 else f"{row.placed:,} of {counted(row.total, 'pod')}"
    own = without_stated(decision_words.own_causes(group_decision), statements.above(row.above))
    why = [decision_words.causes_words(own)] if group_decision.status is not Status.SUCCESS and row.above and own else []
    if decision.status is Status.SUCCESS:
        by_number = reasons_left(row.pending, statements.of_group(group_decision) if why else frozenset())
        why += [f"{some(bare_names(keys))}: {reason}" for reason, keys in by_number[:REASONS]]
    return CardLine(
        depth=len(row.above),
        group=group_decision.group,
        parent=row.above[-1].group.name if row.above else "",
        mark=AWAITS if row.awaits else PARTLY if row.is_partly_placed else mark(group_decision.status),
        word=group_decision.status.value,
        domain=domain_text(domain) if domain else "",
        area=locate(domain, list(row.assigned.values()) or list(decision.assignments.values())) if domain else None,
        count=count,
        nodes=nodes(per_node(row.assigned), LONGEST) if row.assigned else "",
        promised=nodes(per_node(row.promised), LONGEST) if row.promised else "",
        when=row.when,
        why=tuple(why),
    )


def card(
    decision: Decision,
    kinship: Kinship,
    locate: Locate,
    *,
    headline: str = "",
    figures: Sequence[Picture] = (),
    causes: Sequence[Cause] | None = None,
    searched: bool = False,
) -> Card:
    """Return the card of a root that is not placed.

    *causes* are those that *figures* do not show, all if None; *searched*: with the result of the search.
    """
    group_lines = lines(decision, kinship, locate)
    placed, total = len(decision.assignments), len(decision.assignments) + len(decision.pending)
    message = decision_words.message(decision)
    parts = (
        [*map(counted_sentence, decision_words.sentences(decision.causes if causes is None else causes))]
        if decision.status in _COUNTED
        else [CountedSentence(message)]
    )
    return Card(
        root=decision.root,
        mark=AWAITS if decision.victims else mark(decision.status),
        word=decision.status.value,
        label=_label(decision),
        count=f"{placed:,} of {counted(total, 'pod')} placed",
        headline=headline,
        figures=tuple(figures),
        kinds=tuple(kind for kind in KINDS if any(kind in figure.kinds for figure in figures)),
        sentences=tuple(each for each in parts if each.lead),
        conflict=tuple(map(constraint_text, decision.conflict)),
        leaving=tuple(leaving(decision, kinship)),
        plan=_plan(decision),
        then=nodes(per_node(decision.nominations), LONGEST) if decision.nominations else "",
        lines=tuple(group_lines if len(group_lines) > 1 else ()),
        remedies=tuple(_remedies(decision)),
        remedies_note=limit_text(decision.remedies_note),
        conditions=tuple((each.group, condition) for each in decision.groups for condition in conditions(decision, each)),
        reasons=tuple((some(bare_names(keys)), reason) for reason, keys in decision_words.most_frequent(decision.pending.items())),
        has_scheduler_messages=decision.status in _COUNTED,
        search=_searched(decision) if searched else "",
    )


def _label(decision: Decision) -> str:
    if not (number := len(decision.victims)):
        return LABELS[result_of(decision)]
    return f"placed after {counted(number, 'pod')} {'is' if number == 1 else 'are'} evicted"


def _searched(decision: Decision) -> str:
    search = decision.search
    return f"strategy {search.strategy}: {search.outcome}, {counted(search.explored, 'step')}"


def _plan(decision: Decision) -> str:
    """Return the quality of the choice of victims, in words."""
    if (plan := decision.preemption) is None:
        return ""
    text = f"{counted(plan.units, 'preemption unit')}: "
    text += f"{counted(plan.gap, 'unit')} fewer might be enough" if plan.gap else "it is proved that fewer are not enough"
    return text + (f"; {counted(plan.violating, 'pod')} that a PodDisruptionBudget protects" if plan.violating else "")


def leaving(decision: Decision, kinship: Kinship) -> Iterator[str]:
    """Return the victims of a root by group; pods without a group separately, or together if they are many."""
    by_leaf: dict[Name, list[str]] = {}
    for pod in sorted(decision.victims):
        leaf = kinship.leaf(pod)
        by_leaf.setdefault(leaf if leaf.kind != "Pod" else Name("Pod", leaf.namespace, ""), []).append(pod)
    for leaf, keys in sorted(by_leaf.items(), key=lambda each: (each[0].namespace, each[0].name, each[0].kind)):
        if leaf.kind != "Pod":
            yield f"{leaf.kind} {leaf.namespace}/{leaf.name}: {some(bare_names(keys))}"
        elif len(keys) > ALONE:
            yield f"{counted(len(keys), 'pod')} without a group in {leaf.namespace}: {some(bare_names(keys))}"
        else:
            yield from (f"Pod {key}" for key in keys)


def _remedies(decision: Decision) -> Iterator[Remedy]:
    for remedy in decision.remedies:
        yield Remedy(remedy_text(remedy), tuple(map(_step, remedy.steps)), remedy.then.value)


def _step(step: Step) -> tuple[str, tuple[str, ...]]:
    """Return the action and its object, with the lines of JSON to apply."""
    verb, target = ("apply", step.apply) if step.apply is not None else ("delete", step.delete or {})
    named = target.get("metadata", {}) if step.apply is not None else target
    name = "/".join(str(named[part]) for part in ("namespace", "name") if named.get(part))
    content = json.dumps(target, ensure_ascii=False, indent=2).splitlines() if step.apply is not None else ()
    return f"{verb} {target.get('kind', 'object')} {name}", tuple(content)
