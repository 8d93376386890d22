"""Comparison of an answer of ``muster simulate --format json --strategy greedy`` with the oracle, and of ``complete`` with brute force.

Not compared: messages, reasons, remedies, counts.  Of a root for which the oracle answers Wait, only the absence of placed pods is
compared.  ``Invalid`` is accepted where 1.37.1 waits, fails or (five levels and more) ignores a group, if no pod is placed.
"""

from __future__ import annotations

from typing import Any

from tests.scheduler_core.oracle import brute, cycle
from tests.scheduler_core.oracle.algorithm import DEEPEST, ERROR, SUCCESS, WAIT
from tests.scheduler_core.oracle.model import Cluster, Objects, flat, read

CONDITIONS = {SUCCESS: ("True", "Scheduled"), "Unschedulable": ("False", "Unschedulable"), ERROR: ("False", "SchedulerError")}
"""Status and reason of the condition."""
INITIALLY = "PodGroupInitiallyScheduled"
INVALID = "Invalid"
NOT_TRIED = (WAIT, INVALID, ERROR)
PLACING = ("assignments", "victims", "nominations")

Decision = dict[str, Any]


def compare(
    objects: Objects, answer: dict[str, Any], order: list[str] | None = None, *, evict: bool = False, failed_leaves: bool = True
) -> list[str]:
    """Return all differences, one line each; empty if the answers agree.

    *order* and *evict* are the options of the answer; *failed_leaves* as in ``cycle.run``.
    """
    expected = cycle.run(objects, order, evict=evict, failed_leaves=failed_leaves)
    given = answer.get("decisions") or []
    cluster = read(objects)
    messages: list[str] = []
    for want, got in _paired(expected, given):
        messages += [f"{_title(want or got or {})}: {line}" for line in _between(want, got, cluster, objects)]
    attempted = [_title(want) for want in expected if want["status"] != WAIT]
    sequence = [_title(got) for got in given if _title(got) in attempted]
    if sorted(sequence) == sorted(attempted) and sequence != attempted:
        messages.append(f"the roots come in the order {sequence}, want {attempted}")
    if not evict:
        placed = {pod: node for got in given for pod, node in (got.get("assignments") or {}).items()}
        messages += [f"the answer breaks a constraint: {line}" for line in brute.violations(objects, placed)]
    return messages


def compare_complete(objects: Objects, answer: dict[str, Any]) -> list[str]:
    """Return what is wrong in an answer of strategy ``complete``, by exhaustive search; empty if all is right.

    Of the roots that are tried only the first is judged: it is tried on the cluster as it is.
    """
    decisions = answer["decisions"]
    messages = brute.violations(objects, {pod: node for each in decisions for pod, node in each["assignments"].items()})
    first = next((each for each in decisions if each["status"] not in NOT_TRIED), None)
    if first is None:
        return messages
    root = first["root"]
    possible = brute.placement(objects, root["kind"], root["name"], root["namespace"]) is not None
    if first["status"] == SUCCESS and not possible:
        messages.append(f"{_title(first)}: {SUCCESS}, and there is no placement")
    if first["search"]["outcome"] == "infeasible" and possible:
        messages.append(f"{_title(first)}: infeasible, and there is a placement")
    return messages


def _title(decision: Decision) -> str:
    root = decision["root"]
    return f"{root['kind']} {root['namespace']}/{root['name']}"


def _paired(wanted: list[Decision], given: list[Decision]) -> list[tuple[Decision | None, Decision | None]]:
    """Pair decisions on the same root: first with first, second (after a preemption) with second."""
    pairs: list[tuple[Decision | None, Decision | None]] = []
    for title in dict.fromkeys(_title(each) for each in [*wanted, *given]):
        ours = [each for each in wanted if _title(each) == title]
        theirs = [each for each in given if _title(each) == title]
        for number in range(max(len(ours), len(theirs))):
            pairs.append((ours[number] if number < len(ours) else None, theirs[number] if number < len(theirs) else None))
    return pairs


def _between(want: Decision | None, got: Decision | None, cluster: Cluster, objects: Objects) -> list[str]:
    idle = got is None or not any(got.get(part) for part in PLACING)
    status = got["status"] if got else None
    if want is None or want["status"] == WAIT:
        good = idle and status in {None, WAIT, INVALID}
        return [] if good else [f"status {status}, {_placing(got)}; want {'no decision' if want is None else WAIT}"]
    if got is None:
        return [f"no decision, want {want['status']}"]
    if status == INVALID and idle and (want["status"] == ERROR or _too_deep(want, cluster)):
        return []
    messages = [] if status == want["status"] else [f"status {status} ({got.get('message')}), want {want['status']} ({want['message']})"]
    messages += _different("assigned to", got.get("assignments") or {}, want["assignments"])
    messages += _different("nominated to", got.get("nominations") or {}, want["nominations"])
    messages += [f"{pod} leaves, want it to stay" for pod in sorted({*(got.get("victims") or [])} - {*want["victims"]})]
    messages += [f"{pod} stays, want it to leave" for pod in sorted({*want["victims"]} - {*(got.get("victims") or [])})]
    return messages + _groups(want, got, _scheduled_once(objects, want["root"]["namespace"]))


def _placing(got: Decision | None) -> str:
    return ", ".join(f"{part} {got.get(part) or 'none'}" for part in PLACING) if got else "no decision"


def _too_deep(want: Decision, cluster: Cluster) -> bool:
    root = want["root"]
    group = cluster.groups.get((root["kind"], root["namespace"], root["name"]))
    return group is not None and group.depth() > DEEPEST


def _different(word: str, got: dict[str, Any], want: dict[str, Any]) -> list[str]:
    return [f"{name} {word} {got.get(name)}, want {want.get(name)}" for name in sorted({*got, *want}) if got.get(name) != want.get(name)]


def _groups(want: Decision, got: Decision, already: set[str]) -> list[str]:
    given = {group["name"]: group for group in got.get("groups") or []}
    messages = _different("has status", {name: group["status"] for name, group in given.items()}, want["groups"])
    for name, group in given.items():
        status = want["groups"].get(name)
        if status == SUCCESS:
            messages += _different("has domain", {name: group.get("domain")}, {name: want["domains"].get(name)})
        if group["kind"] == "PodGroup" and status in CONDITIONS:
            output = [(each["status"], each["reason"]) for each in group.get("conditions") or [] if each["type"] == INITIALLY]
            # A group that was scheduled once is not told otherwise.
            accepted = {CONDITIONS[status], *([CONDITIONS[SUCCESS]] if name in already else [])}
            messages += [] if len(output) == 1 and output[0] in accepted else [f"{name} has conditions {output}, want {CONDITIONS[status]}"]
    return messages


def _scheduled_once(objects: Objects, namespace: str) -> set[str]:
    """Return the names of the PodGroups whose condition says that they were scheduled once."""
    return {
        each["metadata"]["name"]
        for each in flat(objects)
        if each["kind"] == "PodGroup" and (each["metadata"].get("namespace") or "default") == namespace
        for condition in (each.get("status") or {}).get("conditions") or []
        if (condition["type"], condition["status"]) == (INITIALLY, "True")
    }
