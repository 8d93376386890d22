"""Order in which controllers create the pods of an object: what each part waits for."""

from __future__ import annotations

from typing import Any

import pytest

from validators.model.start_order import Event, Wait, start_order


def task(name: str, *names: str, iteration: str = "") -> dict[str, Any]:
    return {"name": name, "dependsOn": {"name": [*names], "iteration": iteration}}


@pytest.mark.parametrize(
    ("kind", "spec", "want"),
    [
        pytest.param(("batch.volcano.sh", "Job"), {"tasks": [task("c", "a", "b")]}, {"c": Wait(Event.TASKS_READY, ("a", "b"))}, id="all"),
        pytest.param(
            ("batch.volcano.sh", "Job"),
            {"tasks": [task("c", "a", "b", iteration="any")]},
            {"c": Wait(Event.ONE_TASK_READY, ("a", "b"))},
            id="any of several",
        ),
        pytest.param(
            ("batch.volcano.sh", "Job"),
            {"tasks": [task("c", "a", iteration="any")]},
            {"c": Wait(Event.TASKS_READY, ("a",))},
            id="any of one",
        ),
        pytest.param(("batch.volcano.sh", "Job"), {"tasks": [3, {"dependsOn": "a"}, task("c")]}, {}, id="other shapes"),
        pytest.param(("batch", "Job"), {"tasks": [task("c", "a")]}, {}, id="another kind"),
    ],
)
def test_waits_of_the_parts(kind: tuple[str, str], spec: dict[str, Any], want: dict[str, Wait]) -> None:
    assert want == start_order(*kind, spec)
