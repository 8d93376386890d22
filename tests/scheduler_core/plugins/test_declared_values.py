"""Values that plugins declare."""

from __future__ import annotations

from scheduler_core.plugins.declared_values import DeclaredValues, PodValue


def test_pods_with_equal_requests_are_distinguished_by_all_other_values():
    values = [PodValue(name, lambda pod, name=name: f"{name} of {pod}", "", of_requests=name == "ports") for name in ("gates", "ports")]

    assert ("gates of p",) == DeclaredValues.collected((), values).distinguishing("p")
    assert () == DeclaredValues.collected((), ()).distinguishing("p")
