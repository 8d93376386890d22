"""One root of a simulation as text: a line for each group, and below it volumes, reasons for pending pods, victims and remedies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeapi.base_structs import Record
from muster.render.phrases import LEAST, WIDTH, bare, fitting, folded, natural, nodes, per_node, pods
from muster.render.tree_rows import PARTLY, Kinship, TreeRow, rows
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from scheduler_core.wording import decision_words
from scheduler_core.wording.changes import limit_text, remedy_text
from scheduler_core.wording.conditions import scheduler_causes, scheduler_message
from scheduler_core.wording.constraints import constraint_text
from scheduler_core.wording.nouns import level
from scheduler_core.wording.stated_causes import StatedCauses, Statements, reasons_left, without_stated
from scheduler_core.wording.titles import domain_text
from validators.reports.counts import counted
from validators.reports.escape import printable

ROWS_SHOWN = 24
"""Limit of groups of a tree that are shown, unless all are requested."""
WIDEST = 56
"""Largest width of a cell, in columns, to which others are aligned; less on narrow lines."""
REASONS_SHOWN = 4
_GAP = "  "

_RED, _GREEN, _YELLOW = "31", "32", "33"
_COLOURS = {Status.SUCCESS: _GREEN, Status.WAIT: _YELLOW}
_MARKS = {Status.SUCCESS: "✓", Status.WAIT: "○"}


class Paint(Record, frozen=True):
    """Colours for terminals, or none."""

    colour: bool

    def paint_status(self, status: Status, text: str) -> str:
        """Return the text in the colour of a status."""
        return self._painted(text, _COLOURS.get(status, _RED))

    def paint_running(self, text: str) -> str:
        """Return the text in the colour of progress."""
        return self._painted(text, _YELLOW)

    def bold(self, text: str) -> str:
        """Return the text as a heading."""
        return self._painted(text, "1")

    def dim(self, text: str) -> str:
        """Return the text dimmed."""
        return self._painted(text, "2")

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


class Page(Record, frozen=True):
    """Style of a report."""

    kinship: Kinship
    paint: Paint
    every: bool = False
    """Nothing is omitted."""
    columns: int = WIDTH

    def folded(self, text: str, lead: str) -> list[str]:
        """Return *text* as folded lines, each after *lead*."""
        return folded(text, lead, columns=self.columns)

    def painted(self, status: Status, text: str) -> list[str]:
        """Return *text* as folded lines in the colour of a status."""
        return [self.paint.paint_status(status, each) for each in self.folded(text, "")]

    def mark(self, status: Status) -> str:
        """Return the sign of a status."""
        return _MARKS.get(status, "✗")


def root_lines(decision: Decision, page: Page) -> Iterator[str]:
    """Yield all lines about one root."""
    all_rows = rows(decision, page.kinship)
    shown = all_rows if page.every else all_rows[:ROWS_SHOWN]
    table = [_cells(row, is_root=row is all_rows[0]) for row in shown]
    widest = min(WIDEST, page.columns // 2 + 6)
    widths = [min(widest, max(len(cells[column]) for cells in table)) for column in range(len(table[0]))]
    statements = Statements(decision)
    for row, cells in zip(shown, table, strict=True):
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True) if width]
        yield from _group_line(row, padded, page)
        yield from _explanation(row, decision, statements, page)
    if len(shown) < len(all_rows):
        well = sum(row.decision.status is Status.SUCCESS for row in all_rows[len(shown) :])
        yield f"   … and {counted(len(all_rows) - len(shown), 'more group')}, {well:,} placed"
    yield from _remedy_lines(decision, "     ", page)


def _cells(row: TreeRow, *, is_root: bool) -> tuple[str, str, str]:
    """Return group, domain and number of pods."""
    group, domain = row.decision.group, row.decision.domain
    name = printable(f"{group.namespace}/{group.name}" if is_root else group.name)
    where = printable(domain_text(domain)) if domain else ""
    count = "" if group.kind == "Pod" else f"{row.placed:,}/{counted(row.total, 'pod')}"
    return f"{row.lead}{_mark(row)} {group.kind} {name}", where, count


def _mark(row: TreeRow) -> str:
    if row.awaits:
        return "→"
    return PARTLY if row.is_partly_placed else _MARKS.get(row.decision.status, "✗")


def _group_line(row: TreeRow, cells: Sequence[str], page: Page) -> Iterator[str]:
    """Yield the line of a group: the cells, then its nodes or its status."""
    plain, status = _GAP.join(cells), row.decision.status
    lead, mark = row.lead, _mark(row)
    sign = page.paint.paint_running(mark) if row.awaits or mark == PARTLY else page.paint.paint_status(status, mark)
    head = f"{page.paint.dim(lead)}{sign}{plain[len(lead) + len(mark) :]}"
    note = "" if status is Status.SUCCESS or (row.above and row.above[-1].status is status) else status.value
    if note and len(plain) + len(_GAP) + len(note) > page.columns:
        yield from (head.rstrip(), f"{row.below}  {page.paint.paint_status(status, note)}")
        return
    if note:
        head, plain = f"{head}{_GAP}{page.paint.paint_status(status, note)}", f"{plain}{_GAP}{note}"
    yield from _with_nodes(row, head, plain, page)


def _with_nodes(row: TreeRow, head: str, plain: str, page: Page) -> Iterator[str]:
    """Yield *head* with the nodes after it if they fit, else below it."""
    indent = f"{row.below}  "
    for pods_to_nodes, words in ((row.assigned, ""), (row.promised, f"{row.when} on ")):
        if not pods_to_nodes:
            continue
        if page.every:
            yield head.rstrip()
            yield from _each(pods_to_nodes, f"{indent}{words}")
            head = ""
            continue
        counts = per_node(pods_to_nodes)
        columns = page.columns - len(plain) - len(_GAP) - len(words)
        text = nodes(counts, columns)
        if columns >= LEAST or len(text) <= columns:
            head, plain = f"{head}{_GAP}{words}{text}", f"{plain}{_GAP}{words}{text}"
        else:
            yield head.rstrip()
            head = f"{indent}{words}{nodes(counts, page.columns - len(indent) - len(words))}"
            plain = head
    if head:
        yield head.rstrip()


def _each(pods_to_nodes: Mapping[str, str], lead: str) -> Iterator[str]:
    for pod in sorted(pods_to_nodes, key=natural):
        yield f"{lead}{printable(bare(pod))} → {printable(pods_to_nodes[pod])}"


def _explanation(row: TreeRow, decision: Decision, statements: Statements, page: Page) -> Iterator[str]:
    """Yield the messages of a group, then the reasons of its pods, without causes that a message above states.

    kube-scheduler's message is shown for the root, and for groups without other messages.
    """
    lead, root = f"{row.below}  ", not row.above
    stated, own = statements.above(row.above), decision_words.own_causes(row.decision)
    if root:
        yield from _volumes(decision, lead, page)
        yield from _devices(decision, lead, page)
    yield from _ranks(row, decision, lead, page)
    if root:
        yield from page.folded(decision_words.message(decision), lead)
    yield from page.folded(decision_words.causes_words(without_stated(own, stated)), lead)
    if root:
        yield from _leaving(decision, lead, page)
    by_scheduler = scheduler_causes(decision, row.decision)
    if by_scheduler and (root or not own) and not stated.issuperset(filter(None, by_scheduler)):
        message = f"kube-scheduler's message: {scheduler_message(decision, row.decision)}"
        yield from (page.paint.dim(line) for line in page.folded(message, lead))
    yield from _reasons(row, stated | statements.of_group(row.decision), lead, page)


def _volumes(decision: Decision, lead: str, page: Page) -> Iterator[str]:
    """Yield the volumes of its claims: on one line, or on a line for each claim if nothing is omitted."""
    choices = sorted(decision.volumes.items(), key=lambda each: natural(each[0]))
    named = [printable(f"{bare(claim)} → {each.volume or f'new volume for {each.node}'}") for claim, each in choices]
    yield from _listed("volumes", named, lead, page)


def _devices(decision: Decision, lead: str, page: Page) -> Iterator[str]:
    """Yield the devices of its claims, as ``_volumes`` does: ``train-0/gpu → a1/gpu-0``."""
    choices = sorted(((claim.label, given.devices) for claim, given in decision.devices.items()), key=lambda each: natural(each[0]))
    named = [f"{_claim(label)} → {', '.join(f'{each.id[1]}/{each.id[2]}' for each in given)}" for label, given in choices if given]
    yield from _listed("devices", [printable(each) for each in named], lead, page)


def _claim(label: str) -> str:
    """Return a claim to devices without its namespace, or without the kind of its owner."""
    return label.partition("/")[2]


def _listed(title: str, named: Sequence[str], lead: str, page: Page) -> Iterator[str]:
    """Yield *named* below *title*: on one line, or on a line each if nothing is omitted."""
    if named and page.every:
        yield f"{lead}{title}:"
        yield from (f"{lead}  {each}" for each in named)
    elif named:
        head = f"{lead}{title}: "
        yield f"{head}{fitting(named, max(page.columns - len(head), LEAST))}"


def _ranks(row: TreeRow, decision: Decision, lead: str, page: Page) -> Iterator[str]:
    """Yield the levels on which pods of a group with consecutive ranks are in different domains, without that of nodes."""
    for ranked in decision.ranks:
        counts = [f"{level(each.key)} {each.apart:,} of {ranked.pods - 1:,}" for each in ranked.levels[:-1] if each.apart]
        if ranked.group == row.decision.group and counts:
            yield from page.folded(f"consecutive pods in different domains: {', '.join(counts)}", lead)


def _reasons(row: TreeRow, stated: StatedCauses, lead: str, page: Page) -> Iterator[str]:
    """Return the reasons why its pods have no node, grouped, the most frequent first; without causes that are *stated* above."""
    by_number = reasons_left(row.pending, stated)
    shown = by_number if page.every else by_number[:REASONS_SHOWN]
    for reason, keys in shown:
        yield from page.folded(f"{pods(keys, every=page.every)}: {reason}", lead)
    if len(shown) < len(by_number):
        yield f"{lead}… and {counted(sum(len(keys) for _, keys in by_number[len(shown) :]), 'more pod')} for other reasons"
    rest = len(row.pending) - sum(len(keys) for _, keys in by_number)
    if by_number and rest and row.decision.status is not Status.SUCCESS:
        yield page.paint.dim(f"{lead}{counted(rest, 'more pod')} {'fits or was' if rest == 1 else 'fit or were'} not tried")


def _leaving(decision: Decision, lead: str, page: Page) -> Iterator[str]:
    """Return its victims by group."""
    if not decision.victims:
        return
    by_leaf: dict[tuple[str, str, str], list[str]] = {}
    for pod in decision.victims:
        leaf = page.kinship.leaf(pod)
        by_leaf.setdefault((leaf.namespace, leaf.name, leaf.kind), []).append(pod)
    parts = []
    for (namespace, name, kind), keys in sorted(by_leaf.items()):
        named = printable(f"{kind} {namespace}/{name}")
        parts.append(named if kind == "Pod" else f"{named} ({pods(keys, every=page.every)})")
    words = f"{counted(len(decision.victims), 'pod')} must be evicted first: "
    listed = ", ".join(parts) if page.every else fitting(parts, 3 * page.columns)
    yield from (page.paint.paint_running(line) for line in page.folded(f"{words}{listed}", lead))


def _remedy_lines(decision: Decision, lead: str, page: Page) -> Iterator[str]:
    """Return the conflicting constraints and the remedies of a decision as lines."""
    if decision.conflict:
        yield from page.folded(f"conflicting constraints: {'; '.join(map(constraint_text, decision.conflict))}", lead)
    if decision.remedies:
        yield f"{lead}what would help:"
    for remedy in decision.remedies:
        yield from page.folded(f"- {remedy_text(remedy)}", f"{lead}  ")
    if note := limit_text(decision.remedies_note):
        yield from page.folded(note, lead)
