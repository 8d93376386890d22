"""Clusters full of pods of lower priority, and a pending tree that mostly needs several victims."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests import builders
from tests.scheduler_core.oracle.model import Objects

PRIORITY = 100
"""Priority of the pending tree."""
FIRST = "2026-08-01T00:00:00Z"


def node(name: str, cpu: int, **labels: str) -> dict[str, Any]:
    return builders.node(name, cpu, "64Gi", labels=labels)


def pod(name: str, cpu: int = 1, of: str = "", *, on: str = "", priority: int = PRIORITY, second: int = 0, **more: Any) -> dict[str, Any]:
    metadata = {"uid": name, "creationTimestamp": FIRST, **({"labels": {"app": more["app"]}} if more.get("app") else {})}
    status = {"startTime": f"2026-08-01T00:00:{second:02}Z"} if on else {}
    return builders.pod(name, of, cpu, more.get("memory", ""), on=on, metadata=metadata, status=status, priority=priority)


def group(
    name: str, minimum: int, *, key: str = "", parent: str = "", everything: bool = False, priority: int = PRIORITY
) -> dict[str, Any]:
    """Return a gang; *minimum* counts children if the name begins with ``tree``."""
    kind = "CompositePodGroup" if name.startswith("tree") else "PodGroup"
    spec = {"disruptionMode": {"all" if everything else "single": {}}, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    return builders.group(kind, name, minimum, key, parent, metadata={"creationTimestamp": FIRST}, priority=priority, **spec)


def budget(name: str, app: str, allowed: int) -> dict[str, Any]:
    return builders.disruption_budget(name, app, allowed)


@st.composite
def crowded(draw: st.DrawFn) -> Objects:
    """Draw at most three nearly full nodes and at most six pending pods."""
    sizes = draw(st.lists(st.sampled_from((4, 3, 2)), min_size=2, max_size=3))
    objects = [node(f"n{number}", cpu, rack=draw(st.sampled_from(("r1", "r2")))) for number, cpu in enumerate(sizes)]
    gangs = draw(st.integers(0, 2))
    for number in range(gangs):
        objects.append(group(f"low{number}", 1, everything=draw(st.booleans()), priority=draw(st.sampled_from((0, 10)))))
    for on, size in enumerate(sizes):
        free = size
        for number in range(size):
            cpu = draw(st.sampled_from((1, 2, 1, 3, 0)))
            if not 0 < cpu <= free:
                continue
            free -= cpu
            of = draw(st.sampled_from(("", *(f"low{each}" for each in range(gangs)))))
            more = {"app": draw(st.sampled_from((None, "a", "b"))), "second": draw(st.integers(0, 3))}
            objects.append(pod(f"p{on}{number}", cpu, of, on=f"n{on}", priority=draw(st.sampled_from((0, 10, 10, 200))), **more))
    objects += draw(_waiting())
    objects += [budget(app, app, draw(st.integers(0, 2))) for app in ("a", "b") if draw(st.booleans())]
    return objects


@st.composite
def _waiting(draw: st.DrawFn) -> Objects:
    keys = st.sampled_from(("", "", "rack"))
    width = draw(st.integers(1, 2))
    if width == 1 and draw(st.booleans()):
        return [pod("q", draw(st.integers(1, 3)))]
    parent = "tree" if width > 1 else ""
    objects = [group("tree", draw(st.integers(1, width)), key=draw(keys))] if parent else []
    for number in range(width):
        name = f"leaf{number}"
        minimum = draw(st.integers(1, 3 if width == 1 else 2))
        objects.append(group(name, minimum, key=draw(keys), parent=parent))
        shape = draw(st.sampled_from((1, 2)))
        for member in range(minimum + draw(st.integers(0, 1)) if minimum < 3 else minimum):
            objects.append(pod(f"{name}-{member}", draw(st.sampled_from((shape, shape, 1, 3))), name))
    return objects
